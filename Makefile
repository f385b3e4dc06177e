# The front door: `make help` lists what it can do.  Meson and ninja do the
# work; this file only knows in which order.

PREFIX ?= /usr/local
DESTDIR ?=
BENCH ?= # more for bench/run.py, such as --quick or --only tracer
BUILD := build

.DEFAULT_GOAL := build
.PHONY: build demo check test test-all lint format bench stress outside install deb clean help

build: ## build the programs into build/
	@tools/setup build
	@test -f $(BUILD)/build.ninja || \
		{ meson setup $(BUILD) --prefix=$(PREFIX) -Dtests=disabled && \
		  printf '%s' "$(PREFIX)" >$(BUILD)/.prefix; }
	@ninja -C $(BUILD)

demo: build ## record a small pipeline in a temporary folder and look at it
	@tools/demo $(BUILD)/src/roar/roar

check: ## unit tests, one tracer, the quick half of the rest: a minute
	@tools/setup build test
	@tools/run-tests check

test: ## lint and every test once: eight minutes; the last line is the result
	@tools/setup build test
	@tools/run-tests test

test-all: ## and clang-tidy, sanitizers, fuzzing, more programs: forty minutes
	@tools/setup build test
	@tools/run-tests test more

lint: ## formatting, warnings, clang-tidy, Python types, layers of lib/
	@tools/setup build test
	@tools/lint

format: ## put all C files into the shape that lint wants
	@tools/setup build test
	@tools/lint --format

bench: ## measure; every figure in the documents comes from here
	@tools/setup build bench
	@$(MAKE) --no-print-directory build
	@python3 bench/run.py --roar $(BUILD)/src/roar/roar \
		--tools $(BUILD)/bench --work $(BUILD) $(BENCH)

stress: ## long and heavy tests that `make test-all` leaves out
	@tools/setup build test outside
	@$(MAKE) --no-print-directory build
	@meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --suite stress --print-errorlogs \
		--num-processes 1 --timeout-multiplier 10
	@$(MAKE) --no-print-directory outside

outside: ## suites of other projects: CPython, redis, h2spec
	@tools/setup build test outside
	@$(MAKE) --no-print-directory build
	@meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --suite outside --print-errorlogs --num-processes 1

install: build ## install; PREFIX=/usr/local and DESTDIR= are yours to set
	@test "$$(cat $(BUILD)/.prefix 2>/dev/null)" = "$(PREFIX)" || \
		{ meson configure $(BUILD) -Dprefix=$(PREFIX) && \
		  ninja -C $(BUILD) && \
		  printf '%s' "$(PREFIX)" >$(BUILD)/.prefix; }
	@meson install -C $(BUILD) --no-rebuild --quiet --strip \
		$(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))")

deb: ## build a Debian package into build/
	@tools/setup build
	@tools/make-deb $(BUILD)

clean: ## remove everything that was built
	@rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / \
		{ printf "  make %-9s %s\n", $$1, $$2 }' Makefile

/* simulate.c - runs seeds; a failing one is made small and printed
 *
 * usage: simulate [--seed N] [--from N] [--count N] [--seconds N] [--keep LIST]
 *                 [--trace] [--counts] [--brief]
 *
 * --seed runs one seed with all it has; --keep with those items only, as a failure
 * prints them.  --brief only says which seed failed and how. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim.h"

struct options {
	uint64_t from, count;
	int64_t seconds;
	const char *keep;
	bool trace, counts, brief;
};

static char crash_text[64];

/* The state machine itself has crashed: at least the seed is told. */
static void on_crash(int signal)
{
	(void)!write(1, crash_text, strlen(crash_text));
	(void)kill(getpid(), signal);
}

static void prepare_crash(uint64_t seed)
{
	struct sigaction act = { .sa_handler = on_crash,
				 .sa_flags = SA_RESETHAND };

	(void)snprintf(crash_text, sizeof(crash_text),
		       "FAILED seed %" PRIu64 ": it crashed\n", seed);
	(void)sigaction(SIGABRT, &act, NULL);
	(void)sigaction(SIGSEGV, &act, NULL);
	(void)sigaction(SIGBUS, &act, NULL);
}

static void keep_all(const struct plan *p, bool *kept, const char *list)
{
	memset(kept, !list, p->n_items);
	while (list && *list) {
		char *end;
		size_t i = strtoull(list, &end, 10);

		if (end == list)
			break;
		if (i < p->n_items)
			kept[i] = true;
		list = *end == ',' ? end + 1 : end;
	}
}

static void print_keep(const struct plan *p, const bool *kept)
{
	const char *between = "";

	(void)printf("simulate --seed %" PRIu64 " --trace --keep ", p->seed);
	for (size_t i = 0; i < p->n_items; i++)
		if (kept[i]) {
			(void)printf("%s%zu", between, i);
			between = ",";
		}
	(void)printf("\n");
}

static void tell_failure(struct sim *s, const struct plan *p, bool *kept)
{
	(void)printf("FAILED seed %" PRIu64 ": %s\n", p->seed, s->failure);
	(void)fflush(stdout);
	shrink(p, kept);
	(void)printf("Its smallest plan:\n");
	plan_print(p, kept);
	(void)printf("What happens then:\n");
	(void)sim_run(s, p, kept, true);
	(void)printf("To see that again, or the whole of it:\n  ");
	print_keep(p, kept);
	(void)printf("  simulate --seed %" PRIu64 " --trace\n", p->seed);
}

static void add_counts(struct counts *to, const struct counts *from)
{
	uint64_t *a = (uint64_t *)to;
	const uint64_t *b = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*a); i++)
		a[i] += b[i];
}

static void print_counts(const struct counts *c, uint64_t seeds)
{
	(void)printf("%" PRIu64 " seeds: %" PRIu64 " events, %" PRIu64
		     " requests, %" PRIu64 " answers, %" PRIu64
		     " records, %" PRIu64 " releases (%" PRIu64
		     " told again), %" PRIu64 " failed waits, %" PRIu64
		     " joins (%" PRIu64 " took over), %" PRIu64
		     " deaths, %" PRIu64 " crashes, %" PRIu64
		     " states compared\n",
		     seeds, c->events, c->asks, c->answers, c->records,
		     c->releases, c->repeats, c->failures, c->joins,
		     c->takeovers, c->deaths, c->crashes, c->compares);
}

static bool run_seed(const struct options *o, uint64_t seed,
		     struct counts *total)
{
	CLEANUP(plan_release) struct plan p;
	CLEANUP(freep) bool *kept = NULL;
	CLEANUP(freep) struct sim *s = malloc(sizeof(*s));
	bool good;

	plan_make(&p, seed);
	kept = malloc(p.n_items);
	keep_all(&p, kept, o->keep);
	prepare_crash(seed);
	if (o->trace)
		plan_print(&p, kept);
	good = sim_run(s, &p, kept, o->trace);
	add_counts(total, &s->counts);
	if (!good && (o->keep || o->brief))
		(void)printf("FAILED seed %" PRIu64 ": %s\n", seed, s->failure);
	else if (!good)
		tell_failure(s, &p, kept);
	return good;
}

static int parse(struct options *o, char **argv)
{
	for (char **arg = argv + 1; *arg; arg++) {
		const char *value = arg[1];

		if (strcmp(*arg, "--trace") == 0) {
			o->trace = true;
			continue;
		}
		if (strcmp(*arg, "--counts") == 0) {
			o->counts = true;
			continue;
		}
		if (strcmp(*arg, "--brief") == 0) {
			o->brief = true;
			continue;
		}
		if (!value)
			return -1;
		if (strcmp(*arg, "--seed") == 0) {
			o->from = strtoull(value, NULL, 10);
			o->count = 1;
		} else if (strcmp(*arg, "--from") == 0) {
			o->from = strtoull(value, NULL, 10);
		} else if (strcmp(*arg, "--count") == 0) {
			o->count = strtoull(value, NULL, 10);
		} else if (strcmp(*arg, "--seconds") == 0) {
			o->seconds = strtoll(value, NULL, 10);
		} else if (strcmp(*arg, "--keep") == 0) {
			o->keep = value;
		} else {
			return -1;
		}
		arg++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .count = 1000, .seconds = 1 << 30 };
	struct counts total = { 0 };
	int64_t end;
	uint64_t n = 0;

	(void)argc;
	if (parse(&o, argv) < 0) {
		(void)fprintf(
			stderr,
			"usage: simulate [--seed N] [--from N] [--count N] "
			"[--seconds N] [--keep LIST] [--trace] "
			"[--counts]\n");
		return 2;
	}
	end = clock_mono_ns() + o.seconds * 1000000000;
	for (; n < o.count && clock_mono_ns() < end; n++)
		if (!run_seed(&o, o.from + n, &total))
			return 1;
	if (o.counts || o.count > 1)
		print_counts(&total, n);
	return 0;
}

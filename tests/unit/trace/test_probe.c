/* test_probe.c - the choice of a tracer, and the memory of refusals */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"
#include "trace/hybrid/hybrid.h"
#include "trace/probe.h"
#include "trace/ptrace/ptrace.h"

static char home[] = "/tmp/roar-probe-XXXXXX";

static int make_home(void **state)
{
	(void)state;
	(void)unsetenv("XDG_CACHE_HOME");
	(void)setenv("ROAR_ROARD_SOCKET", "/nowhere/roard.sock", 1);
	return mkdtemp(home) && setenv("HOME", home, 1) == 0 ? 0 : -1;
}

static int remove_home(void **state)
{
	char path[64];

	(void)state;
	probe_forget();
	(void)snprintf(path, sizeof(path), "%s/.cache/roar", home);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/.cache", home);
	(void)rmdir(path);
	return rmdir(home);
}

static bool is_refused(const struct tracer_ops *ops, const char *why)
{
	struct probe p;

	probe_tracer(ops, &p);
	return p.state == PROBE_REFUSED && strcmp(p.why, why) == 0;
}

static bool is_candidate(const struct tracer_ops *ops)
{
	const struct tracer_ops *list[PROBE_MAX];
	size_t n = probe_candidates("auto", true, list);

	for (size_t i = 0; i < n; i++)
		if (list[i] == ops)
			return true;
	return false;
}

static void auto_always_has_a_candidate(void **state)
{
	const struct tracer_ops *list[PROBE_MAX];

	(void)state;
	assert_true(probe_candidates("auto", false, list) >= 1);
	assert_true(is_candidate(&tracer_ptrace));
}

static void a_name_comes_first_and_alone_without_others(void **state)
{
	const struct tracer_ops *list[PROBE_MAX];
	size_t n;

	(void)state;
	assert_int_equal(probe_candidates("preload", false, list), 1);
	assert_ptr_equal(list[0], &tracer_preload);
	n = probe_candidates("preload", true, list);
	assert_true(n >= 2);
	assert_ptr_equal(list[0], &tracer_preload);
	for (size_t i = 1; i < n; i++)
		assert_ptr_not_equal(list[i], &tracer_preload);
	assert_int_equal(probe_candidates("magic", true, list), 0);
}

static void every_backend_is_looked_at(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; tracer_backends[i]; i++) {
		struct probe p;
		bool found = false;

		probe_tracer(tracer_backends[i], &p);
		assert_true(p.cost[0]);
		assert_true(p.state == PROBE_READY || p.why[0]);
		for (size_t k = 0; probe_backend(k); k++)
			found |= probe_backend(k) == tracer_backends[i];
		assert_true(found);
		n++;
	}
	assert_null(probe_backend(n));
}

static void a_refusal_is_remembered_until_it_is_forgotten(void **state)
{
	(void)state;
	probe_remember(&tracer_hybrid, -EPERM, "refused\nfor a test");
	probe_remember(&tracer_ptrace, -ENOSYS, "also");
	probe_remember(&tracer_hybrid, -EPERM, "refused again");
	assert_true(is_refused(&tracer_hybrid, "refused again"));
	assert_true(is_refused(&tracer_ptrace, "also"));
	assert_false(is_candidate(&tracer_hybrid));
	assert_true(is_candidate(&tracer_ptrace));
	probe_forget();
	assert_false(is_refused(&tracer_hybrid, "refused again"));
}

static void what_may_pass_is_not_remembered(void **state)
{
	static const int errors[] = { -EAGAIN, -ENOMEM, -EBUSY, -EINTR,
				      -EMFILE };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		probe_remember(&tracer_hybrid, errors[i], "a moment");
		assert_false(is_refused(&tracer_hybrid, "a moment"));
	}
}

/* Rewrites the time of the only refusal in the file. */
static void set_age(long age_s)
{
	char path[64], head[512], name[64], why[64];
	long long then;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/.cache/roar/tracers", home);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(head, sizeof(head), f));
	assert_int_equal(fscanf(f, "%63s %lld %63s", name, &then, why), 3);
	(void)fclose(f);
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fprintf(f, "%s%s %lld %s\n", head, name, then - age_s, why);
	(void)fclose(f);
}

static void a_refusal_is_believed_for_an_hour(void **state)
{
	(void)state;
	probe_remember(&tracer_hybrid, -EPERM, "refused");
	set_age(3000);
	assert_true(is_refused(&tracer_hybrid, "refused"));
	set_age(3000);
	assert_false(is_refused(&tracer_hybrid, "refused"));
	probe_remember(&tracer_hybrid, -EPERM, "refused");
	set_age(-3000); /* a clock that was ahead */
	assert_false(is_refused(&tracer_hybrid, "refused"));
	probe_forget();
}

/* The file with one byte changed, wherever: no crash, and what is believed is what
 * stands there. */
static void a_damaged_file_is_no_harm(void **state)
{
	char path[64], text[512];
	FILE *f;
	size_t len;

	(void)state;
	probe_remember(&tracer_hybrid, -EPERM, "refused");
	(void)snprintf(path, sizeof(path), "%s/.cache/roar/tracers", home);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(text, 1, sizeof(text), f);
	(void)fclose(f);
	for (size_t i = 0; i < len; i++) {
		struct probe p;

		f = fopen(path, "w");
		assert_non_null(f);
		text[i] ^= 0x15;
		(void)fwrite(text, 1, len, f);
		text[i] ^= 0x15;
		(void)fclose(f);
		probe_tracer(&tracer_hybrid, &p);
	}
	probe_forget();
}

static void a_choice_takes_less_than_a_millisecond(void **state)
{
	enum { TURNS = 50 };
	const struct tracer_ops *list[PROBE_MAX];
	int64_t best = INT64_MAX;

	(void)state;
	for (int i = 0; i < TURNS; i++) {
		int64_t start = clock_mono_ns();
		int64_t took;

		(void)probe_candidates("auto", true, list);
		took = clock_mono_ns() - start;
		best = took < best ? took : best;
	}
	print_message("a choice takes %lld us\n", (long long)best / 1000);
	assert_true(best < 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auto_always_has_a_candidate),
		cmocka_unit_test(a_name_comes_first_and_alone_without_others),
		cmocka_unit_test(every_backend_is_looked_at),
		cmocka_unit_test(a_refusal_is_remembered_until_it_is_forgotten),
		cmocka_unit_test(a_refusal_is_believed_for_an_hour),
		cmocka_unit_test(what_may_pass_is_not_remembered),
		cmocka_unit_test(a_damaged_file_is_no_harm),
		cmocka_unit_test(a_choice_takes_less_than_a_millisecond),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}

/* test_stale_warning.c */
#include <string.h>

#include "fixture.h"
#include "run/stale_warning.h"

/* Calls stale_warning_print() for the job that was recorded last with that command,
 * in the place of a command, so that what it says is caught. */
static struct fixture *current;
static const char *subject;
static int found;

static int run_warn(const struct command *command, const struct args *args)
{
	struct store_job_query query = { .uid_prefix = subject };
	struct roar_error err = { 0 };
	struct store_job *jobs;
	size_t n;

	(void)command;
	(void)args;
	assert_int_equal(store_jobs(current->store, &current->pool, &query,
				    &jobs, &n, &err),
			 0);
	assert_int_equal(n, 1);
	found = stale_warning_print(current->store, jobs);
	return 0;
}

static void expect_warning(struct fixture *f, const char *uid, int n,
			   const char *text)
{
	current = f;
	subject = uid;
	f->run = run_warn;
	expect(f, &cmd_status, "", 0, "", text);
	f->run = NULL;
	assert_int_equal(found, n);
}

static void nothing_is_said_when_all_is_up_to_date(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_warning(f, "aaaa0001", 0, "");
	expect_warning(f, "cccc0003", 0, "");
	job(f, "dddd0004", "true");
	record(f);
	expect_warning(f, "dddd0004", 0, "");
}

static void a_stale_step_above_is_named(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "better features");
	expect_warning(
		f, "cccc0003", 1,
		"roar: warning: @2, which this step depends on, is stale: "
		"'roar run @2' brings it up to date\n");
	/* Stale itself, on something that is not. */
	expect_warning(f, "bbbb0002", 0, "");
}

/* `n` steps that build on one another, the first of which was done again. */
static void record_stale_chain(struct fixture *f, int n)
{
	char from[32] = "raw";
	char to[32];
	char uid[32];
	char *command;

	put(f, from, "raw");
	for (int i = 1; i <= n; i++) {
		(void)snprintf(uid, sizeof(uid), "cafe%04d", i);
		(void)snprintf(to, sizeof(to), "link%d", i);
		command = pool_printf(&f->pool, "step %d", i);
		record_made(f, uid, command, from, to, to);
		strcpy(from, to);
	}
	record_made(f, "dddd0001", "step 1", "raw", "link1", "other");
}

static void several_stand_in_the_order_to_run_them(void **state)
{
	struct fixture *f = *state;

	record_stale_chain(f, 4);
	expect_warning(
		f, "cafe0004", 2,
		"roar: warning: @2, @3, which this step depends on, are "
		"stale: 'roar run @2', then 'roar run @3' bring them up to "
		"date\n");
}

static void many_are_counted(void **state)
{
	struct fixture *f = *state;

	record_stale_chain(f, 9);
	expect_warning(
		f, "cafe0009", 7,
		"roar: warning: @2, @3, @4, @5 and 3 more, which this step "
		"depends on, are stale: 'roar dag --stale-only' lists "
		"them\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(nothing_is_said_when_all_is_up_to_date),
		FIXTURE_TEST(a_stale_step_above_is_named),
		FIXTURE_TEST(several_stand_in_the_order_to_run_them),
		FIXTURE_TEST(many_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

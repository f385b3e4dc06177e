/* test_memory.c - memory runs out at one point after another: each time a command
 * ends with status 1 and prints nothing, or with its full answer. */
#include <string.h>

#include "alloc_fail.h"
#include "fixture.h"
#include "lineage/tag.h"

enum { ALLOCATIONS_MAX = 20000 };

static int fail_at; /* the allocation that fails, and all behind it */

static int run_short_of_memory(const struct command *command,
			       const struct args *args)
{
	int status;

	alloc_fail_after(fail_at);
	status = command->run(args);
	alloc_fail_never();
	return status;
}

static void survives(struct fixture *f, const struct command *command,
		     const char *words)
{
	CLEANUP(str_release) struct str full = STR_INIT;
	int status = 1;

	assert_int_equal(roar(f, command, words), 0);
	str_adds(&full, str_cstr(&f->out));
	f->run = run_short_of_memory;
	for (fail_at = 0; status; fail_at += 1 + fail_at / 64) {
		assert_true(fail_at < ALLOCATIONS_MAX);
		status = roar(f, command, words);
		if (status) {
			assert_int_equal(status, 1);
			assert_int_equal(f->out.len, 0);
			continue;
		}
		assert_string_equal(str_cstr(&f->out), str_cstr(&full));
	}
	f->run = NULL;
}

static void reading_commands_survive(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features, better");
	survives(f, &cmd_log, "--all-sessions");
	survives(f, &cmd_status, "");
	survives(f, &cmd_dag, "--show-artifacts");
	survives(f, &cmd_dag, "--expanded --json");
	survives(f, &cmd_show, "");
	survives(f, &cmd_show, "@2 --all");
	survives(f, &cmd_show, "model.pt --json");
	survives(f, &cmd_show, "features.bin");
	survives(f, &cmd_inputs, "@3 --all");
	survives(f, &cmd_db, "--json");
}

static void they_survive_moves_and_closed_sessions(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	survives(f, &cmd_dag, "");
	survives(f, &cmd_status, "");
	survives(f, &cmd_inputs, "yl --all");
	assert_int_equal(roar(f, &cmd_reset, "-y"), 0);
	survives(f, &cmd_show, "yl");
	survives(f, &cmd_show, f->session.uid);
}

/* Of the job that was recorded last. */
static void tag(struct fixture *f, enum tag_action action, const char *kind,
		const char *value)
{
	struct tag tag = { (uint8_t)action, TAG_USER, kind, value };

	assert_int_equal(store_begin(f->store, NULL), 0);
	assert_int_equal(store_tag_add(f->store, f->job.id, &tag, NULL), 1);
	assert_int_equal(store_commit(f->store, NULL), 0);
}

static void they_survive_tags(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "fetch", NULL, "data", "1");
	tag(f, TAG_ADD, "license", "MIT");
	record_made(f, "bbbb0002", "train", "data", "model", "2");
	tag(f, TAG_BLOCK, "jurisdiction", "");
	expect_part(f, &cmd_show, "@2",
		    "  Tags:         license=MIT  from @1 aaaa0001\n"
		    "  Blocked:      jurisdiction\n");
	survives(f, &cmd_show, "@2");
	survives(f, &cmd_show, "@2 --json");
	survives(f, &cmd_show, "model");
	survives(f, &cmd_show, "model --json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(reading_commands_survive),
		FIXTURE_TEST(they_survive_moves_and_closed_sessions),
		FIXTURE_TEST(they_survive_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

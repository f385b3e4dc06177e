/* test_step.c - which executions are the same step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "lineage/step.h"

#define ARGV(...) ((char *[]){ __VA_ARGS__, NULL })

static bool same_command(const char *kind, const char *cwd, char *argv[],
			 const char *kind2, const char *cwd2, char *argv2[])
{
	uint8_t a[STEP_ID_LEN];
	uint8_t b[STEP_ID_LEN];

	step_command_id(kind, cwd, argv, a);
	step_command_id(kind2, cwd2, argv2, b);
	return memcmp(a, b, sizeof(a)) == 0;
}

static void the_same_command_in_the_same_place_is_the_same(void **state)
{
	(void)state;
	assert_true(same_command("run", "/p", ARGV("a", "b"), "run", "/p",
				 ARGV("a", "b")));
	assert_false(same_command("run", "/p", ARGV("a", "b"), "run", "/p",
				  ARGV("a", "c")));
	assert_false(
		same_command("run", "/p", ARGV("a"), "build", "/p", ARGV("a")));
	assert_false(
		same_command("run", "/p", ARGV("a"), "run", "/q", ARGV("a")));
}

static void arguments_do_not_run_into_each_other(void **state)
{
	(void)state;
	assert_false(same_command("run", "/p", ARGV("a b"), "run", "/p",
				  ARGV("a", "b")));
	assert_false(same_command("run", "/p", ARGV("ab", ""), "run", "/p",
				  ARGV("a", "b")));
	assert_false(same_command("run", "/p", ARGV("a"), "run", "/p",
				  ARGV("a", "")));
	assert_false(
		same_command("run", "/pa", ARGV("a"), "run", "/p", ARGV("aa")));
}

static void the_identity_never_changes(void **state)
{
	static const uint8_t expected[STEP_ID_LEN] = {
		0xdd, 0xa5, 0xa1, 0x32, 0xa4, 0x93, 0x9a, 0x2d,
		0x64, 0x7f, 0xad, 0x74, 0x3b, 0x00, 0x87, 0x1b,
	};
	uint8_t id[STEP_ID_LEN];

	(void)state;
	step_command_id("run", "/p", ARGV("python", "train.py"), id);
	assert_memory_equal(id, expected, sizeof(id));
}

struct outputs {
	const char *cwd;
	char **argv;
	const char *names[4];
	size_t n;
};

static bool same_outputs(struct outputs a, struct outputs b)
{
	uint8_t x[STEP_ID_LEN];
	uint8_t y[STEP_ID_LEN];

	assert_int_equal(step_output_id("run", a.cwd, a.argv, a.names, a.n, x),
			 0);
	assert_int_equal(step_output_id("run", b.cwd, b.argv, b.names, b.n, y),
			 0);
	return memcmp(x, y, sizeof(x)) == 0;
}

static void parameters_do_not_matter_when_the_outputs_are_the_same(void **s)
{
	(void)s;
	assert_true(
		same_outputs((struct outputs){ "/p",
					       ARGV("python", "t.py", "--lr=1"),
					       { "/p/a", "/p/b" },
					       2 },
			     (struct outputs){ "/p",
					       ARGV("python", "t.py", "--lr=2"),
					       { "/p/b", "/p/a", "/p/a" },
					       3 }));
}

static void different_outputs_make_different_steps(void **state)
{
	(void)state;
	assert_false(same_outputs(
		(struct outputs){ "/p", ARGV("python", "t.py"), { "/p/a" }, 1 },
		(struct outputs){ "/p", ARGV("python", "t.py"), { "/p/b" }, 1 }));
}

static void different_scripts_make_different_steps(void **state)
{
	(void)state;
	assert_false(same_outputs(
		(struct outputs){ "/p", ARGV("python", "t.py"), { "/p/a" }, 1 },
		(struct outputs){ "/p", ARGV("python", "u.py"), { "/p/a" }, 1 }));
	assert_false(same_outputs(
		(struct outputs){ "/p", ARGV("cp", "x", "a"), { "/p/a" }, 1 },
		(struct outputs){ "/p", ARGV("mv", "x", "a"), { "/p/a" }, 1 }));
}

static void the_same_script_from_elsewhere_is_the_same_step(void **state)
{
	(void)state;
	assert_true(same_outputs(
		(struct outputs){ "/p/src",
				  ARGV("python3.11", "t.py"),
				  { "/p/a" },
				  1 },
		(struct outputs){ "/p",
				  ARGV("/venv/bin/python", "src/t.py"),
				  { "/p/a" },
				  1 }));
	assert_true(same_outputs(
		(struct outputs){ "/p/src", ARGV("./t"), { "/p/a" }, 1 },
		(struct outputs){ "/p", ARGV("src/t"), { "/p/a" }, 1 }));
}

static void without_outputs_the_identity_is_zero(void **state)
{
	static const uint8_t zero[STEP_ID_LEN];
	uint8_t id[STEP_ID_LEN] = { 1 };

	(void)state;
	assert_int_equal(step_output_id("run", "/p", ARGV("true"), NULL, 0, id),
			 0);
	assert_memory_equal(id, zero, sizeof(id));
}

static void an_empty_command_line_is_no_trouble(void **state)
{
	char *none[] = { NULL };
	const char *outputs[] = { "/a" };
	uint8_t id[STEP_ID_LEN];

	(void)state;
	step_command_id("run", "/", none, id);
	assert_int_equal(step_output_id("run", "/", none, outputs, 1, id), 0);
	assert_null(step_script(none));
	assert_null(step_script(NULL));
}

static void script_is(const char *expected, char *argv[])
{
	const char *script = step_script(argv);

	if (!expected)
		assert_null(script);
	else if (!script)
		fail_msg("no script, not %s", expected);
	else
		assert_string_equal(script, expected);
}

static void the_script_of_an_interpreter_is_found(void **state)
{
	(void)state;
	script_is("train.py", ARGV("python", "train.py", "x.py"));
	script_is("train.py", ARGV("/usr/bin/python3.11", "-u", "train.py"));
	script_is("t.py", ARGV("python", "-W", "ignore", "-Xdev", "t.py"));
	script_is("t.py", ARGV("python", "-Bu", "--", "t.py"));
	script_is("pkg.train", ARGV("python", "-m", "pkg.train", "a"));
	script_is("pkg.train", ARGV("python", "-um", "pkg.train"));
	script_is("pkg.train", ARGV("python", "-mpkg.train"));
	script_is("x.sh", ARGV("bash", "-eu", "-o", "pipefail", "x.sh"));
	script_is("x.R", ARGV("Rscript", "--vanilla", "x.R"));
	script_is("x.R", ARGV("R", "--no-save", "-f", "x.R"));
	script_is("x.js", ARGV("node", "--require", "m", "x.js"));
	script_is("x.ts", ARGV("deno", "run", "-A", "x.ts"));
	script_is("x.jl", ARGV("julia", "--project=.", "-t", "4", "x.jl"));
	script_is("t.py", ARGV("torchrun", "--nproc_per_node", "2",
			       "--nnodes=1", "t.py"));
	script_is("pkg.t", ARGV("torchrun", "--module", "pkg.t"));
}

static void there_is_no_script_where_there_is_none(void **state)
{
	(void)state;
	script_is(NULL, ARGV("python"));
	script_is(NULL, ARGV("python", "-c", "print()", "x.py"));
	script_is(NULL, ARGV("python", "-"));
	script_is(NULL, ARGV("python", "-W"));
	script_is(NULL, ARGV("python", "-m"));
	script_is(NULL, ARGV("python", "--"));
	script_is(NULL, ARGV("bash", "-c", "x"));
	script_is(NULL, ARGV("bash", "-lc", "x"));
	script_is(NULL, ARGV("node", "--eval", "x"));
	script_is(NULL, ARGV("cp", "a", "b"));
	script_is(NULL, ARGV(""));
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_same_command_in_the_same_place_is_the_same),
		T(arguments_do_not_run_into_each_other),
		T(the_identity_never_changes),
		T(parameters_do_not_matter_when_the_outputs_are_the_same),
		T(different_outputs_make_different_steps),
		T(different_scripts_make_different_steps),
		T(the_same_script_from_elsewhere_is_the_same_step),
		T(without_outputs_the_identity_is_zero),
		T(an_empty_command_line_is_no_trouble),
		T(the_script_of_an_interpreter_is_found),
		T(there_is_no_script_where_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

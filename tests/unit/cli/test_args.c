/* test_args.c - how words become options and operands. */
#include "cli/cli.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

static const struct option_spec options[] = {
	{ .name = "quiet", .letter = 'q' },
	{ .name = "verbose", .letter = 'v', .flags = OPTION_REPEAT },
	{ .name = "name", .letter = 'n', .arg = "NAME" },
	{ .name = "tracer", .arg = "NAME", .values = "auto|ptrace" },
	{ .name = "secret-door", .flags = OPTION_HIDDEN },
	{ .name = "number", .arg = "N", .min = 1, .max = 64 },
	{ .name = "never", .help = "use --name", .flags = OPTION_REFUSED },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "list", "", "", "verbose quiet" }, { "get", "KEY", "", NULL },
	{ "set", "KEY VALUE", "", NULL },    { "add", "PATTERN...", "", NULL },
	{ "look", "[NAME]", "", NULL },	     { 0 },
};

static const struct command plain = {
	.name = "plain",
	.synopsis = "[OPTION]... [FILE]",
	.options = options,
	.max_operands = 1,
};
static const struct command runner = {
	.name = "run",
	.synopsis = "[OPTION]... COMMAND [ARG]...",
	.options = options,
	.stops_at_operand = true,
	.min_operands = 1,
	.max_operands = -1,
};
static const struct command actor = { .name = "act",
				      .options = options,
				      .verbs = verbs };

/* Options as "name=value," and operands as "<word>". */
static void check(const struct command *c, const char *words,
		  const char *expected)
{
	CLEANUP(args_release) struct args args = { 0 };
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(freep) char *copy = strdup(words);
	struct roar_error err = { 0 };
	char *argv[16] = { "x" };
	int argc = 1;
	int r;

	for (char *rest = *copy ? copy : NULL; rest && argc < 15;)
		argv[argc++] = strsep(&rest, "|");
	r = args_parse(c, argc, argv, &args, &err);
	if (r < 0) {
		assert_int_equal(r, -EINVAL);
		assert_string_equal(err.text, expected);
		return;
	}
	for (size_t i = 0; i < args.n_options; i++)
		str_addf(&out, "%s=%s,", args.options[i].spec->name,
			 args.options[i].value ? args.options[i].value : "");
	for (int i = 0; i < args.n_operands; i++)
		str_addf(&out, "<%s>", args.operands[i]);
	assert_null(args.operands[args.n_operands]);
	assert_string_equal(str_cstr(&out), expected);
}

static void options_come_in_all_their_forms(void **state)
{
	(void)state;
	check(&plain, "", "");
	check(&plain, "-q|f", "quiet=,<f>");
	check(&plain, "-vv", "verbose=,verbose=,");
	check(&plain, "-nfoo", "name=foo,");
	check(&plain, "-n|foo", "name=foo,");
	check(&plain, "-qnfoo", "quiet=,name=foo,");
	check(&plain, "--name=foo=bar", "name=foo=bar,");
	check(&plain, "--name=", "option '--name' needs a value: --name NAME");
	check(&plain, "--name|-q", "name=-q,");
	check(&plain, "f|-q", "quiet=,<f>");
	check(&plain, "--|-q", "<-q>");
	check(&plain, "-", "<->");
	check(&plain, "--tracer|ptrace", "tracer=ptrace,");
	check(&plain, "--secret-door", "secret-door=,");
	check(&plain, "a|b|--help", "help=,<a><b>");
	/* Nothing after it is read. */
	check(&plain, "--help|--zzzzzz|-z", "help=,");
	check(&plain, "-qh|a|b|c", "quiet=,help=,");
}

static void options_of_a_run_end_at_the_command(void **state)
{
	(void)state;
	check(&runner, "-q|ls|-l|--|x", "quiet=,<ls><-l><--><x>");
	check(&runner, "--|-x|-q", "<-x><-q>");
	check(&runner, "-q",
	      "missing argument: usage is 'roar run "
	      "[OPTION]... COMMAND [ARG]...'");
}

static void wrong_options_get_one_sentence(void **state)
{
	(void)state;
	check(&plain, "--nam=x",
	      "unknown option '--nam', did you mean '--name'?");
	check(&plain, "--zzzzzz",
	      "unknown option '--zzzzzz' (put '--' before an argument that "
	      "starts with a dash)");
	check(&plain, "--secret-dor",
	      "unknown option '--secret-dor' (put '--' before an argument "
	      "that starts with a dash)");
	check(&plain, "-qz",
	      "unknown option '-z' (put '--' before an argument that starts "
	      "with a dash)");
	check(&plain, "--\033[31m",
	      "unknown option '--\\x1b[31m' (put '--' before an argument that "
	      "starts with a dash)");
	check(&plain, "--quiet=1", "option '--quiet' takes no value");
	check(&plain, "--name", "option '--name' needs a value: --name NAME");
	check(&plain, "-n", "option '--name' needs a value: --name NAME");
	check(&plain, "--tracer=x",
	      "option '--tracer' takes one of auto|ptrace, not 'x'");
	check(&plain, "--tracer=",
	      "option '--tracer' takes one of auto|ptrace, "
	      "not ''");
	check(&plain, "a|b",
	      "unexpected argument 'b': usage is 'roar plain "
	      "[OPTION]... [FILE]'");
}

static void actions_bring_their_own_operands(void **state)
{
	(void)state;
	check(&actor, "", "");
	check(&actor, "list|-q", "quiet=,<list>");
	check(&actor, "set|a|b", "<set><a><b>");
	check(&actor, "add|a|b|c", "<add><a><b><c>");
	check(&actor, "look", "<look>");
	check(&actor, "look|a", "<look><a>");
	check(&actor, "st|a",
	      "unknown action 'st' of 'roar act', did you mean 'set'?");
	check(&actor, "zzz",
	      "unknown action 'zzz' of 'roar act': the actions are "
	      "list, get, set, add, look");
	check(&actor, "set|a",
	      "missing argument: usage is 'roar act set KEY VALUE'");
	/* An empty name ends where it ends, whatever lies behind it. */
	check(&actor, "set||--name=x",
	      "missing argument: usage is 'roar act set KEY VALUE'");
	check(&actor, "list|a",
	      "unexpected argument 'a': usage is 'roar act list'");
	check(&actor, "add",
	      "missing argument: usage is 'roar act add PATTERN...'");
}

static void options_that_an_action_ignores_are_refused(void **state)
{
	(void)state;
	check(&actor, "-q|list", "quiet=,<list>");
	check(&actor, "list|-n|x", "'roar act list' takes no option '--name'");
	check(&actor, "-q|set|a|b", "'roar act set' takes no option '--quiet'");
	check(&actor, "set|--help", "help=,<set>");
}

static void numbers_have_bounds(void **state)
{
	static const char *const bad[] = {
		"0",  "65", "-1",  "",	  " 1",	 "1 ",
		"1s", "x",  "1e1", "0x1", "\n1", "99999999999999999999"
	};
	char *argv[] = { "x", "--number", NULL, NULL };

	(void)state;
	check(&plain, "--number=1", "number=1,");
	check(&plain, "--number|64", "number=64,");
	check(&plain, "--number=65",
	      "option '--number' takes a number from 1 to 64, not '65'");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct args args;

		argv[2] = (char *)bad[i];
		assert_int_equal(args_parse(&plain, 3, argv, &args, NULL),
				 -EINVAL);
	}
}

static void options_known_from_elsewhere_are_explained(void **state)
{
	(void)state;
	check(&plain, "--never",
	      "option '--never' is not supported: use --name");
}

static void the_version_is_an_option_of_a_single_command(void **state)
{
	static const struct program single = { .name = "plain",
					       .single = &plain };
	const struct program *before = program_selected();

	(void)state;
	check(&plain, "-V",
	      "unknown option '-V' (put '--' before an argument that starts "
	      "with a dash)");
	program_select(&single);
	check(&plain, "--version|--zzzzzz", "version=,");
	check(&plain, "a|b",
	      "unexpected argument 'b': usage is 'plain [OPTION]... [FILE]'");
	program_select(before);
}

static void values_are_found_by_name(void **state)
{
	char *argv[] = { "x", "-vv", "-na", "-nb", NULL };
	CLEANUP(args_release) struct args args = { 0 };

	(void)state;
	assert_int_equal(args_parse(&plain, 4, argv, &args, NULL), 0);
	assert_int_equal(args_count(&args, "verbose"), 2);
	assert_string_equal(args_get(&args, "name"), "b");
	assert_true(args_has(&args, "name"));
	assert_false(args_has(&args, "quiet"));
	assert_null(args_get(&args, "quiet"));
	assert_int_equal(args_number(&args, "number", 7), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_come_in_all_their_forms),
		cmocka_unit_test(options_of_a_run_end_at_the_command),
		cmocka_unit_test(wrong_options_get_one_sentence),
		cmocka_unit_test(actions_bring_their_own_operands),
		cmocka_unit_test(options_that_an_action_ignores_are_refused),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(options_known_from_elsewhere_are_explained),
		cmocka_unit_test(the_version_is_an_option_of_a_single_command),
		cmocka_unit_test(values_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

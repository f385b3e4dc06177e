/* test_commands.c - the tables keep their own rules. */
#include "scene.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/suggest.h"
#include "commands.h"
#include "lineage/tag.h"
#include "project/config_file.h"
#include "trace/tracer.h"

static void every_command_says_what_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; roar_program.commands[i]; i++) {
		const struct command *c = roar_program.commands[i];

		assert_ptr_equal(program_command(&roar_program, c->name), c);
		assert_non_null(c->group);
		assert_non_null(c->run);
		assert_true(strlen(c->summary) <= 66);
		assert_int_not_equal(c->summary[strlen(c->summary) - 1], '.');
		assert_in_range(c->summary[0], 'a', 'z');
	}
	assert_null(program_command(&roar_program, "nothing"));
}

static void options_of_a_command_are_distinct(void **state)
{
	(void)state;
	for (size_t i = 0; roar_program.commands[i]; i++) {
		const struct option_spec *o = roar_program.commands[i]->options;

		for (; o && o->name; o++) {
			assert_string_not_equal(o->name, "help");
			assert_int_not_equal(o->letter, 'h');
			assert_non_null(o->help);
			for (const struct option_spec *p = o + 1; p->name;
			     p++) {
				assert_string_not_equal(o->name, p->name);
				assert_true(!o->letter ||
					    o->letter != p->letter);
			}
		}
	}
}

static void groups_stand_together(void **state)
{
	enum { N_GROUPS = 6 };
	static const char *const groups[N_GROUPS] = {
		GROUP_START, GROUP_SESSIONS, GROUP_INSPECT,
		GROUP_FILES, GROUP_DATA,     GROUP_SETUP
	};
	size_t g = 0;

	(void)state;
	for (size_t i = 0; roar_program.commands[i]; i++) {
		while (g < N_GROUPS &&
		       strcmp(groups[g], roar_program.commands[i]->group) != 0)
			g++;
		assert_true(g < N_GROUPS);
	}
}

static void help_fits_the_terminal(void **state)
{
	const struct term t = { .width = 80 };

	(void)state;
	for (size_t i = 0; roar_program.commands[i]; i++) {
		CLEANUP(str_release) struct str out = STR_INIT;
		const char *line;

		help_command(&out, &t, roar_program.commands[i]);
		for (line = str_cstr(&out); *line;) {
			size_t n = strcspn(line, "\n");

			if (n > 80 && strncmp(line, "Usage", 5) != 0)
				fail_msg("%s: %.*s",
					 roar_program.commands[i]->name, (int)n,
					 line);
			line += n + (line[n] == '\n');
		}
	}
}

static void paragraphs_are_wrapped_between_words(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	help_wrap(&out,
		  "one two  three four\n\n  kept   as it is\n  too\n\nend", 2,
		  12);
	assert_string_equal(str_cstr(&out), "  one two\n  three four\n\n"
					    "    kept   as it is\n    too\n\n"
					    "  end\n");
}

/* Words of the descriptions that are lists in the code. */
static void descriptions_know_the_lists(void **state)
{
	(void)state;
	assert_non_null(strstr(cmd_run.about, TAG_KINDS_KNOWN));
	for (size_t i = 0; tracer_backends[i]; i++)
		assert_non_null(
			strstr(cmd_tracer.about, tracer_backends[i]->name));
}

static void every_tracer_can_be_configured(void **state)
{
	const struct config_key *key = config_key_find("tracer.default");

	(void)state;
	for (size_t i = 0; tracer_backends[i]; i++)
		assert_non_null(strstr(key->values, tracer_backends[i]->name));
}

static void near_words_are_suggested(void **state)
{
	static const struct {
		const char *word;
		const char *best;
	} cases[] = {
		{ "statsu", "status" }, { "stat", "status" }, { "lgo", "log" },
		{ "inptus", "inputs" }, { "xyzzy", NULL },    { "", NULL },
		{ "rset", "reset" },	{ "q", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct suggest s = suggest_for(cases[i].word);

		for (size_t j = 0; roar_program.commands[j]; j++)
			suggest_offer(&s, roar_program.commands[j]->name);
		if (cases[i].best)
			assert_string_equal(s.best ? s.best : "",
					    cases[i].best);
		else
			assert_null(s.best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_says_what_it_is),
		cmocka_unit_test(options_of_a_command_are_distinct),
		cmocka_unit_test(groups_stand_together),
		cmocka_unit_test(help_fits_the_terminal),
		cmocka_unit_test(paragraphs_are_wrapped_between_words),
		cmocka_unit_test(descriptions_know_the_lists),
		cmocka_unit_test(every_tracer_can_be_configured),
		cmocka_unit_test(near_words_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

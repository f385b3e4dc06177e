/* program.c - see cli.h */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/suggest.h"

static const struct program *selected = &(const struct program){
	.name = "roar", /* for code that runs before a program is selected */
};

void program_select(const struct program *program)
{
	selected = program;
}

const struct program *program_selected(void)
{
	return selected;
}

const struct command *program_command(const struct program *program,
				      const char *name)
{
	for (size_t i = 0; program->commands && program->commands[i]; i++)
		if (!strcmp(program->commands[i]->name, name))
			return program->commands[i];
	return NULL;
}

void command_add_call(struct str *out, const struct command *command)
{
	if (command != selected->single)
		str_addf(out, "%s ", selected->name);
	str_adds(out, command->name);
}

/* ---- help and version ---- */

static int print_help(const struct command *command)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct term t = term_of(STDOUT_FILENO);

	if (command)
		help_command(&text, &t, command);
	else
		help_program(&text, &t, selected);
	return cli_print(&text);
}

static int print_version(void)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	str_addf(&text, "%s %s\n", selected->name, selected->version);
	return cli_print(&text);
}

/* ---- what is not a command ---- */

static int refuse_absent(const struct absent_command *a)
{
	const char *colon = a->instead ? ": " : "";
	const char *instead = a->instead ? a->instead : "";

	if (a->needs_server)
		return cli_fail("'%s %s' needs a lineage server, which does "
				"not exist yet in this version%s%s",
				selected->name, a->name, colon, instead);
	return cli_usage(NULL, "'%s %s' is not part of this version%s%s",
			 selected->name, a->name, colon, instead);
}

static int refuse_unknown(const char *word)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *what = word[0] == '-' ? "option" : "command";
	struct suggest s = suggest_for(word);

	for (const struct absent_command *a = selected->absent; a && a->name;
	     a++)
		if (!strcmp(a->name, word))
			return refuse_absent(a);
	quote_printable_cut(&shown, word, 200);
	for (size_t i = 0; selected->commands[i] && word[0] != '-'; i++)
		suggest_offer(&s, selected->commands[i]->name);
	if (word[0] == '-') {
		suggest_offer(&s, "--help");
		suggest_offer(&s, "--version");
	}
	if (s.best)
		return cli_usage(NULL, "unknown %s '%s', did you mean '%s'?",
				 what, str_cstr(&shown), s.best);
	return cli_usage(NULL, "unknown %s '%s'", what, str_cstr(&shown));
}

static int help_on(const char *word)
{
	const struct command *command = NULL;

	if (word)
		command = program_command(selected, word);
	if (word && !command && strcmp(word, "help") != 0)
		return refuse_unknown(word);
	return print_help(command);
}

/* "help", "--version" and their like, with the arguments after it. */
static int run_word(const char *word, char *const *rest, int n)
{
	enum { HELP, HELP_ON, VERSION };
	static const struct {
		const char *word;
		int what;
	} words[] = {
		{ "help", HELP_ON },	  { "--help", HELP }, { "-h", HELP },
		{ "--version", VERSION }, { "-V", VERSION },
	};
	CLEANUP(str_release) struct str shown = STR_INIT;
	size_t i = 0;
	int max;

	while (i < ARRAY_SIZE(words) && strcmp(word, words[i].word) != 0)
		i++;
	if (i == ARRAY_SIZE(words))
		return refuse_unknown(word);
	max = words[i].what == HELP_ON;
	if (n > max) {
		quote_printable_cut(&shown, rest[max], 200);
		return cli_usage(NULL, "unexpected argument '%s' after '%s %s'",
				 str_cstr(&shown), selected->name,
				 max ? rest[0] : word);
	}
	if (words[i].what == VERSION)
		return print_version();
	return help_on(n ? rest[0] : NULL);
}

/* ---- commands ---- */

/* -1, or the exit status. */
static int parse_command(const struct command *command, int argc, char **argv,
			 struct args *ret)
{
	struct roar_error err = { 0 };
	int r = args_parse(command, argc, argv, ret, &err);

	if (r == -EINVAL)
		return cli_usage(command, "%s", err.text);
	if (r < 0)
		return cli_fail("%s", err.text);
	return args_has(ret, "help") ? print_help(command) : -1;
}

int program_main(const struct program *program, int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	const char *word = argc > 1 ? argv[1] : "help";
	const struct command *command = program_command(program, word);
	int r;

	assert(program->commands && !program->single);
	selected = program;
	quote_set_ascii(!term_has_unicode());
	if (!command)
		return run_word(word, argv + 2, argc > 2 ? argc - 2 : 0);
	r = parse_command(command, argc - 1, argv + 1, &args);
	return r < 0 ? command->run(&args) : r;
}

int program_single(const struct program *program, int argc, char **argv,
		   struct args *ret)
{
	int r;

	assert(program->single && !program->commands);
	selected = program;
	r = parse_command(program->single, argc, argv, ret);
	return r < 0 && args_has(ret, "version") ? print_version() : r;
}

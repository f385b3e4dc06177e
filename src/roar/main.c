/* main.c - from the command line to the command. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/suggest.h"
#include "commands.h"
#include "run/front.h"

/* A descriptor 0, 1 or 2 that the caller closed would be taken by the next file
 * we open, and our output would end up in it.  So the number is occupied, by a
 * descriptor that can neither be read nor written (O_PATH) and that the observed
 * command does not inherit: it finds what roar found. */
static void occupy_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/", O_PATH | O_CLOEXEC);
}

static int print_help(const struct command *command)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct term t = term_of(STDOUT_FILENO);

	if (command)
		help_command(&text, &t, command);
	else
		help_main(&text, &t);
	return cli_print(&text);
}

static int print_version(void)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	str_addf(&text, "roar %s\n", roar_version);
	return cli_print(&text);
}

static int fail_unknown(const char *word)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *what = word[0] == '-' ? "option" : "command";
	struct suggest s = suggest_for(word);

	quote_printable_cut(&shown, word, 200);
	for (size_t i = 0; commands[i] && word[0] != '-'; i++)
		suggest_offer(&s, commands[i]->name);
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
	const struct command *command = word ? command_find(word) : NULL;

	if (word && !command && strcmp(word, "help") != 0)
		return fail_unknown(word);
	return print_help(command);
}

/* What is no command: at most `max` words may stand behind it. */
static int check_words(const char *word, char *const *rest, int n, int max)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	if (n <= max)
		return 0;
	quote_printable_cut(&shown, rest[max], 200);
	return cli_usage(NULL, "'roar %s' has no use for '%s'", word,
			 str_cstr(&shown));
}

/* The words that are no commands. */
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
	size_t i = 0;
	int r;

	while (i < ARRAY_SIZE(words) && strcmp(word, words[i].word) != 0)
		i++;
	if (i == ARRAY_SIZE(words))
		return fail_unknown(word);
	r = check_words(word, rest, n, words[i].what == HELP_ON);
	if (r)
		return r;
	if (words[i].what == VERSION)
		return print_version();
	return help_on(n ? rest[0] : NULL);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	struct roar_error err = { 0 };
	int r;

	r = args_parse(command, argc, argv, &args, &err);
	if (r == -EINVAL)
		return cli_usage(command, "%s", err.text);
	if (r < 0)
		return cli_fail("%s", err.text);
	if (args_has(&args, "help"))
		return print_help(command);
	return command->run(&args);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "help";
	const struct command *command;

	front_prepare();
	occupy_standard_fds();
	quote_set_ascii(!term_has_unicode());
	command = command_find(word);
	if (!command)
		return run_word(word, argv + 2, argc > 2 ? argc - 2 : 0);
	return run_command(command, argc - 1, argv + 1);
}

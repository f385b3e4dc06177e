/* confirm.c - see confirm.h */
#include "ui/confirm.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

bool confirm_ask(const char *question)
{
	CLEANUP(freep) char *line = NULL;
	size_t cap = 0;

	(void)fprintf(stderr, "%s [y/N] ", question);
	(void)fflush(stderr);
	if (getline(&line, &cap, stdin) <= 0) {
		(void)fputc('\n', stderr);
		return false;
	}
	return line[0] == 'y' || line[0] == 'Y';
}

int confirm(const struct args *args, const char *deed, const char *question)
{
	if (args_has(args, "yes"))
		return 0;
	if (!isatty(STDIN_FILENO))
		return cli_fail(
			"%s %s, and standard input is not a terminal to ask on: add "
			"-y",
			args->command->name, deed);
	return confirm_ask(question) ? 0 : cli_fail("nothing was changed");
}

/* help.h - help texts from the tables of commands. */
#ifndef ROAR_CLI_HELP_H
#define ROAR_CLI_HELP_H

#include "cli/cli.h"

/* `roar --help`: the commands in their groups. */
void help_main(struct str *out, const struct term *t);

/* `roar COMMAND --help`. */
void help_command(struct str *out, const struct term *t,
		  const struct command *command);

/* Appends paragraphs (separated by blank lines), wrapped at `width` columns and
 * indented.  A paragraph whose lines start with a blank keeps its lines. */
void help_wrap(struct str *out, const char *text, int indent, int width);

#endif

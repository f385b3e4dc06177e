/* help.h - help texts from the tables of a program. */
#ifndef ROAR_CLI_HELP_H
#define ROAR_CLI_HELP_H

#include "cli/cli.h"

/* `PROGRAM --help` of a program with commands, listed by group. */
void help_program(struct str *out, const struct term *t,
		  const struct program *program);

/* `PROGRAM COMMAND --help`, and --help of a single command. */
void help_command(struct str *out, const struct term *t,
		  const struct command *command);

/* Appends paragraphs (separated by blank lines), wrapped at `width` columns and indented.
 * Paragraphs whose lines start with a blank are not wrapped. */
void help_wrap(struct str *out, const char *text, int indent, int width);

/* "a sentence (VALUES); may be repeated": the help of an option with what its table
 * says about it. */
void help_option_text(struct str *out, const struct option_spec *o);

/* Options that every command has: "help"; a single command also has "version".  Ended by
 * name == NULL. */
const struct option_spec *help_common_options(const struct command *command);

#endif

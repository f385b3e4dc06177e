/* help.h - help texts from the tables of a program. */
#ifndef ROAR_CLI_HELP_H
#define ROAR_CLI_HELP_H

#include "cli/cli.h"

/* `PROGRAM --help` of a program with commands: they stand in their groups. */
void help_program(struct str *out, const struct term *t,
		  const struct program *program);

/* `PROGRAM COMMAND --help`, and --help of a single command. */
void help_command(struct str *out, const struct term *t,
		  const struct command *command);

/* Appends paragraphs (separated by blank lines), wrapped at `width` columns and
 * indented.  A paragraph whose lines start with a blank keeps its lines. */
void help_wrap(struct str *out, const char *text, int indent, int width);

/* "a sentence (VALUES); may be repeated": the help of an option with what its table
 * says about it. */
void help_option_text(struct str *out, const struct option_spec *o);

/* Options that every command has: "help"; of a single one "version" as well.  Ended
 * by name == NULL. */
const struct option_spec *help_common_options(const struct command *command);

#endif

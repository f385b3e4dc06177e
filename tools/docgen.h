/* docgen.h - writers of what is generated from the tables of commands. */
#ifndef ROAR_TOOLS_DOCGEN_H
#define ROAR_TOOLS_DOCGEN_H

#include <stdbool.h>

struct command;
struct option_spec;
struct str;

/* roar.1 from its story (man/roar.1.in): lines "@COMMANDS@", "@SETTINGS@" and
 * the word "@VERSION@" are replaced. */
void man_story(struct str *out, const char *story);

/* roar-COMMAND.1. */
void man_command(struct str *out, const struct command *c);

void complete_bash(struct str *out);
void complete_zsh(struct str *out);
void complete_fish(struct str *out);

/* Options to list: `o` itself, or the next one that is not hidden; NULL at the
 * end. */
const struct option_spec *option_listed(const struct option_spec *o);

/* Appends "a|b|c" as "a b c". */
void add_words(struct str *out, const char *values);

#endif

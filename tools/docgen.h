/* docgen.h - writers of what is generated from the tables of the programs. */
#ifndef ROAR_TOOLS_DOCGEN_H
#define ROAR_TOOLS_DOCGEN_H

#include <stdbool.h>

struct command;
struct config_key;
struct option_spec;
struct str;

/* The page of the selected program from its story (man/PROGRAM.N.in).  The line
 * "@COMMANDS@" is replaced by the commands, "@OPTIONS@" by the options. */
void man_story(struct str *out, const char *story);

/* roar-COMMAND.1. */
void man_command(struct str *out, const struct command *c);

/* Completions of roar.  All three know the commands, their options, the values an
 * option takes, the actions of a command, the settings with their values, and, by
 * calling roar, what is recorded and set.  After `run` and `build` they hand over to
 * the completion of the command that is run. */
void complete_bash(struct str *out);
void complete_zsh(struct str *out);
void complete_fish(struct str *out);

/* Completions of a program that is a single command. */
void complete_bash_single(struct str *out, const struct command *c);
void complete_zsh_single(struct str *out, const struct command *c);
void complete_fish_single(struct str *out, const struct command *c);

/* Options to list: `o` itself, or the next one that is not hidden; NULL at the
 * end. */
const struct option_spec *option_listed(const struct option_spec *o);

/* Appends "a|b|c" as "a b c". */
void add_words(struct str *out, const char *values);

/* Append the names of commands, those of settings, and the values of one, with
 * blanks between them. */
void add_command_names(struct str *out);
void add_key_names(struct str *out);
void add_key_values(struct str *out, const struct config_key *k);

/* What the value of an option is: "folder", "target", "file" or "nothing" that can be
 * listed. */
const char *option_offers(const struct option_spec *o);

/* Appends the name of a program as shells want it in a function's name. */
void add_identifier(struct str *out, const char *name);

/* Lines that every shell can run; each lists what an argument can be. */
#define LIST_LOG "env COLUMNS=200 roar log -n 200 2>/dev/null | awk "
#define LIST_STEPS \
	LIST_LOG "'length($1) == 8 && $2 ~ /^@/ { print $2 }' | sort -u"
#define LIST_JOBS LIST_LOG "'length($1) == 8 && $2 ~ /^@/ { print $1 }'"
#define LIST_VARIABLES "roar env list 2>/dev/null | sed -n 's/=.*//p'"
#define LIST_PATTERNS \
	"roar filter list 2>/dev/null | sed '1,/^Your patterns/d; s/^  //'"

#endif

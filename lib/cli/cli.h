/* cli.h - what a command of roar is, and what it gets.
 *
 * Every command is one `struct command` in its own file; commands.c holds the
 * table of them.  The same tables print --help, the man pages and the shell
 * completions (tools/docgen), so none of them can disagree with the parser.
 *
 * A command writes its product to stdout and everything else to stderr.  It
 * returns the exit status: 0 success, 1 failure, 2 wrong usage; `run` returns
 * what the observed command returned. */
#ifndef ROAR_CLI_CLI_H
#define ROAR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct str;

enum { EXIT_USAGE = 2 };

enum option_flags {
	OPTION_REPEAT = 1 << 0, /* may be given several times */
	OPTION_HIDDEN = 1 << 1, /* works, but is not listed */
	/* Known from elsewhere, and not offered: not listed, and wrong usage
	 * with the reason, which is its help. */
	OPTION_REFUSED = 1 << 2 | OPTION_HIDDEN,
};

struct option_spec {
	const char *name; /* long name without dashes */
	char letter; /* short name, 0 when there is none */
	const char *arg; /* placeholder of its value, "DIR"; NULL: a flag */
	const char *help; /* one line, for help and completions */
	const char *values; /* "auto|ptrace" when the value is one of these */
	unsigned flags;
};

/* A word that selects what a command does: `config set`. */
struct verb_spec {
	const char *name;
	const char *operands; /* "KEY VALUE" */
	const char *help;
	const char *options; /* that it takes, "show json"; NULL: none */
};

struct example {
	const char *command;
	const char *comment;
};

/* What an operand can be, for completion. */
enum operand_kind {
	OPERAND_NONE,
	OPERAND_TARGET,
	OPERAND_COMMAND,
	OPERAND_FILE
};

struct args;

struct command {
	const char *name;
	const char *group; /* heading in `roar --help` */
	const char *summary; /* one line, lower case, no full stop */
	const char *synopsis; /* operands, "[OPTION]... COMMAND [ARG]..." */
	const char *about; /* paragraphs separated by blank lines */
	const struct option_spec *options; /* ended by name == NULL; may be NULL */
	const struct verb_spec *verbs; /* ended by name == NULL; may be NULL */
	const struct example *examples; /* ended by command == NULL */
	const char *exit_status; /* paragraph; NULL: the usual 0, 1, 2 */
	enum operand_kind operand;
	bool stops_at_operand; /* options end at the first operand (`run`) */
	int min_operands;
	int max_operands; /* -1: any number */
	int (*run)(const struct args *args);
};

/* The commands in the order of the help, ended by NULL. */
extern const struct command *const commands[];

const struct command *command_find(const char *name);

/* ---- args.c: the parsed command line ---- */

struct arg_value {
	const struct option_spec *spec;
	const char *value; /* NULL for a flag */
};

struct args {
	const struct command *command;
	struct arg_value *options; /* in the order given */
	size_t n_options;
	char **operands; /* NULL-terminated, borrowed from argv */
	int n_operands;
};

/* Parses argv[1..] of a command.  On wrong usage: -EINVAL and one sentence with
 * the remedy.  `-vv`, `-nNAME`, `--name=X`, `--name X`, `--` all work. */
int args_parse(const struct command *command, int argc, char **argv,
	       struct args *ret, struct roar_error *err);
void args_release(struct args *args);

bool args_has(const struct args *args, const char *name);
int args_count(const struct args *args, const char *name);
const char *args_get(const struct args *args, const char *name); /* last one */

/* Prints "roar: MESSAGE" (one line) to stderr and returns 1. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for wrong usage, with a pointer to --help; returns 2. */
int cli_usage(const struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The sentence that cli_fail() or cli_usage() said last; "" when none was. */
const char *cli_said(void);

/* Writes the text to stdout; a reader that went away (`roar log | head`) ends
 * the program quietly, a full disk is an error.  Returns an exit status. */
int cli_print(const struct str *text);

/* ---- term.c: what the terminal can show ---- */

enum color {
	COLOR_NONE,
	COLOR_BOLD,
	COLOR_DIM,
	COLOR_RED,
	COLOR_GREEN,
	COLOR_YELLOW,
	COLOR_BLUE,
	COLOR_CYAN
};

struct term {
	bool tty;
	bool color; /* a terminal, TERM is not dumb, NO_COLOR is not set */
	bool unicode; /* the locale's character set is UTF-8 */
	int width; /* columns; 80 when unknown */
};

/* Do LC_ALL, LC_CTYPE and LANG say UTF-8?  The first that is set decides. */
bool term_has_unicode(void);

/* Looks at descriptor `fd` (1 or 2). */
struct term term_of(int fd);

/* Appends `text` in that colour, or plain when the terminal has none. */
void term_add(struct str *out, const struct term *t, enum color color,
	      const char *text);

/* ---- format.c: numbers for people ---- */

/* "4.0 KiB" */
void format_size(struct str *out, uint64_t bytes);

/* "1,024" */
void format_number(struct str *out, uint64_t n);

/* "3 files", "1,024 processes" */
void format_count(struct str *out, uint64_t n, const char *noun);

#endif

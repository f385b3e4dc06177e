/* cli.h - the command line of a program: its tables, the parser, its messages.
 *
 * A program is one `struct program`.  It has commands, each one `struct command` in
 * its own file, or it is a single command.  The same tables print --help, the man
 * pages and the shell completions (tools/docgen), so none of them can disagree with
 * the parser.
 *
 * A command writes its product to stdout and everything else to stderr.  It
 * returns the exit status: 0 success, 1 failure, 2 wrong usage; `run` returns
 * what the observed command returned.
 *
 * All of this is for the main thread. */
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
	/* Known from other programs and not supported here: not listed, and
	 * wrong usage with the reason, which is its help. */
	OPTION_REFUSED = 1 << 2 | OPTION_HIDDEN,
};

struct option_spec {
	const char *name; /* long name without dashes */
	char letter; /* short name, 0 when there is none */
	const char *arg; /* placeholder of its value, "DIR"; NULL: a flag */
	const char *help; /* one line, for help and completions */
	const char *values; /* "auto|ptrace" when the value is one of these */
	int64_t min, max; /* bounds of a number; max 0: it is not a number */
	unsigned flags;
};

/* An argument that selects what a command does: `config set`. */
struct verb_spec {
	const char *name;
	const char *operands; /* "KEY VALUE" */
	const char *help;
	const char *options; /* the ones it accepts, "show json"; NULL: none */
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
	const char *
		about; /* paragraphs separated by blank lines, from man/NAME.txt */
	const struct option_spec *options; /* ended by name == NULL; may be NULL */
	const struct verb_spec *verbs; /* ended by name == NULL; may be NULL */
	const struct example *examples; /* ended by command == NULL */
	const char *exit_status; /* paragraph; NULL: the usual 0, 1, 2 */
	const char *see_also; /* man pages besides the program's; may be NULL */
	enum operand_kind operand;
	bool stops_at_operand; /* options end at the first operand (`run`) */
	int min_operands;
	int max_operands; /* -1: any number */
	int (*run)(const struct args *args); /* NULL in a single command */
};

/* ---- program.c: from argv to a command ---- */

/* A command that users may know from another version of the program. */
struct absent_command {
	const char *name;
	/* A sentence about what to do instead; NULL: none. */
	const char *instead;
	/* The right usage of a command that needs a server, which there is not: a
	 * failure, not wrong usage. */
	bool needs_server;
};

struct program {
	const char *name;
	const char *version;
	const char *summary; /* one line, lower case, no full stop */
	const char *usage; /* lines of "Usage:", without the program's name */
	/* In the order of the help, terminated by NULL; NULL: a single command. */
	const struct command *const *commands;
	/* That command, with the program's name. */
	const struct command *single;
	const struct absent_command *absent; /* ended by name == NULL; or NULL */
};

/* Selects the program that messages and help name.  Docgen and tests call it;
 * other programs call program_main(). */
void program_select(const struct program *program);
const struct program *program_selected(void);

/* The command of that name, or NULL. */
const struct command *program_command(const struct program *program,
				      const char *name);

/* Runs the command that argv names, or prints help or the version.  Returns the exit
 * status. */
int program_main(const struct program *program, int argc, char **argv);

/* The same for a program that is a single command: returns -1 and its arguments, or
 * the exit status after --help, --version or wrong usage. */
int program_single(const struct program *program, int argc, char **argv,
		   struct args *ret);

/* Appends what a user types for the command: "roar run", "roard". */
void command_add_call(struct str *out, const struct command *command);

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
 * the remedy.  `-vv`, `-nNAME`, `--name=X`, `--name X`, `--` all work.  Parsing
 * stops at --help, and at --version where there is one. */
int args_parse(const struct command *command, int argc, char **argv,
	       struct args *ret, struct roar_error *err);
void args_release(struct args *args);

bool args_has(const struct args *args, const char *name);
int args_count(const struct args *args, const char *name);
const char *args_get(const struct args *args, const char *name); /* last one */

/* The value of an option with bounds; `fallback` where it was not given. */
int64_t args_number(const struct args *args, const char *name,
		    int64_t fallback);

/* ---- cli.c: messages and output ---- */

/* Prints "PROGRAM: MESSAGE" (one line) to stderr.  Returns 1. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for wrong usage, with a pointer to --help; returns 2.  NULL: of the
 * program itself. */
int cli_usage(const struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The last sentence that cli_fail() or cli_usage() printed; "" when there is none. */
const char *cli_last_message(void);

/* Writes the text to stdout.  A closed pipe (`roar log | head`) is a silent failure,
 * a full disk one with a message.  Returns an exit status. */
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

/* Is the character set of LC_ALL, LC_CTYPE or LANG UTF-8?  The first one that is set
 * counts. */
bool term_has_unicode(void);

/* The terminal of descriptor `fd` (1 or 2). */
struct term term_of(int fd);

/* Appends `text` in that colour, or plain if the terminal has no colours. */
void term_add(struct str *out, const struct term *t, enum color color,
	      const char *text);

/* ---- format.c: readable numbers ---- */

/* "4.0 KiB" */
void format_size(struct str *out, uint64_t bytes);

/* "1,024" */
void format_number(struct str *out, uint64_t n);

/* "3 files", "1,024 processes" */
void format_count(struct str *out, uint64_t n, const char *noun);

#endif

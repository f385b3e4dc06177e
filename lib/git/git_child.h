/* git_child.h - one git process, from start to exit.
 *
 * The process reads /dev/null or given bytes; its output goes to a callback, and the
 * start of its error output is kept for a note.  It leads a process group of its own:
 * Ctrl-C and Ctrl-Z are meant for the user's command and must not interrupt a snapshot,
 * and killing the group ends its filters too.  It never outlives the call. */
#ifndef ROAR_GIT_CHILD_H
#define ROAR_GIT_CHILD_H

#include <stddef.h>
#include <stdint.h>

struct git_env;
struct git_owner;
struct str;

/* What all processes of one query have in common. */
struct git_runner {
	const char *root; /* folder in which git runs */
	const struct git_env *env;
	const struct git_owner *owner; /* the user that git runs as; NULL: our
				        * own */
	int64_t deadline_ns; /* monotonic; 0: none */
	int cancel_fd; /* readable when the query is to end; -1: none */
};

enum { GIT_ARGS_MAX = 16 };

struct git_command {
	const char *args[GIT_ARGS_MAX]; /* after "git", terminated by NULL */
	const char *env[GIT_ARGS_MAX]; /* more variables, ended by NULL */
	const char *input; /* NULL: /dev/null */
	size_t input_len;
	/* Takes a piece of output; a negative return ends the process and is
	 * returned.  NULL ignores the output. */
	int (*take)(void *ctx, const char *data, size_t len);
	void *ctx;
};

/* Runs git.  Returns the exit status (128 + n for signal n), -ENOPKG when git is not
 * installed, -ETIMEDOUT, -ECANCELED, -ECHILD when other code took the exit status, or
 * another negative errno.  `errors` receives up to 4 KiB of error output. */
int git_run(const struct git_runner *runner, const struct git_command *command,
	    struct str *errors);

/* A `take` that collects at most 64 KiB in the struct str `ctx`. */
int git_take_text(void *ctx, const char *data, size_t len);

#endif

/* project.h - the project a command works in.
 *
 * A project is the nearest directory, upwards from the current one, that contains a `.roar`
 * directory (0700).  Opening one completes the records of runs whose roar was killed
 * (recover.h).
 *
 * A `.roar` sets the environment of commands, so its owner must be trusted: the user, root,
 * or the user that called `sudo`.  A project of another user is refused, in its directory
 * and all directories below it, with a message that names the owner.  Two kinds are skipped
 * instead.  One is a `.roar` in a directory that its owner does not own (/tmp/.roar),
 * because it would block all users below.  The other is root's `.roar` that cannot be
 * entered, unless the directory is the user's own: then `sudo` has left it there.
 *
 * Files that `sudo roar` creates in a project of the calling user belong to that user
 * (owner.h). */
#ifndef ROAR_PROJECT_H
#define ROAR_PROJECT_H

#include <stdbool.h>

#include "base/error.h"
#include "project/config.h"

struct store;

struct project {
	char *root; /* absolute, without symbolic links */
	char *dir; /* ROOT/.roar */
	int dirfd; /* of `dir` */
	char *cwd; /* the current directory, absolute */
	struct config config;
};

enum project_flags {
	/* Create one if there is none: at the top of the git repository, or else in the
	 * current directory. */
	PROJECT_CREATE = 1 << 0,
	PROJECT_NO_CONFIG = 1 << 1, /* do not read config.toml */
};

/* Finds (or creates) the project and reads its configuration.  *ret_created, which may be
 * NULL, is whether it was created now.  -ENOENT, with a message that names `roar init`:
 * there is none; -EPERM: it belongs to another user. */
int project_open(unsigned flags, struct project *ret, bool *ret_created,
		 struct roar_error *err);
void project_release(struct project *p);

/* Creates .roar (0700) with its directories and the default config.toml below `root`; does
 * nothing if it exists.  Returns 1 if it was created, 0 if it existed; -EPERM: it belongs
 * to another user. */
int project_init(const char *root, struct roar_error *err);

/* Completes the records of killed runs, if there are any.  Failures are not reported here,
 * because before a run that would be a second message; the next reading command tries again
 * and reports them. */
void project_recover(struct project *p);

/* Opens or creates the store for writing, as the project's owner.  Uses only `dir` and
 * `dirfd` of the project. */
int project_store_create(const struct project *p, struct store **ret_store,
			 struct roar_error *err);

/* Opens the store for a reading command.  Recovers killed runs first; a failure of that is
 * printed to stderr and does not stop the command. */
int project_store(struct project *p, unsigned store_flags,
		  struct store **ret_store, struct roar_error *err);

#endif

/* project.h - the project a command works in.
 *
 * A project is the nearest folder, upwards from the current one, with a `.roar`
 * folder in it (0700).  Opening one completes the records of runs whose roar was
 * killed (recover.h).
 *
 * A `.roar` gives commands their environment, so it must be someone's to trust:
 * the user, root, or whoever typed `sudo`.  Another's project is refused, here and
 * in all folders below it, with a sentence that names the owner.  Only what a
 * stranger has put into a folder that is not his (/tmp/.roar) is passed over: it
 * would keep everybody from working below.  So is one of root's that cannot be
 * entered, unless the folder is the user's own: then `sudo` has left it there.
 *
 * What `sudo roar` makes in the project of whoever typed it is theirs (owner.h). */
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
	PROJECT_CREATE = 1 << 0, /* make one if there is none: at the top of the
				  * git repository, else here */
	PROJECT_NO_CONFIG = 1 << 1, /* leave config.toml unread */
};

/* Finds (or makes) the project and reads its configuration.  *ret_created tells
 * whether it was made now; may be NULL.  -ENOENT and a sentence that names
 * `roar init` when there is none; -EPERM when it is another's. */
int project_open(unsigned flags, struct project *ret, bool *ret_created,
		 struct roar_error *err);
void project_release(struct project *p);

/* Makes .roar (0700) with its folders and the default config.toml below `root`;
 * does nothing when it is there.  Returns 1 when it was made, 0 when it existed,
 * -EPERM when that one is another's. */
int project_init(const char *root, struct roar_error *err);

/* Completes the records of killed runs, if there are any.  What fails stays for the
 * next command that reads, which says so: before a run it would be a second line
 * beside that of the run. */
void project_recover(struct project *p);

/* Opens the store for writing, or makes it, as the project's owner.  Of the project
 * only `dir` and `dirfd` are used. */
int project_store_create(const struct project *p, struct store **ret_store,
			 struct roar_error *err);

/* Opens the store for a reading command: recovers killed runs first (a failure of
 * that is said on stderr and does not stop the reading). */
int project_store(struct project *p, unsigned store_flags,
		  struct store **ret_store, struct roar_error *err);

#endif

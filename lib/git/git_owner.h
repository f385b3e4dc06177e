/* git_owner.h - in whose name git runs.
 *
 * `sudo roar run` in one's own repository must not leave objects and refs there that
 * are root's: the next `git add` would fail.  When root works for whoever typed sudo
 * (SUDO_UID) and the repository is theirs, git runs as that user; so do the filters
 * that the repository's configuration names.  In any other repository git runs as
 * we do, and refuses those of strangers by itself. */
#ifndef ROAR_GIT_OWNER_H
#define ROAR_GIT_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

struct git_repo;
struct str;

struct git_owner {
	uid_t uid;
	gid_t gid; /* the only group */
};

/* Is git to run as someone else?  Then fills *ret. */
bool git_owner_find(const struct git_repo *repo, struct git_owner *ret);

/* Appends the home folder that /etc/passwd names; nothing when there is none. */
void git_owner_home(const struct git_owner *owner, struct str *out);

/* Between fork and exec: becomes the owner, for good.  Safe after a fork of a
 * program with threads.  0 or a negative errno. */
int git_owner_become(const struct git_owner *owner);

#endif

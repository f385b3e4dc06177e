/* git_owner.h - the user that git runs as.
 *
 * `sudo roar run` in the user's own repository must not leave objects and refs there
 * that root owns: the next `git add` would fail.  When root runs for the user who typed
 * sudo (SUDO_UID) and that user owns the repository, git runs as that user; so do the
 * filters that the repository's configuration names.  In any other repository git runs
 * as we do, and refuses those of other users by itself. */
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

/* Must git run as another user?  Then fills *ret. */
bool git_owner_find(const struct git_repo *repo, struct git_owner *ret);

/* Appends the home directory from /etc/passwd; nothing when there is none. */
void git_owner_home(const struct git_owner *owner, struct str *out);

/* Between fork and exec: becomes the owner, for good.  Safe after a fork of a
 * program with threads.  0 or a negative errno. */
int git_owner_become(const struct git_owner *owner);

#endif

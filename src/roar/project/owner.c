/* owner.c - see owner.h */
#include "project/owner.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sudo.h"

bool owner_typed_sudo(uid_t user)
{
	struct sudo_user sudo;

	return sudo_find(&sudo) && sudo.uid == user;
}

bool owner_act(int dirfd)
{
	struct stat st;

	if (fstat(dirfd, &st) < 0 || st.st_uid == 0 ||
	    !owner_typed_sudo(st.st_uid))
		return false;
	(void)setfsgid(st.st_gid);
	(void)setfsuid(st.st_uid);
	return true;
}

/* The kernel takes a process that acts as another for a secret one, which cannot be
 * traced: only until it is itself again. */
void owner_act_as_self(bool acted)
{
	if (!acted)
		return;
	(void)setfsgid(getegid());
	(void)setfsuid(0);
	(void)prctl(PR_SET_DUMPABLE, 1);
}

/* git_owner.c - see git_owner.h */
#include "git/git_owner.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "base/sudo.h"
#include "git/git_repo.h"

bool git_owner_find(const struct git_repo *repo, struct git_owner *ret)
{
	struct sudo_user user;
	struct stat st;

	if (!sudo_find(&user) || stat(repo->common_dir, &st) < 0 ||
	    st.st_uid != user.uid)
		return false;
	ret->uid = user.uid;
	ret->gid = user.gid == (gid_t)-1 ? st.st_gid : user.gid;
	return true;
}

/* The file itself, because the name service would be loaded for nothing. */
void git_owner_home(const struct git_owner *owner, struct str *out)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry, *found;
	char text[4096];

	if (!file)
		return;
	while (fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0) {
		if (found->pw_uid != owner->uid)
			continue;
		str_adds(out, found->pw_dir);
		break;
	}
	(void)fclose(file);
}

/* System calls rather than functions: those of the C library would look for threads
 * that did not survive the fork. */
int git_owner_become(const struct git_owner *owner)
{
	if (syscall(SYS_setgroups, 1, &owner->gid) < 0 ||
	    syscall(SYS_setresgid, owner->gid, owner->gid, owner->gid) < 0 ||
	    syscall(SYS_setresuid, owner->uid, owner->uid, owner->uid) < 0)
		return -errno;
	return 0;
}

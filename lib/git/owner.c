/* owner.c - see owner.h */
#include "git/owner.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "git/repo.h"

/* A decimal number in the environment; false when it is none. */
static bool read_id(const char *name, unsigned *ret)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value;

	if (!text || !*text)
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= (unsigned)-1)
		return false;
	*ret = (unsigned)value;
	return true;
}

bool git_owner_find(const struct git_repo *repo, struct git_owner *ret)
{
	struct stat st;
	unsigned uid, gid;

	if (geteuid() != 0 || !read_id("SUDO_UID", &uid) || uid == 0 ||
	    stat(repo->common_dir, &st) < 0 || st.st_uid != uid)
		return false;
	if (!read_id("SUDO_GID", &gid))
		gid = st.st_gid;
	*ret = (struct git_owner){ .uid = uid, .gid = gid };
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

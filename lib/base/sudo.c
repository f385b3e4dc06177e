/* sudo.c - see sudo.h */
#include "base/sudo.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A decimal number in the environment; false when it is none. */
static bool read_id(const char *name, unsigned *ret)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= (unsigned)-1)
		return false;
	*ret = (unsigned)value;
	return true;
}

bool sudo_find(struct sudo_user *ret)
{
	unsigned uid, gid;

	if (geteuid() != 0 || !read_id("SUDO_UID", &uid) || uid == 0)
		return false;
	ret->uid = uid;
	ret->gid = read_id("SUDO_GID", &gid) ? gid : (gid_t)-1;
	return true;
}

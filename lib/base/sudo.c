/* sudo.c - see sudo.h */
#include "base/sudo.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"

/* A decimal number in the environment; false when it is none. */
static bool read_id(const char *name, unsigned *ret)
{
	const char *text = getenv(name);
	int64_t value;

	if (!text || number_parse(text, 0, UINT32_MAX - 1, &value) < 0)
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

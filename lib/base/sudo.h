/* sudo.h - for whom root works. */
#ifndef ROAR_BASE_SUDO_H
#define ROAR_BASE_SUDO_H

#include <stdbool.h>
#include <sys/types.h>

struct sudo_user {
	uid_t uid; /* never root */
	gid_t gid; /* (gid_t)-1: sudo did not say */
};

/* Are we root because somebody typed `sudo`?  Then tells who.  The word of the
 * environment: whoever could set it otherwise is root already. */
bool sudo_find(struct sudo_user *ret);

#endif

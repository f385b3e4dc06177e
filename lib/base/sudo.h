/* sudo.h - the user that called sudo. */
#ifndef ROAR_BASE_SUDO_H
#define ROAR_BASE_SUDO_H

#include <stdbool.h>
#include <sys/types.h>

struct sudo_user {
	uid_t uid; /* never root */
	gid_t gid; /* (gid_t)-1: unknown */
};

/* Does this process run as root by `sudo`?  Then *ret is the user.  Reads the environment,
 * which is safe: a process that could forge it is root already. */
bool sudo_find(struct sudo_user *ret);

#endif

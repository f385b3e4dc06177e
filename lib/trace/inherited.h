/* inherited.h - the files that a command will find open.
 *
 * They are ours as well until we let go of them, and here a look at a descriptor is
 * one system call; in the command, through /proc, it is many. */
#ifndef ROAR_TRACE_INHERITED_H
#define ROAR_TRACE_INHERITED_H

#include <stddef.h>

struct inherited {
	int *fds; /* of regular files that exec does not close */
	size_t n, cap;
	int error; /* not 0: they could not be listed, negative errno */
};

/* `in` is zeroed. */
void inherited_find(struct inherited *in);
void inherited_release(struct inherited *in);

#endif

/* inherited.h - the files that the command inherits as open descriptors.
 *
 * The tracer has the same descriptors until it closes them.  To examine one here is one
 * system call; to examine it in the command, through /proc, takes many. */
#ifndef ROAR_TRACE_INHERITED_H
#define ROAR_TRACE_INHERITED_H

#include <stddef.h>

struct inherited {
	int *fds; /* of regular files that exec does not close */
	size_t n, cap;
	int error; /* negative errno if they could not be listed, else 0 */
};

/* Fills in `in`, which the caller has zeroed. */
void inherited_find(struct inherited *in);
void inherited_release(struct inherited *in);

#endif

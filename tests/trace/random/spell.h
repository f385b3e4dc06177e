/* spell.h - one of the many ways to name a file in a call.
 *
 * Absolute or relative to the working directory, to a directory's descriptor or
 * to /proc/self; plain or with "//", "." and ".." in it; through symbolic
 * links to directories. */
#ifndef RANDOM_SPELL_H
#define RANDOM_SPELL_H

#include <stdbool.h>

struct spelling {
	int dirfd; /* AT_FDCWD: a call without descriptor can be used */
	int opened; /* descriptor to close afterwards, -1 none */
	char path[2048];
};

/* A way to name `name` in the directory `dir`, or `dir` itself: "". */
void spell(struct spelling *s, int dir, const char *name);

/* A way to name a node. */
void spell_node(struct spelling *s, int node);
void spell_done(struct spelling *s);

/* Can a call that takes no descriptor be used? */
bool spelled_plainly(const struct spelling *s);

#endif

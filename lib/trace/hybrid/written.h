/* written.h - names and files that the run has written to.
 *
 * A set of 64-bit marks, of paths and of device and inode pairs.  It is needed for
 * events that are read late: a file whose mtime changed after it was opened has been
 * changed by another process, unless the run itself writes to it. */
#ifndef ROAR_TRACE_HYBRID_WRITTEN_H
#define ROAR_TRACE_HYBRID_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct written {
	uint64_t *slots; /* 0: empty */
	size_t n_slots; /* 0 or a power of two */
	size_t count;
};

void written_release(struct written *w);

uint64_t written_name(const char *path, size_t len);
uint64_t written_file(dev_t dev, ino_t ino);

/* Adds a mark.  0 or -ENOMEM. */
int written_add(struct written *w, uint64_t mark);
bool written_has(const struct written *w, uint64_t mark);
void written_remove(struct written *w, uint64_t mark);

#endif

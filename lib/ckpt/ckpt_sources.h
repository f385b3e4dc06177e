/* ckpt_sources.h - the open data files of a checkpoint.
 *
 * The leaves of a delta may be in the files of many checkpoints, more than a process may
 * have open.  Files are opened when they are first read; when CKPT_SOURCES_OPEN are open, one
 * that no thread reads is closed first.
 *
 * Any number of threads may read. */
#ifndef ROAR_CKPT_SOURCES_H
#define ROAR_CKPT_SOURCES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct blob_store;
struct ckpt_source;

enum { CKPT_SOURCES_OPEN = 256 };

struct ckpt_sources {
	struct blob_store *store; /* borrowed */
	unsigned flags; /* of blob_open_reader() */
	pthread_mutex_t lock; /* protects all below and the users of a source */
	struct map map; /* struct ckpt_source by path */
	size_t n_open;
};

void ckpt_sources_init(struct ckpt_sources *s, struct blob_store *store,
		       unsigned flags);
void ckpt_sources_release(struct ckpt_sources *s);

/* Reads exactly `len` bytes at `offset` of the file `path`, relative to the store.
 * -ENODATA: the file is shorter; -ENOENT, -ENOMEM, errors of opening and reading. */
int ckpt_sources_read(struct ckpt_sources *s, const char *path, uint64_t offset,
		      void *buf, size_t len);

#endif

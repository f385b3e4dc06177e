/* sums.h - bytes read from and written to each file in one run.
 *
 * Evidence, by inode, from backends that count bytes: it never changes the role of a
 * file in the run.  A file is identified by its device and inode, whatever its names.
 * When a file is deleted its inode number may be reused for another file, which has
 * another generation.  Both are kept as separate files here, and the time of an open
 * distinguishes them.
 *
 * A zeroed struct is ready for use.  Sums belong to one thread; they take about 100
 * bytes per file. */
#ifndef ROAR_TRACE_SUMS_H
#define ROAR_TRACE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"

struct sum {
	uint64_t dev; /* with ino: the key */
	uint64_t ino;
	uint64_t bytes_read; /* by system calls; not through mappings */
	uint64_t bytes_written;
	int64_t since_ns; /* creation time of a file that the run created; else 0 */
	struct sum *older; /* the previous file with this inode number */
	uint32_t generation;
};

struct sums {
	struct map files; /* (dev, ino) -> struct sum, the latest */
	struct pool pool;
	uint64_t n_lost; /* how often bytes could not be added */
};

void sums_release(struct sums *s);

/* The run has created a file at `time_ns`.  Earlier sums of the same numbers belong to
 * another file. */
void sums_create(struct sums *s, uint64_t dev, uint64_t ino,
		 uint32_t generation, int64_t time_ns);

/* Adds bytes to a file. */
void sums_add(struct sums *s, uint64_t dev, uint64_t ino, uint32_t generation,
	      uint64_t bytes_read, uint64_t bytes_written);

/* stat() reports the file (dev, ino) as (as_dev, as_ino): lets sums_find() find it by
 * both. */
void sums_alias(struct sums *s, uint64_t dev, uint64_t ino, uint64_t as_dev,
		uint64_t as_ino);

/* The file that had these numbers at `time_ns`; INT64_MAX: the latest.  NULL when
 * nothing was counted for it. */
const struct sum *sums_find(const struct sums *s, uint64_t dev, uint64_t ino,
			    int64_t time_ns);

#endif

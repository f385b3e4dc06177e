/* sums.h - how much was read from files, and written to them, in one run.
 *
 * Evidence, by inode, from backends that count bytes: it never changes what a file was
 * to the run.  A file is known by its device and inode, whatever names it has and gets.
 * When a file is gone its number may be given to another, which has another generation:
 * each is a file of its own here, and the time of an open tells them apart.
 *
 * A zeroed struct is ready for use.  Sums belong to one thread; about 100 bytes a
 * file. */
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
	int64_t since_ns; /* of a file that the run has made; else 0 */
	struct sum *older; /* the file that had the number before */
	uint32_t generation;
};

struct sums {
	struct map files; /* (dev, ino) -> struct sum, the latest */
	struct pool pool;
	uint64_t n_lost; /* times that bytes could not be added */
};

void sums_release(struct sums *s);

/* The run has made a file at `time_ns`: what was known by its numbers is another. */
void sums_create(struct sums *s, uint64_t dev, uint64_t ino,
		 uint32_t generation, int64_t time_ns);

/* Adds to a file. */
void sums_add(struct sums *s, uint64_t dev, uint64_t ino, uint32_t generation,
	      uint64_t bytes_read, uint64_t bytes_written);

/* stat() knows the file (dev, ino) as (as_dev, as_ino): so will sums_find(). */
void sums_alias(struct sums *s, uint64_t dev, uint64_t ino, uint64_t as_dev,
		uint64_t as_ino);

/* The file that had these numbers at `time_ns`; INT64_MAX: the latest.  NULL when
 * nothing was counted for it. */
const struct sum *sums_find(const struct sums *s, uint64_t dev, uint64_t ino,
			    int64_t time_ns);

#endif

/* stamp.h - identifies the content that a file had at some moment.
 *
 * Two equal stamps mean the same content, unless the file changed within the resolution of
 * its own timestamps: a stamp whose mtime or ctime is as recent as the moment it was taken
 * is "racy" (git's term), because a later write in the same tick would leave the same
 * stamp.  A racy stamp must not be a key of the digest cache. */
#ifndef ROAR_BASE_STAMP_H
#define ROAR_BASE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

struct stamp {
	uint64_t dev;
	uint64_t ino; /* 0: there was no file */
	uint64_t size; /* bytes */
	int64_t mtime_ns;
	int64_t ctime_ns;
};

struct stamp stamp_of(const struct stat *st);

static inline bool stamp_exists(const struct stamp *s)
{
	return s->ino != 0;
}

bool stamp_equal(const struct stamp *a, const struct stamp *b);

/* Same file (device and inode), whatever its content. */
bool stamp_same_file(const struct stamp *a, const struct stamp *b);
bool stat_same_file(const struct stat *a, const struct stat *b);

/* Could the file have changed after `taken_ns` (realtime) without its stamp
 * showing it?  The margin covers a 100 Hz kernel and whole-second file systems. */
bool stamp_is_racy(const struct stamp *s, int64_t taken_ns);

/* The same without the margin, for a stamp taken at `tick_ns` by clock_now_tick_ns(), the
 * clock from which local file systems take their timestamps: once that clock has advanced,
 * every later change gets a later stamp.  Only for a file that no process is writing to: a
 * write updates the timestamp first and copies its bytes later. */
bool stamp_is_of_tick(const struct stamp *s, int64_t tick_ns);

#endif

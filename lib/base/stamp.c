/* stamp.c - see stamp.h */
#include "base/stamp.h"

#include <sys/stat.h>

#include "base/clock.h"

enum {
	COARSE_NS = 10 * 1000 * 1000, /* the stamps of exFAT */
	TICK_NS = 20 * 1000 * 1000,
	SECOND_NS = 1000 * 1000 * 1000,
};

struct stamp stamp_of(const struct stat *st)
{
	return (struct stamp){
		.dev = (uint64_t)st->st_dev,
		.ino = (uint64_t)st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = clock_timespec_ns(st->st_mtim),
		.ctime_ns = clock_timespec_ns(st->st_ctim),
	};
}

bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
	return stamp_same_file(a, b) && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

bool stamp_same_file(const struct stamp *a, const struct stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

bool stat_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A time without a fraction comes from a file system with coarse stamps (or
 * from a tool that set it); then a whole second is the resolution. */
static int64_t resolution(int64_t time_ns)
{
	return time_ns % SECOND_NS ? TICK_NS : SECOND_NS;
}

static int64_t latest(const struct stamp *s)
{
	return s->mtime_ns > s->ctime_ns ? s->mtime_ns : s->ctime_ns;
}

bool stamp_is_racy(const struct stamp *s, int64_t taken_ns)
{
	return latest(s) >= taken_ns - resolution(s->ctime_ns);
}

bool stamp_is_of_tick(const struct stamp *s, int64_t tick_ns)
{
	if (s->ctime_ns % COARSE_NS == 0)
		return stamp_is_racy(s, tick_ns);
	return latest(s) >= tick_ns;
}

/* stability.c - see stability.h */
#include "hash/file/stability.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hash/read/filesystem.h"

/* Linux writes dirty pages after half a minute; disks may be slow. */
#define WRITTEN_NS (INT64_C(600) * 1000000000)

static void look_at(struct stability *memory, const char *path, uint64_t dev)
{
	struct statfs fs;

	if (memory->known && memory->dev == dev)
		return;
	*memory = (struct stability){ .dev = dev,
				      .in_memory = true,
				      .deceives = true };
	if (statfs(path, &fs) < 0)
		return;
	memory->known = true;
	memory->deceives = filesystem_deceives((uint32_t)fs.f_type);
	memory->in_memory = filesystem_is_in_memory((uint32_t)fs.f_type);
	memory->hides_writers = filesystem_hides_writers((uint32_t)fs.f_type);
}

bool stability_trusts_stamps(struct stability *memory, const char *path,
			     uint64_t dev)
{
	look_at(memory, path, dev);
	return !memory->deceives;
}

static bool is_old(const struct stamp *s, int64_t taken_ns)
{
	return s->mtime_ns < taken_ns - WRITTEN_NS &&
	       s->ctime_ns < taken_ns - WRITTEN_NS;
}

/* A read lease is refused while anybody has the file open for writing. */
static bool has_no_writer(const char *path, const struct stamp *stamp)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
				    O_NOFOLLOW);
	struct stamp now;
	struct stat st;

	if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return false;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	if (fstat(fd, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_equal(&now, stamp);
}

bool stability_is_proven(struct stability *memory, const char *path,
			 const struct stamp *stamp, int64_t taken_ns)
{
	if (!stability_trusts_stamps(memory, path, stamp->dev))
		return false;
	if (is_old(stamp, taken_ns) && !memory->in_memory)
		return true;
	return !memory->hides_writers && has_no_writer(path, stamp);
}

/* file_reader_choice.c - which way suits a file.
 *
 * What is in the page cache is copied by all threads.  A disk that spins and a
 * server far away are fastest when asked for one thing after the other.  Everything
 * else wants many reads under way.
 *
 * In a process that `roar run` records, these reads come from threads: most tracers
 * cannot see what io_uring does, so that one ring makes a record incomplete. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "event/note.h"
#include "hash/read/file_reader_internal.h"
#include "hash/read/filesystem.h"

enum { N_SAMPLES = 64 };

/* Is most of the file in the page cache?  Leaves from all over it answer for the
 * rest.  A probe would make resident what it asks for. */
static bool is_resident(const struct file_reader_job *job)
{
	uint64_t leaf = job->options.leaf, n_leaves = job->size / leaf;
	uint64_t step = n_leaves < N_SAMPLES ? 1 : n_leaves / N_SAMPLES;
	unsigned n_asked = 0, n_full = 0;

	if (job->means == RESIDENCY_PROBE)
		return false;
	for (uint64_t i = 0; i < n_leaves; i += step, n_asked++)
		n_full += residency_ask(job->fd, job->means, i * leaf, leaf) ==
			  RESIDENCY_FULL;
	return n_full >= n_asked - n_asked / 8;
}

/* The disk of a virtual machine calls itself rotational without knowing. */
static bool is_virtual(const char *disk)
{
	char path[80], target[256];
	const char *name;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/device/driver", disk);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	name = strrchr(target, '/');
	return name &&
	       (strcmp(name, "/virtio_blk") == 0 || strcmp(name, "/vbd") == 0);
}

/* A negative return: this is not the folder of a disk. */
static int read_rotational(const char *disk)
{
	CLEANUP(fclosep) FILE *f = NULL;
	char path[80];

	(void)snprintf(path, sizeof(path), "%s/queue/rotational", disk);
	f = fopen(path, "re");
	if (!f)
		return -1;
	return fgetc(f) == '1' && !is_virtual(disk);
}

/* The queue of a partition is that of its disk, one folder above. */
static bool is_rotational(dev_t dev)
{
	char disk[48];
	int r;

	(void)snprintf(disk, sizeof(disk), "/sys/dev/block/%u:%u", major(dev),
		       minor(dev));
	r = read_rotational(disk);
	if (r >= 0)
		return r;
	(void)snprintf(disk, sizeof(disk), "/sys/dev/block/%u:%u/..",
		       major(dev), minor(dev));
	return read_rotational(disk) == 1;
}

static bool wants_one_reader(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) == 0 && filesystem_is_remote((uint32_t)fs.f_type))
		return true;
	return fstat(fd, &st) == 0 && is_rotational(st.st_dev);
}

/* Does `roar run` record this process?  Determined once, since it never changes, and a
 * forked child has the answer of its parent.  Two threads that do it at the same time store
 * the same answer. */
static bool is_recorded(void)
{
	enum { NOT_ASKED, NO, YES };
	static _Atomic int answer = NOT_ASKED;

	if (answer == NOT_ASKED) {
		CLEANUP(str_release) struct str run = STR_INIT;

		answer = note_find_run(&run) == -ESRCH ? NO : YES;
	}
	return answer == YES;
}

const struct file_reader_ops *
file_reader_choose(const struct file_reader_job *job)
{
	static const struct file_reader_ops *const asked_for[] = {
		[FILE_READER_URING] = &file_reader_uring,
		[FILE_READER_DIRECT] = &file_reader_direct,
		[FILE_READER_BUFFERED] = &file_reader_buffered,
		[FILE_READER_SEQUENTIAL] = &file_reader_sequential,
		[FILE_READER_MAPPED] = &file_reader_mapped,
	};

	if (job->options.way != FILE_READER_AUTO)
		return asked_for[job->options.way];
	if (job->size <= job->options.leaf)
		return &file_reader_buffered;
	if (is_resident(job))
		return job->options.may_map ? &file_reader_mapped :
					      &file_reader_buffered;
	if (wants_one_reader(job->fd))
		return &file_reader_sequential;
	return is_recorded() ? &file_reader_direct : &file_reader_uring;
}

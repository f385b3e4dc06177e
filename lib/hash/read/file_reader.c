/* file_reader.c - see file_reader.h; file_reader_internal.h has the map of the files. */
#include "hash/read/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "hash/read/file_reader_internal.h"
#include "hash/read/filesystem.h"

enum { MEMORY = 64 * 1024 * 1024, THREADS = 8, THREADS_MAX = 256 };

const char *file_reader_way_name(enum file_reader_way way)
{
	static const char *const names[] = {
		[FILE_READER_AUTO] = "auto",
		[FILE_READER_URING] = "uring",
		[FILE_READER_DIRECT] = "direct",
		[FILE_READER_BUFFERED] = "buffered",
		[FILE_READER_SEQUENTIAL] = "sequential",
		[FILE_READER_MAPPED] = "mapped",
	};

	return names[way];
}

static unsigned default_threads(void)
{
	unsigned n = cpus_allowed();

	return n < THREADS ? n : THREADS;
}

static int set_options(struct file_reader_job *job,
		       const struct file_reader_options *o)
{
	job->options = *o;
	if (o->leaf == 0)
		job->options.leaf = FILE_READER_LEAF;
	if (o->memory == 0)
		job->options.memory = MEMORY;
	if (o->n_threads == 0)
		job->options.n_threads = default_threads();
	if (job->options.leaf < residency_page() ||
	    job->options.leaf > FILE_READER_LEAF_MAX ||
	    job->options.leaf & (job->options.leaf - 1) ||
	    o->from & (job->options.leaf - 1) ||
	    (o->from && o->from >= job->size) ||
	    job->options.n_threads > THREADS_MAX || o->way < 0 ||
	    o->way >= FILE_READER_WAY_END ||
	    (o->way == FILE_READER_MAPPED && !o->may_map))
		return -EINVAL;
	job->next = job->turn = o->from;
	return 0;
}

static bool tells_holes(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       filesystem_tells_holes((uint32_t)fs.f_type);
}

/* A file that uses fewer blocks than it has bytes may have holes. */
static int look_at_file(struct file_reader_job *job)
{
	struct stat st;

	if (fstat(job->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size != job->size)
		return -ESTALE;
	job->dev = st.st_dev;
	job->ino = st.st_ino;
	job->is_sparse = (uint64_t)st.st_blocks * 512 < job->size &&
			 tells_holes(job->fd);
	return 0;
}

/* In a program that is not ours somebody may have closed a descriptor by mistake and
 * opened another file under its number. */
static int check_fd(const struct file_reader_job *job, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno == EBADF ? -ESTALE : -errno;
	return st.st_dev == job->dev && st.st_ino == job->ino &&
			       (uint64_t)st.st_size == job->size ?
		       0 :
		       -ESTALE;
}

static int check_again(const struct file_reader_job *job)
{
	int r = check_fd(job, job->fd);

	return r < 0 || job->direct_fd < 0 ? r : check_fd(job, job->direct_fd);
}

/* Without a description of our own the kernel reads ahead as it likes, and looking
 * for holes would move a position that is not ours. */
static void own_description(struct file_reader_job *job)
{
	int fd = file_reader_reopen(job->fd, 0);

	if (fd < 0) {
		job->is_sparse = false;
		return;
	}
	job->fd = fd;
	job->is_own = true;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

static int try_way(struct file_reader_job *job,
		   const struct file_reader_ops *ops)
{
	int r = 0;

	job->ops = ops;
	if (ops->is_direct && job->direct_fd < 0)
		r = file_reader_open_direct(job);
	if (r < 0)
		return r;
	r = file_reader_get_buffers(job);
	if (r == 0 && ops->open)
		r = ops->open(&job->workers[0]);
	if (r < 0)
		file_reader_free_buffers(job);
	return r;
}

/* Whatever the reason is for which a way is not to be had, the next one is worth a
 * try. */
static int find_way(struct file_reader_job *job)
{
	const struct file_reader_ops *ops = file_reader_choose(job);
	int r = try_way(job, ops);

	while (r < 0 && ops->next) {
		ops = ops->next;
		r = try_way(job, ops);
	}
	return r;
}

static int run(struct file_reader_job *job)
{
	int r = look_at_file(job);

	if (r < 0)
		return r;
	own_description(job);
	job->means = residency_find_means(job->fd);
	r = find_way(job);
	if (r < 0)
		return r;
	if (job->ops->way == FILE_READER_MAPPED)
		file_reader_map(job);
	file_reader_work(job);
	if (job->ops->close)
		job->ops->close(&job->workers[0]);
	r = atomic_load(&job->result);
	return r < 0 ? r : check_again(job);
}

static void report(struct file_reader_job *job)
{
	if (!job->options.report)
		return;
	*job->options.report = (struct file_reader_report){
		.way = job->ops ? job->ops->way : FILE_READER_AUTO,
		.n_workers = job->n_workers,
		.bytes_direct = atomic_load(&job->bytes_direct),
		.bytes_buffered = atomic_load(&job->bytes_buffered),
		.bytes_mapped = atomic_load(&job->bytes_mapped),
		.bytes_hole = atomic_load(&job->bytes_hole),
	};
}

static void job_release(struct file_reader_job *job)
{
	file_reader_unmap(job);
	file_reader_free_buffers(job);
	closep(&job->direct_fd);
	if (job->is_own)
		closep(&job->fd);
	(void)pthread_cond_destroy(&job->turned);
	(void)pthread_mutex_destroy(&job->lock);
}

int file_reader_read(int fd, uint64_t size,
		     const struct file_reader_options *options,
		     file_reader_sink *sink, void *ctx)
{
	CLEANUP(job_release)
	struct file_reader_job job = {
		.sink = sink,
		.ctx = ctx,
		.size = size,
		.fd = fd,
		.direct_fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER,
	};
	int r = set_options(&job, options);

	if (r == 0)
		r = run(&job);
	report(&job);
	return r;
}

/* file_reader_cursor.c - cuts a file into leaves and finds its holes.
 *
 * The file system tells where the next data and the next hole begin.  One answer
 * serves all leaves up to there, so that a hole of a terabyte costs one call. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hash/read/file_reader_internal.h"

/* Mapped by the first thread that finds a hole, and never unmapped.  It is not a static
 * array, because that would be writable memory, charged to every process and scanned by
 * every check for leaks. */
static _Atomic(const uint8_t *) zeros;

static const uint8_t *map_zeros(void)
{
	void *p = mmap(NULL, FILE_READER_LEAF_MAX, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint8_t *mapped = NULL;

	if (p == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&zeros, &mapped, p))
		return p;
	(void)munmap(p, FILE_READER_LEAF_MAX); /* another thread was first */
	return mapped;
}

const uint8_t *file_reader_zeros(void)
{
	const uint8_t *mapped = atomic_load(&zeros);

	return mapped ? mapped : map_zeros();
}

bool file_reader_is_hole(const uint8_t *data)
{
	return data == atomic_load(&zeros);
}

/* Finds the run that `offset` lies in.  ENXIO means that there is no data up to the
 * end; what the file system cannot tell is data. */
static void find_run(struct file_reader_job *job, uint64_t offset)
{
	off_t data = lseek(job->fd, (off_t)offset, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO)
		data = (off_t)job->size;
	job->run_is_hole = data > (off_t)offset;
	job->run_end = (uint64_t)data;
	if (job->run_is_hole)
		return;
	hole = data < 0 ? -1 : lseek(job->fd, (off_t)offset, SEEK_HOLE);
	job->run_end = (uint64_t)hole;
	if (hole <= (off_t)offset)
		job->is_sparse = false;
}

/* Without a block of zeros to hand out, a hole is read like data. */
static bool is_hole(struct file_reader_job *job, uint64_t offset, uint64_t end)
{
	if (!job->is_sparse)
		return false;
	if (offset >= job->run_end)
		find_run(job, offset);
	return job->is_sparse && job->run_is_hole && end <= job->run_end &&
	       file_reader_zeros();
}

/* Before anybody reads from the leaf, since that changes the answer. */
static void look(const struct file_reader_job *job,
		 struct file_reader_leaf *leaf)
{
	leaf->residency = residency_ask(job->fd, job->means, leaf->offset,
					leaf->len);
	if (leaf->residency == RESIDENCY_PARTLY &&
	    residency_map(job->fd, job->means, leaf->offset, leaf->len,
			  leaf->pages) < 0)
		leaf->residency = RESIDENCY_UNKNOWN;
}

/* A direct read must end at the alignment; what lies behind is less than that. */
static size_t direct_len(const struct file_reader_job *job,
			 const struct file_reader_leaf *leaf)
{
	if (job->direct_fd < 0 || leaf->is_hole ||
	    leaf->residency == RESIDENCY_FULL)
		return 0;
	return leaf->len & ~(job->direct_align - 1);
}

bool file_reader_take(struct file_reader_job *job,
		      struct file_reader_leaf *leaf)
{
	uint64_t left;

	(void)pthread_mutex_lock(&job->lock);
	left = job->size - job->next;
	leaf->offset = job->next;
	leaf->len = left < job->options.leaf ? left : job->options.leaf;
	leaf->is_hole = left &&
			is_hole(job, leaf->offset, leaf->offset + leaf->len);
	job->next += leaf->len;
	(void)pthread_mutex_unlock(&job->lock);

	if (left == 0)
		return false;
	if (!leaf->is_hole)
		look(job, leaf);
	leaf->direct_len = direct_len(job, leaf);
	leaf->got = 0;
	leaf->pending = false;
	leaf->n_direct = 0;
	return true;
}

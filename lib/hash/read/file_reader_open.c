/* file_reader_open.c - descriptions of our own for a file that somebody lends us.
 *
 * What we need cannot be set on the lent descriptor: its description may be shared
 * with a process that reads in another pattern, and O_DIRECT or the position would
 * change under its feet.  Opening the link in /proc makes a new description, also of
 * a file whose name is gone. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "hash/read/file_reader_internal.h"

enum { USUAL_ALIGN = 4096 };

/* What another thread closed and opened meanwhile must not be taken for the file. */
static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && stat_same_file(&x, &y);
}

/* Of the thread, not of the process: it may have a table of descriptors of its own.
 * O_NONBLOCK: where somebody holds a lease we do without, and do not wait.  Reads have
 * to: io_uring would answer EAGAIN for what is not on the disk yet. */
int file_reader_reopen(int fd, int flags)
{
	CLEANUP(closep)
	int own = open(proc_fd_path(fd).text,
		       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);

	if (own < 0)
		return -errno;
	if (!is_same_file(own, fd))
		return -EBADF;
	(void)fcntl(own, F_SETFL, flags);
	return TAKE_FD(own);
}

/* 0: the file has no direct reads.  Linux before 6.1 does not tell, and neither do
 * some file systems. */
static size_t told_align(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
	    st.stx_mask & STATX_DIOALIGN)
		return st.stx_dio_offset_align > st.stx_dio_mem_align ?
			       st.stx_dio_offset_align :
			       st.stx_dio_mem_align;
#else
	(void)fd;
#endif
	return USUAL_ALIGN;
}

/* At least a page, so that what is left for the page cache begins with one. */
static size_t align_of(int fd)
{
	size_t align = told_align(fd), page = residency_page();

	return align && align < page ? page : align;
}

int file_reader_open_direct(struct file_reader_job *job)
{
	size_t align = align_of(job->fd);
	int fd;

	if (align == 0 || align & (align - 1) || align > job->options.leaf)
		return -EOPNOTSUPP;
	fd = file_reader_reopen(job->fd, O_DIRECT);
	if (fd < 0)
		return fd;
	job->direct_fd = fd;
	job->direct_align = align;
	return 0;
}

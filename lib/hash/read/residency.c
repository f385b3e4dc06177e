/* residency.c - see residency.h */
#include "hash/read/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/proc.h"

/* Headers before Linux 6.5 do not have these; the number is the same on all
 * architectures. */
enum { CALL_CACHESTAT = 451 };

struct cachestat_range {
	uint64_t offset;
	uint64_t len;
};

struct cachestat_counts {
	uint64_t n_cached; /* pages */
	uint64_t n_dirty;
	uint64_t n_writeback;
	uint64_t n_evicted;
	uint64_t n_recently_evicted;
};

/* Pages that one mincore() is asked about. */
enum { MAP_PAGES = 4096 };

size_t residency_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t pages_of(size_t len)
{
	size_t page = residency_page();

	return len / page + (len % page != 0);
}

static enum residency judge(size_t n_resident, size_t n_pages)
{
	if (n_resident == 0)
		return RESIDENCY_NONE;
	return n_resident < n_pages ? RESIDENCY_PARTLY : RESIDENCY_FULL;
}

static enum residency ask_cachestat(int fd, uint64_t offset, size_t len)
{
	struct cachestat_range range = { offset, len };
	struct cachestat_counts counts;

	if (syscall(CALL_CACHESTAT, fd, &range, &counts, 0) < 0)
		return RESIDENCY_UNKNOWN;
	return judge(counts.n_cached, pages_of(len));
}

static int map_mincore(int fd, uint64_t offset, size_t len, uint8_t *pages)
{
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	int r = 0;

	if (p == MAP_FAILED)
		return -errno;
	if (mincore(p, len, pages) < 0)
		r = -errno;
	(void)munmap(p, len);
	if (r < 0)
		return r;
	for (size_t i = 0; i < pages_of(len); i++)
		pages[i] &= 1; /* the other bits have no meaning yet */
	return 0;
}

static enum residency ask_mincore(int fd, uint64_t offset, size_t len)
{
	size_t page = residency_page(), n_resident = 0;

	for (size_t done = 0; done < len; done += MAP_PAGES * page) {
		size_t left = len - done;
		size_t part = left < MAP_PAGES * page ? left : MAP_PAGES * page;
		uint8_t pages[MAP_PAGES];

		if (map_mincore(fd, offset + done, part, pages) < 0)
			return RESIDENCY_UNKNOWN;
		for (size_t i = 0; i < pages_of(part); i++)
			n_resident += pages[i];
	}
	return judge(n_resident, pages_of(len));
}

/* The page whose presence speaks for a range. */
static size_t probed_page(size_t len)
{
	return len / 2 / residency_page();
}

/* The kernel says EAGAIN for a page that is not there, and begins to read it.  Now
 * and then the page is there before the kernel has answered, and passes for one
 * that was. */
static enum residency ask_probe(int fd, uint64_t offset, size_t len)
{
	uint64_t at = offset + probed_page(len) * residency_page();
	uint8_t byte;
	struct iovec v = { &byte, 1 };

	if (preadv2(fd, &v, 1, (off_t)at, RWF_NOWAIT) == 1)
		return RESIDENCY_FULL;
	return errno == EAGAIN ? RESIDENCY_PARTLY : RESIDENCY_UNKNOWN;
}

/* A page that is being read is not dropped. */
void residency_end_probe(int fd, uint64_t offset, size_t len)
{
	uint64_t at = offset + probed_page(len) * residency_page();
	uint8_t byte;

	(void)!pread(fd, &byte, 1, (off_t)at);
}

/* Of a range that was found wanting by a probe, the probed page alone is known. */
int residency_map(int fd, enum residency_means means, uint64_t offset,
		  size_t len, uint8_t *pages)
{
	if (means != RESIDENCY_PROBE)
		return map_mincore(fd, offset, len, pages);
	memset(pages, 1, pages_of(len));
	pages[probed_page(len)] = 0;
	return 0;
}

/* mincore() does not refuse others: it calls all pages resident. */
static bool mincore_is_honest(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	return geteuid() == 0 || st.st_uid == geteuid() ||
	       faccessat(AT_FDCWD, proc_fd_path(fd).text, W_OK, AT_EACCESS) ==
		       0;
}

/* The pages of an overlay's file are those of the file beneath, where a mapping
 * leads; cachestat() looks at the upper one, which has none. */
static bool cachestat_is_honest(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

enum residency_means residency_find_means(int fd)
{
	if (cachestat_is_honest(fd) &&
	    ask_cachestat(fd, 0, residency_page()) != RESIDENCY_UNKNOWN)
		return RESIDENCY_CACHESTAT;
	return mincore_is_honest(fd) ? RESIDENCY_MINCORE : RESIDENCY_PROBE;
}

enum residency residency_ask(int fd, enum residency_means means,
			     uint64_t offset, size_t len)
{
	static enum residency (*const ask[])(int, uint64_t, size_t) = {
		[RESIDENCY_CACHESTAT] = ask_cachestat,
		[RESIDENCY_MINCORE] = ask_mincore,
		[RESIDENCY_PROBE] = ask_probe,
	};

	return ask[means](fd, offset, len);
}

void residency_drop(int fd, uint64_t offset, size_t len)
{
	(void)posix_fadvise(fd, (off_t)offset, (off_t)len, POSIX_FADV_DONTNEED);
}

/* One call for each run of pages: a range must begin and end with a page, but for
 * the last one of a file. */
void residency_drop_pages(int fd, uint64_t offset, size_t len,
			  const uint8_t *pages)
{
	size_t page = residency_page(), n_pages = pages_of(len);

	for (size_t i = 0, end; i < n_pages; i = end) {
		size_t from = i * page, to;

		for (end = i + 1; end < n_pages && pages[end] == pages[i];)
			end++;
		to = end * page < len ? end * page : len;
		if (!pages[i])
			residency_drop(fd, offset + from, to - from);
	}
}

/* arena_map.c - see arena_map.h
 *
 * The memory is reserved by fallocate(): where the machine has not that much, that is an
 * error here and no SIGBUS later.  It is asked before, since fallocate() itself would
 * rather have the kernel kill somebody than fail (headroom.h).  It is sealed against any
 * change of its size, so a peer cannot cut it off under us either. */
#include "arena/arena_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena/headroom.h"
#include "arena/protocol/failure.h"
#include "base/cleanup.h"

/* As /proc/PID/fd shows it, and `roar arena` finds it. */
#define NAME "roar-arena"

enum {
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
	FLAGS = MFD_CLOEXEC | MFD_ALLOW_SEALING,
	PAGE = 4096,
	HUGE = 2 << 20,
};

static int no_memory(int r, uint64_t bytes)
{
	return failure(
		r,
		"the machine does not have %llu bytes for an arena: %s; make it smaller",
		(unsigned long long)bytes, strerror(-r));
}

static int reserve(int fd, uint64_t bytes)
{
	int r;

	if (ftruncate(fd, (off_t)bytes) < 0)
		return no_memory(-errno, bytes);
	do
		r = fallocate(fd, 0, 0, (off_t)bytes);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return no_memory(-errno, bytes);
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return failure(-errno,
			       "the arena's memory cannot be sealed: %s",
			       strerror(errno));
	return 0;
}

static int map(int fd, uint64_t bytes, void **ret)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0);

	if (base == MAP_FAILED)
		return failure(-errno,
			       "an arena of %llu bytes cannot be mapped: %s",
			       (unsigned long long)bytes, strerror(errno));
	*ret = base;
	return 0;
}

static int set_up(const struct arena_geometry *g, int fd, uint64_t bytes,
		  uint32_t page_bytes, struct arena_map *ret)
{
	void *base = NULL;
	int r = map(fd, bytes, &base);

	if (r < 0)
		return r;
	geometry_map(g, base, ret);
	ret->mapped_bytes = bytes;
	geometry_format(ret, page_bytes);
	return 0;
}

/* Pages that the machine has set aside.  Few have: then it is as if nobody had asked. */
static int create_huge(const struct arena_geometry *g, int *ret_fd,
		       struct arena_map *ret)
{
	uint64_t bytes = (g->total_bytes + HUGE - 1) / HUGE * HUGE;
	CLEANUP(closep) int fd = -1;
	int r;

	fd = memfd_create(NAME, FLAGS | MFD_HUGETLB | MFD_HUGE_2MB);
	if (fd < 0)
		return -errno;
	r = reserve(fd, bytes);
	if (r == 0)
		r = set_up(g, fd, bytes, HUGE, ret);
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

int arena_map_create(const struct arena_geometry *g, int *ret_fd,
		     struct arena_map *ret)
{
	CLEANUP(closep) int fd = -1;
	int r;

	if (g->flags & ROAR_ARENA_HUGE && create_huge(g, ret_fd, ret) == 0)
		return 0;
	fd = memfd_create(NAME, FLAGS);
	if (fd < 0)
		return failure(-errno, "cannot create shared memory: %s",
			       strerror(errno));
	if (g->total_bytes > headroom_bytes())
		return no_memory(-ENOSPC, g->total_bytes);
	r = reserve(fd, g->total_bytes);
	if (r == 0)
		r = set_up(g, fd, g->total_bytes, PAGE, ret);
	if (r < 0)
		return r;
	/* Where huge pages of shared memory are allowed; else nothing comes of it. */
	if (g->flags & ROAR_ARENA_HUGE)
		(void)madvise(ret->base, ret->mapped_bytes, MADV_HUGEPAGE);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The size of a descriptor's memory, if that cannot change any more. */
static int sealed_size(int fd, uint64_t *ret)
{
	struct stat st;
	int seals;

	if (fstat(fd, &st) < 0)
		return failure(-errno,
			       "the descriptor %d of an arena is not open", fd);
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 ||
	    (seals & (SEALS & ~F_SEAL_SEAL)) != (SEALS & ~F_SEAL_SEAL) ||
	    st.st_size < PAGE)
		return failure(
			-EINVAL,
			"the descriptor %d is not an arena: pass the one of roar_arena_fd()",
			fd);
	*ret = (uint64_t)st.st_size;
	return 0;
}

/* The header is read by itself first, into memory of our own, so that nobody can
 * change it while it is checked. */
static int read_geometry(int fd, struct arena_geometry *ret, uint64_t *ret_size)
{
	struct arena_header h;
	int r = sealed_size(fd, ret_size);

	if (r < 0)
		return r;
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return failure(-EINVAL,
			       "the memory of descriptor %d cannot be read: %s",
			       fd, strerror(errno));
	return geometry_from_header(&h, *ret_size, ret);
}

int arena_map_attach(int fd, struct arena_map *ret)
{
	struct arena_geometry g;
	void *base = NULL;
	uint64_t size = 0;
	int r = read_geometry(fd, &g, &size);

	if (r == 0)
		r = map(fd, size, &base);
	if (r == -EACCES || r == -EPERM)
		return failure(
			-EACCES,
			"the descriptor %d of an arena is read-only: pass the one of roar_arena_fd()",
			fd);
	if (r < 0)
		return r;
	geometry_map(&g, base, ret);
	ret->mapped_bytes = size;
	return 0;
}

void arena_map_release(struct arena_map *m)
{
	if (m->base)
		(void)munmap(m->base, m->mapped_bytes);
	m->base = NULL;
}

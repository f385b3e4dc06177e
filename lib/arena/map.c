/* map.c - see map.h
 *
 * The memory is reserved by fallocate(): where the machine has not that much, that is an
 * error here and no SIGBUS later.  It is asked before, since fallocate() itself would
 * rather have the kernel kill somebody than fail (headroom.h).  It is sealed against any
 * change of its size, so a peer cannot cut it off under us either. */
#include "arena/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena/failure.h"
#include "arena/headroom.h"
#include "base/cleanup.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static int no_memory(int r, uint64_t bytes)
{
	return failure(
		r,
		"the machine has no %llu bytes for an arena: %s; make it smaller",
		(unsigned long long)bytes, strerror(-r));
}

static int reserve(int fd, uint64_t bytes)
{
	int r;

	if (bytes > headroom_bytes())
		return no_memory(-ENOSPC, bytes);
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

int arena_map_create(const struct arena_geometry *g, int *ret_fd,
		     struct arena_map *ret)
{
	CLEANUP(closep) int fd = -1;
	void *base = NULL;
	int r;

	fd = memfd_create("roar-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return failure(-errno, "no memory can be shared here: %s",
			       strerror(errno));
	r = reserve(fd, g->total_bytes);
	if (r == 0)
		r = map(fd, g->total_bytes, &base);
	if (r < 0)
		return r;
	geometry_map(g, base, ret);
	geometry_format(ret, 4096);
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
	    st.st_size < 4096)
		return failure(
			-EINVAL,
			"the descriptor %d is of no arena: hand on the one of roar_arena_fd()",
			fd);
	*ret = (uint64_t)st.st_size;
	return 0;
}

/* The header is read by itself first, into memory of our own, so that nobody can
 * change it while it is checked. */
static int read_geometry(int fd, struct arena_geometry *ret)
{
	struct arena_header h;
	uint64_t size = 0;
	int r = sealed_size(fd, &size);

	if (r < 0)
		return r;
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return failure(
			-EINVAL,
			"the memory behind descriptor %d cannot be read: %s",
			fd, strerror(errno));
	return geometry_from_header(&h, size, ret);
}

int arena_map_attach(int fd, struct arena_map *ret)
{
	struct arena_geometry g;
	void *base = NULL;
	int r = read_geometry(fd, &g);

	if (r == 0)
		r = map(fd, g.total_bytes, &base);
	if (r == 0)
		geometry_map(&g, base, ret);
	return r;
}

void arena_map_release(struct arena_map *m)
{
	if (m->base)
		(void)munmap(m->base, m->g.total_bytes);
	m->base = NULL;
}

/* A file opened, and one made, by way of io_uring: no system call tells of them. */
#include "workload.h"

#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

struct ring {
	int fd;
	struct io_uring_params params;
	char *sq;
	char *cq;
	struct io_uring_sqe *entries;
};

static int set_up(struct io_uring_params *params)
{
	return (int)syscall(SYS_io_uring_setup, 4, params);
}

static char *map(const struct ring *r, size_t len, off_t what)
{
	return CHECK(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			  what));
}

static void ring_init(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = CHECK(set_up(&r->params));
	r->sq = map(r, r->params.sq_off.array + 4 * sizeof(unsigned),
		    IORING_OFF_SQ_RING);
	r->cq = map(r,
		    r->params.cq_off.cqes +
			    r->params.cq_entries * sizeof(struct io_uring_cqe),
		    IORING_OFF_CQ_RING);
	r->entries = (void *)map(r, 4 * sizeof(struct io_uring_sqe),
				 IORING_OFF_SQES);
}

/* Hands in one request and waits for its result. */
static int ask(struct ring *r, const struct io_uring_sqe *request)
{
	_Atomic unsigned *tail = (void *)(r->sq + r->params.sq_off.tail);
	_Atomic unsigned *head = (void *)(r->cq + r->params.cq_off.head);
	unsigned mask = *(unsigned *)(r->sq + r->params.sq_off.ring_mask);
	unsigned cq_mask = *(unsigned *)(r->cq + r->params.cq_off.ring_mask);
	unsigned at = atomic_load(tail);
	struct io_uring_cqe *done;

	r->entries[at & mask] = *request;
	((unsigned *)(r->sq + r->params.sq_off.array))[at & mask] = at & mask;
	atomic_store(tail, at + 1);
	CHECK(syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS,
		      NULL, 0));
	done = (struct io_uring_cqe *)(r->cq + r->params.cq_off.cqes);
	at = atomic_load(head);
	atomic_store(head, at + 1);
	return done[at & cq_mask].res;
}

static int open_by_ring(struct ring *r, const char *path, int flags)
{
	struct io_uring_sqe request = {
		.opcode = IORING_OP_OPENAT,
		.fd = AT_FDCWD,
		.addr = (uint64_t)(uintptr_t)path,
		.len = 0644,
		.open_flags = (uint32_t)flags,
	};

	return ask(r, &request);
}

void prepare(void)
{
	struct io_uring_params params = { 0 };

	if (set_up(&params) < 0)
		skip("no io_uring here");
	put("in.txt", "hello");
	put("old.txt", "hello");
}

void act(void)
{
	struct ring r;
	int fd;

	ring_init(&r);
	REQUIRE(open_by_ring(&r, "missing", O_RDONLY) == -ENOENT);
	fd = open_by_ring(&r, "in.txt", O_RDONLY);
	REQUIRE(fd >= 0);
	take_fd(fd);
	fd = open_by_ring(&r, "new.txt", O_WRONLY | O_CREAT | O_EXCL);
	REQUIRE(fd >= 0);
	put_fd(fd, "x");
	fd = open_by_ring(&r, "old.txt", O_WRONLY | O_TRUNC);
	REQUIRE(fd >= 0);
	put_fd(fd, "x");
	expect("except ebpf gap io_uring");
	expect("only ebpf input in.txt");
	expect("only ebpf output new.txt");
	expect("only ebpf output old.txt");
}

/* acceptor.c - see acceptor.h */
#include "net/acceptor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum {
	BATCH = 64, /* accepted in a row, before others get their turn */
	REST_MS = 100, /* when the system has no memory for sockets */
};

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* False when no client waits (the kernel looks for a descriptor before it looks for a
 * client), or it cannot be done. */
static bool refuse_one(struct acceptor *a)
{
	closep(&a->spare_fd);

	int fd = accept4(a->fd.fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		(*a->n_refused)++;
	closep(&fd);
	a->spare_fd = open_spare();
	return fd >= 0 && a->spare_fd >= 0;
}

/* The loop does not call for a while. */
static void rest(struct acceptor *a)
{
	if (loop_timer_set(a->loop, &a->rest, loop_now_ms(a->loop) + REST_MS) ==
	    0)
		(void)loop_change(a->loop, &a->fd, 0);
}

static void on_rested(struct loop_timer *t)
{
	struct acceptor *a = container_of(t, struct acceptor, rest);

	(void)loop_change(a->loop, &a->fd, EPOLLIN);
}

/* True when there may be another one. */
static bool accept_one(struct acceptor *a)
{
	CLEANUP(closep)
	int fd = accept4(a->fd.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		bool another = refuse_one(a);

		if (a->spare_fd < 0)
			rest(a);
		return another;
	}
	if (fd < 0 && (errno == ENOBUFS || errno == ENOMEM)) {
		rest(a);
		return false;
	}
	if (fd < 0) /* gone again, or none left */
		return errno != EAGAIN;
	if (a->take(a, fd) < 0)
		(*a->n_refused)++;
	else
		(void)TAKE_FD(fd);
	return true;
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct acceptor *a = container_of(f, struct acceptor, fd);

	(void)events;
	for (int i = 0; i < BATCH; i++)
		if (!accept_one(a))
			break;
}

int acceptor_open(struct acceptor *a, struct loop *loop, int listener,
		  int (*take)(struct acceptor *a, int fd), uint64_t *n_refused)
{
	int r;

	assert(listener >= 0 && take && n_refused);
	*a = (struct acceptor){ .fd = { .fd = listener, .ready = on_ready },
				.rest = { .due = on_rested },
				.loop = loop,
				.spare_fd = open_spare(),
				.take = take,
				.n_refused = n_refused };
	if (a->spare_fd < 0)
		return -errno;
	r = loop_add(loop, &a->fd, EPOLLIN);
	if (r < 0)
		closep(&a->spare_fd);
	return r;
}

void acceptor_close(struct acceptor *a)
{
	loop_timer_clear(a->loop, &a->rest);
	loop_remove(a->loop, &a->fd);
	closep(&a->spare_fd);
}

/* thread_fd.h - a descriptor of the thread that stops most often.
 *
 * It replaces a path through /proc for what is needed at every stop.  It is opened when
 * it is first needed and closed before the thread ends.  One thread has it at a time,
 * so there are few. */
#ifndef ROAR_TRACE_CALL_THREAD_FD_H
#define ROAR_TRACE_CALL_THREAD_FD_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

struct thread_fd {
	pid_t tid; /* the thread, 0 none */
	bool open;
	int fd; /* valid while open */
};

static inline void thread_fd_drop(struct thread_fd *h)
{
	if (h->open)
		(void)close(h->fd);
	h->open = false;
}

/* Replaces the descriptor by a new one, or by none if `fd` is negative. */
static inline bool thread_fd_take(struct thread_fd *h, int fd)
{
	thread_fd_drop(h);
	h->fd = fd;
	h->open = fd >= 0;
	return h->open;
}

/* Assigns it to this thread, or to none (0). */
static inline void thread_fd_attach(struct thread_fd *h, pid_t tid)
{
	if (h->tid == tid)
		return;
	thread_fd_drop(h);
	h->tid = tid;
}

#endif

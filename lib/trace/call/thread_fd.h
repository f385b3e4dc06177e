/* thread_fd.h - a descriptor for the thread that stops most.
 *
 * What is asked of it at every stop is asked by a descriptor, without the way
 * through /proc.  It is opened when it is first needed, and is closed before the
 * thread is gone: there is one thread at a time, so these are few. */
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

/* Takes a new descriptor, or a negative value, in place of the one it has. */
static inline bool thread_fd_take(struct thread_fd *h, int fd)
{
	thread_fd_drop(h);
	h->fd = fd;
	h->open = fd >= 0;
	return h->open;
}

/* For this thread from now on, or for none (0). */
static inline void thread_fd_attach(struct thread_fd *h, pid_t tid)
{
	if (h->tid == tid)
		return;
	thread_fd_drop(h);
	h->tid = tid;
}

#endif

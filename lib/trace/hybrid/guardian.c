/* guardian.c - the process that answers when the tracer has died
 *
 * When the listener is closed, every filtered call of a process fails with ENOSYS.  So
 * a small process of its own holds the listener as well.  It sleeps until the tracer is
 * dead or hands over.  Then it answers the current call, which is in a shared page
 * because the kernel itself wrote it there, and all that follow with "continue", until
 * the last process has ended.  Finally it removes the log, unless the run can be
 * recovered from it.
 *
 * It is a copy of the tracer that uses nothing of it: system calls only, no allocation,
 * no descriptor but its own three, a session of its own. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "trace/hybrid/hybrid_internal.h"

/* The signal of its end; see guardian_check(). */
enum { END_SIGNAL = SIGUSR1 };

/* ---- in the guardian ---- */

enum { FD_TRACER, FD_LINE, FD_LISTENER, N_FDS };

/* Messages on the socket. */
enum word { WORD_LISTENER, WORD_SERVE };

static void close_others(const int fds[N_FDS])
{
	unsigned from = 0;

	/* Between one kept descriptor and the next, from below. */
	for (;;) {
		unsigned next = ~0U;

		for (int i = 0; i < N_FDS; i++)
			if (fds[i] >= 0 && (unsigned)fds[i] >= from &&
			    (unsigned)fds[i] < next)
				next = (unsigned)fds[i];
		if (next > from)
			(void)syscall(SYS_close_range, from, next - 1, 0);
		if (next == ~0U)
			return;
		from = next + 1;
	}
}

/* Moves the descriptors it needs to 0, 1, 2 and closes all others: those first,
 * because the limit of descriptors may be low. */
static bool keep_only(int fds[N_FDS])
{
	close_others(fds);
	/* Moved out of the way: they may have a number that another needs. */
	for (int i = 0; i < N_FDS; i++)
		if (fds[i] >= 0) {
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, N_FDS);
			if (fds[i] < 0)
				return false;
		}
	for (int i = 0; i < N_FDS; i++) {
		if (fds[i] >= 0)
			(void)dup2(fds[i], i);
		else
			(void)close(i);
	}
	return syscall(SYS_close_range, N_FDS, ~0U, 0) == 0;
}

static void close_log(const struct hybrid *h)
{
	atomic_store(&h->file.header->closed, 1);
	(void)syscall(SYS_futex, &h->file.header->answered, FUTEX_WAKE,
		      INT32_MAX, NULL, NULL, 0);
}

static void serve(struct guard_page *page)
{
	struct pollfd line = { .fd = FD_LISTENER, .events = POLLIN };

	if (page->request.id)
		(void)notify_continue(FD_LISTENER, page->request.id);
	for (int i = 0; i < ATTACHING; i++)
		if (page->attaching[i].id)
			(void)notify_continue(FD_LISTENER,
					      page->attaching[i].id);
	for (;;) {
		if (poll(&line, 1, -1) < 0)
			continue;
		if (line.revents & (POLLHUP | POLLNVAL | POLLERR))
			return;
		memset(page, 0, sizeof(*page));
		if (ioctl(FD_LISTENER, SECCOMP_IOCTL_NOTIF_RECV,
			  &page->request) == 0)
			(void)notify_continue(FD_LISTENER, page->request.id);
	}
}

/* The time for which the log is kept starts now. */
static bool leave_log(const struct hybrid *h)
{
	return h->file.path[0] && h->o.job->run &&
	       utimensat(AT_FDCWD, h->file.path, NULL, 0) == 0;
}

/* Waits until the tracer hands over, or (false) is dead.  Earlier messages are read
 * first.  The end of the socket does not mean the death of the tracer yet: the front
 * process has to see that first, or it would not know how a short command ended. */
static bool await_word(bool *ret_listens)
{
	struct pollfd wait[] = { { FD_LINE, POLLIN, 0 },
				 { FD_TRACER, POLLIN, 0 } };
	char word;
	int fd;

	for (;;) {
		if (poll(wait, 2, -1) < 0)
			continue;
		if (!wait[0].revents)
			return false;
		if (fd_receive(FD_LINE, &word, 1, 0, &fd) != 1) {
			wait[0] = (struct pollfd){ .fd = -1 };
			continue;
		}
		if (word == WORD_SERVE)
			return true;
		if (fd >= 0 && fd != FD_LISTENER) {
			(void)dup2(fd, FD_LISTENER);
			(void)close(fd);
		}
		*ret_listens = fd >= 0;
	}
}

static _Noreturn void guard(struct hybrid *h, int tracer, int line)
{
	int fds[N_FDS] = { tracer, line, -1 };
	bool listens = false;
	sigset_t all;
	bool left;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "roar-guardian");
	(void)setsid();
	(void)chdir("/");
	if (!keep_only(fds))
		_exit(1);
	left = !await_word(&listens);
	close_log(h);
	left = left && leave_log(h);
	if (listens)
		serve(h->guardian.page);
	if (h->file.path[0] && !left)
		(void)unlink(h->file.path);
	_exit(0);
}

/* ---- in the tracer ---- */

static int make(struct hybrid *h, int line)
{
	int tracer = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid;

	if (tracer < 0)
		return -errno;
	/* Not SIGCHLD: a wait for children must not find it. */
	pid = (pid_t)syscall(SYS_clone, END_SIGNAL, 0, 0, 0, 0);
	if (pid == 0)
		guard(h, tracer, line);
	(void)close(tracer);
	if (pid < 0)
		return -errno;
	h->guardian.pid = pid;
	return 0;
}

int guardian_start(struct hybrid *h)
{
	int line[2];
	int r;

	assert(!h->guardian.pid);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0)
		return -errno;
	closep(&h->guardian.line);
	h->guardian.line = line[0];
	r = make(h, line[1]);
	(void)close(line[1]);
	return r;
}

static int say(const struct hybrid *h, enum word word, int fd)
{
	const char byte = (char)word;

	return fd_send(h->guardian.line, &byte, 1, fd, 0);
}

int guardian_give_listener(const struct hybrid *h)
{
	assert(hybrid_has_filter(h));
	return say(h, WORD_LISTENER, h->listener);
}

static bool has_ended(pid_t pid, int flags)
{
	pid_t r;

	do {
		r = waitpid(pid, NULL, flags | __WALL);
	} while (r < 0 && errno == EINTR);
	return r != 0;
}

void guardian_check(struct hybrid *h)
{
	struct guardian *g = &h->guardian;

	if (!g->pid || g->dismissed || !has_ended(g->pid, WNOHANG))
		return;
	g->pid = 0;
	if (guardian_start(h) == 0 && hybrid_has_filter(h))
		(void)guardian_give_listener(h);
}

void guardian_hand_over(struct hybrid *h)
{
	h->guardian.pid = 0; /* it lives as long as the processes do */
	h->file.path[0] = '\0'; /* and removes the log */
	(void)say(h, WORD_SERVE, -1);
}

void guardian_dismiss(struct hybrid *h)
{
	if (h->guardian.pid)
		(void)kill(h->guardian.pid, SIGKILL);
	h->guardian.dismissed = true;
}

void guardian_stop(struct hybrid *h)
{
	struct guardian *g = &h->guardian;

	if (g->pid) {
		guardian_dismiss(h);
		(void)has_ended(g->pid, 0);
	}
	g->pid = 0;
	closep(&g->line);
	g->line = -1;
}

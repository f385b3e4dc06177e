/* front_tracer.c - what the tracer's process does for the front; see front.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "run/front_internal.h"
#include "trace/tracer.h"

void front_let_go(void)
{
	CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
	int fd;

	front_drop_standard();
	while ((fd = proc_next(dir)) >= 0) {
		int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			(void)close(fd);
	}
}

/* Without terminal and standard descriptors.  Safe in a signal handler. */
static void let_standard_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (null > STDERR_FILENO)
		(void)close(null);
}

void front_leave(struct front *front, int code)
{
	let_standard_go();
	(void)fd_write_all(front->fd, &code, sizeof(code));
	(void)close(front->fd);
	front->fd = -1;
}

/* A process that reads the output of the run would wait for us. */
static void on_front_left(int sig)
{
	int saved = errno;

	(void)sig;
	if (atomic_load(&front_self.page->left))
		let_standard_go();
	errno = saved;
}

static void heed_front(void)
{
	struct sigaction sa = { .sa_handler = on_front_left,
				.sa_flags = SA_RESTART };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGUSR2);
	(void)sigaction(SIGUSR2, &sa, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* Takes what is sent to all of the process group, hence to this process, although it
 * blocks everything: then the command has it as well.  So the front knows without a
 * tracer that sees signals. */
static void *witness(void *ctx)
{
	pid_t front = *(const pid_t *)ctx;
	sigset_t taken;
	siginfo_t info;

	(void)sigfillset(&taken);
	(void)sigdelset(&taken, SIGCHLD);
	(void)sigdelset(&taken, SIGALRM); /* the tracer's own */
	(void)sigdelset(&taken, SIGUSR1);
	for (;;) {
		int sig = sigwaitinfo(&taken, &info);

		if (sig == SIGUSR2 && info.si_pid == front)
			on_front_left(sig);
		else if (sig > 0)
			atomic_store(&front_self.control->signal_ns[sig],
				     clock_now_ns());
	}
	return NULL;
}

void front_witness(struct front *front)
{
	enum { STACK = 64 * 1024 };
	pthread_attr_t attr;
	pthread_t thread;

	if (atomic_load(&front_self.control->sees_signals) ||
	    pthread_attr_init(&attr) != 0)
		return;
	(void)pthread_attr_setstacksize(&attr, STACK);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, witness, &front->pid) == 0) {
		atomic_store(&front_self.page->witnessed, 1);
		atomic_store(&front_self.control->sees_signals, 1);
	}
	(void)pthread_attr_destroy(&attr);
}

/* The signal that ended the command reached the front, too, which may not have run
 * yet. */
int front_count_interrupts(struct front *front, int status)
{
	struct timespec moment = { 0, 1000000 };
	_Atomic int *n = &front->control->n_interrupts;

	for (int i = 0; i < 30 && !atomic_load(n) && WIFSIGNALED(status) &&
			front_asks_to_end(WTERMSIG(status));
	     i++)
		(void)nanosleep(&moment, NULL);
	return atomic_load(n);
}

void front_ended(struct front *front, int status, unsigned rest)
{
	int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	(void)front;
	if (rest & FRONT_SERVES)
		heed_front();
	atomic_store(&front_self.page->by, by);
	atomic_store(&front_self.page->rest, rest);
	atomic_store(&front_self.page->ended_ns, clock_now_ns());
	atomic_store(&front_self.page->code,
		     by ? 128 + by : WEXITSTATUS(status));
}

/* SIGSTOP cannot be held back, so the front could not do it in the right order (see
 * front_stop_likewise()); here the order is that of the command. */
void front_stop(const struct front *front, int sig)
{
	int message = -sig;

	if (getppid() != front->pid)
		return; /* it was killed */
	if (sig != SIGCONT)
		atomic_store(&front_self.page->stopped_ns, clock_now_ns());
	if (sig == SIGCONT || sig == SIGSTOP)
		(void)kill(front->pid, sig);
	else if (front->fd >= 0)
		(void)fd_write_all(front->fd, &message, sizeof(message));
}

/* front.c - see front.h */
#include "run/front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli.h"
#include "trace/tracer.h"

enum {
	/* How long a signal sent to the whole group may take to be seen. */
	SETTLE_NS = 30000000,
};

static const int64_t INSIST_NS = 5000000000; /* between two Ctrl-C */

/* The handler's view of the world; a program has one front. */
static struct tracer_control *shared;
static pid_t tracer_pid;
static volatile sig_atomic_t asked[65]; /* signals to pass on */
static int64_t stopped_ns; /* when we last stopped; 0 never */

/* The signals that are passed on; for stop signals see stop_likewise(). */
static const int passed_on[] = {
	SIGHUP,	 SIGINT,  SIGQUIT, SIGUSR1,   SIGUSR2,
	SIGALRM, SIGTERM, SIGCONT, SIGTSTP,   SIGWINCH,
	SIGURG,	 SIGIO,	  SIGPWR,  SIGVTALRM, SIGPROF,
};
enum { N_PASSED_ON = sizeof(passed_on) / sizeof(passed_on[0]) };

/* ---- front ---- */

/* The command has ended and we are only hashing: then the journal has it all, and
 * the next roar command makes the record. */
static void kill_tree(void)
{
	pid_t command = atomic_load(&shared->command);

	atomic_store(&shared->kill_all, 1);
	if (command > 0)
		(void)kill(command, SIGKILL);
	(void)kill(tracer_pid, command < 0 ? SIGKILL : SIGUSR1);
}

/* Two within a few seconds mean it; a program that lives on Ctrl-C (a prompt) gets
 * them one by one. */
static bool is_second_interrupt(void)
{
	static int64_t last_ns;
	int64_t now = clock_mono_ns();
	bool second = last_ns && now - last_ns < INSIST_NS;

	last_ns = now;
	return second;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT)
		atomic_fetch_add(&shared->n_interrupts, 1);
	if (sig == SIGINT && is_second_interrupt())
		kill_tree();
	else if (info->si_code <= 0 || atomic_load(&shared->sees_signals))
		asked[sig] = 1;
	errno = saved;
}

static void catch_signals(const sigset_t *ignored)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART };

	(void)sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < N_PASSED_ON; i++)
		if (!sigismember(ignored, passed_on[i]))
			(void)sigaction(passed_on[i], &sa, NULL);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		if (!sigismember(ignored, sig))
			(void)sigaction(sig, &sa, NULL);
	/* Only the command's stop is ours. */
	(void)signal(SIGTTIN, SIG_IGN);
	(void)signal(SIGTTOU, SIG_IGN);
}

/* Was it sent to the command, too?  Give it a moment to arrive.  What continued
 * us may be long past by the time we run again, so it counts from our stop. */
static void pass_on(int sig)
{
	struct timespec moment = { 0, SETTLE_NS };
	int64_t since = clock_now_ns() - SETTLE_NS;
	pid_t command = atomic_load(&shared->command);

	if (sig == SIGCONT && stopped_ns)
		since = stopped_ns;
	(void)nanosleep(&moment, NULL);
	if (atomic_load(&shared->signal_ns[sig]) < since && command > 0)
		(void)kill(command, sig);
}

static void pass_on_asked(void)
{
	if (atomic_load(&shared->command) == 0)
		return; /* not there yet; the signal stays asked for */
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		if (!asked[sig])
			continue;
		asked[sig] = 0;
		pass_on(sig);
	}
}

/* The command has stopped: so do we, unless it goes on already.  The tracer
 * wakes us when it does. */
static void stop_likewise(int sig)
{
	struct sigaction stop = { .sa_handler = SIG_DFL };
	struct sigaction before = { .sa_handler = SIG_DFL };
	sigset_t one;

	if (!atomic_load(&shared->stopped))
		return;
	(void)sigemptyset(&one);
	(void)sigaddset(&one, sig);
	(void)sigaction(sig, &stop, &before);
	stopped_ns = clock_now_ns();
	(void)raise(sig);
	/* Here it takes effect, and here we come back. */
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)sigprocmask(SIG_BLOCK, &one, NULL);
	if (sig != SIGSTOP)
		(void)sigaction(sig, &before, NULL);
}

/* Waits for the next number on the line; false at its end. */
static bool next_message(int fd, const sigset_t *mask, int *ret)
{
	struct pollfd line = { .fd = fd, .events = POLLIN };
	/* An early signal waits for the command's pid. */
	struct timespec soon = { 0, 20000000 };

	for (;;) {
		bool early = atomic_load(&shared->command) == 0;
		int n = ppoll(&line, 1, early ? &soon : NULL, mask);

		pass_on_asked();
		if (n > 0)
			break;
	}
	return fd_read_all(fd, ret, sizeof(*ret)) == sizeof(*ret);
}

/* Waits for an exit code on the line (stop signals come as negative numbers), or
 * for its end: returns true with a code. */
static bool wait_for_code(int fd, const sigset_t *mask, int *ret_code)
{
	while (next_message(fd, mask, ret_code)) {
		if (*ret_code >= 0)
			return true;
		stop_likewise(-*ret_code);
	}
	return false;
}

static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	(void)cli_fail("the tracer was ended by signal %d (%s), and with it "
		       "the command: the next roar command completes the "
		       "record from its journal",
		       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}

/* Standard input and output become nothing, so that whoever reads or writes the
 * other end sees the command close them. */
static void drop_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	(void)dup3(null, STDIN_FILENO, O_CLOEXEC);
	(void)dup3(null, STDOUT_FILENO, O_CLOEXEC);
	if (null > STDERR_FILENO)
		(void)close(null);
}

static int be_front(int fd)
{
	sigset_t none;
	int code;

	drop_standard();
	(void)dup3(fd, STDERR_FILENO + 1, O_CLOEXEC);
	fd = STDERR_FILENO + 1;
	(void)close_range((unsigned)fd + 1, ~0U, 0);
	(void)sigemptyset(&none);
	if (wait_for_code(fd, &none, &code)) {
		(void)close(fd);
		return code;
	}
	(void)close(fd);
	return reap(tracer_pid);
}

/* ---- tracer ---- */

DEFINE_CLEANUP(DIR *, closedir)

void front_let_go(void)
{
	CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	drop_standard();
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			(void)close(fd);
	}
}

void front_leave(struct front *front, int code)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	(void)fd_write_all(front->fd, &code, sizeof(code));
	(void)close(front->fd);
	front->fd = -1;
}

void front_stop(const struct front *front, int sig)
{
	int message = -sig;

	if (sig == SIGCONT)
		(void)kill(front->pid, SIGCONT);
	else if (front->fd >= 0)
		(void)fd_write_all(front->fd, &message, sizeof(message));
}

/* ---- both ---- */

static void note_ignored(sigset_t *ret)
{
	(void)sigemptyset(ret);
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		struct sigaction sa;

		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			(void)sigaddset(ret, sig);
	}
}

static _Noreturn void be_tracer(struct front *front,
				int (*body)(struct front *, void *), void *ctx)
{
	/* A caller that ignores SIGCHLD would keep us from waiting; SIGXFSZ
	 * would end us where an error can be reported. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	exit(body(front, ctx));
}

int front_run(int (*body)(struct front *front, void *ctx), void *ctx)
{
	struct front front = { .pid = getpid(), .fd = -1 };
	sigset_t all;
	int line[2];

	front.control = tracer_control_new();
	if (!front.control)
		return -ENOMEM;
	if (pipe2(line, O_CLOEXEC) < 0)
		return -errno;
	shared = front.control;
	note_ignored(&front.ignored);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &front.mask);
	tracer_pid = fork();
	if (tracer_pid < 0) {
		int r = -errno;

		(void)sigprocmask(SIG_SETMASK, &front.mask, NULL);
		(void)close(line[0]);
		(void)close(line[1]);
		return r;
	}
	if (tracer_pid == 0) {
		(void)close(line[0]);
		front.fd = line[1];
		be_tracer(&front, body, ctx);
	}
	(void)close(line[1]);
	(void)signal(SIGCHLD, SIG_DFL);
	catch_signals(&front.ignored);
	return be_front(line[0]);
}

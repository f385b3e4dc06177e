/* front.c - see front.h */
#include "run/front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "run/front_internal.h"
#include "run/orphan.h"
#include "trace/tracer.h"

struct front_self front_self = { .command_fd = -1 };

/* ---- when only the record is missing ---- */

/* A bar may stand in the line. */
static void say_of_record(const char *what, const char *how)
{
	if (isatty(STDERR_FILENO))
		(void)fd_write_all(STDERR_FILENO, "\r\033[K", 4);
	(void)cli_fail("the command has ended, %s%s", what, how);
}

static int tell_unfinished(const char *why)
{
	say_of_record(why, atomic_load(&front_self.page->rest) & FRONT_JOURNAL ?
				   ": the next roar command completes the "
				   "record from its journal" :
				   ": this run is not recorded");
	return atomic_load(&front_self.page->code);
}

/* Ends without the record.  A tracer that serves processes continues: they would die
 * with it. */
static int leave_record(void)
{
	int status;

	if (atomic_load(&front_self.page->rest) & FRONT_SERVES) {
		say_of_record("and the record is completed in the background",
			      "");
		atomic_store(&front_self.page->left, 1);
		(void)kill(front_self.tracer, SIGUSR2);
		return atomic_load(&front_self.page->code);
	}
	(void)kill(front_self.tracer, SIGKILL);
	if (waitpid(front_self.tracer, &status, 0) == front_self.tracer &&
	    WIFEXITED(status))
		return WEXITSTATUS(status);
	return tell_unfinished("but hashing was interrupted");
}

/* ---- waiting ---- */

enum wake { WAKE_NEWS, WAKE_SIGNAL, WAKE_LEAVE };

/* The command exists. */
static void begin(void)
{
	pid_t command = atomic_load(&front_self.control->command);

	front_note_early();
	if (command > 0)
		front_self.command_fd = orphan_foresee(command);
}

/* Waits until there is something on the line, or a signal was taken; WAKE_LEAVE when
 * we are to leave without the line.  While the command does not exist, its signals
 * wait in the kernel. */
static enum wake wait_for_news(int fd)
{
	struct pollfd line = { .fd = fd, .events = POLLIN };
	struct timespec soon = { 0, 20000000 };
	static bool begun;
	bool early = atomic_load(&front_self.control->command) == 0;
	sigset_t none;
	int n;

	if (!early && !begun)
		begin();
	begun |= !early;
	(void)sigemptyset(&none);
	n = ppoll(&line, 1, early ? &soon : NULL, early ? NULL : &none);
	if (front_take_signal())
		return WAKE_LEAVE;
	return n > 0 ? WAKE_NEWS : WAKE_SIGNAL;
}

static bool wait_for_line(int fd)
{
	enum wake wake;

	while ((wake = wait_for_news(fd)) == WAKE_SIGNAL)
		;
	return wake == WAKE_NEWS;
}

/* ---- without a tracer ---- */

static void say_killed(int sig, const char *what)
{
	(void)cli_fail(
		"the tracer was killed by signal %d (%s), %s: the next roar "
		"command completes the record from its journal",
		sig, strsignal(sig), what);
}

/* Does what the command does until it has ended: its wait status, or -1. */
static int follow(struct orphan *o)
{
	int value;

	for (;;) {
		enum orphan_news news = orphan_next(o, &value);

		if (news == ORPHAN_ENDED)
			return value;
		if (news == ORPHAN_STOPPED)
			front_stop_likewise(value, true);
		else
			(void)wait_for_news(o->fd);
	}
}

/* Has it ended with its tracer?  That takes a moment. */
static bool has_died(struct orphan *o, int *ret_status)
{
	struct timespec tick = { 0, FRONT_SETTLE_NS / 10 };

	for (int i = 0; i < 10; i++) {
		enum orphan_news news = orphan_next(o, ret_status);

		if (news == ORPHAN_ENDED)
			return true;
		if (news == ORPHAN_STOPPED)
			front_stop_likewise(*ret_status, true);
		(void)nanosleep(&tick, NULL);
	}
	return false;
}

/* The command continues, and so do we.  `sig` has ended the tracer. */
static int go_on_alone(struct orphan *o, int sig)
{
	int status = -1;
	bool died;

	/* Nobody watches what comes to the group any more. */
	atomic_store(&front_self.control->sees_signals, 0);
	atomic_store(&front_self.page->witnessed, 0);
	died = has_died(o, &status);
	front_self.body->rescue(front_self.body->ctx, o->pid);
	if (died && (status < 0 || WIFSIGNALED(status))) {
		say_killed(sig, "and with it the command");
		return 128 + sig;
	}
	say_killed(sig, died ? "the command has ended" :
			       "and the command continues unobserved");
	if (!died)
		status = follow(o);
	if (status < 0) /* its exit status is unknown */
		return 128 + sig;
	atomic_store(&front_self.page->by,
		     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static int reap(void)
{
	struct sigaction sa = { .sa_sigaction = front_on_signal,
				.sa_flags = SA_SIGINFO };
	struct orphan o;
	int status, code;

	(void)sigaction(SIGCHLD, &sa, NULL);
	/* At once: what ends before we look is lost. */
	orphan_init(&o,
		    atomic_load(&front_self.page->code) < 0 ?
			    atomic_load(&front_self.control->command) :
			    0,
		    front_self.command_fd);
	while (waitpid(front_self.tracer, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	front_self.tracer = 0;
	if (WIFEXITED(status))
		code = WEXITSTATUS(status);
	else if (atomic_load(&front_self.page->code) >= 0)
		code = tell_unfinished("but the tracer was killed");
	else
		code = go_on_alone(&o, WTERMSIG(status));
	orphan_release(&o);
	return code;
}

/* An exit code from the line, where stop signals come as negative numbers, or the
 * one of the tracer's process when the line ends. */
static int wait_for_code(int fd)
{
	int message;

	for (;;) {
		if (!wait_for_line(fd))
			return leave_record();
		if (fd_read_all(fd, &message, sizeof(message)) !=
		    sizeof(message))
			return reap();
		if (message >= 0)
			return message;
		front_stop_likewise(-message, false);
	}
}

/* A shell whose loop is interrupted ends it when it sees that the signal ended its
 * child as well; an exit code of 130 would not do. */
static void die_likewise(void)
{
	sigset_t pending;
	sigset_t one;

	/* The tracer's word may have overtaken the signal. */
	if (sigpending(&pending) == 0 && sigismember(&pending, SIGINT))
		front_self.interrupted = true;
	if (!front_self.interrupted ||
	    atomic_load(&front_self.page->by) != SIGINT)
		return;
	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGINT);
	(void)signal(SIGINT, SIG_DFL);
	(void)raise(SIGINT);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

void front_drop_standard(void)
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
	enum { KEPT_FD = STDERR_FILENO + 2 };
	int keep = front_self.body->keep_fd;
	int code;

	front_drop_standard();
	if (keep >= 0) /* out of the way */
		keep = fcntl(keep, F_DUPFD_CLOEXEC, KEPT_FD + 1);
	(void)dup3(fd, STDERR_FILENO + 1, O_CLOEXEC);
	fd = STDERR_FILENO + 1;
	if (keep >= 0)
		(void)dup3(keep, KEPT_FD, O_CLOEXEC);
	(void)close_range(keep >= 0 ? KEPT_FD + 1 : KEPT_FD, ~0U, 0);
	code = wait_for_code(fd);
	(void)close(fd);
	die_likewise();
	return code;
}
/* ---- life ---- */

static struct sigaction inherited_xfsz;

void front_prepare(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)sigaction(SIGXFSZ, &ignore, &inherited_xfsz);
}

void front_restore(void)
{
	(void)sigaction(SIGXFSZ, &inherited_xfsz, NULL);
}

static void note_ignored(sigset_t *ret)
{
	(void)sigemptyset(ret);
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		struct sigaction sa;

		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			(void)sigaddset(ret, sig);
	}
	if (inherited_xfsz.sa_handler != SIG_IGN)
		(void)sigdelset(ret, SIGXFSZ);
}

static _Noreturn void be_tracer(struct front *front)
{
	/* A caller that ignores SIGCHLD would keep us from waiting. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	exit(front_self.body->run(front, front_self.body->ctx));
}

static struct front_page *new_page(void)
{
	struct front_page *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	atomic_store(&p->code, -1);
	return p;
}

int front_run(const struct front_body *what, bool quiet)
{
	struct front front = { .pid = getpid(), .fd = -1 };
	sigset_t all;
	int line[2];

	front.control = tracer_control_new();
	front_self.page = new_page();
	if (!front.control || !front_self.page)
		return -ENOMEM;
	if (pipe2(line, O_CLOEXEC) < 0)
		return -errno;
	front_self.control = front.control;
	front_self.quiet = quiet;
	front_self.body = what;
	note_ignored(&front.ignored);
	front_self.not_ours = front.ignored;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &front.mask);
	front_self.tracer = fork();
	if (front_self.tracer < 0) {
		int r = -errno;

		(void)sigprocmask(SIG_SETMASK, &front.mask, NULL);
		(void)close(line[0]);
		(void)close(line[1]);
		return r;
	}
	if (front_self.tracer == 0) {
		(void)close(line[0]);
		front.fd = line[1];
		be_tracer(&front);
	}
	(void)close(line[1]);
	(void)signal(SIGCHLD, SIG_DFL);
	front_catch_signals();
	return be_front(line[0]);
}

/* front.c - see front.h */
#include "run/front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli.h"
#include "run/foreground.h"
#include "run/orphan.h"
#include "trace/tracer.h"

enum {
	/* How long a signal sent to the whole group may take to be seen. */
	SETTLE_NS = 30000000,
	/* Between two signals of a key that is held down. */
	HELD_NS = 80000000,
	/* How long a command may take to react to Ctrl-C, and how often we look. */
	REACTION_NS = 200000000,
	LOOK_NS = 40000000,
	/* What ended the command may reach us that much later. */
	GUARD_NS = 1000000000,
};

/* Between two Ctrl-C that belong together: for a command that cannot react, and for
 * one that could. */
static const int64_t INSIST_NS = 5000000000;
static const int64_t HURRY_NS = 2000000000;

/* What the tracer's process tells beside the line, so that it is known whatever
 * becomes of that process. */
struct front_page {
	_Atomic int code; /* the command has ended with it; -1: not yet */
	_Atomic int by; /* the signal that ended it; 0 none */
	_Atomic unsigned rest; /* enum front_rest */
	_Atomic int witnessed; /* `signal_ns` is the witness's, see there */
	_Atomic int left; /* the front ends; nobody is to wait for more */
	_Atomic int64_t ended_ns;
	_Atomic int64_t stopped_ns; /* when we were last told to stop; 0 never */
};

/* A program has one front. */
static struct tracer_control *shared;
static struct front_page *page;
static pid_t tracer_pid;
static const struct front_body *body;
static sigset_t not_ours; /* ignored from the start */
static bool is_quiet;
static bool interrupted; /* SIGINT came to us, too */
static int64_t passed_ns[65]; /* when a signal was last passed on */

/* Signals are open only inside of ppoll(), and there one at a time: the handler needs
 * no more than one place, and what it leaves there is ours alone. */
static siginfo_t heard; /* si_signo 0: nothing */

/* ---- front: signals ---- */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	heard = *info;
	heard.si_signo = sig;
}

/* Also those that are ignored: the command may have other plans.  SIGCHLD is the
 * tracer's end, which the line tells. */
static void catch_signals(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };

	(void)sigfillset(&sa.sa_mask);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD)
			(void)sigaction(sig, &sa, NULL);
}

static bool asks_to_end(int sig)
{
	return (sig == SIGINT || sig == SIGTERM || sig == SIGHUP ||
		sig == SIGQUIT) &&
	       !sigismember(&not_ours, sig);
}

/* Signals that the kernel sends to all who sit at a terminal. */
static bool is_for_the_group(const siginfo_t *info)
{
	int sig = info->si_signo;

	return info->si_code > 0 &&
	       (sig == SIGINT || sig == SIGQUIT || sig == SIGCONT ||
		sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU ||
		sig == SIGWINCH);
}

/* Takes back a blocked signal that is waiting for us. */
static void drop_pending(int sig)
{
	struct timespec at_once = { 0, 0 };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, sig);
	(void)sigtimedwait(&one, NULL, &at_once);
}

/* Has the command got it by itself?  The witness cannot tell a signal to the group
 * from one to each process of roar (pkill); a command without a handler takes no
 * harm from the second. */
static bool has_arrived(const siginfo_t *info, pid_t command, int64_t since)
{
	int sig = info->si_signo;

	if (atomic_load(&shared->signal_ns[sig]) < since)
		return false;
	return info->si_code > 0 || !asks_to_end(sig) ||
	       !atomic_load(&page->witnessed) ||
	       foreground_catches(command, sig);
}

/* Was it sent to the command, too?  Give it a moment to arrive.  What continued
 * us may be long past by the time we run again, so it counts from our stop. */
static void pass_on(const siginfo_t *info)
{
	struct timespec moment = { 0, SETTLE_NS };
	int64_t since = clock_now_ns() - SETTLE_NS;
	int sig = info->si_signo;
	pid_t command;

	if (is_for_the_group(info) && !atomic_load(&shared->sees_signals))
		return;
	if (sig == SIGCONT && atomic_load(&page->stopped_ns))
		since = atomic_load(&page->stopped_ns);
	(void)nanosleep(&moment, NULL);
	/* timeout(1) signals its child and then the group: one wish. */
	if (asks_to_end(sig))
		drop_pending(sig);
	command = atomic_load(&shared->command);
	if (command <= 0 || has_arrived(info, command, since))
		return;
	passed_ns[sig] = clock_now_ns();
	(void)kill(command, sig);
}

/* sigqueue() reaches one process, so the command has not got it.  Each has a value,
 * and it keeps its sender. */
static void pass_on_queued(siginfo_t *info)
{
	pid_t command = atomic_load(&shared->command);

	if (command > 0 &&
	    syscall(SYS_rt_sigqueueinfo, command, info->si_signo, info) < 0)
		(void)kill(command, info->si_signo);
}

/* ---- front: Ctrl-C ---- */

static void kill_tree(void)
{
	pid_t command = atomic_load(&shared->command);

	atomic_store(&shared->kill_all, 1);
	if (command > 0)
		(void)kill(command, SIGKILL);
	if (tracer_pid)
		(void)kill(tracer_pid, SIGUSR1);
}

/* What is there when the signal has had its effect: a prompt leaves the terminal for
 * a moment and comes back. */
static enum foreground await_reaction(void)
{
	struct timespec moment = { 0, LOOK_NS };
	int64_t end = clock_mono_ns() + REACTION_NS;
	enum foreground best = FOREGROUND_DEAF;

	for (;;) {
		enum foreground now = foreground_look(getpid(), tracer_pid);

		if (now > best)
			best = now;
		if (best == FOREGROUND_READS || clock_mono_ns() >= end ||
		    atomic_load(&shared->command) <= 0)
			return best;
		(void)nanosleep(&moment, NULL);
	}
}

/* SIGINT was typed, and the command has it: is that the end of the run? */
static void on_ctrl_c(void)
{
	static int64_t last_ns;
	static unsigned n; /* presses that belong together */
	int64_t gap = clock_mono_ns() - last_ns;
	enum foreground who;

	last_ns += gap;
	if (n && gap < HELD_NS)
		return;
	n = n && gap < INSIST_NS ? n + 1 : 1;
	if (n == 1)
		return;
	who = await_reaction();
	last_ns = clock_mono_ns();
	if (who == FOREGROUND_READS ||
	    (who == FOREGROUND_CATCHES && gap > HURRY_NS)) {
		n = 1;
	} else if (who == FOREGROUND_DEAF || n > 2) {
		kill_tree();
	} else if (!is_quiet && isatty(STDERR_FILENO)) {
		/* Behind the "^C" that the terminal shows. */
		(void)fd_write_all(STDERR_FILENO, "\n", 1);
		(void)cli_fail("press Ctrl-C again to end the run");
	}
}

/* ---- front: when only the record is missing ---- */

/* The command is gone.  Is this another wish to end, or what ended the command? */
static bool is_for_us(const siginfo_t *info)
{
	struct timespec moment = { 0, SETTLE_NS };
	int sig = info->si_signo;
	int64_t guard_ns;

	for (int i = 0; i < 10 && atomic_load(&page->code) < 0; i++)
		(void)nanosleep(&moment, NULL);
	if (!asks_to_end(sig) || atomic_load(&page->code) < 0)
		return false;
	guard_ns = atomic_load(&page->ended_ns) - GUARD_NS;
	if (clock_now_ns() - guard_ns > 2 * (int64_t)GUARD_NS)
		return true;
	return info->si_code <= 0 && atomic_load(&shared->sees_signals) &&
	       atomic_load(&shared->signal_ns[sig]) < guard_ns &&
	       passed_ns[sig] < guard_ns;
}

/* A bar may stand in the line. */
static void say_of_record(const char *what, const char *how)
{
	if (isatty(STDERR_FILENO))
		(void)fd_write_all(STDERR_FILENO, "\r\033[K", 4);
	(void)cli_fail("the command has ended, %s%s", what, how);
}

static int tell_unfinished(const char *why)
{
	say_of_record(why, atomic_load(&page->rest) & FRONT_JOURNAL ?
				   ": the next roar command completes the "
				   "record from its journal" :
				   ": this run is not recorded");
	return atomic_load(&page->code);
}

/* Ends without the record.  A tracer that serves processes goes on: they would die
 * with it. */
static int leave_record(void)
{
	int status;

	if (atomic_load(&page->rest) & FRONT_SERVES) {
		say_of_record("and the record is completed in the background",
			      "");
		atomic_store(&page->left, 1);
		(void)kill(tracer_pid, SIGUSR2);
		return atomic_load(&page->code);
	}
	(void)kill(tracer_pid, SIGKILL);
	if (waitpid(tracer_pid, &status, 0) == tracer_pid && WIFEXITED(status))
		return WEXITSTATUS(status);
	return tell_unfinished("but hashing was interrupted");
}

/* ---- front: Ctrl-Z ---- */

/* The command has stopped: so do we, unless it goes on already (`held`: nobody knows).
 * First the signal, then the look: the tracer clears `stopped` before it sends
 * SIGCONT, and that takes back a stop that is still to come. */
static void stop_likewise(int sig, bool held)
{
	struct sigaction stop = { .sa_handler = SIG_DFL };
	struct sigaction before = { .sa_handler = SIG_DFL };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, sig);
	(void)sigaction(sig, &stop, &before);
	(void)raise(sig);
	if (!held && !atomic_load(&shared->stopped))
		drop_pending(sig);
	/* Here it takes effect, and here we come back. */
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)sigprocmask(SIG_BLOCK, &one, NULL);
	(void)sigaction(sig, &before, NULL);
}

/* Ctrl-Z came while the command was about to execute another program: the child has
 * stopped, and the command has to wait for it.  No tracer is told of that. */
static void stop_if_held(int sig)
{
	struct timespec moment = { 0, LOOK_NS };
	pid_t command = atomic_load(&shared->command);

	for (int i = 0; i < 3 && command > 0; i++) {
		if (atomic_load(&shared->stopped))
			return;
		if (foreground_is_held(command)) {
			atomic_store(&page->stopped_ns, clock_now_ns());
			stop_likewise(sig, true);
			return;
		}
		(void)nanosleep(&moment, NULL);
	}
}

/* ---- front: waiting ---- */

/* Does to the command what was done to us.  Returns true when there is no command any
 * more and we are asked to end. */
static bool take_signal(siginfo_t *info)
{
	if (info->si_signo == SIGCHLD ||
	    (info->si_code == SI_USER && tracer_pid &&
	     info->si_pid == tracer_pid))
		return false; /* it woke us */
	if (asks_to_end(info->si_signo))
		atomic_fetch_add(&shared->n_interrupts, 1);
	if (info->si_signo == SIGINT)
		interrupted = true;
	if (atomic_load(&shared->command) < 0)
		return is_for_us(info);
	if (info->si_code == SI_QUEUE)
		pass_on_queued(info);
	else
		pass_on(info);
	if (info->si_signo == SIGINT && info->si_code > 0 && asks_to_end(SIGINT))
		on_ctrl_c();
	if (info->si_signo == SIGTSTP && info->si_code > 0)
		stop_if_held(SIGTSTP);
	return false;
}

enum wake { WAKE_NEWS, WAKE_SIGNAL, WAKE_LEAVE };

/* Waits until there is something on the line, or a signal was taken; WAKE_LEAVE when
 * we are to leave without the line.  While the command does not exist, its signals
 * wait in the kernel. */
static enum wake wait_for_news(int fd)
{
	struct pollfd line = { .fd = fd, .events = POLLIN };
	struct timespec soon = { 0, 20000000 };
	bool early = atomic_load(&shared->command) == 0;
	siginfo_t info;
	sigset_t none;
	int n;

	(void)sigemptyset(&none);
	n = ppoll(&line, 1, early ? &soon : NULL, early ? NULL : &none);
	info = heard;
	heard.si_signo = 0;
	if (info.si_signo && take_signal(&info))
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

/* ---- front: without a tracer ---- */

static void say_killed(int sig, const char *what)
{
	(void)cli_fail("the tracer was ended by signal %d (%s), %s: the next "
		       "roar command completes the record from its journal",
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
			stop_likewise(value, true);
		else
			(void)wait_for_news(o->fd);
	}
}

/* Has it ended with its tracer?  That takes a moment. */
static bool has_died(struct orphan *o, int *ret_status)
{
	struct timespec tick = { 0, SETTLE_NS / 10 };

	for (int i = 0; i < 10; i++) {
		enum orphan_news news = orphan_next(o, ret_status);

		if (news == ORPHAN_ENDED)
			return true;
		if (news == ORPHAN_STOPPED)
			stop_likewise(*ret_status, true);
		(void)nanosleep(&tick, NULL);
	}
	return false;
}

/* The command goes on: so do we.  `sig` has ended the tracer. */
static int go_on_alone(struct orphan *o, int sig)
{
	int status = -1;
	bool died;

	/* Nobody watches what comes to the group any more. */
	atomic_store(&shared->sees_signals, 0);
	atomic_store(&page->witnessed, 0);
	died = has_died(o, &status);
	body->rescue(body->ctx, o->pid);
	if (died && (status < 0 || WIFSIGNALED(status))) {
		say_killed(sig, "and with it the command");
		return 128 + sig;
	}
	say_killed(sig, died ? "the command has ended" :
			       "and the command goes on unobserved");
	if (!died)
		status = follow(o);
	if (status < 0) /* nobody knows how it ended */
		return 128 + sig;
	atomic_store(&page->by, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static int reap(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };
	struct orphan o;
	int status, code;

	(void)sigaction(SIGCHLD, &sa, NULL);
	/* At once: what ends before we look is lost. */
	orphan_init(&o, atomic_load(&page->code) < 0 ?
				atomic_load(&shared->command) :
				0);
	while (waitpid(tracer_pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	tracer_pid = 0;
	if (WIFEXITED(status))
		code = WEXITSTATUS(status);
	else if (atomic_load(&page->code) >= 0)
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
		stop_likewise(-message, false);
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
		interrupted = true;
	if (!interrupted || atomic_load(&page->by) != SIGINT)
		return;
	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGINT);
	(void)signal(SIGINT, SIG_DFL);
	(void)raise(SIGINT);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
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
	int code;

	drop_standard();
	(void)dup3(fd, STDERR_FILENO + 1, O_CLOEXEC);
	fd = STDERR_FILENO + 1;
	(void)close_range((unsigned)fd + 1, ~0U, 0);
	code = wait_for_code(fd);
	(void)close(fd);
	die_likewise();
	return code;
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

/* Whoever reads what the run says would wait for us. */
static void on_front_left(int sig)
{
	int saved = errno;

	(void)sig;
	if (atomic_load(&page->left))
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
			atomic_store(&shared->signal_ns[sig], clock_now_ns());
	}
	return NULL;
}

void front_witness(struct front *front)
{
	enum { STACK = 64 * 1024 };
	pthread_attr_t attr;
	pthread_t thread;

	if (atomic_load(&shared->sees_signals) || pthread_attr_init(&attr) != 0)
		return;
	(void)pthread_attr_setstacksize(&attr, STACK);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, witness, &front->pid) == 0) {
		atomic_store(&page->witnessed, 1);
		atomic_store(&shared->sees_signals, 1);
	}
	(void)pthread_attr_destroy(&attr);
}

/* What ended the command came to the front, too, which may not have run yet. */
int front_count_interrupts(struct front *front, int status)
{
	struct timespec moment = { 0, 1000000 };
	_Atomic int *n = &front->control->n_interrupts;

	for (int i = 0; i < 30 && !atomic_load(n) && WIFSIGNALED(status) &&
			asks_to_end(WTERMSIG(status));
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
	atomic_store(&page->by, by);
	atomic_store(&page->rest, rest);
	atomic_store(&page->ended_ns, clock_now_ns());
	atomic_store(&page->code, by ? 128 + by : WEXITSTATUS(status));
}

/* SIGSTOP cannot be held back, so the front could not do it in the right order (see
 * stop_likewise()); here the order is that of the command. */
void front_stop(const struct front *front, int sig)
{
	int message = -sig;

	if (getppid() != front->pid)
		return; /* it was killed */
	if (sig != SIGCONT)
		atomic_store(&page->stopped_ns, clock_now_ns());
	if (sig == SIGCONT || sig == SIGSTOP)
		(void)kill(front->pid, sig);
	else if (front->fd >= 0)
		(void)fd_write_all(front->fd, &message, sizeof(message));
}

/* ---- both ---- */

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
	exit(body->run(front, body->ctx));
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
	page = new_page();
	if (!front.control || !page)
		return -ENOMEM;
	if (pipe2(line, O_CLOEXEC) < 0)
		return -errno;
	shared = front.control;
	is_quiet = quiet;
	body = what;
	note_ignored(&front.ignored);
	not_ours = front.ignored;
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
		be_tracer(&front);
	}
	(void)close(line[1]);
	(void)signal(SIGCHLD, SIG_DFL);
	catch_signals();
	return be_front(line[0]);
}

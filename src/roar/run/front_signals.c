/* front_signals.c - what the front does with signals; see front.h */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "run/foreground.h"
#include "run/front_internal.h"
#include "trace/tracer.h"

enum {
	/* Between two signals of a key that is held down; and how long there must be
	 * none to show that it was released, on a machine too busy to be regular. */
	HELD_NS = 80000000,
	RELEASED_NS = 400000000,
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

static int64_t passed_ns[65]; /* when a signal was last passed on */

/* Signals are open only inside of ppoll(), and there one at a time: the handler needs
 * no more than one place, and what it leaves there is ours alone. */
static siginfo_t heard; /* si_signo 0: nothing */

void front_on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	heard = *info;
	heard.si_signo = sig;
}

/* Also ignored signals: the command may handle them.  SIGCHLD is the tracer's end,
 * which the socket reports. */
void front_catch_signals(void)
{
	struct sigaction sa = { .sa_sigaction = front_on_signal,
				.sa_flags = SA_SIGINFO };

	(void)sigfillset(&sa.sa_mask);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD)
			(void)sigaction(sig, &sa, NULL);
}

bool front_asks_to_end(int sig)
{
	return (sig == SIGINT || sig == SIGTERM || sig == SIGHUP ||
		sig == SIGQUIT) &&
	       !sigismember(&front_self.not_ours, sig);
}

/* Signals that the kernel sends to all processes of a terminal. */
static bool is_for_the_group(const siginfo_t *info)
{
	int sig = info->si_signo;

	return info->si_code > 0 &&
	       (sig == SIGINT || sig == SIGQUIT || sig == SIGCONT ||
		sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU ||
		sig == SIGWINCH);
}

/* Signals that came before the command, and may not have reached it. */
static sigset_t early;

void front_note_early(void)
{
	(void)sigpending(&early);
}

static bool was_early(int sig)
{
	bool was = sigismember(&early, sig) == 1;

	(void)sigdelset(&early, sig);
	return was && atomic_load(&front_self.control->sees_signals);
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

/* Did the command get the signal directly?  The witness cannot distinguish a signal to
 * the group from one to each process of roar (pkill); the second one does not harm a
 * command without a handler. */
static bool has_arrived(const siginfo_t *info, pid_t command, int64_t since)
{
	int sig = info->si_signo;

	if (atomic_load(&front_self.control->signal_ns[sig]) < since)
		return false;
	return info->si_code > 0 || !front_asks_to_end(sig) ||
	       !atomic_load(&front_self.page->witnessed) ||
	       foreground_catches(command, sig);
}

/* Was it sent to the command, too?  Give it a moment to arrive.  What continued
 * us may be long past by the time we run again, so it counts from our stop. */
static void pass_on(const siginfo_t *info)
{
	struct timespec moment = { 0, FRONT_SETTLE_NS };
	int64_t since = clock_now_ns() - FRONT_SETTLE_NS;
	int sig = info->si_signo;
	pid_t command;

	if (is_for_the_group(info) && !was_early(sig))
		return;
	if (sig == SIGCONT && atomic_load(&front_self.page->stopped_ns))
		since = atomic_load(&front_self.page->stopped_ns);
	(void)nanosleep(&moment, NULL);
	/* timeout(1) signals its child and then the group: one wish. */
	if (front_asks_to_end(sig))
		drop_pending(sig);
	command = atomic_load(&front_self.control->command);
	if (command <= 0 || has_arrived(info, command, since))
		return;
	passed_ns[sig] = clock_now_ns();
	(void)kill(command, sig);
}

/* sigqueue() reaches one process, so the command has not got it.  Each has a value,
 * and it keeps its sender. */
static void pass_on_queued(siginfo_t *info)
{
	pid_t command = atomic_load(&front_self.control->command);

	if (command > 0 &&
	    syscall(SYS_rt_sigqueueinfo, command, info->si_signo, info) < 0)
		(void)kill(command, info->si_signo);
}

/* ---- Ctrl-C ---- */

static void kill_tree(void)
{
	pid_t command = atomic_load(&front_self.control->command);

	atomic_store(&front_self.control->kill_all, 1);
	if (command > 0)
		(void)kill(command, SIGKILL);
	if (front_self.tracer)
		(void)kill(front_self.tracer, SIGUSR1);
}

/* What is there when the signal has had its effect: a prompt leaves the terminal for
 * a moment and comes back.  One that was answered meanwhile, and is gone, was one. */
static enum foreground await_reaction(void)
{
	struct timespec moment = { 0, LOOK_NS };
	int64_t end = clock_mono_ns() + REACTION_NS;
	enum foreground best = FOREGROUND_DEAF;

	for (;;) {
		enum foreground now = foreground_look(getpid(),
						      front_self.tracer);

		if (now > best)
			best = now;
		if (atomic_load(&front_self.control->command) <= 0)
			return FOREGROUND_READS;
		if (best == FOREGROUND_READS || clock_mono_ns() >= end)
			return best;
		(void)nanosleep(&moment, NULL);
	}
}

/* SIGINT was typed, and the command has it: is that the end of the run? */
static void on_ctrl_c(void)
{
	static int64_t last_ns;
	static unsigned n; /* presses that belong together */
	static unsigned n_held; /* signals of a key held down since the last */
	int64_t gap = clock_mono_ns() - last_ns;
	enum foreground who;

	last_ns += gap;
	if (n && gap < (n_held < 2 ? HELD_NS : RELEASED_NS)) {
		n_held++;
		return;
	}
	n_held = 0;
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
	} else if (!front_self.quiet && isatty(STDERR_FILENO)) {
		/* Behind the "^C" that the terminal shows. */
		(void)fd_write_all(STDERR_FILENO, "\n", 1);
		(void)cli_fail("press Ctrl-C again to end the run");
	}
}
/* ---- the command is gone ---- */

/* The command is gone.  Is this another wish to end, or what ended the command? */
static bool is_for_us(const siginfo_t *info)
{
	struct timespec moment = { 0, FRONT_SETTLE_NS };
	int sig = info->si_signo;
	int64_t guard_ns;

	for (int i = 0; i < 10 && atomic_load(&front_self.page->code) < 0; i++)
		(void)nanosleep(&moment, NULL);
	if (!front_asks_to_end(sig) || atomic_load(&front_self.page->code) < 0)
		return false;
	guard_ns = atomic_load(&front_self.page->ended_ns) - GUARD_NS;
	if (clock_now_ns() - guard_ns > 2 * (int64_t)GUARD_NS)
		return true;
	return info->si_code <= 0 &&
	       atomic_load(&front_self.control->sees_signals) &&
	       atomic_load(&front_self.control->signal_ns[sig]) < guard_ns &&
	       passed_ns[sig] < guard_ns;
}

/* ---- Ctrl-Z ---- */

/* The tracer's report may be old: on a busy machine the command continues before the
 * tracer has seen it, and the tracer reports a stop again that we found ourselves. */
static bool is_stopped(void)
{
	pid_t command = atomic_load(&front_self.control->command);

	return atomic_load(&front_self.control->stopped) && command > 0 &&
	       foreground_is_stopped(command);
}

/* First the signal, then the look: the tracer clears `stopped` before it sends
 * SIGCONT, and that takes back a stop that is still to come. */
void front_stop_likewise(int sig, bool held)
{
	struct sigaction stop = { .sa_handler = SIG_DFL };
	struct sigaction before = { .sa_handler = SIG_DFL };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, sig);
	(void)sigaction(sig, &stop, &before);
	(void)raise(sig);
	if (!held && !is_stopped())
		drop_pending(sig);
	/* Here it takes effect, and here we come back. */
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)sigprocmask(SIG_BLOCK, &one, NULL);
	(void)sigaction(sig, &before, NULL);
}

/* Ctrl-Z came while the command was about to execute another program: the child has
 * stopped, and the command has to wait for it.  No tracer reports that. */
static void stop_if_held(int sig)
{
	struct timespec moment = { 0, LOOK_NS };
	pid_t command = atomic_load(&front_self.control->command);

	for (int i = 0; i < 3 && command > 0; i++) {
		if (atomic_load(&front_self.control->stopped))
			return;
		if (foreground_is_held(command)) {
			atomic_store(&front_self.page->stopped_ns,
				     clock_now_ns());
			front_stop_likewise(sig, true);
			return;
		}
		(void)nanosleep(&moment, NULL);
	}
}

/* ---- whatever it was ---- */

static bool take_signal(siginfo_t *info)
{
	if (info->si_signo == SIGCHLD ||
	    (info->si_code == SI_USER && front_self.tracer &&
	     info->si_pid == front_self.tracer))
		return false; /* it woke us */
	if (front_asks_to_end(info->si_signo))
		atomic_fetch_add(&front_self.control->n_interrupts, 1);
	if (info->si_signo == SIGINT)
		front_self.interrupted = true;
	if (atomic_load(&front_self.control->command) < 0)
		return is_for_us(info);
	if (info->si_code == SI_QUEUE)
		pass_on_queued(info);
	else
		pass_on(info);
	if (info->si_signo == SIGINT && info->si_code > 0 &&
	    front_asks_to_end(SIGINT))
		on_ctrl_c();
	if (info->si_signo == SIGTSTP && info->si_code > 0)
		stop_if_held(SIGTSTP);
	return false;
}

bool front_take_signal(void)
{
	siginfo_t info = heard;

	heard.si_signo = 0;
	return info.si_signo && take_signal(&info);
}

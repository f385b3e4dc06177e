/* rerun_steps.c - runs the steps of a plan, several at a time
 *
 *	while something runs or can start
 *		start_ready()	leave, restore or start what nothing holds up
 *		await()		a step has ended, or a signal has come
 *
 * Signals are read from a descriptor.  Ctrl-C on a terminal reaches the steps as well, as
 * they are in the same process group; a signal that was sent to this process alone is
 * passed on.  Then nothing more is started, and roar ends with the last step. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "hash/user_cache.h"
#include "query/variant.h"
#include "rerun/rerun_work.h"
#include "run/front.h"
#include "trace/tracer.h"
#include "ui/view.h"

struct runner {
	struct rerun_work *w;
	int signal_fd;
	sigset_t mask; /* as it was, for the steps */
	size_t n_running;
};

const char *rerun_refusal(const struct store_job *job)
{
	static const struct {
		const char *tracer, *why;
	} refused[] = {
		{ "transfer", "a transfer is typed again by hand" },
		{ "python", "a block of Python runs with its program" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (!strcmp(job->tracer, refused[i].tracer))
			return refused[i].why;
	if (tracer_find(job->tracer) || !strcmp(job->tracer, "none") ||
	    variant_is_restored(job))
		return NULL;
	return "its record was not made by a run here";
}

/* ---- one process ---- */

static const struct store_job *job_of(const struct rerun_work *w, size_t step)
{
	return pipeline_job(&w->pipeline, w->plan.steps[step].node);
}

/* In the child.  Steps that run at the same time have no terminal to read from. */
static void exec_step(const struct runner *r, const struct step_fate *fate,
		      const char *ref)
{
	const char *const argv[] = { "roar",  "run", "--quiet",
				     "--yes", ref,   NULL };
	int null;

	(void)sigprocmask(SIG_SETMASK, &r->mask, NULL);
	front_restore();
	if (fate->out >= 0) {
		null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(fate->out, STDOUT_FILENO);
		(void)dup2(fate->err, STDERR_FILENO);
	} else if (r->w->json) {
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	(void)execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

static int start_step(struct runner *r, size_t step)
{
	struct rerun_work *w = r->w;
	struct step_fate *fate = &w->fates[step];
	const char *ref = view_step_ref(w->view, job_of(w, step));

	if (!ref)
		return -ENOMEM;
	if (w->n_parallel > 1) {
		fate->out = memfd_create("roar-rerun", MFD_CLOEXEC);
		fate->err = memfd_create("roar-rerun", MFD_CLOEXEC);
		if (fate->out < 0 || fate->err < 0)
			return -errno;
	}
	fate->started_ns = clock_mono_ns();
	(void)fflush(NULL);
	fate->pid = fork();
	if (fate->pid < 0)
		return -errno;
	if (!fate->pid)
		exec_step(r, fate, ref);
	fate->end = STEP_RUNNING;
	r->n_running++;
	return 0;
}

/* What a step has printed, in one piece. */
static void pass_on(int *from, int to)
{
	char buf[65536];
	ssize_t n;

	if (*from < 0)
		return;
	for (off_t at = 0; (n = pread(*from, buf, sizeof(buf), at)) > 0;
	     at += n)
		if (fd_write_all(to, buf, (size_t)n) < 0)
			break;
	closep(from);
	*from = -1;
}

static void end_step(struct runner *r, size_t step, int status)
{
	struct rerun_work *w = r->w;
	struct step_fate *fate = &w->fates[step];

	r->n_running--;
	fate->duration_ns = clock_mono_ns() - fate->started_ns;
	fate->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						WEXITSTATUS(status);
	fate->end = fate->exit_code ? STEP_FAILED : STEP_RAN;
	if (fate->exit_code && w->failed == w->plan.n)
		w->failed = step;
	rerun_print_end(w, step);
	pass_on(&fate->err, STDERR_FILENO);
	pass_on(&fate->out, w->json ? STDERR_FILENO : STDOUT_FILENO);
}

/* ---- whose turn it is ---- */

static bool has_ended(const struct step_fate *fate)
{
	return fate->end > STEP_RUNNING && fate->end < STEP_BLOCKED;
}

/* *ret_ran: did anything that it waited for make files anew? */
static bool is_ready(const struct rerun_work *w, size_t step, bool *ret_ran)
{
	const struct rerun_step *s = &w->plan.steps[step];

	*ret_ran = false;
	for (size_t i = 0; i < s->n_after; i++) {
		const struct step_fate *before = &w->fates[s->after[i]];

		if (!has_ended(before))
			return false;
		*ret_ran |= before->end != STEP_UNCHANGED;
	}
	return true;
}

/* What can be said of the step without running it; STEP_WAITING: it is to be run. */
static enum step_end decide(struct rerun_work *w, size_t step, bool ran)
{
	struct step_fate *fate = &w->fates[step];
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = UINT64_MAX,
				      .open_cache = user_cache_open };

	fate->reason = rerun_plan_check(&w->plan, step, ran, &look,
					&fate->path);
	if (fate->reason == RERUN_UP_TO_DATE)
		return STEP_UNCHANGED;
	if (rerun_refusal(job_of(w, step)))
		return STEP_REFUSED;
	if (fate->reason == RERUN_GONE)
		return STEP_BLOCKED;
	if (!w->no_restore && fate->reason != RERUN_FORCED &&
	    rerun_restore(w, step, false) > 0)
		return STEP_RESTORED;
	return STEP_WAITING;
}

/* Returns whether the step is running or has ended. */
static int take_turn(struct runner *r, size_t step, bool ran)
{
	struct rerun_work *w = r->w;
	struct step_fate *fate = &w->fates[step];

	fate->started_ns = clock_mono_ns();
	fate->end = decide(w, step, ran);
	if (fate->end == STEP_WAITING)
		return start_step(r, step);
	fate->duration_ns = clock_mono_ns() - fate->started_ns;
	if (fate->end == STEP_BLOCKED) {
		fate->exit_code = 1;
		w->failed = step;
	}
	rerun_print_end(w, step);
	return 0;
}

static bool is_stopping(const struct rerun_work *w)
{
	return w->sig || w->failed < w->plan.n;
}

/* Steps come after those that they wait for, so one pass starts all that can. */
static int start_ready(struct runner *r)
{
	struct rerun_work *w = r->w;
	bool ran;
	int e = 0;

	for (size_t i = 0; e == 0 && i < w->plan.n && !is_stopping(w) &&
			   r->n_running < w->n_parallel;
	     i++)
		if (w->fates[i].end == STEP_WAITING && is_ready(w, i, &ran))
			e = take_turn(r, i, ran);
	return e;
}

/* ---- what happens meanwhile ---- */

static void reap(struct runner *r)
{
	struct rerun_work *w = r->w;
	int status;

	for (size_t i = 0; i < w->plan.n && r->n_running; i++)
		if (w->fates[i].end == STEP_RUNNING &&
		    waitpid(w->fates[i].pid, &status, WNOHANG) > 0)
			end_step(r, i, status);
}

static void stop(struct runner *r, const struct signalfd_siginfo *info)
{
	struct rerun_work *w = r->w;
	int sig = (int)info->ssi_signo;

	if (!w->sig)
		w->sig = sig;
	/* The kernel has sent it to all of the terminal's group. */
	if (info->ssi_code == SI_KERNEL)
		return;
	for (size_t i = 0; i < w->plan.n; i++)
		if (w->fates[i].end == STEP_RUNNING)
			(void)kill(w->fates[i].pid, sig);
}

static void await(struct runner *r)
{
	struct signalfd_siginfo info;

	if (read(r->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(r);
	else
		stop(r, &info);
}

/* A signal that came while nothing ran. */
static void note_signal(struct runner *r)
{
	const struct timespec now = { 0 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (!r->w->sig && sigtimedwait(&set, &info, &now) > 0)
		r->w->sig = info.si_signo;
}

static int run_all(struct runner *r)
{
	int e = 0;

	do {
		if (r->n_running)
			await(r);
		else
			note_signal(r);
		if (e == 0)
			e = start_ready(r);
	} while (r->n_running);
	note_signal(r);
	return e;
}

static int open_signals(struct runner *r)
{
	sigset_t set;

	/* A caller that ignores it would keep us from waiting. */
	(void)signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &r->mask) < 0)
		return -errno;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return r->signal_fd < 0 ? -errno : 0;
}

int rerun_steps_run(struct rerun_work *w)
{
	struct runner r = { .w = w, .signal_fd = -1 };
	int e = open_signals(&r);

	if (e == 0)
		e = run_all(&r);
	closep(&r.signal_fd);
	if (e < 0)
		return cli_fail("a step could not be started: %s",
				strerror(-e));
	rerun_print_summary(w);
	if (w->sig)
		return 128 + w->sig;
	return w->failed < w->plan.n ? w->fates[w->failed].exit_code : 0;
}

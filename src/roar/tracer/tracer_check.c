/* tracer_check.c - see tracer_check.h */
#include "tracer/tracer_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "event/event.h"
#include "lineage/fold.h"

extern char **environ;

static const char builtin[] = "cat <in >out";

/* What the sink sees. */
struct sight {
	struct tracer_check *check;
	struct fold *fold;
	int error; /* of the fold */
};

static void say(struct tracer_check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The first reason is the reason. */
static void say(struct tracer_check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->why[0])
		return;
	va_start(ap, fmt);
	(void)vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
}

static void sink(void *ctx, const struct event *ev)
{
	struct sight *s = ctx;
	struct fold_change change;

	s->check->n_events++;
	if (fold_add(s->fold, ev, &change) < 0)
		s->error = -ENOMEM;
}

/* ---- the place ---- */

struct place {
	char *dir; /* absolute, without symbolic links; NULL: none */
	int home; /* where we were */
};

static int make_file(const char *name)
{
	CLEANUP(closep)
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 || write(fd, "roar\n", 5) != 5 ? -errno : 0;
}

static int place_enter(struct place *p)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	const char *tmp = getenv("TMPDIR");

	str_addf(&name, "%s/roar-check-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (str_error(&name) < 0)
		return -ENOMEM;
	p->home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!mkdtemp(name.data))
		return -errno;
	p->dir = realpath(name.data, NULL);
	if (!p->dir || chdir(p->dir) < 0)
		return -errno;
	return make_file("in");
}

static void place_leave(struct place *p)
{
	if (!p->dir)
		return;
	(void)unlink("in");
	(void)unlink("out");
	if (p->home >= 0)
		(void)!fchdir(p->home);
	(void)rmdir(p->dir);
	closep(&p->home);
	free(p->dir);
}

/* ---- the judgement ---- */

static bool was_seen(const struct fold *fold, const struct place *p,
		     const char *name, unsigned how)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const struct lineage_file *f;

	str_addf(&path, "%s/%s", p->dir, name);
	f = str_error(&path) < 0 ? NULL : fold_find(fold, path.data);
	return f && (f->seen & how);
}

static void judge_gaps(struct tracer_check *c, const struct fold *fold)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(fold, &n);

	for (size_t i = 0; i < n; i++) {
		/* The standing reserve of a tracer is no failure. */
		if (gaps[i].code == EVENT_GAP_LIBRARY)
			continue;
		say(c, "%s%s%s", event_gap_text((unsigned)gaps[i].code),
		    gaps[i].detail[0] ? ": " : "", gaps[i].detail);
		return;
	}
}

static void judge(struct tracer_check *c, const struct fold *fold,
		  const struct place *p, const struct tracer_result *result,
		  bool own_command)
{
	size_t n;

	(void)fold_processes(fold, &n);
	c->n_processes = n;
	c->status = result->status;
	if (result->exec_errno)
		say(c, "sh cannot be executed: %s",
		    strerror(result->exec_errno));
	if (!result->traced)
		say(c, "the tracer reported no events");
	judge_gaps(c, fold);
	if (!own_command && result->status)
		say(c,
		    "the test command failed under the tracer (wait status %d)",
		    result->status);
	if (!own_command && !was_seen(fold, p, "in", LINEAGE_READ_PRIOR))
		say(c, "the tracer did not report a file that was read");
	if (!own_command && !was_seen(fold, p, "out", LINEAGE_CREATED))
		say(c, "the tracer did not report a file that was written");
	c->works = !c->why[0];
}

/* ---- the run ---- */

static void note_ignored(sigset_t *ret)
{
	struct sigaction sa;

	(void)sigemptyset(ret);
	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			(void)sigaddset(ret, sig);
}

static int observe(struct sight *s, const struct tracer_job *job,
		   struct tracer_result *result)
{
	CLEANUP(tracer_freep) struct tracer *t = NULL;
	struct roar_error err = { "" };
	int64_t start = clock_mono_ns();
	int r = tracer_start(s->check->ops, job, &t, &err);

	if (r == 0)
		r = tracer_run(t, result, &err);
	if (r < 0) {
		say(s->check, "%s", err.text[0] ? err.text : strerror(-r));
		return r;
	}
	s->check->total_ns = clock_mono_ns() - start;
	s->check->attach_ns = atomic_load(&job->control->gate_ns) - start;
	if (result->n_outlived)
		tracer_linger(t);
	return s->error;
}

/* The signals of the terminal are for the command alone, as in a run. */
static void run_under(struct tracer_check *c, const char *command,
		      const struct place *p)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	char *argv[] = { (char *)"sh", (char *)"-c",
			 (char *)(command ? command : builtin), NULL };
	struct sight sight = { .check = c };
	struct tracer_result result = { 0 };
	/* The tracer keeps a pointer to its job. */
	struct tracer_job job = {
		.file = "/bin/sh",
		.argv = argv,
		.envp = environ,
		.control = tracer_control_new(),
		.sink = sink,
		.ctx = &sight,
	};
	sigset_t all;

	if (!job.control || fold_new(&fold) < 0) {
		say(c, "out of memory");
		return;
	}
	sight.fold = fold;
	note_ignored(&job.ignored);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &job.mask);
	if (observe(&sight, &job, &result) == 0)
		judge(c, fold, p, &result, command != NULL);
	(void)sigprocmask(SIG_SETMASK, &job.mask, NULL);
	(void)munmap(job.control, sizeof(*job.control));
}

void tracer_check(const struct tracer_ops *ops, const char *command,
		  struct tracer_check *ret)
{
	CLEANUP(place_leave) struct place place = { .home = -1 };
	int r;

	*ret = (struct tracer_check){ .ops = ops };
	/* A command of the user's runs where he is. */
	r = command ? 0 : place_enter(&place);
	if (r < 0)
		say(ret, "cannot create a temporary directory: %s",
		    strerror(-r));
	else
		run_under(ret, command, &place);
}

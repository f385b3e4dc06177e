/* pair.c - what a tracer costs whom it watches, by pairs of short blocks.
 *
 *	pair TRACER WORKER DIR
 *	pair --ebpf WORKER DIR
 *
 * A regression over whole commands cannot resolve a tenth of a microsecond:
 * starting a process varies by more.  So a worker (pair_worker.c) does its work in
 * blocks of about a millisecond, off, on, off, on, ... and each block that was
 * watched is compared with the mean of its neighbours that were not.  Prints one
 * JSON object: medians and quartiles of the differences, in nanoseconds.
 *
 *	TRACER	two workers, one of them started under the tracer; `none` says
 *		how far two equal processes differ
 *	--ebpf	one worker in turn without programs in the kernel, beside
 *		programs that watch others ("bystander"), and watched by them
 *		("member")
 *
 * The tracer lives in a process of its own: some wait for any child. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "trace/ebpf/load.h"
#include "trace/ebpf/session.h"
#include "trace/tracer.h"

extern char **environ;

enum { PAIRS = 61, WARM_UP = 5, DRAIN_MS = 2, PATH = 4096 };

struct worker {
	pid_t pid;
	int ask; /* write a command here */
	int answer; /* read nanoseconds per unit here */
};

struct series {
	double plain[PAIRS];
	double difference[PAIRS];
};

static void die(const char *what)
{
	fprintf(stderr, "pair: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- workers ---- */

static void ignore_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	(void)ev;
}

/* Runs the worker under a tracer, in a process that does nothing else. */
static void trace(const struct tracer_ops *ops, char **argv)
{
	CLEANUP(tracer_freep) struct tracer *tracer = NULL;
	struct tracer_result result = { 0 };
	struct roar_error err = { 0 };
	struct tracer_job job = {
		.file = argv[0],
		.argv = argv,
		.envp = environ,
		.control = tracer_control_new(),
		.sink = ignore_event,
	};

	if (!job.control || tracer_start(ops, &job, &tracer, &err) < 0 ||
	    tracer_run(tracer, &result, &err) < 0)
		fprintf(stderr, "pair: %s\n", err.text);
}

static struct worker start(const struct tracer_ops *ops, char *program,
			   const char *dir, const char *name)
{
	char in[16], out[16], place[PATH];
	char *argv[] = { program, in, out, place, NULL };
	struct worker w;
	int there[2], back[2];

	(void)snprintf(place, sizeof(place), "%s/%s", dir, name);
	if (mkdir(place, 0755) < 0 && errno != EEXIST)
		die(place);
	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	(void)snprintf(in, sizeof(in), "%d", there[0]);
	(void)snprintf(out, sizeof(out), "%d", back[1]);
	w = (struct worker){ .ask = there[1], .answer = back[0] };
	w.pid = fork();
	if (w.pid < 0)
		die("fork");
	if (w.pid == 0) {
		/* The ends must be gone for the others to see ours. */
		(void)close(there[1]);
		(void)close(back[0]);
		if (ops)
			trace(ops, argv);
		else
			execv(program, argv);
		_exit(1);
	}
	(void)close(there[0]);
	(void)close(back[1]);
	return w;
}

static double result(const struct worker *w)
{
	double ns;

	if (read(w->answer, &ns, sizeof(ns)) != sizeof(ns)) {
		fprintf(stderr, "pair: a worker has ended\n");
		exit(1);
	}
	return ns;
}

static void ask(const struct worker *w, char what)
{
	if (write(w->ask, &what, 1) != 1)
		die("ask");
}

static double block(const struct worker *w, char what)
{
	ask(w, what);
	return result(w);
}

static void stop(const struct worker *w)
{
	ask(w, 'q');
	(void)waitpid(w->pid, NULL, 0);
}

/* ---- results ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, struct series *s, const char *after)
{
	qsort(s->plain, PAIRS, sizeof(double), by_value);
	qsort(s->difference, PAIRS, sizeof(double), by_value);
	printf("\"%s\": {\"plain\": %.1f, \"median\": %.1f, \"q1\": %.1f, "
	       "\"q3\": %.1f}%s",
	       name, s->plain[PAIRS / 2], s->difference[PAIRS / 2],
	       s->difference[PAIRS / 4], s->difference[PAIRS * 3 / 4], after);
}

/* ---- any tracer: two workers ---- */

static void compare(const struct worker *off, const struct worker *on,
		    char what, struct series *ret)
{
	for (int i = -WARM_UP; i < PAIRS; i++) {
		double before = block(off, what);
		double watched = block(on, what);
		double after = block(off, what);

		if (i < 0)
			continue;
		ret->plain[i] = before;
		ret->difference[i] = watched - (before + after) / 2;
	}
}

static int two_workers(const struct tracer_ops *ops, char *program,
		       const char *dir)
{
	struct worker on = start(ops, program, dir, "on");
	struct worker off = start(NULL, program, dir, "off");
	static struct series files, calls;

	compare(&off, &on, 'f', &files);
	compare(&off, &on, 'r', &calls);
	stop(&on);
	stop(&off);
	printf("{");
	print("file", &files, ", ");
	print("op", &calls, "}\n");
	return 0;
}

/* ---- eBPF: one worker, with and without programs ---- */

static void drop(void *ctx, const struct wire_record *r)
{
	(void)ctx;
	(void)r;
}

/* A block of a member, while we drain as the tracer does. */
static double drained_block(const struct worker *w, char what,
			    struct session *session)
{
	struct pollfd fd = { .fd = w->answer, .events = POLLIN };

	ask(w, what);
	while (poll(&fd, 1, DRAIN_MS) == 0)
		(void)session_drain(session, drop, NULL);
	(void)session_drain(session, drop, NULL);
	return result(w);
}

/* The worker waits for a command, so it may be made a member. */
static void with_programs(const struct worker *w, double bystander[2],
			  double member[2])
{
	CLEANUP(ebpf_closep) struct ebpf *programs = NULL;
	CLEANUP(session_closep) struct session *session = NULL;
	struct roar_error err = { 0 };
	int r = ebpf_open(EBPF_FRESH, &programs, &err);

	if (r == 0)
		r = ebpf_watch(programs);
	if (r < 0) {
		fprintf(stderr, "pair: %s\n", err.text);
		exit(1);
	}
	bystander[0] = block(w, 'f');
	bystander[1] = block(w, 'r');
	r = session_open(ebpf_maps(programs), &session);
	if (r == 0)
		r = session_add(session, w->pid);
	if (r < 0) {
		errno = -r;
		die("session");
	}
	member[0] = drained_block(w, 'f', session);
	member[1] = drained_block(w, 'r', session);
}

static int one_worker(char *program, const char *dir)
{
	static struct series bystanders[2], members[2];
	static const char units[] = { 'f', 'r' };
	struct worker w = start(NULL, program, dir, "off");
	double before[2], after[2], bystander[2], member[2];

	for (int u = 0; u < 2; u++)
		before[u] = block(&w, units[u]);
	for (int i = 0; i < PAIRS; i++) {
		with_programs(&w, bystander, member);
		for (int u = 0; u < 2; u++) {
			after[u] = block(&w, units[u]);
			bystanders[u].plain[i] = before[u];
			members[u].plain[i] = before[u];
			bystanders[u].difference[i] = bystander[u] -
						      (before[u] + after[u]) /
							      2;
			members[u].difference[i] = member[u] -
						   (before[u] + after[u]) / 2;
			before[u] = after[u];
		}
	}
	stop(&w);
	printf("{\"bystander\": {");
	print("file", &bystanders[0], ", ");
	print("op", &bystanders[1], "}, \"member\": {");
	print("file", &members[0], ", ");
	print("op", &members[1], "}}\n");
	return 0;
}

int main(int argc, char **argv)
{
	const struct tracer_ops *ops;

	if (argc == 4 && strcmp(argv[1], "--ebpf") == 0)
		return one_worker(argv[2], argv[3]);
	ops = argc != 4			   ? NULL :
	      strcmp(argv[1], "none") == 0 ? &tracer_none :
					     tracer_find(argv[1]);
	if (!ops) {
		fprintf(stderr, "usage: pair TRACER|--ebpf WORKER DIR\n");
		return 2;
	}
	return two_workers(ops, argv[2], argv[3]);
}

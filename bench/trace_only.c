/* trace_only.c - a command under a tracer and nothing else.
 *
 *	trace_only TRACER PROGRAM [ARG]...
 *
 * Counts the events and drops them: what bench/run measures with this is the
 * tracer alone, without lineage, hashing and record.  With TRACE_ONLY_COUNTS
 * set, prints how many events and stops there were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "event/event.h"
#include "trace/tracer.h"

extern char **environ;

static void count(void *ctx, const struct event *ev)
{
	(void)ev;
	++*(unsigned long *)ctx;
}

static int run(const struct tracer_ops *ops, const struct tracer_job *job,
	       struct tracer_result *ret, struct roar_error *err)
{
	CLEANUP(tracer_freep) struct tracer *tracer = NULL;
	int r = tracer_start(ops, job, &tracer, err);

	if (r < 0)
		return r;
	r = tracer_run(tracer, ret, err);
	if (r == 0 && ret->n_outlived)
		tracer_linger(tracer);
	return r;
}

int main(int argc, char **argv)
{
	const struct tracer_ops *ops = argc < 3 ? NULL : tracer_find(argv[1]);
	struct tracer_result result = { 0 };
	struct roar_error err = { 0 };
	unsigned long n_events = 0;
	struct tracer_job job = {
		.file = argv[2],
		.argv = argv + 2,
		.envp = environ,
		.control = tracer_control_new(),
		.sink = count,
		.ctx = &n_events,
	};

	if (!ops || !job.control) {
		fprintf(stderr, "usage: trace_only TRACER PROGRAM [ARG]...\n");
		return 2;
	}
	if (run(ops, &job, &result, &err) < 0) {
		fprintf(stderr, "trace_only: %s\n", err.text);
		return 1;
	}
	if (getenv("TRACE_ONLY_COUNTS"))
		fprintf(stderr, "%lu events, %llu stops\n", n_events,
			(unsigned long long)result.n_stops);
	if (result.exec_errno) {
		fprintf(stderr, "trace_only: %s: %s\n", argv[2],
			strerror(result.exec_errno));
		return 127;
	}
	return WIFEXITED(result.status) ? WEXITSTATUS(result.status) : 128;
}

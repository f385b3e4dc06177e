/* trace_only.c - a command under a tracer and nothing else.
 *
 *	trace_only TRACER PROGRAM [ARG]...
 *	trace_only --pin | --unpin
 *
 * Counts the events and drops them: what bench/run measures with this is the
 * tracer alone, without lineage, hashing and record.  TRACER may also be `none`,
 * which observes nothing: the empty launcher that every series is compared with.
 * TRACE_ONLY_COUNTS names a file that gets a JSON object of what was counted.
 * --pin leaves the programs of the eBPF tracer loaded, so that later runs find them
 * (a warm start); --unpin removes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "event/event.h"
#include "trace/ebpf/load.h"
#include "trace/sums.h"
#include "trace/tracer.h"

extern char **environ;

struct counts {
	unsigned long events;
	unsigned long created; /* files that an open made */
	unsigned long gaps; /* reasons why the record is incomplete */
};

static void count(void *ctx, const struct event *ev)
{
	struct counts *c = ctx;

	c->events++;
	c->created += ev->kind == EVENT_OPEN && ev->flags & EVENT_CREATE;
	c->gaps += ev->kind == EVENT_GAP;
}

static int write_counts(const char *path, const struct counts *c,
			const struct tracer_result *result)
{
	FILE *f = fopen(path, "we");

	if (!f) {
		perror(path);
		return 1;
	}
	fprintf(f, "{\"events\": %lu, \"created\": %lu, \"gaps\": %lu, ",
		c->events, c->created, c->gaps);
	fprintf(f, "\"stops\": %llu, \"lost\": %llu, \"escaped\": %llu}\n",
		(unsigned long long)result->n_stops,
		(unsigned long long)result->n_lost,
		(unsigned long long)result->n_escaped);
	return fclose(f) != 0;
}

static const struct tracer_ops *find(const char *name)
{
	return strcmp(name, "none") == 0 ? &tracer_none : tracer_find(name);
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

/* Neither is a measurement: 0 or an exit status. */
static int pin(const char *word)
{
	CLEANUP(ebpf_closep) struct ebpf *programs = NULL;
	struct roar_error err = { 0 };
	int r;

	if (strcmp(word, "--unpin") == 0) {
		r = ebpf_unpin(&err);
	} else {
		r = ebpf_is_pinned() ? 0 :
				       ebpf_open(EBPF_FRESH, &programs, &err);
		if (r == 0 && programs)
			r = ebpf_pin(programs, &err);
	}
	if (r < 0)
		fprintf(stderr, "trace_only: %s\n", err.text);
	return r < 0;
}

int main(int argc, char **argv)
{
	const struct tracer_ops *ops = argc < 3 ? NULL : find(argv[1]);
	const char *counts_file = getenv("TRACE_ONLY_COUNTS");
	struct tracer_result result = { 0 };
	struct roar_error err = { 0 };
	struct counts counts = { 0 };
	struct sums sums = { 0 };
	struct tracer_job job = {
		.file = argv[2],
		.argv = argv + 2,
		.envp = environ,
		.control = tracer_control_new(),
		.sink = count,
		.sums = &sums,
		.ctx = &counts,
	};

	if (argc == 2 &&
	    (strcmp(argv[1], "--pin") == 0 || strcmp(argv[1], "--unpin") == 0))
		return pin(argv[1]);
	if (!ops || !job.control) {
		fprintf(stderr, "usage: trace_only TRACER PROGRAM [ARG]...\n"
				"       trace_only --pin | --unpin\n");
		return 2;
	}
	if (run(ops, &job, &result, &err) < 0) {
		fprintf(stderr, "trace_only: %s\n", err.text);
		return 1;
	}
	if (counts_file && write_counts(counts_file, &counts, &result))
		return 1;
	if (result.exec_errno) {
		fprintf(stderr, "trace_only: %s: %s\n", argv[2],
			strerror(result.exec_errno));
		return 127;
	}
	return WIFEXITED(result.status) ? WEXITSTATUS(result.status) : 128;
}

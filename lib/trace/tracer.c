/* tracer.c - the choice of a backend, and the backend that observes nothing */
#include "trace/tracer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/command.h"
#include "trace/ebpf/ebpf.h"
#include "trace/hybrid/hybrid.h"
#include "trace/launch.h"
#include "trace/ptrace/ptrace.h"

const struct tracer_ops *const tracer_backends[] = {
	&tracer_hybrid, &tracer_ptrace, &tracer_ebpf, &tracer_preload, NULL,
};

const struct tracer_ops *tracer_find(const char *name)
{
	if (strcmp(name, "auto") == 0)
		return tracer_backends[0];
	for (size_t i = 0; tracer_backends[i]; i++)
		if (strcmp(tracer_backends[i]->name, name) == 0)
			return tracer_backends[i];
	return NULL;
}

int tracer_start(const struct tracer_ops *ops, const struct tracer_job *job,
		 struct tracer **ret_tracer, struct roar_error *err)
{
	assert(job->file && job->argv && job->envp && job->control);
	return ops->start(job, ret_tracer, err);
}

int tracer_run(struct tracer *t, struct tracer_result *ret,
	       struct roar_error *err)
{
	return t->ops->run(t, ret, err);
}

void tracer_linger(struct tracer *t)
{
	if (t->ops->linger)
		t->ops->linger(t);
}

void tracer_free(struct tracer *t)
{
	if (t)
		t->ops->free(t);
}

struct tracer_control *tracer_control_new(void)
{
	void *page = mmap(NULL, sizeof(struct tracer_control),
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* ---- none: the command runs, nobody looks ---- */

struct none {
	struct tracer base;
	const struct tracer_job *job;
	pid_t pid;
};

static int none_start(const struct tracer_job *job, struct tracer **ret,
		      struct roar_error *err)
{
	struct none *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return error_set(err, -ENOMEM, "out of memory");
	n->base.ops = &tracer_none;
	n->job = job;
	r = launch_child(job, &(struct launch){ 0 }, &n->pid, NULL);
	if (r < 0) {
		free(n);
		return error_set(err, r, "cannot make a process: %s",
				 strerror(-r));
	}
	*ret = &n->base;
	return 0;
}

static int none_run(struct tracer *t, struct tracer_result *ret,
		    struct roar_error *err)
{
	struct none *n = (struct none *)t;
	int r;

	*ret = (struct tracer_result){ 0 };
	launch_open_gate(n->job->control);
	r = command_wait(n->job, n->pid, 0, &ret->status, &ret->usage);
	if (r < 0)
		return error_set(err, r, "cannot wait for the command: %s",
				 strerror(-r));
	ret->exec_errno = atomic_load(&n->job->control->child_errno);
	return 0;
}

static void none_free(struct tracer *t)
{
	free(t);
}

const struct tracer_ops tracer_none = {
	.name = "none",
	.summary = "run the command without observing it",
	.start = none_start,
	.run = none_run,
	.free = none_free,
};

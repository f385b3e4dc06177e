/* tracer.c - the choice of a backend, and the backend that observes nothing */
#include "trace/tracer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/event.h"
#include "trace/call/mount_table.h"
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
	int r;

	assert(job->file && job->argv && job->envp && job->control);
	r = ops->start(job, ret_tracer, err);
	if (r == 0) {
		(*ret_tracer)->job = job;
		(*ret_tracer)->thread = pthread_self();
	}
	return r;
}

/* ---- what is mounted when the run begins ---- */

static void tell(const struct tracer_job *job, enum event_kind kind,
		 int32_t aux, uint64_t dev, const char *path, const char *path2)
{
	size_t len = strlen(path);
	size_t len2 = strlen(path2);
	CLEANUP(freep) struct event *ev = calloc(1, event_size(len, len2));

	if (!ev)
		return;
	ev->kind = (uint8_t)kind;
	ev->pid = atomic_load(&job->control->command);
	ev->aux = aux;
	ev->time_ns = clock_now_ns();
	ev->before.dev = dev;
	event_set_paths(ev, path, len, path2, len2);
	job->sink(job->ctx, ev);
}

static void tell_mount(void *ctx, const struct mount_change *c)
{
	if (strlen(c->path) <= EVENT_PATH_MAX &&
	    strlen(c->path2) <= EVENT_PATH_MAX)
		tell(ctx, c->kind, (int32_t)c->how, c->dev, c->path, c->path2);
}

/* One directory may have several names before the run. */
static void tell_aliases(const struct tracer_job *job)
{
	CLEANUP(freep) char *cwd = getcwd(NULL, 0);

	if (mount_table_tell_aliases(cwd ? cwd : "/", tell_mount, (void *)job) <
	    0)
		tell(job, EVENT_GAP, EVENT_GAP_NAMESPACE, 0,
		     "/proc/self/mountinfo cannot be read", "");
}

int tracer_run(struct tracer *t, struct tracer_result *ret,
	       struct roar_error *err)
{
	assert(pthread_equal(t->thread, pthread_self()));
	if (t->ops != &tracer_none)
		tell_aliases(t->job);
	return t->ops->run(t, ret, err);
}

void tracer_linger(struct tracer *t)
{
	assert(pthread_equal(t->thread, pthread_self()));
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

/* ---- none: the command runs unobserved ---- */

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

/* hybrid.h - the tracers that read a log and receive notifications of the rest.
 *
 * libroar-preload.so in the programs logs its operations in shared memory
 * (trace/preload/log.h), which costs a tenth of a microsecond.  `hybrid` adds a seccomp
 * filter with user notification.  Operations that do not go through the library (static
 * programs, direct system calls, the dynamic loader, calls that must be asked first)
 * stop in the kernel until the tracer has examined them.  So the kernel provides
 * completeness and the library provides speed.
 *
 * `preload` is the library alone, for machines that refuse the filter and for programs
 * that need their set-uid privileges.  Programs without the library are not observed
 * then; those that are noticed at their exec are named in a gap.  Direct system calls
 * and libc's own internal opens cannot be noticed at all. */
#ifndef ROAR_TRACE_HYBRID_HYBRID_H
#define ROAR_TRACE_HYBRID_HYBRID_H

#include "trace/tracer.h"

extern const struct tracer_ops tracer_hybrid;
extern const struct tracer_ops tracer_preload;

/* Sends the events that the programs of a run have logged and its tracer, which was
 * killed, has not sent.  `run` is tracer_job.run, `root` the command's pid or 0.
 * -ENOENT when there is no log, else 0 or a negative errno. */
int hybrid_recover(const char *run, pid_t root,
		   void (*sink)(void *ctx, const struct event *ev), void *ctx);

/* Removes the log, when those events are stored. */
void hybrid_forget(const char *run);

#endif

/* hybrid.h - the tracers that read a log and are notified of the rest.
 *
 * libroar-preload.so in the programs tells what it does in shared memory
 * (trace/preload/log.h), which costs a tenth of a microsecond.  `hybrid` adds a
 * seccomp filter with user notification: whatever the library does not do itself
 * (static programs, direct system calls, the dynamic loader, what must be asked
 * before it is done) stops at the kernel until we have looked.  So completeness
 * comes from the kernel and speed from the library.
 *
 * `preload` is the library alone, for machines that refuse the filter and for
 * programs that need their set-uid privileges.  Programs without the library are
 * not seen then; those that are noticed at their exec are named in a gap.  Direct
 * system calls and libc's own internal opens cannot be noticed at all. */
#ifndef ROAR_TRACE_HYBRID_HYBRID_H
#define ROAR_TRACE_HYBRID_HYBRID_H

#include "trace/tracer.h"

extern const struct tracer_ops tracer_hybrid;
extern const struct tracer_ops tracer_preload;

/* The events that the programs of a run have told and its tracer, which was killed,
 * has not: `run` is tracer_job.run, `root` the command's pid or 0.  -ENOENT when
 * nothing was left, else 0 or a negative errno. */
int hybrid_recover(const char *run, pid_t root,
		   void (*sink)(void *ctx, const struct event *ev), void *ctx);

/* Removes it: those events are in safety. */
void hybrid_forget(const char *run);

#endif

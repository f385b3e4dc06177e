/* ptrace.h - the tracer that works everywhere.
 *
 * A seccomp filter stops the tree only at calls that change which content has which
 * name (calls.h); between two of those it runs at full speed.  See ptrace.c for the
 * loop and call.h for what happens at a stop. */
#ifndef ROAR_TRACE_PTRACE_PTRACE_H
#define ROAR_TRACE_PTRACE_PTRACE_H

#include "trace/tracer.h"

extern const struct tracer_ops tracer_ptrace;

#endif

/* streams.h - files that are the standard streams of a program when it starts.
 *
 * `cmd > out` may be opened by the shell, which passes the descriptor on without a call
 * that a tracer could see.  So when a program starts, its standard streams are looked up
 * in /proc, while the program waits for the tracer.  Where it does not wait, the tracer
 * reports them itself (tracer_ops.streams). */
#ifndef ROAR_STREAMS_H
#define ROAR_STREAMS_H

#include <stdint.h>

struct run;

/* Process `pid` has executed a program: takes an event with EVENT_PASSED for each of its
 * standard streams that is a file which another process of the run has opened. */
void streams_note(struct run *run, int32_t pid, int64_t time_ns);

#endif

/* seize.h - reads and changes the state of a call in which a thread was interrupted;
 * one file per architecture. */
#ifndef ROAR_TRACE_HYBRID_SEIZE_H
#define ROAR_TRACE_HYBRID_SEIZE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

/* Does the kernel let a tracer decide that a call is restarted? */
bool seize_helps(void);

/* Was the call of this thread, which is stopped at a signal, interrupted so that the
 * handler's flags decide whether it is restarted?  Then fills in the call. */
bool seize_interrupted(pid_t tid, struct seccomp_data *ret);

/* Makes the thread restart the call, whatever the flags. */
void seize_repeat(pid_t tid);

#endif

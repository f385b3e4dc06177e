/* seize.h - reading and setting a call in which a thread was interrupted; one file
 * per architecture. */
#ifndef ROAR_TRACE_HYBRID_SEIZE_H
#define ROAR_TRACE_HYBRID_SEIZE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

/* Does the kernel let a tracer decide that a call is made again? */
bool seize_helps(void);

/* Was the call of the thread, which is stopped at a signal, interrupted so that the
 * handler's flags decide whether it is made again?  Then says which it is. */
bool seize_interrupted(pid_t tid, struct seccomp_data *ret);

/* It is made again, whatever the flags. */
void seize_repeat(pid_t tid);

#endif

/* interrupt.h - Ctrl-C while the GIL is released.
 *
 * On Python's main thread, hashing takes the GIL back from time to time and lets
 * Python handle signals.  Other threads must not do that.  Python handles no signals
 * there, and at exit it ends a daemon thread that asks for the GIL: the worker threads
 * of that hash would then use a stack that no longer exists. */
#ifndef ROAR_PYTHON_HASH_INTERRUPT_H
#define ROAR_PYTHON_HASH_INTERRUPT_H

#include "core.h"

#include <stdbool.h>

struct interrupt {
	bool is_main; /* the thread where Python handles signals */
	bool raised; /* the handler of a signal has raised an exception */
	PyThreadState *others; /* while the GIL is released */
};

/* Releases the GIL, and takes it back. */
void interrupt_release(struct interrupt *i);
void interrupt_restore(struct interrupt *i);

/* Lets Python handle signals while the GIL is released; true: a handler raised. */
bool interrupt_look(struct interrupt *i);

#endif

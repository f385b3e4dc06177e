/* interrupt.h - Ctrl-C while the GIL is released.
 *
 * On Python's main thread whoever hashes takes the GIL back for a moment now and then
 * and lets Python handle signals.  No other thread does: Python handles no signals
 * there, and ends a daemon thread that asks for the GIL at exit, whose helpers
 * would then work on a stack that is gone. */
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

/* Lets Python handle signals, between the two; true: one has raised an exception. */
bool interrupt_look(struct interrupt *i);

#endif

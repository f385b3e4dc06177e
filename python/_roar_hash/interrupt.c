/* interrupt.c - see interrupt.h */
#include "interrupt.h"

void interrupt_release(struct interrupt *i)
{
	i->others = PyEval_SaveThread();
}

void interrupt_restore(struct interrupt *i)
{
	PyEval_RestoreThread(i->others);
}

bool interrupt_look(struct interrupt *i)
{
	if (!i->is_main || i->raised)
		return i->raised;
	interrupt_restore(i);
	i->raised = PyErr_CheckSignals() < 0;
	interrupt_release(i);
	return i->raised;
}

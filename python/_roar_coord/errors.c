/* errors.c - see core.h */
#include <roar/coord.h>
#include <string.h>

#include "core.h"

void *error_raise(struct state *state, int r, bool meeting)
{
	const char *sentence = roar_coord_error();

	if (r == -ENOMEM)
		return PyErr_NoMemory();
	if (!state->errors)
		state->errors = PyImport_ImportModule("roar._coord_errors");
	if (!state->errors)
		return NULL;
	return module_raise(PyObject_CallMethod(
		state->errors, "make", "issi", -r,
		*sentence ? sentence : strerror(-r),
		meeting ? roar_coord_absent() : "", meeting));
}

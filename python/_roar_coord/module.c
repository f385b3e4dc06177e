/* module.c - the module _roar_coord: its state and its one type */
#include "core.h"

static int module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	return module_add_type(module, "Client", &client_spec,
			       &state->client_type);
}

static PyMethodDef methods[] = {
	{ "join", (PyCFunction)(void (*)(void))client_join,
	  METH_VARARGS | METH_KEYWORDS,
	  "A client that has joined its job: see roar.coordinator." },
	{ "meet_reply", meet_reply, METH_O,
	  "The result of Client.meet(), as a dict." },
	{ 0 },
};

MODULE_DEFINE(_roar_coord, sizeof(struct state), module_exec, methods,
	      "The C half of roar.coordinator.")

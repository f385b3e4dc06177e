/* module.c - the module _roar_coord: its state and its one type */
#include "core.h"

struct state *core_state(PyObject *module)
{
	return PyModule_GetState(module);
}

static int module_exec(PyObject *module)
{
	struct state *state = core_state(module);

	state->client_type = PyType_FromModuleAndSpec(module, &client_spec,
						      NULL);
	if (!state->client_type)
		return -1;
	return PyModule_AddObjectRef(module, "Client", state->client_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *state = core_state(module);

	Py_VISIT(state->errors);
	Py_VISIT(state->client_type);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *state = core_state(module);

	Py_CLEAR(state->errors);
	Py_CLEAR(state->client_type);
	return 0;
}

static void module_free(void *module)
{
	(void)module_clear(module);
}

static PyMethodDef methods[] = {
	{ "join", (PyCFunction)(void (*)(void))client_join,
	  METH_VARARGS | METH_KEYWORDS,
	  "A client that has its place: see roar.coordinator." },
	{ "meet_reply", meet_reply, METH_O,
	  "What Client.meet() gave, as a dict." },
	{ 0 },
};

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_exec },
	{ 0 },
};

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_roar_coord",
	.m_doc = "The C half of roar.coordinator.",
	.m_size = sizeof(struct state),
	.m_methods = methods,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__roar_coord(void);

PyMODINIT_FUNC PyInit__roar_coord(void)
{
	return PyModuleDef_Init(&definition);
}

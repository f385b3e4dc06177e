/* module.c - the module _roar_arena: its state, its types, the registry */
#include "core.h"

#include <string.h>

#include "base/macros.h"
#include "decode.h"
#include "encode.h"
#include "errors.h"
#include "handle.h"
#include "reducers.h"
#include "view.h"

PyObject *core_import(const char *module, const char *name)
{
	PyObject *imported = PyImport_ImportModule(module);
	PyObject *found;

	if (!imported)
		return NULL;
	found = PyObject_GetAttrString(imported, name);
	Py_DECREF(imported);
	return found;
}

/* roar.register() checks its arguments before it comes here. */
static PyObject *module_register(PyObject *module, PyObject *args)
{
	struct state *state = PyModule_GetState(module);
	PyObject *type;
	PyObject *to;
	PyObject *from;
	PyObject *pair;
	int r;

	if (!PyArg_ParseTuple(args, "O!OO:register", &PyType_Type, &type, &to,
			      &from))
		return NULL;
	pair = PyTuple_Pack(2, to, from);
	if (!pair)
		return NULL;
	r = PyDict_SetItem(state->ref[REF_REGISTRY], type, pair);
	Py_DECREF(pair);
	if (r < 0)
		return NULL;
	Py_RETURN_NONE;
}

static const struct {
	enum ref ref;
	const char *module, *name;
} names[] = {
	{ REF_PICKLER, "pickle", "Pickler" },
	{ REF_UNPICKLER, "pickle", "Unpickler" },
	{ REF_LOADS, "pickle", "loads" },
	{ REF_BYTES_IO, "io", "BytesIO" },
};

static const struct {
	enum ref ref;
	const char *name;
} object_names[] = {
	{ REF_OBJECT_REDUCE_EX, "__reduce_ex__" },
	{ REF_OBJECT_REDUCE, "__reduce__" },
	{ REF_OBJECT_GETSTATE, "__getstate__" },
};

static const struct {
	enum ref ref;
	PyType_Spec *spec;
	const char *name; /* under which the module shows it, or NULL */
} types[] = {
	{ REF_HANDLE_TYPE, &handle_spec, "Handle" },
	{ REF_VIEW_TYPE, &view_spec, "View" },
	{ REF_ENCODER_TYPE, &encoder_spec, NULL },
	{ REF_DECODER_TYPE, &decoder_spec, NULL },
	{ REF_REDUCERS_TYPE, &reducers_spec, NULL },
};

static int add_types(PyObject *module, struct state *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		PyObject *type = PyType_FromModuleAndSpec(module, types[i].spec,
							  NULL);

		state->ref[types[i].ref] = type;
		if (!type)
			return -1;
		if (types[i].name &&
		    PyModule_AddObjectRef(module, types[i].name, type) < 0)
			return -1;
	}
	return 0;
}

static int find_names(struct state *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		state->ref[names[i].ref] = core_import(names[i].module,
						       names[i].name);
		if (!state->ref[names[i].ref])
			return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(object_names); i++) {
		PyObject *found = PyObject_GetAttrString(
			(PyObject *)&PyBaseObject_Type, object_names[i].name);

		state->ref[object_names[i].ref] = found;
		if (!found)
			return -1;
	}
	state->ref[REF_REGISTRY] = PyDict_New();
	return state->ref[REF_REGISTRY] ? 0 : -1;
}

static int module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	if (find_names(state) < 0 || add_types(module, state) < 0)
		return -1;
	if (PyModule_AddObjectRef(module, "registry",
				  state->ref[REF_REGISTRY]) < 0)
		return -1;
	return 0;
}

static PyMethodDef methods[] = {
	{ "create", (PyCFunction)(void (*)(void))handle_create,
	  METH_VARARGS | METH_KEYWORDS, "A new arena: see roar.Arena." },
	{ "attach", (PyCFunction)(void (*)(void))handle_attach,
	  METH_VARARGS | METH_KEYWORDS,
	  "The arena of a descriptor; the caller keeps the descriptor." },
	{ "register", module_register, METH_VARARGS, "See roar.register()." },
	{ 0 },
};

MODULE_DEFINE(_roar_arena, sizeof(struct state), module_exec, methods,
	      "The C half of roar.Arena.")

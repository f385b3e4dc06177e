/* module.h - what the extension modules have in common.
 *
 * All of them speak the limited API of Python 3.11, so that one build serves every later
 * version.  A module keeps its state in a struct that consists of references to Python
 * objects and of nothing else: they are visited and dropped here, by their number.
 * Every type is a heap type. */
#ifndef ROAR_PYTHON_MODULE_H
#define ROAR_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>

/* ---- objects of our types ---- */

/* A new object, all its fields zero; NULL with an exception. */
static inline void *object_new(PyObject *type)
{
	PyTypeObject *t = (PyTypeObject *)type;
	allocfunc alloc = (allocfunc)PyType_GetSlot(t, Py_tp_alloc);

	return alloc(t, 0);
}

/* Ends an object: its memory, and its reference to the type. */
static inline void object_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

/* ---- exceptions ---- */

/* Raises `error`, and drops the caller's reference to it.  NULL means that making it has
 * raised something already.  Returns NULL. */
static inline void *module_raise(PyObject *error)
{
	if (!error)
		return NULL;
	PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_DECREF(error);
	return NULL;
}

/* Raises an exception of this type for a negative errno and its sentence; an OSError
 * carries both, and -ENOMEM is a MemoryError.  Returns NULL. */
static inline void *module_fail(PyObject *type, int r, const char *sentence)
{
	PyObject *text;

	if (r == -ENOMEM)
		return PyErr_NoMemory();
	/* A path in it may consist of any bytes. */
	text = PyUnicode_DecodeFSDefault(sentence);
	if (!text)
		return NULL;
	if (type == PyExc_OSError)
		return module_raise(PyObject_CallFunction(type, "iN", -r, text));
	PyErr_SetObject(type, text);
	Py_DECREF(text);
	return NULL;
}

/* ---- the module itself ---- */

/* Adds an object under a name, or nothing when making it has raised something (NULL).
 * The caller's reference moves to *place, a field of the state, or is dropped when
 * `place` is NULL. */
static inline int module_add(PyObject *module, const char *name,
			     PyObject *object, PyObject **place)
{
	int r = object ? PyModule_AddObjectRef(module, name, object) : -1;

	if (place)
		*place = object;
	else
		Py_XDECREF(object);
	return r;
}

static inline int module_add_type(PyObject *module, const char *name,
				  PyType_Spec *spec, PyObject **place)
{
	return module_add(module, name,
			  PyType_FromModuleAndSpec(module, spec, NULL), place);
}

/* The references of the state, and how many there are. */
static inline PyObject **module_refs(PyObject *module, size_t *ret_n)
{
	*ret_n = (size_t)PyModule_GetDef(module)->m_size / sizeof(PyObject *);
	return PyModule_GetState(module);
}

static inline int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	size_t n;
	PyObject **refs = module_refs(module, &n);

	for (size_t i = 0; i < n; i++)
		Py_VISIT(refs[i]);
	return 0;
}

static inline int module_clear(PyObject *module)
{
	size_t n;
	PyObject **refs = module_refs(module, &n);

	for (size_t i = 0; i < n; i++)
		Py_CLEAR(refs[i]);
	return 0;
}

static inline void module_free(void *module)
{
	(void)module_clear(module);
}

/* The module `name`, whose state has `size` bytes and is filled in by exec(module). */
#define MODULE_DEFINE(name, size, exec, functions, doc)      \
	static PyModuleDef_Slot name##_slots[] = {           \
		{ Py_mod_exec, exec },                       \
		{ 0 },                                       \
	};                                                   \
	static PyModuleDef name##_definition = {             \
		PyModuleDef_HEAD_INIT,                       \
		.m_name = #name,                             \
		.m_doc = doc,                                \
		.m_size = size,                              \
		.m_methods = functions,                      \
		.m_slots = name##_slots,                     \
		.m_traverse = module_traverse,               \
		.m_clear = module_clear,                     \
		.m_free = module_free,                       \
	};                                                   \
	PyMODINIT_FUNC PyInit_##name(void);                  \
	PyMODINIT_FUNC PyInit_##name(void)                   \
	{                                                    \
		return PyModuleDef_Init(&name##_definition); \
	}

#endif

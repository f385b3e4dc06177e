/* module.c - the module _roar_reader: its state, its types, its functions */
#include "core.h"

#include <errno.h>

#include "buffer.h"
#include "fill.h"
#include "shard.h"
#include "stream.h"

struct state *core_state(PyObject *module)
{
	return PyModule_GetState(module);
}

void *core_new(PyObject *type)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type,
						    Py_tp_alloc);

	return alloc((PyTypeObject *)type, 0);
}

void core_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

/* ---- failures ---- */

static PyObject *exception_of(const struct state *state, int r)
{
	switch (r) {
	case -ESTALE:
		return state->changed;
	case -ERANGE:
		return PyExc_IndexError;
	case -EBADMSG:
	case -EFBIG:
	case -EILSEQ:
	case -EINVAL:
	case -ENOSPC:
	case -ENOTSUP:
		return state->error;
	default:
		return PyExc_OSError;
	}
}

PyObject *core_fail(const struct state *state, int r,
		    const struct roar_error *err)
{
	PyObject *exception = exception_of(state, r);
	PyObject *text;
	PyObject *value;

	if (r == -ENOMEM)
		return PyErr_NoMemory();
	/* A path in it may be of any bytes. */
	text = PyUnicode_DecodeFSDefault(err->text);
	if (!text)
		return NULL;
	value = exception == PyExc_OSError ? Py_BuildValue("iN", -r, text) :
					     text;
	if (value)
		PyErr_SetObject(exception, value);
	Py_XDECREF(value);
	return NULL;
}

/* ---- the module ---- */

static PyMethodDef functions[] = {
	{ "open", (PyCFunction)(void (*)(void))shard_open,
	  METH_VARARGS | METH_KEYWORDS, shard_open_doc },
	{ "fill", fill, METH_VARARGS, fill_doc },
	{ "stream", stream_begin, METH_VARARGS, stream_begin_doc },
	{ 0 },
};

static int add(PyObject *module, const char *name, PyObject *object,
	       PyObject **place)
{
	*place = object;
	return object ? PyModule_AddObjectRef(module, name, object) : -1;
}

static int add_type(PyObject *module, const char *name, PyType_Spec *spec,
		    PyObject **place)
{
	return add(module, name, PyType_FromModuleAndSpec(module, spec, NULL),
		   place);
}

static int add_errors(PyObject *module, struct state *s)
{
	if (add(module, "ShardError",
		PyErr_NewExceptionWithDoc(
			"roar.readers.ShardError",
			"A shard that is damaged, or is not what it was said "
			"to be; the text says what to do.",
			PyExc_ValueError, NULL),
		&s->error) < 0)
		return -1;
	return add(module, "ShardChanged",
		   PyErr_NewExceptionWithDoc(
			   "roar.readers.ShardChanged",
			   "A shard whose content is not the one that was "
			   "expected, or changed while it was read.",
			   s->error, NULL),
		   &s->changed);
}

static int module_exec(PyObject *module)
{
	struct state *s = core_state(module);

	s->key_name = PyUnicode_InternFromString("__key__");
	if (!s->key_name || add_errors(module, s) < 0 ||
	    add_type(module, "Buffer", &buffer_spec, &s->buffer_type) < 0 ||
	    add_type(module, "Reader", &shard_spec, &s->reader_type) < 0 ||
	    add_type(module, "Stream", &stream_spec, &s->stream_type) < 0)
		return -1;
	return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	const struct state *s = core_state(module);

	Py_VISIT(s->error);
	Py_VISIT(s->changed);
	Py_VISIT(s->reader_type);
	Py_VISIT(s->stream_type);
	Py_VISIT(s->buffer_type);
	Py_VISIT(s->key_name);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *s = core_state(module);

	Py_CLEAR(s->error);
	Py_CLEAR(s->changed);
	Py_CLEAR(s->reader_type);
	Py_CLEAR(s->stream_type);
	Py_CLEAR(s->buffer_type);
	Py_CLEAR(s->key_name);
	return 0;
}

static void module_free(void *module)
{
	(void)module_clear(module);
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_exec },
	{ 0 },
};

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_roar_reader",
	.m_doc = "Samples of shards; roar.readers is its face.",
	.m_size = sizeof(struct state),
	.m_methods = functions,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__roar_reader(void);
PyMODINIT_FUNC PyInit__roar_reader(void)
{
	return PyModuleDef_Init(&definition);
}

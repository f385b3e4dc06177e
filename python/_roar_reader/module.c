/* module.c - the module _roar_reader: its state, its types, its functions */
#include "core.h"

#include "buffer.h"
#include "fill.h"
#include "objects.h"
#include "reader/sample_source.h"
#include "shard.h"
#include "stream.h"

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
	if (r == -EINTR && PyErr_Occurred())
		return NULL;
	return module_fail(exception_of(state, r), r, err->text);
}

/* ---- waiting ---- */

/* What the handler raised stays with this thread, for core_fail(). */
static bool is_interrupted(void)
{
	PyGILState_STATE gil = PyGILState_Ensure();
	bool raised = PyErr_CheckSignals() < 0;

	PyGILState_Release(gil);
	return raised;
}

PyThreadState *core_release(void)
{
	source_set_interrupt(is_interrupted);
	return PyEval_SaveThread();
}

/* ---- the module ---- */

static PyMethodDef functions[] = {
	{ "open", (PyCFunction)(void (*)(void))shard_open,
	  METH_VARARGS | METH_KEYWORDS, shard_open_doc },
	{ "fill", fill, METH_VARARGS, fill_doc },
	{ "objects", objects_list, METH_VARARGS, objects_list_doc },
	{ "stream", stream_begin, METH_VARARGS, stream_begin_doc },
	{ 0 },
};

static int add_errors(PyObject *module, struct state *s)
{
	if (module_add(module, "ShardError",
		       PyErr_NewExceptionWithDoc(
			       "roar.readers.ShardError",
			       "A shard that is damaged or of another kind; the "
			       "text names cause and remedy.",
			       PyExc_ValueError, NULL),
		       &s->error) < 0)
		return -1;
	return module_add(
		module, "ShardChanged",
		PyErr_NewExceptionWithDoc(
			"roar.readers.ShardChanged",
			"A shard whose content is not the one that was "
			"expected, or changed while it was read.",
			s->error, NULL),
		&s->changed);
}

static int module_exec(PyObject *module)
{
	struct state *s = PyModule_GetState(module);

	objects_register();
	s->key_name = PyUnicode_InternFromString("__key__");
	if (!s->key_name || add_errors(module, s) < 0 ||
	    module_add_type(module, "Buffer", &buffer_spec, &s->buffer_type) <
		    0 ||
	    module_add_type(module, "Reader", &shard_spec, &s->reader_type) <
		    0 ||
	    module_add_type(module, "Stream", &stream_spec, &s->stream_type) < 0)
		return -1;
	return 0;
}

MODULE_DEFINE(_roar_reader, sizeof(struct state), module_exec, functions,
	      "Samples of shards; roar.readers is the public module.")

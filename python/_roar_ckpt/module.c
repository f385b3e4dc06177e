/* module.c - the module _roar_ckpt: its types, its functions, its failures */
#include "core.h"

#include "listing.h"
#include "load.h"
#include "part.h"
#include "request.h"

/* ---- failures ---- */

static const struct {
	int error;
	const char *name; /* in roar.checkpoint */
} exceptions[] = {
	{ -EEXIST, "CheckpointExists" },   { -ENOENT, "CheckpointMissing" },
	{ -EBADMSG, "CheckpointDamaged" }, { -ENODATA, "CheckpointDamaged" },
	{ -EINVAL, "CheckpointError" },	   { -ENOTSUP, "CheckpointError" },
};

static const char *exception_name(int r)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (exceptions[i].error == r)
			return exceptions[i].name;
	return NULL;
}

PyObject *core_fail(int r, const char *sentence)
{
	const char *name = exception_name(r);
	PyObject *module, *type;

	if (!name)
		return module_fail(PyExc_OSError, r, sentence);
	/* Here and not at the import: that package imports this one. */
	module = PyImport_ImportModule("roar.checkpoint._errors");
	type = module ? PyObject_GetAttrString(module, name) : NULL;
	if (type)
		(void)module_fail(type, r, sentence);
	Py_XDECREF(type);
	Py_XDECREF(module);
	return NULL;
}

/* ---- the module ---- */

static PyMethodDef functions[] = {
	{ "request", request_new, METH_VARARGS, request_new_doc },
	{ "open", load_open, METH_VARARGS, load_open_doc },
	{ "list", listing_list, METH_VARARGS, listing_list_doc },
	{ "gc", listing_gc, METH_VARARGS, listing_gc_doc },
	{ 0 },
};

static int module_exec(PyObject *module)
{
	struct state *s = PyModule_GetState(module);

	if (module_add_type(module, "Map", &load_map_spec, &s->map_type) < 0 ||
	    module_add_type(module, "Part", &part_spec, &s->part_type) < 0 ||
	    module_add_type(module, "Reader", &load_reader_spec,
			    &s->reader_type) < 0 ||
	    module_add_type(module, "Request", &request_spec,
			    &s->request_type) < 0)
		return -1;
	return 0;
}

MODULE_DEFINE(_roar_ckpt, sizeof(struct state), module_exec, functions,
	      "Checkpoints; roar.checkpoint is the public module.")

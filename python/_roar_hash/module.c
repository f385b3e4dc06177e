/* module.c - the module _roar_hash: its functions and the names of algorithms */
#include "core.h"

#include "buffer.h"
#include "files.h"
#include "wanted.h"

static PyMethodDef functions[] = {
	{ "hash_buffer", buffer_hash, METH_VARARGS, buffer_hash_doc },
	{ "hash_files", files_hash, METH_VARARGS, files_hash_doc },
	{ 0 },
};

static int module_exec(PyObject *module)
{
	PyObject *names = wanted_names();
	int r = names ? PyModule_AddObjectRef(module, "ALGORITHMS", names) : -1;

	Py_XDECREF(names);
	return r;
}

MODULE_DEFINE(_roar_hash, 0, module_exec, functions,
	      "Digests of files and bytes; roar.hash() is the public function.")

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

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_exec },
	{ 0 },
};

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_roar_hash",
	.m_doc = "Digests of files and bytes; roar.hash() is its face.",
	.m_methods = functions,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__roar_hash(void);

PyMODINIT_FUNC PyInit__roar_hash(void)
{
	return PyModuleDef_Init(&definition);
}

/* module.c - the module _roar_shard: its state and its types */
#include "core.h"

static struct state *state_of(PyObject *module)
{
	return PyModule_GetState(module);
}

static int add_type(PyObject *module, PyType_Spec *spec, const char *name,
		    PyObject **ret)
{
	PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
	int r = type ? PyModule_AddObjectRef(module, name, type) : -1;

	if (ret)
		*ret = type;
	else
		Py_XDECREF(type);
	return r;
}

static int module_exec(PyObject *module)
{
	struct state *state = state_of(module);
	static const struct {
		PyType_Spec *spec;
		const char *name;
	} types[] = {
		{ &audit_type_spec, "Audit" },
		{ &mix_type_spec, "Mix" },
		{ &order_type_spec, "Order" },
		{ &position_type_spec, "Position" },
		{ &table_type_spec, "Table" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (add_type(module, types[i].spec, types[i].name, NULL) < 0)
			return -1;
	return add_type(module, &ranges_type_spec, "Ranges",
			&state->ranges_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	Py_VISIT(state_of(module)->ranges_type);
	return 0;
}

static int module_clear(PyObject *module)
{
	Py_CLEAR(state_of(module)->ranges_type);
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
	.m_name = "_roar_shard",
	.m_doc = "Orders, positions and audits; roar.order is its face.",
	.m_size = sizeof(struct state),
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__roar_shard(void);

PyMODINIT_FUNC PyInit__roar_shard(void)
{
	return PyModuleDef_Init(&definition);
}

/* module.c - the module _roar_shard: its state and its types */
#include "base/macros.h"
#include "core.h"

static int module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);
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

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (module_add_type(module, types[i].name, types[i].spec,
				    NULL) < 0)
			return -1;
	return module_add_type(module, "Ranges", &ranges_type_spec,
			       &state->ranges_type);
}

MODULE_DEFINE(_roar_shard, sizeof(struct state), module_exec, note_functions,
	      "Orders, positions and audits; roar.order is the public module.")

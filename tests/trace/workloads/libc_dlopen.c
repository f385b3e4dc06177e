/* dlopen() opens and maps from inside the loader. */
#include <dlfcn.h>
#include <link.h>

#include "workload.h"

void prepare(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	struct link_map *map;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0)
		skip("no libm.so.6 to copy");
	copy_program(map->l_name, "plugin.so");
	put("garbage.so", "hello");
}

void act(void)
{
	void *library = dlopen("./plugin.so", RTLD_NOW);

	REQUIRE(library && dlsym(library, "cos"));
	REQUIRE(!dlopen("./nothing.so", RTLD_NOW));
	REQUIRE(!dlopen("./garbage.so", RTLD_NOW));
	REQUIRE(dlclose(library) == 0);
	expect("input plugin.so");
	expect("input garbage.so");
}

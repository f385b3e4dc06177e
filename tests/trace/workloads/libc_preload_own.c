/* A program gives its child an LD_PRELOAD of its own: the library is loaded, and
 * the child sees the variable as it was set. */
#include <dlfcn.h>
#include <link.h>

#include "workload.h"

int helper(int argc, char **argv)
{
	const char *value = getenv("LD_PRELOAD");

	(void)argc;
	(void)argv;
	REQUIRE(value && strcmp(value, "./plugin.so") == 0);
	put("out.txt", "x");
	return 0;
}

void prepare(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	struct link_map *map;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0)
		skip("no libm.so.6 to copy");
	copy_program(map->l_name, "plugin.so");
}

void act(void)
{
	pid_t pid;

	CHECK(setenv("LD_PRELOAD", "./plugin.so", 1));
	pid = CHECK(fork());
	if (pid == 0) {
		execl(self, self, "child", NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("input plugin.so");
	expect("output out.txt");
}

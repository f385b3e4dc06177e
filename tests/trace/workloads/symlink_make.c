/* A symbolic link made by the run is something it made; what it leads to is
 * recorded under its own name. */
#include "workload.h"

void prepare(void)
{
	put("v2", "hello");
}

void act(void)
{
	CHECK(symlink("v2", "latest"));
	CHECK(symlinkat("/nowhere/at all", AT_FDCWD, "dangling"));
	take("latest");
	expect("input v2");
	expect("output latest");
	expect("output dangling");
	expect("event symlink v2 -> latest");
	expect("event symlink /nowhere/at all -> dangling");
	expect("event open r v2");
}

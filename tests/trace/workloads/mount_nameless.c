/* A file that is mounted over another and has lost its own name. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	put("source", "hello");
	put("over", "");
	if (mount("source", "over", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(unlink("source"));
}

void act(void)
{
	take("over");
	put("out", "x");
	expect("input over");
	expect("output out");
}

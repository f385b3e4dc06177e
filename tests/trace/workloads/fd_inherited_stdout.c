/* stdout goes to a file that a child of the command writes. */
#include "workload.h"

void prepare(void)
{
	expect("redirect 1 out.txt");
	expect("output out.txt");
}

static void child(void)
{
	REQUIRE(write(1, "x\n", 2) == 2);
}

void act(void)
{
	in_child(child);
}

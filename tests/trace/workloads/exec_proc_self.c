/* A program starts itself again by the name it has in /proc. */
#include "workload.h"

int helper(int argc, char **argv)
{
	if (strcmp(argv[1], "first") == 0) {
		execl("/proc/self/exe", argv[0], "second", NULL);
		fail("execl", __LINE__);
	}
	REQUIRE(argc == 2);
	put("out.txt", "x");
	return 0;
}

void prepare(void)
{
	copy_program(self, "prog");
}

static void start(void)
{
	execl("./prog", "prog", "first", NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	in_child(start);
	expect("input prog");
	expect("output out.txt");
	/* Twice the same program, which counts as one immediate repetition. */
	expect("event exec prog");
	expect("event open w+create out.txt");
}

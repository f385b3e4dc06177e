/* The interpreter of a script can be a script. */
#include "workload.h"

int helper(int argc, char **argv)
{
	REQUIRE(argc == 3 && strcmp(argv[1], "./inner") == 0);
	put("out.txt", "x");
	return 0;
}

void prepare(void)
{
	copy_program(self, "interp");
	put("inner", "#!./interp\n");
	put("outer", "#!./inner\n");
	CHECK(chmod("inner", 0755));
	CHECK(chmod("outer", 0755));
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl("./outer", "outer", NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("input outer");
	expect("input inner");
	expect("input interp");
	expect("output out.txt");
}

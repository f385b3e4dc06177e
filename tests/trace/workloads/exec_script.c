/* A script is an input, and so is the interpreter its first line names. */
#include "workload.h"

int helper(int argc, char **argv)
{
	REQUIRE(argc == 3 && strcmp(argv[2], "./script") == 0);
	take(argv[2]);
	put("out.txt", "x");
	return 0;
}

void prepare(void)
{
	copy_program(self, "interp");
	put("script", "#!./interp -x\nnothing\n");
	CHECK(chmod("script", 0755));
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl("./script", "script", NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("input script");
	expect("input interp");
	expect("output out.txt");
}

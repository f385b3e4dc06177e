/* A child gets no environment at all, and gives its own child none either. */
#include "workload.h"

extern char **environ;

int helper(int argc, char **argv)
{
	(void)argc;
	REQUIRE(!environ || !environ[0]);
	if (strcmp(argv[1], "second") == 0) {
		put("second.txt", "x");
		return 0;
	}
	take("in.txt");
	put("first.txt", "x");
	execle(self, self, "second", NULL, environ);
	return 97;
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	static char *nothing[] = { NULL };
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execle(self, self, "first", NULL, nothing);
		fail("execle", __LINE__);
	}
	await(pid, 0);
	REQUIRE(system("env -i /bin/sh -c 'echo x > shell.txt'") == 0);
	expect("input in.txt");
	expect("output first.txt");
	expect("output second.txt");
	expect("output shell.txt");
}

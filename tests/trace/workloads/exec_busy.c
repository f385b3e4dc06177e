/* ETXTBSY: a program that is being written cannot run, and one that runs cannot be
 * written. */
#include "workload.h"

int helper(int argc, char **argv)
{
	(void)argc;
	FAILS(open(argv[1], O_WRONLY), ETXTBSY);
	FAILS(truncate(argv[1], 0), ETXTBSY);
	return 0;
}

void prepare(void)
{
	copy_program(self, "program");
}

void act(void)
{
	char *argv[] = { "./program", "program", NULL };
	int fd = CHECK(open("program", O_WRONLY));
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		FAILS(execv("./program", argv), ETXTBSY);
		CHECK(close(fd));
		_exit(0);
	}
	await(pid, 0);
	CHECK(close(fd));
	pid = CHECK(fork());
	if (pid == 0) {
		execv("./program", argv);
		fail("execv", __LINE__);
	}
	await(pid, 0);
	expect("input program");
}

/* A program in anonymous memory has no name; its files have. */
#include <sys/mman.h>

#include "workload.h"

extern char **environ;

int helper(int argc, char **argv)
{
	(void)argc;
	put(argv[1], "x");
	return 0;
}

void act(void)
{
	char *argv[] = { "prog", "out.txt", NULL };
	int fd = CHECK(memfd_create("prog", 0));
	char name[64];
	pid_t pid;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	copy_program(self, name);
	pid = CHECK(fork());
	if (pid == 0) {
		fexecve(fd, argv, environ);
		fail("fexecve", __LINE__);
	}
	await(pid, 0);
	expect("output out.txt");
}

/* Descriptors that close themselves at exec, and numbers that stay free: the
 * tracer has none of its own among them. */
#include "workload.h"

int helper(int argc, char **argv)
{
	(void)argc;
	FAILS(fcntl(atoi(argv[1]), F_GETFD), EBADF);
	put_fd(atoi(argv[2]), "x");
	for (int fd = 3; fd < 200; fd++)
		if (fd != atoi(argv[2]))
			FAILS(fcntl(fd, F_GETFD), EBADF);
	return 0;
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int a = CHECK(open("in.txt", O_RDONLY | O_CLOEXEC));
	int b = CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644));
	char first[16], second[16];
	pid_t pid = CHECK(fork());

	REQUIRE(a == 3 && b == 4);
	snprintf(first, sizeof(first), "%d", a);
	snprintf(second, sizeof(second), "%d", b);
	if (pid == 0) {
		execl(self, self, first, second, NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("input in.txt");
	expect("output out.txt");
}

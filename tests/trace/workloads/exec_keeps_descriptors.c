/* A descriptor opened before exec is used after it. */
#include "workload.h"

int helper(int argc, char **argv)
{
	(void)argc;
	put_fd(atoi(argv[1]), "x");
	REQUIRE(fcntl(atoi(argv[2]), F_GETFD) < 0 && errno == EBADF);
	put("after.txt", "x");
	return 0;
}

void act(void)
{
	int kept = CHECK(open("kept.txt", O_WRONLY | O_CREAT, 0644));
	int gone = CHECK(open("gone.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	char a[16], b[16];
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		snprintf(a, sizeof(a), "%d", kept);
		snprintf(b, sizeof(b), "%d", gone);
		execl(self, self, a, b, NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("output kept.txt");
	expect("output gone.txt");
	expect("output after.txt");
}

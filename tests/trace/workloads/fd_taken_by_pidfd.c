/* pidfd_getfd() takes a descriptor out of another process; its opener was seen. */
#include "workload.h"

#include <sys/prctl.h>

static int take_from(pid_t pid, int number)
{
	int pidfd = CHECK((int)syscall(SYS_pidfd_open, pid, 0));
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	CHECK(close(pidfd));
	return fd;
}

void prepare(void)
{
	put("in.txt", "hello");
	if (syscall(SYS_pidfd_getfd, -1, 0, 0) < 0 && errno == ENOSYS)
		skip("no pidfd_getfd()");
}

void act(void)
{
	int ends[2];
	pid_t pid;
	char c;
	int fd;

	CHECK(pipe(ends));
	pid = CHECK(fork());
	if (pid == 0) {
		CHECK(dup2(CHECK(open("in.txt", O_RDONLY)), 77));
		(void)prctl(PR_SET_PTRACER, getppid(), 0, 0, 0);
		REQUIRE(write(ends[1], "x", 1) == 1);
		pause();
	}
	REQUIRE(read(ends[0], &c, 1) == 1);
	fd = take_from(pid, 77);
	if (fd >= 0)
		take_fd(fd);
	CHECK(kill(pid, SIGKILL));
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	expect("input in.txt");
}

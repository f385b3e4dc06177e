/* Devices: /dev/fd, /dev/stdin, /dev/full and the terminal that is not there. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	CHECK(mkdir("dev", 0755));
	if (mknod("dev/null", S_IFCHR | 0666, 0x103) < 0)
		put("dev/plain", "x");
}

void act(void)
{
	int fd = CHECK(open("in.txt", O_RDONLY));
	char name[64];

	CHECK(dup2(fd, 0));
	take("/dev/stdin");
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	take(name);
	CHECK(close(CHECK(open("/dev/zero", O_RDWR))));
	fd = CHECK(open("/dev/full", O_WRONLY));
	FAILS(write(fd, "x", 1), ENOSPC);
	(void)setsid(); /* away from the terminal, if there is one */
	(void)open("/dev/tty", O_RDWR);
	FAILS(open("/dev/nothing-here", O_RDWR), ENOENT);
	if (access("dev/null", F_OK) == 0 && open("dev/null", O_WRONLY) >= 0)
		expect("special dev/null");
	expect("input in.txt");
}

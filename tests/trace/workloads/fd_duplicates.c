/* Descriptors are copied in four ways; the file stays one. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int fd = CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644));
	int in = CHECK(open("in.txt", O_RDONLY));

	CHECK(dup2(fd, 100));
	CHECK(dup3(fd, 101, O_CLOEXEC));
	put_fd(CHECK(dup(fd)), "a");
	put_fd(CHECK(fcntl(fd, F_DUPFD, 50)), "b");
	CHECK(close(fd));
	put_fd(100, "c");
	put_fd(101, "d");
	CHECK(dup2(in, 0));
	take_fd(0);
	expect("input in.txt");
	expect("output out.txt");
	expect("event open w+create out.txt");
	expect("event open r in.txt");
}

/* Descriptors with high numbers, as programs take to hide them. */
#include <sys/resource.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	struct rlimit limit;
	int top, fd;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit));
	top = limit.rlim_max > 1 << 16 ? (1 << 16) - 1 :
					 (int)limit.rlim_max - 1;
	fd = CHECK(open("in.txt", O_RDONLY));
	CHECK(dup2(fd, top));
	CHECK(close(fd));
	take_fd(top);
	fd = CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644));
	CHECK(dup3(fd, top, O_CLOEXEC));
	CHECK(ftruncate(top, 7));
	CHECK(close(top));
	put_fd(fd, "x");
	expect("input in.txt");
	expect("output out.txt");
}

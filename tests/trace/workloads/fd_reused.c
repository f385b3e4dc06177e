/* The number of a closed file goes to a pipe: writing to it is no output. */
#include "workload.h"

void prepare(void)
{
	put("old.txt", "hello");
}

void act(void)
{
	int fd = CHECK(open("old.txt", O_RDONLY));
	int pipes[2];

	CHECK(close(fd));
	CHECK(pipe(pipes));
	REQUIRE(pipes[0] == fd);
	CHECK(dup2(pipes[1], 20));
	REQUIRE(write(20, "x", 1) == 1);
	CHECK(close(20));
	put_fd(CHECK(open("new.txt", O_WRONLY | O_CREAT, 0644)), "x");
	expect("input old.txt");
	expect("output new.txt");
}

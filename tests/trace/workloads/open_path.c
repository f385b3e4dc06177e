/* O_PATH opens nothing; opening it again through /proc does. */
#include "workload.h"

void prepare(void)
{
	put("seen.txt", "hello");
	put("read.txt", "hello");
}

void act(void)
{
	char name[64];
	int fd = CHECK(open("seen.txt", O_PATH));

	CHECK(close(fd));
	fd = CHECK(open("read.txt", O_PATH));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	take(name);
	expect("input read.txt");
	expect("event open r read.txt");
}

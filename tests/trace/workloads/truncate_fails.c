/* A truncation that fails has changed nothing. */
#include <sys/resource.h>

#include "workload.h"

static void with_a_limit(void)
{
	struct rlimit limit = { 100, 100 };

	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit));
	FAILS(truncate("file", 1000), EFBIG);
}

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	put("file", "hello");
}

void act(void)
{
	int fd = CHECK(open("file", O_RDONLY));

	FAILS(truncate("nothing", 1), ENOENT);
	FAILS(truncate("dir", 1), EISDIR);
	FAILS(truncate("file", -1), EINVAL);
	FAILS(truncate("file/x", 1), ENOTDIR);
	FAILS(ftruncate(fd, 1), EINVAL);
	FAILS(ftruncate(-1, 1), EBADF);
	in_child(with_a_limit);
	expect("input file");
	expect("event open r file");
}

/* A lock file is opened for writing and never written: touched. */
#include <sys/file.h>

#include "workload.h"

void prepare(void)
{
	put("lock", "hello");
	put("shared", "hello");
}

void act(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int fd = CHECK(open("lock", O_WRONLY | O_CREAT, 0644));

	CHECK(flock(fd, LOCK_EX));
	CHECK(fcntl(fd, F_SETLKW, &lock));
	CHECK(lockf(fd, F_ULOCK, 0));
	CHECK(close(fd));
	fd = CHECK(open("shared", O_RDONLY));
	CHECK(flock(fd, LOCK_SH));
	CHECK(close(fd));
	CHECK(close(CHECK(open("new.lock", O_RDWR | O_CREAT | O_EXCL, 0644))));
	expect("touched lock");
	expect("input shared");
	expect("output new.lock");
}

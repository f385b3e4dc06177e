/* Memory that looks like a file: written, sealed, mapped, opened again. */
#include <sys/mman.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int fd = CHECK(memfd_create("in.txt", MFD_ALLOW_SEALING));
	char name[64];

	REQUIRE(write(fd, "hello", 5) == 5);
	CHECK(ftruncate(fd, 4));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	take(name);
	put_fd(CHECK(open(name, O_WRONLY)), "x");
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK));
	FAILS(open(name, O_WRONLY | O_TRUNC), EPERM);
	CHECK(close(fd));
	put("out.txt", "x");
	expect("output out.txt");
}

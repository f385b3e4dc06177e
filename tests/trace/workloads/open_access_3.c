/* The fourth access mode opens a file for ioctl() alone: its content is neither read
 * nor written.  It can be created and emptied all the same. */
#include "workload.h"

void prepare(void)
{
	put("a.txt", "hello");
	put("emptied", "hello");
	put("both", "hello");
}

void act(void)
{
	char byte;
	int fd = CHECK(open("a.txt", O_ACCMODE));

	FAILS(read(fd, &byte, 1), EBADF);
	FAILS(write(fd, "x", 1), EBADF);
	CHECK(close(fd));
	CHECK(close(CHECK(open("new", O_ACCMODE | O_CREAT, 0644))));
	CHECK(close(CHECK(open("emptied", O_ACCMODE | O_TRUNC))));
	CHECK(close(CHECK(open("both", O_ACCMODE))));
	take("both");
	expect("output new");
	expect("output emptied");
	expect("input both");
}

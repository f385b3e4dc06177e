/* Two files are read in turns by one thread, and two written, by calls of every
 * kind. */
#include <sys/uio.h>

#include "sums.h"

void prepare(void)
{
	make_file("a", 1000);
	make_file("b", 1000);
}

static void read_both(int a, int b)
{
	char buf[64];
	struct iovec parts[] = { { buf, 10 }, { buf + 10, 20 } };

	for (int i = 0; i < 20; i++) {
		get_bytes(a, 3);
		get_bytes(b, 5);
	}
	REQUIRE(pread(a, buf, 7, 900) == 7);
	REQUIRE(readv(b, parts, 2) == 30);
	REQUIRE(preadv(a, parts, 2, 100) == 30);
	REQUIRE(preadv2(b, parts, 1, 0, 0) == 10);
	REQUIRE(pread(a, buf, sizeof(buf), 990) == 10); /* short */
	REQUIRE(pread(a, buf, sizeof(buf), 1000) == 0); /* the end */
	FAILS(write(a, buf, 1), EBADF);
}

static void write_both(int c, int d)
{
	char buf[64] = { 0 };
	struct iovec parts[] = { { buf, 11 }, { buf + 11, 22 } };

	for (int i = 0; i < 20; i++) {
		put_bytes(c, 2);
		put_bytes(d, 9);
	}
	REQUIRE(pwrite(c, buf, 8, 0) == 8);
	REQUIRE(writev(d, parts, 2) == 33);
	REQUIRE(pwritev(c, parts, 2, 4) == 33);
	REQUIRE(pwritev2(d, parts, 1, 0, 0) == 11);
	REQUIRE(pread(c, buf, 6, 0) == 6);
}

void act(void)
{
	int a = CHECK(open("a", O_RDONLY));
	int b = CHECK(open("b", O_RDONLY));
	int c = CHECK(open("c", O_RDWR | O_CREAT, 0644));
	int d = CHECK(open("d", O_WRONLY | O_CREAT, 0644));

	read_both(a, b);
	write_both(c, d);
	expect("input a");
	expect("input b");
	expect("output c");
	expect("output d");
	expect_bytes("input", 20 * 3 + 7 + 30 + 10, 0, "a");
	expect_bytes("input", 20 * 5 + 30 + 10, 0, "b");
	expect_bytes("output", 6, 20 * 2 + 8 + 33, "c");
	expect_bytes("output", 0, 20 * 9 + 33 + 11, "d");
}

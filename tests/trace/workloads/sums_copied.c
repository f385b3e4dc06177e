/* Bytes that go from file to file inside of the kernel; those that go to a pipe have
 * been read. */
#include <sys/sendfile.h>

#include "sums.h"

void prepare(void)
{
	make_file("in", 1000);
}

void act(void)
{
	int in = CHECK(open("in", O_RDONLY));
	int out = CHECK(open("out", O_WRONLY | O_CREAT, 0644));
	int pipe_fds[2];

	CHECK(pipe(pipe_fds));
	REQUIRE(sendfile(out, in, NULL, 100) == 100);
	REQUIRE(copy_file_range(in, NULL, out, NULL, 200, 0) == 200);
	REQUIRE(splice(in, NULL, pipe_fds[1], NULL, 50, 0) == 50);
	REQUIRE(splice(pipe_fds[0], NULL, out, NULL, 30, 0) == 30);
	get_bytes(pipe_fds[0], 20);
	put_bytes(pipe_fds[1], 20);
	expect("input in");
	expect("output out");
	expect_bytes("input", 350, 0, "in");
	expect_bytes("output", 0, 330, "out");
}

/* recvmmsg() brings several descriptors in one call, from a process that is not of
 * the run. */
#include "passing.h"
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("out.txt", "hello");
	serve_fds("in.txt", "out.txt");
}

void act(void)
{
	int fds[2];
	char buf[16];

	receive_fds(call_server(), fds);
	REQUIRE(read(fds[0], buf, sizeof(buf)) == 5);
	REQUIRE(write(fds[1], " world", 6) == 6);
	CHECK(close(fds[0]));
	CHECK(close(fds[1]));
	expect("input in.txt");
	expect("output out.txt");
}

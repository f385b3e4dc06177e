/* A static program gets descriptors from outside of the run, several in one call, and
 * closes them: whoever cannot look in between says that something may be missing. */
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
	expect("except hybrid input in.txt");
	expect("except hybrid output out.txt");
	expect("may input in.txt");
	expect("may output out.txt");
	expect("only hybrid gap lost");
}

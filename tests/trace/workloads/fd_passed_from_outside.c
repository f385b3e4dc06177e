/* SCM_RIGHTS from a process that is not of the run: the descriptor brings a
 * file that nobody in the run has opened. */
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
	int sock = call_server();
	int in = receive_fd(sock);
	int out = receive_fd(sock);
	char buf[16];

	REQUIRE(read(in, buf, sizeof(buf)) == 5);
	REQUIRE(write(out, " world", 6) == 6);
	expect("input in.txt");
	expect("output out.txt");
}

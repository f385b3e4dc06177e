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

	receive_fds(call_server(), fds);
	use_fds(fds[0], fds[1]);
	expect("input in.txt");
	expect("output out.txt");
}

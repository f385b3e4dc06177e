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

	receive_fds(call_server(), fds);
	use_fds(fds[0], fds[1]);
	expect("except hybrid input in.txt");
	expect("except hybrid output out.txt");
	expect("may input in.txt");
	expect("may output out.txt");
	expect("only hybrid gap lost");
}

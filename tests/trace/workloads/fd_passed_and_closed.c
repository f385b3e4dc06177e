/* A descriptor from outside the run is received, used and closed at once. */
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

	take_fd(receive_fd(sock));
	put_fd(receive_fd(sock), " world");
	expect("input in.txt");
	expect("output out.txt");
}

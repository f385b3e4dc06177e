/* Descriptors come to a static program, which has nobody to tell of them: one stays
 * open for a while, the other is closed at once. */
#include "passing.h"
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("out.txt", "hello");
	put("other.txt", "hello");
	serve_fds("in.txt", "out.txt");
}

void act(void)
{
	int sock = call_server();
	int in = receive_fd(sock);
	char buf[16];

	take("other.txt"); /* a sign of life */
	REQUIRE(read(in, buf, sizeof(buf)) == 5);
	put_fd(receive_fd(sock), " world");
	take("other.txt");
	expect("input in.txt");
	expect("input other.txt");
	expect("except hybrid output out.txt");
	expect("only hybrid gap lost");
}

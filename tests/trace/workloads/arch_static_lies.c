/* A static program writes lengths that make no sense over a message it has received
 * from outside of the run, before anybody looks at it. */
#include <stdint.h>

#include "passing.h"
#include "workload.h"

static const size_t lengths[] = { SIZE_MAX, SIZE_MAX - 7, 0, 1, 4096 };

enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

/* Other calls follow at once: the message must be looked at by then. */
static void receive_and_spoil(int sock, size_t length)
{
	struct incoming in;
	int fd;

	REQUIRE(recvmsg(sock, await_fd(&in), 0) == 1);
	fd = fd_of(&in.msg);
	in.space.align.cmsg_len = length;
	__asm__ volatile("" : : "r"(&in) : "memory");
	take("beside.txt");
	take_fd(fd);
}

void prepare(void)
{
	int caller;

	put("in.txt", "hello");
	put("beside.txt", "hello");
	caller = serve_caller();
	if (caller < 0)
		return;
	for (int i = 0; i < N_LENGTHS; i++)
		send_fd(caller, CHECK(open("in.txt", O_RDONLY)));
	_exit(0);
}

void act(void)
{
	int sock = call_server();

	for (int i = 0; i < N_LENGTHS; i++)
		receive_and_spoil(sock, lengths[i]);
	expect("input in.txt");
	expect("input beside.txt");
	expect("only hybrid gap lost");
}

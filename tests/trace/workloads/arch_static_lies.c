/* A static program writes lengths that make no sense over a message it has received,
 * before anybody looks at it. */
#include <stdint.h>

#include "passing.h"
#include "workload.h"

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
	put("in.txt", "hello");
	put("beside.txt", "hello");
}

void act(void)
{
	static const size_t lengths[] = { SIZE_MAX, SIZE_MAX - 7, 0, 1, 4096 };
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		send_fd(pair[0], CHECK(open("in.txt", O_RDONLY)));
		receive_and_spoil(pair[1], lengths[i]);
	}
	expect("input in.txt");
	expect("input beside.txt");
	expect("only hybrid gap lost");
}

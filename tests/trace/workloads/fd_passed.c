/* SCM_RIGHTS inside the run: the opener is seen, the receiver adds nothing. */
#include <sys/socket.h>

#include "passing.h"
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	int pair[2];
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = CHECK(fork());
	if (pid == 0) {
		send_fd(pair[1], CHECK(open("in.txt", O_RDONLY)));
		send_fd(pair[1],
			CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644)));
		_exit(0);
	}
	await(pid, 0);
	take_fd(receive_fd(pair[0]));
	put_fd(receive_fd(pair[0]), "x");
	expect("input in.txt");
	expect("output out.txt");
}

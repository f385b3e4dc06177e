/* Workers of the run send descriptors over connections of their own, as loaders of
 * data do; who receives one closes it at once.  The openers are seen: nothing is
 * missing, whoever cannot look in between. */
#include <sys/socket.h>

#include "passing.h"
#include "workload.h"

enum { WORKERS = 4 };

void prepare(void)
{
	put("in.txt", "hello");
}

/* Its connection is there before we have heard of the worker. */
static void work(void)
{
	int sock = call_server();

	send_fd(sock, CHECK(open("in.txt", O_RDONLY)));
}

void act(void)
{
	int listener = CHECK(socket(AF_UNIX, SOCK_STREAM, 0));

	CHECK(bind(listener, (const struct sockaddr *)&server_address,
		   sizeof(server_address)));
	CHECK(listen(listener, WORKERS));
	for (int i = 0; i < WORKERS; i++) {
		pid_t pid = CHECK(fork());
		int sock;

		if (pid == 0) {
			work();
			CHECK(pause());
		}
		sock = CHECK(accept(listener, NULL, NULL));
		take_fd(receive_fd(sock));
		CHECK(close(sock));
		CHECK(kill(pid, SIGKILL));
		CHECK(waitpid(pid, NULL, 0));
	}
	put("out.txt", "x");
	expect("input in.txt");
	expect("output out.txt");
}

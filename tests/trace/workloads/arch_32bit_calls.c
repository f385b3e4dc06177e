/* The calls that the C library does not choose have numbers in a 32-bit program as
 * well. */
#include <linux/openat2.h>

#include "passing.h"
#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("out.txt", "hello");
	put("one", "1");
	put("two", "2");
	put("old", "hello");
	put("removed", "hello");
	serve_fds("in.txt", "out.txt");
}

static void names(void)
{
	struct open_how how = { .flags = O_RDONLY };

	take_fd((int)CHECK(
		syscall(SYS_openat2, AT_FDCWD, "old", &how, sizeof(how))));
	CHECK(syscall(SYS_renameat, AT_FDCWD, "old", AT_FDCWD, "new"));
	CHECK(syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two",
		      2 /* RENAME_EXCHANGE */));
	CHECK(syscall(SYS_linkat, AT_FDCWD, "new", AT_FDCWD, "linked", 0));
	CHECK(syscall(SYS_symlinkat, "text", AT_FDCWD, "soft"));
	CHECK(syscall(SYS_unlinkat, AT_FDCWD, "removed", 0));
	CHECK(syscall(SYS_mknodat, AT_FDCWD, "made", S_IFREG | 0644, 0));
	expect("input old");
	expect("output new");
	expect("output one");
	expect("output two");
	expect("output linked");
	expect("output soft");
	expect("output made");
}

/* recvmsg() as old programs make it, by one number for all calls of sockets. */
static int receive_by_socketcall(int sock)
{
	enum { SOCKETCALL = 102, SYS_RECVMSG = 17 };
	struct incoming in;
	long args[] = { sock, (long)await_fd(&in), 0 };

	REQUIRE(syscall(SOCKETCALL, SYS_RECVMSG, args) == 1);
	return fd_of(&in.msg);
}

static void descriptors(void)
{
	int sock = call_server();
	int in = receive_by_socketcall(sock);
	int out = receive_fd(sock);

	use_fds(in, out);
	/* Who hears of the end of no call says so. */
	expect("except hybrid input in.txt");
	expect("except hybrid output out.txt");
	expect("may input in.txt");
	expect("may output out.txt");
	expect("only hybrid gap lost");
}

void act(void)
{
	names();
	descriptors();
}

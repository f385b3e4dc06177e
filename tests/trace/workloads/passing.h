/* passing.h - descriptors through a Unix socket, and a server outside the run
 * that sends them. */
#ifndef PASSING_H
#define PASSING_H

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "workload.h"

union fd_message {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Sends `fd` and closes it. */
static inline void send_fd(int sock, int fd)
{
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	union fd_message space = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space.buf,
		.msg_controllen = sizeof(space.buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	REQUIRE(sendmsg(sock, &msg, 0) == 1);
	CHECK(close(fd));
}

/* A message to be received, with room for one descriptor.  Must stay where it is. */
struct incoming {
	char byte;
	struct iovec iov;
	struct msghdr msg;
	union fd_message space;
};

static inline struct msghdr *await_fd(struct incoming *in)
{
	memset(in, 0, sizeof(*in));
	in->iov = (struct iovec){ &in->byte, 1 };
	in->msg = (struct msghdr){
		.msg_iov = &in->iov,
		.msg_iovlen = 1,
		.msg_control = in->space.buf,
		.msg_controllen = sizeof(in->space.buf),
	};
	return &in->msg;
}

/* The descriptor that came. */
static inline int fd_of(struct msghdr *msg)
{
	int fd;

	REQUIRE(CMSG_FIRSTHDR(msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(msg)), sizeof(fd));
	return fd;
}

static inline int receive_fd(int sock)
{
	struct incoming in;

	REQUIRE(recvmsg(sock, await_fd(&in), MSG_CMSG_CLOEXEC) == 1);
	return fd_of(&in.msg);
}

/* Two descriptors in one call. */
static inline void receive_fds(int sock, int fds[2])
{
	struct incoming in[2];
	struct mmsghdr messages[2] = { 0 };

	for (int i = 0; i < 2; i++)
		messages[i].msg_hdr = *await_fd(&in[i]);
	REQUIRE(recvmmsg(sock, messages, 2, 0, NULL) == 2);
	for (int i = 0; i < 2; i++)
		fds[i] = fd_of(&messages[i].msg_hdr);
}

static const struct sockaddr_un server_address = { .sun_family = AF_UNIX,
						   .sun_path = "sock" };

/* Leaves a process behind that goes on with the connection of one caller; -1 in the
 * process that does not.  For prepare(): that process is not part of the run. */
static inline int serve_caller(void)
{
	int listener = CHECK(socket(AF_UNIX, SOCK_STREAM, 0));

	CHECK(bind(listener, (const struct sockaddr *)&server_address,
		   sizeof(server_address)));
	CHECK(listen(listener, 1));
	if (CHECK(fork()) > 0)
		return -1;
	alarm(60);
	CHECK(close(0));
	CHECK(close(1));
	CHECK(close(2));
	CHECK(setsid());
	return CHECK(accept(listener, NULL, NULL));
}

/* It sends `in` for reading and `out` for appending. */
static inline void serve_fds(const char *in, const char *out)
{
	int caller = serve_caller();

	if (caller < 0)
		return;
	send_fd(caller, CHECK(open(in, O_RDONLY)));
	send_fd(caller, CHECK(open(out, O_WRONLY | O_APPEND)));
	_exit(0);
}

static inline int call_server(void)
{
	int sock = CHECK(socket(AF_UNIX, SOCK_STREAM, 0));

	CHECK(connect(sock, (const struct sockaddr *)&server_address,
		      sizeof(server_address)));
	return sock;
}

/* Does with what serve_fds() sends what the names say. */
static inline void use_fds(int in, int out)
{
	char buf[16];

	REQUIRE(read(in, buf, sizeof(buf)) == 5);
	REQUIRE(write(out, " world", 6) == 6);
	CHECK(close(in));
	CHECK(close(out));
}

#endif

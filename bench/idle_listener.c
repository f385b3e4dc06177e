/* idle_listener.c - what the kernel alone takes for a seccomp listener.
 *
 *	idle_listener COMMAND [ARG]...
 *
 * Runs the command under the filter of the hybrid tracer and lets every call that
 * it stops go on at once, unseen.  No tracer that uses one can be cheaper; with a
 * library in LD_PRELOAD that does nothing (idle_library.c), no hybrid. */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/call/seccomp_filter.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

static void die(const char *what)
{
	fprintf(stderr, "idle_listener: %s: %s\n", what, strerror(errno));
	exit(127);
}

/* The message of one byte that carries a descriptor. */
struct carrier {
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part;
	struct msghdr message;
};

static void carrier_init(struct carrier *c)
{
	memset(c, 0, sizeof(*c));
	c->part = (struct iovec){ &c->byte, 1 };
	c->message = (struct msghdr){
		.msg_iov = &c->part,
		.msg_iovlen = 1,
		.msg_control = c->control,
		.msg_controllen = sizeof(c->control),
	};
}

static void send_descriptor(int line, int fd)
{
	struct carrier c;
	struct cmsghdr *h;

	carrier_init(&c);
	h = CMSG_FIRSTHDR(&c.message);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	if (sendmsg(line, &c.message, 0) != 1)
		die("sendmsg");
}

static int receive_descriptor(int line)
{
	struct carrier c;
	int fd;

	carrier_init(&c);
	if (recvmsg(line, &c.message, MSG_CMSG_CLOEXEC) != 1 ||
	    !CMSG_FIRSTHDR(&c.message))
		exit(127); /* the child has said why */
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&c.message)), sizeof(fd));
	return fd;
}

static void run_command(int line, char **argv)
{
	static struct filter_program program;
	int listener;

	filter_build(&program, SECCOMP_RET_USER_NOTIF, 0, false);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("prctl");
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER,
				&program.prog);
	if (listener < 0)
		die("seccomp");
	send_descriptor(line, listener);
	(void)close(listener);
	(void)close(line);
	execvp(argv[0], argv);
	die(argv[0]);
}

static bool is_over(int listener)
{
	struct pollfd line = { .fd = listener, .events = POLLIN };

	return poll(&line, 1, 0) > 0 && (line.revents & POLLHUP);
}

/* Only so that a wait is interrupted. */
static void on_end(int sig)
{
	(void)sig;
}

static void serve(int listener)
{
	union {
		struct seccomp_notif call;
		char room[1024];
	} n;

	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	for (;;) {
		struct seccomp_notif_resp go_on = {
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
		};

		memset(&n, 0, sizeof(n));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
			if (is_over(listener))
				return;
			continue;
		}
		go_on.id = n.call.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
	}
}

int main(int argc, char **argv)
{
	const struct sigaction at_end = { .sa_handler = on_end };
	int lines[2], status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: idle_listener COMMAND [ARG]...\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines) < 0)
		die("socketpair");
	(void)sigaction(SIGCHLD, &at_end, NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		run_command(lines[1], argv + 1);
	(void)close(lines[1]);
	serve(receive_descriptor(lines[0]));
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

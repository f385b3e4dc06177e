/* coord_floor.c - the least a coordinator can do: the bound beside which ours is judged.
 *
 *	coord_floor MEMBERS [FILE]	prints "127.0.0.1:PORT"
 *
 * epoll, one thread, frames without a look at their messages: an arrival at a barrier is
 * counted, the last one of MEMBERS lets all go with one send() each; every other call is
 * answered at once.  What it leaves out (whose worker it is, deadlines, a log, errors) is
 * what the coordinator may cost.  With a FILE a page of it is on disk before anybody is let
 * go, which is the least that a coordinator must do that may be killed. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/frames/frames.h"

enum {
	WAIT_BARRIER = 8,
	REPLY_LEN = 32, /* as long as a release of the coordinator's */
	MAX_FD = 1 << 16,
	PAGE = 4096,
	N_PAGES = 4096, /* of the file, used again and again */
};

static struct conn {
	uint32_t n_held;
	uint32_t waiting; /* call that waits, and 1; 0: none does */
	uint8_t held[512]; /* of a frame that is not whole yet */
} * conns[MAX_FD];

static int poller;
static uint32_t members;
static uint32_t n_arrived;
static int arrived[MAX_FD];
static int file = -1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void reply(int fd, uint32_t call)
{
	uint8_t bytes[FRAME_HEADER_LEN + REPLY_LEN] = { 0 };
	struct frame f = { .len = REPLY_LEN, .flags = FRAME_END, .call = call };

	frame_pack(&f, bytes);
	(void)send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

static const uint8_t page[PAGE];

static void file_open(const char *path)
{
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (off_t i = 0; i < N_PAGES; i++)
		if (pwrite(file, page, PAGE, i * PAGE) != PAGE)
			die(path);
	if (fsync(file) < 0)
		die(path);
}

static void file_write(void)
{
	static off_t next;

	if (pwrite(file, page, PAGE, next++ % N_PAGES * PAGE) != PAGE ||
	    fdatasync(file) < 0)
		die("file");
}

static void arrive(int fd, uint32_t call)
{
	conns[fd]->waiting = call;
	arrived[n_arrived++] = fd;
	if (n_arrived < members)
		return;
	if (file >= 0)
		file_write();
	for (uint32_t i = 0; i < n_arrived; i++)
		reply(arrived[i], conns[arrived[i]]->waiting);
	n_arrived = 0;
}

static size_t frames_at(int fd, const uint8_t *data, size_t len)
{
	size_t done = 0;
	struct frame f;

	while (len - done >= FRAME_HEADER_LEN) {
		frame_unpack(data + done, &f);
		if (len - done - FRAME_HEADER_LEN < f.len)
			break;
		if (f.method == WAIT_BARRIER)
			arrive(fd, f.call);
		else
			reply(fd, f.call);
		done += FRAME_HEADER_LEN + f.len;
	}
	return done;
}

static void end(int fd)
{
	(void)close(fd);
	free(conns[fd]);
	conns[fd] = NULL;
}

static void input(int fd)
{
	static uint8_t buffer[1 << 16];
	struct conn *c = conns[fd];
	size_t len;
	size_t done;
	ssize_t n;

	memcpy(buffer, c->held, c->n_held);
	n = recv(fd, buffer + c->n_held, sizeof(buffer) - c->n_held, 0);
	if (n <= 0) {
		end(fd);
		return;
	}
	len = c->n_held + (size_t)n;
	done = frames_at(fd, buffer, len);
	c->n_held = (uint32_t)(len - done);
	if (c->n_held > sizeof(c->held))
		die("a request is too long");
	memcpy(c->held, buffer + done, c->n_held);
}

static void take(int listener)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint8_t preface[FRAMES_PREFACE_LEN];
	int one = 1;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || fd >= MAX_FD)
		die("accept");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (recv(fd, preface, sizeof(preface), MSG_WAITALL) !=
	    FRAMES_PREFACE_LEN)
		die("preface");
	conns[fd] = calloc(1, sizeof(*conns[fd]));
	event.data.fd = fd;
	if (!conns[fd] || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0)
		die("epoll_ctl");
}

static int listen_anywhere(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct epoll_event event = { .events = EPOLLIN };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		die("listen");
	event.data.fd = fd;
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0)
		die("epoll_ctl");
	printf("127.0.0.1:%u\n", ntohs(at.sin_port));
	(void)fflush(stdout);
	return fd;
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event events[256];
	int listener;
	int n;

	if (argc != 2 && argc != 3) {
		(void)fputs("usage: coord_floor MEMBERS [FILE]\n", stderr);
		return 2;
	}
	members = (uint32_t)strtoul(argv[1], NULL, 10);
	if (argc == 3)
		file_open(argv[2]);
	raise_limit();
	listener = listen_anywhere();
	while ((n = epoll_wait(poller, events, 256, -1)) >= 0 || errno == EINTR)
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				take(listener);
			else
				input(events[i].data.fd);
		}
	return 1;
}

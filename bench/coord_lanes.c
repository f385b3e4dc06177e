/* coord_lanes.c - see coord_load.h: connections, and the loop over them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "coord_load.h"

void die(const char *format, ...)
{
	va_list ap;

	(void)fputs("coord_load: ", stderr);
	va_start(ap, format);
	(void)vfprintf(stderr, format, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	exit(1);
}

/* ---- connecting ---- */

static int connect_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(to.sun_path))
		die("'%s' is too long for a socket", path);
	memcpy(to.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("cannot connect to '%s': %s", path, strerror(errno));
	return fd;
}

static int connect_tcp(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *colon = strrchr(address, ':');
	char host[64] = "";
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (!colon || (size_t)(colon - address) >= sizeof(host))
		die("'%s' is not HOST:PORT", address);
	memcpy(host, address, (size_t)(colon - address));
	to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
		die("'%s' is not an IPv4 address", host);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("cannot connect to '%s': %s", address, strerror(errno));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void lane_open(struct lane *lane)
{
	struct load *load = lane->load;
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = lane };

	if (strncmp(load->address, "unix:", 5) == 0)
		lane->fd = connect_unix(load->address + 5);
	else
		lane->fd = connect_tcp(load->address);
	if (fcntl(lane->fd, F_SETFL, O_NONBLOCK) < 0 ||
	    epoll_ctl(load->epoll, EPOLL_CTL_ADD, lane->fd, &event) < 0)
		die("cannot wait for a connection: %s", strerror(errno));
	load->wire->open(lane);
	load_flush(lane);
}

static void name_workers(struct lane *lane)
{
	const struct load *load = lane->load;

	lane->workers = calloc(load->ranks, sizeof(*lane->workers));
	if (!lane->workers)
		die("no memory for %u workers", load->ranks);
	for (uint32_t i = 0; i < load->ranks; i++)
		(void)snprintf(lane->workers[i].id, sizeof(lane->workers[i].id),
			       "worker-%u",
			       load->first + lane->index * load->ranks + i);
}

void load_open(struct load *load, uint32_t n_calls)
{
	load->epoll = epoll_create1(EPOLL_CLOEXEC);
	load->lanes = calloc(load->n_lanes, sizeof(*load->lanes));
	load->calls = calloc(n_calls, sizeof(*load->calls));
	load->out = malloc(LOAD_OUT);
	if (load->epoll < 0 || !load->lanes || !load->calls || !load->out)
		die("no memory for %u lanes", load->n_lanes);
	load->n_calls = n_calls;
	for (uint32_t i = n_calls; i-- > 0;) {
		load->calls[i].next = load->unused;
		load->unused = &load->calls[i];
	}
	for (uint32_t i = 0; i < load->n_lanes; i++) {
		struct lane *lane = &load->lanes[i];

		lane->load = load;
		lane->index = i;
		name_workers(lane);
		lane_open(lane);
	}
}

void load_close(struct load *load)
{
	for (uint32_t i = 0; i < load->n_lanes; i++) {
		load->wire->close(&load->lanes[i]);
		free(load->lanes[i].workers);
		(void)close(load->lanes[i].fd);
	}
	(void)close(load->epoll);
	free(load->lanes);
	free(load->calls);
	free(load->out);
}

/* ---- calls ---- */

struct call *load_call_new(struct load *load)
{
	struct call *call = load->unused;

	if (!call)
		die("more than %u calls are under way: the server is too slow "
		    "for this load",
		    load->n_calls);
	load->unused = call->next;
	call->sent = 0;
	call->reply_len = 0;
	call->status = UINT32_MAX;
	return call;
}

struct worker *load_worker(const struct call *call)
{
	return &call->lane->workers[call->rank];
}

void load_call(struct lane *lane, uint32_t rank, struct call *call,
	       const struct method *method, size_t len)
{
	call->lane = lane;
	call->rank = rank;
	call->len = (uint32_t)len;
	lane->load->n_under_way++;
	lane->load->wire->call(lane, call, method);
}

void load_end(struct call *call)
{
	struct load *load = call->lane->load;

	load->n_under_way--;
	load->done(load, call);
	call->next = load->unused;
	load->unused = call;
}

/* ---- bytes ---- */

void load_put(struct load *load, const void *data, size_t len)
{
	if (len > LOAD_OUT - load->out_len)
		die("more than %d bytes at once for one connection", LOAD_OUT);
	memcpy(load->out + load->out_len, data, len);
	load->out_len += len;
}

static void wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	(void)poll(&p, 1, -1);
}

void load_flush(struct lane *lane)
{
	struct load *load = lane->load;
	size_t done = 0;

	load->wire->drain(lane);
	while (done < load->out_len) {
		ssize_t n = send(lane->fd, load->out + done,
				 load->out_len - done, MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			wait_writable(lane->fd);
		else if (errno != EINTR)
			die("cannot send to '%s': %s", load->address,
			    strerror(errno));
	}
	load->out_len = 0;
}

static void lane_read(struct lane *lane)
{
	static uint8_t buffer[1 << 16];
	ssize_t n = recv(lane->fd, buffer, sizeof(buffer), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		die("'%s' has ended the connection of %s%s%s",
		    lane->load->address, lane->workers[0].id, n ? ": " : "",
		    n ? strerror(errno) : "");
	lane->load->wire->input(lane, buffer, (size_t)n);
	load_flush(lane);
}

void load_turn(struct load *load, int64_t timeout_ns)
{
	struct epoll_event events[256];
	struct timespec timeout = { .tv_sec = timeout_ns / 1000000000,
				    .tv_nsec = timeout_ns % 1000000000 };
	int n = epoll_pwait2(load->epoll, events, 256,
			     timeout_ns < 0 ? NULL : &timeout, NULL);

	if (n < 0 && errno != EINTR)
		die("cannot wait for replies: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		lane_read(events[i].data.ptr);
}

void load_settle(struct load *load)
{
	int64_t end = clock_mono_ns() + 60000000000;

	while (load->n_under_way) {
		load_turn(load, 1000000000);
		if (clock_mono_ns() > end)
			die("%u calls have no reply after a minute",
			    load->n_under_way);
	}
}

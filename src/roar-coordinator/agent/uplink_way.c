/* uplink_way.c - from an address to a socket that is connected. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "agent/uplink_internal.h"
#include "base/cleanup.h"
#include "base/macros.h"

static void fail_errno(struct uplink *u, int error)
{
	uplink_fail(u, "cannot connect to the coordinator at '%s': %s",
		    uplink_where(u), strerror(error));
}

/* A port of this machine that nobody listens at may be the one the socket got itself. */
static bool is_own_echo(int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       own.ss_family != AF_UNIX && own_len == peer_len &&
	       memcmp(&own, &peer, own_len) == 0;
}

static void finish_connecting(struct uplink *u)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(u->fd.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error && is_own_echo(u->fd.fd))
		error = ECONNREFUSED;
	if (error)
		fail_errno(u, error);
	else
		uplink_connected(u);
}

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct uplink *u = container_of(f, struct uplink, fd);

	if (u->state == CONNECTING)
		finish_connecting(u);
	else
		uplink_ready(u, events);
}

static void connect_to(struct uplink *u, const struct sockaddr *address,
		       socklen_t len)
{
	int one = 1;
	int fd = socket(address->sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) {
		fail_errno(u, errno);
		return;
	}
	u->fd = (struct loop_fd){ .fd = fd, .ready = on_ready };
	u->state = CONNECTING;
	if (address->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
	if (loop_add(u->loop, &u->fd, EPOLLIN | EPOLLOUT) < 0) {
		closep(&u->fd.fd);
		u->fd.fd = -1;
		uplink_fail(u, "cannot wait for a socket");
		return;
	}
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS)
		fail_errno(u, errno);
}

static const struct addrinfo *pick(const struct addrinfo *all, unsigned number)
{
	const struct addrinfo *a = all;

	for (; number > 0; number--)
		a = a->ai_next ? a->ai_next : all;
	return a;
}

static void on_found(void *data, const struct addrinfo *all, const char *why)
{
	struct uplink *u = data;

	if (!all) {
		uplink_fail(u, "cannot find the coordinator's host '%s': %s",
			    u->addresses.list[u->address].host, why);
		return;
	}
	all = pick(all, u->n_rounds);
	connect_to(u, all->ai_addr, all->ai_addrlen);
}

static void connect_unix(struct uplink *u, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	connect_to(u, (const struct sockaddr *)&address, sizeof(address));
}

void uplink_begin_try(struct uplink *u)
{
	const struct address *a = &u->addresses.list[u->address];

	u->state = RESOLVING;
	(void)loop_timer_set(u->loop, &u->timer,
			     loop_now_ms(u->loop) + uplink_patience_ms(u));
	if (a->path)
		connect_unix(u, a->path);
	else if (host_lookup_begin(u->loop, a->host, a->port, on_found, u,
				   &u->resolve) < 0)
		uplink_fail(u, "no memory to look for '%s'", a->host);
}

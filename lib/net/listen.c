/* listen.c - TCP and Unix sockets, bound and listening.
 *
 * What accepted sockets inherit from the one that listens (Linux: all of the options
 * below) is set here once, not for each of ten thousand of them. */
#include "net/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stamp.h"
#include "net/address.h"

enum {
	BACKLOG = 16384, /* ranks that may connect in one moment */
	PROBES = 3, /* of TCP, before a silent peer is given up */
};

/* ---- TCP ---- */

static void set(int fd, int level, int option, int value)
{
	/* Each of them only makes things better. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

static void set_options(int fd, int family, int64_t dead_ms)
{
	int64_t between_s = dead_ms / 1000 / PROBES;

	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, between_s > 0 ? (int)between_s : 1);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, between_s > 0 ? (int)between_s : 1);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)dead_ms);
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
}

static int bind_one(const struct addrinfo *a, int64_t dead_ms, int *ret_fd)
{
	CLEANUP(closep)
	int fd = socket(a->ai_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	set_options(fd, a->ai_family, dead_ms);
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static uint16_t bound_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .v6 = { 0 } };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port :
						   a.v4.sin_port);
}

DEFINE_CLEANUP(struct addrinfo *, freeaddrinfo)

/* The first of that family that can be had. */
static int bind_family(const struct addrinfo *all, int family, int64_t dead_ms,
		       int *ret_fd)
{
	int r = -EAFNOSUPPORT;

	for (const struct addrinfo *a = all; a && r < 0; a = a->ai_next)
		if (a->ai_family == family)
			r = bind_one(a, dead_ms, ret_fd);
	return r;
}

/* A name that has addresses of both kinds, as localhost does, means that of IPv4, which
 * all clients can reach.  Any address, when no host is named: the one of IPv6 serves both, where there is IPv6. */
static int bind_first(const char *host, const char *port, int64_t dead_ms,
		      int *ret_fd, struct roar_error *err)
{
	CLEANUP(freeaddrinfop) struct addrinfo *all = NULL;
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	int r = getaddrinfo(*host ? host : "::", port, &hints, &all);

	if (r != 0 && *host)
		return error_set(err, -EADDRNOTAVAIL,
				 "cannot listen at '%s': %s", host,
				 gai_strerror(r));
	r = bind_family(all, AF_INET, dead_ms, ret_fd);
	if (r == -EAFNOSUPPORT)
		r = bind_family(all, AF_INET6, dead_ms, ret_fd);
	if (r == -EAFNOSUPPORT && !*host)
		return bind_first("0.0.0.0", port, dead_ms, ret_fd, err);
	if (r < 0)
		return error_set(err, r, "cannot listen at '%s:%s': %s", host,
				 port, strerror(-r));
	return 0;
}

static int open_tcp(const char *address, int64_t dead_ms,
		    struct listen_socket *ret, struct roar_error *err)
{
	CLEANUP(freep) char *text = strdup(address);
	char *host, *port;
	int fd = -1;

	if (!text)
		return error_set(err, -ENOMEM, "out of memory");
	if (address_split(text, &host, &port) || !port ||
	    !address_is_port(port, 0))
		return error_set(err, -EINVAL,
				 "'%s' is not an address to listen at: write "
				 "HOST:PORT, [V6]:PORT, :PORT or unix:PATH",
				 address);

	int r = bind_first(host, port, dead_ms, &fd, err);

	if (r < 0)
		return r;
	*ret = (struct listen_socket){ .fd = fd, .port = bound_port(fd) };
	return 0;
}

/* ---- Unix sockets ---- */

/* Nobody answers at it, so that it is a leftover of a server that was killed. */
static bool is_dead(const struct sockaddr_un *a)
{
	CLEANUP(closep)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 &&
	       connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
	       errno == ECONNREFUSED;
}

static int bind_unix(int fd, const struct sockaddr_un *a)
{
	struct stat st;

	if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (lstat(a->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode) || !is_dead(a))
		return -EADDRINUSE;
	if (unlink(a->sun_path) < 0 ||
	    bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		return -errno;
	return 0;
}

static int open_unix(const char *path, struct listen_socket *ret,
		     struct roar_error *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	CLEANUP(freep) char *copy = strdup(path);
	CLEANUP(closep)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (!copy || fd < 0)
		return error_set(err, copy ? -errno : -ENOMEM,
				 "cannot make a socket for '%s'", path);
	if (*path == '\0' || strlen(path) >= sizeof(a.sun_path))
		return error_set(
			err, -ENAMETOOLONG,
			"cannot listen at 'unix:%s': the path must have 1 to %zu bytes",
			path, sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, path, strlen(path));

	int r = bind_unix(fd, &a);

	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0)
		return error_set(err, r, "cannot listen at 'unix:%s': %s", path,
				 strerror(-r));
	*ret = (struct listen_socket){ .fd = TAKE_FD(fd),
				       .path = TAKE_PTR(copy) };
	(void)lstat(path, &ret->made);
	return 0;
}

int listen_open(const char *address, int64_t dead_ms, struct listen_socket *ret,
		struct roar_error *err)
{
	if (strncmp(address, "unix:", 5) == 0)
		return open_unix(address + 5, ret, err);
	return open_tcp(address, dead_ms, ret, err);
}

void listen_close(struct listen_socket *l)
{
	struct stat st;

	if (l->path && lstat(l->path, &st) == 0 && stat_same_file(&st, &l->made))
		(void)unlink(l->path);
	free(l->path);
	closep(&l->fd);
	*l = (struct listen_socket){ .fd = -1 };
}

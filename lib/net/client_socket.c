/* client_socket.c - see client_socket.h */
#include "net/client_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/cleanup.h"

int client_socket_open(const struct sockaddr *address, socklen_t len)
{
	const int one = 1;
	CLEANUP(closep)
	int fd = socket(address->sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (address->sa_family != AF_UNIX) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one,
				 sizeof(one));
	}
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS &&
	    errno != EINTR)
		return -errno;
	return TAKE_FD(fd);
}

int client_socket_result(int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	if (error)
		return -error;
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return -EAGAIN;
	if (getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	    own.ss_family != AF_UNIX && own_len == peer_len &&
	    memcmp(&own, &peer, own_len) == 0)
		return -ECONNREFUSED;
	return 0;
}

/* listen.h - listening sockets. */
#ifndef NET_LISTEN_H
#define NET_LISTEN_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* A listening socket. */
struct listen_socket {
	int fd;
	uint16_t port; /* 0: a Unix socket */
	char *path; /* of a Unix socket, else NULL */
	struct stat made; /* identifies the file: no other file is removed */
};

/* As rpc_server_listen().  Connections that it accepts do not delay small messages, and end
 * when the peer acknowledges nothing for `dead_ms`. */
int listen_open(const char *address, int64_t dead_ms, struct listen_socket *ret,
		struct roar_error *err);
void listen_close(struct listen_socket *l);

#endif

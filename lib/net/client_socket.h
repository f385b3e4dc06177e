/* client_socket.h - the socket of a client, from connect() to a connection.  It does not block. */
#ifndef NET_CLIENT_SOCKET_H
#define NET_CLIENT_SOCKET_H

#include <sys/socket.h>

/* Begins to connect.  Returns the socket, which is writable once that has ended, or -errno. */
int client_socket_open(const struct sockaddr *address, socklen_t len);

/* Once it is writable: 0 when it is connected, -EAGAIN when that has not ended (the event was
 * that of an earlier socket with its number), or why there is no connection.
 *
 * A port of this machine at which nothing listens may be the one that the kernel gave to the
 * socket itself.  Then it is connected to itself, and keeps the server from its port:
 * -ECONNREFUSED. */
int client_socket_result(int fd);

#endif

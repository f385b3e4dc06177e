/* peer_process.h - which process of this machine is at the other end of a connection.
 *
 * Of a Unix socket the kernel knows.  Of a TCP connection on loopback, the kernel gives the
 * inode of the peer's socket (sock_diag), and the process that has it open is looked for in
 * /proc: first the one that was found last, then all of our user's, the newest first, up to a
 * limit.  It is asked once for a connection.
 *
 * A process may open a thousand connections at once.  So the sockets that a search has met are
 * remembered for a moment, with their process. */
#ifndef PROXY_PEER_PROCESS_H
#define PROXY_PEER_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PEER_SOCKETS = 4096 };

struct peer_socket {
	uint32_t inode; /* 0: unused */
	pid_t pid;
};

struct peer_processes {
	int netlink_fd; /* -1: not open yet */
	pid_t last; /* that was found; 0: none */
	struct peer_socket *sockets; /* PEER_SOCKETS, by inode; NULL: not yet */
	int64_t since_ms; /* when the first of them was met */
	int64_t missed_ms; /* when all processes were looked at in vain */
};

void peer_processes_init(struct peer_processes *p);
void peer_processes_release(struct peer_processes *p);

/* What the kernel knows of the other end. */
struct peer_identity {
	uid_t uid; /* owner of the socket */
	pid_t pid; /* of a Unix socket; else 0 */
	uint32_t inode; /* of a TCP socket; else 0 */
};

/* -ENOENT: it is not on this machine, or the kernel does not tell. */
int peer_identity_get(struct peer_processes *p, int fd,
		      struct peer_identity *ret);

/* The process, or 0 when it is not found.  This takes time. */
pid_t peer_process_find(struct peer_processes *p,
			const struct peer_identity *peer);

#endif

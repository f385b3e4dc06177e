/* acceptor.h - a listening socket, and what to do when there is no room for a client.
 *
 * Without a free descriptor a waiting client can be neither accepted nor refused, and the
 * level-triggered loop would spin.  So an acceptor keeps one descriptor in reserve: it closes
 * that, accepts the client, and closes the connection.  When the system has no memory for
 * sockets, the acceptor pauses. */
#ifndef NET_ACCEPTOR_H
#define NET_ACCEPTOR_H

#include <stdint.h>

#include "net/loop.h"

struct acceptor {
	struct loop_fd fd;
	struct loop_timer rest;
	struct loop *loop;
	int spare_fd; /* in reserve */
	/* Owns the connected socket when it returns 0. */
	int (*take)(struct acceptor *a, int fd);
	uint64_t *n_refused; /* the owner's counter of refused clients */
};

/* Waits for clients at `listener`, which stays the caller's. */
int acceptor_open(struct acceptor *a, struct loop *loop, int listener,
		  int (*take)(struct acceptor *a, int fd), uint64_t *n_refused);
void acceptor_close(struct acceptor *a);

#endif

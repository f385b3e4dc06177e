/* listen.h - the socket of the daemon.
 *
 * PATH is the socket, with mode 0666: the identity of the peer decides what it may do.
 * PATH.lock is locked by the daemon that made it and holds its process id.  By the lock
 * a second daemon knows that one is running, and --stop finds the process to end. */
#ifndef ROAR_ROARD_LISTEN_H
#define ROAR_ROARD_LISTEN_H

#include "base/cleanup.h"
#include "base/error.h"

struct listen {
	int fd; /* the socket */
	int lock; /* -1: the socket is systemd's */
	const char *path; /* made by us; NULL: from systemd */
};

/* Takes the socket that systemd passes. */
int listen_take(struct listen *l, struct roar_error *err);

/* Makes the socket.  -EBUSY when another daemon has it. */
int listen_make(struct listen *l, const char *path, struct roar_error *err);

/* Writes our process id for --stop; again after going to the background. */
void listen_note_pid(struct listen *l);

/* Removes the socket and the lock file that were made. */
void listen_release(struct listen *l);

/* Ends the daemon that made PATH and waits until it has ended.  0 also when there is
 * none. */
int listen_stop(const char *path, struct roar_error *err);

#endif

/* listen.h - the place where the daemon is found.
 *
 * PATH is the socket, for everybody (0666: who may do what is decided by who he is);
 * PATH.lock is locked by the daemon that made it and holds its process id, which is
 * how a second one knows to stay away and --stop knows whom to end. */
#ifndef ROAR_ROARD_LISTEN_H
#define ROAR_ROARD_LISTEN_H

#include "base/cleanup.h"
#include "base/error.h"

struct listen {
	int fd; /* the socket */
	int lock; /* -1: it is systemd's */
	const char *path; /* made by us; NULL */
};

/* The socket that systemd hands over. */
int listen_take(struct listen *l, struct roar_error *err);

/* Makes the socket.  -EBUSY when another daemon has it. */
int listen_make(struct listen *l, const char *path, struct roar_error *err);

/* Tells --stop who we are; again after going to the background. */
void listen_note_pid(struct listen *l);

/* Removes what was made. */
void listen_release(struct listen *l);

/* Ends the daemon that made PATH and waits for its end.  0 also when there is none. */
int listen_stop(const char *path, struct roar_error *err);

#endif

/* serve.h - the loop of the daemon: connections, runs, programs.
 *
 * One thread waits for everything.  A connection is at most one run.  Programs are
 * loaded when the first run needs them, and unloaded when there has been none for a
 * while.  They are attached to system calls, which slows down all calls of the machine
 * a little, only while there are runs.
 *
 * Every run has a new ring: a client that keeps the descriptor of its ring after its
 * run learns nothing from it.  Rings are renewed while the daemon is idle, since that
 * takes the kernel some milliseconds. */
#ifndef ROAR_ROARD_SERVE_H
#define ROAR_ROARD_SERVE_H

#include <stdbool.h>

#include "base/error.h"

struct serve_options {
	int listener; /* the socket, listening */
	unsigned idle_s; /* without a run, until the programs are unloaded */
	bool ends_when_idle; /* systemd starts the daemon again */
};

/* Serves until SIGTERM or SIGINT, which the caller has blocked, or idleness.  0 or a
 * negative errno. */
int serve(const struct serve_options *options, struct roar_error *err);

#endif

/* serve.h - the daemon at work: connections, runs, programs.
 *
 * One thread waits for everything.  A connection is at most one run.  Programs are
 * loaded when the first run wants them, and unloaded when there has been none for
 * a while.  They are hooked into system calls, which costs every one of the machine a
 * little, only while there are runs.
 *
 * Every run has a ring that nobody has seen before: who keeps the descriptor of his
 * ring longer than his run learns nothing from it.  Rings are renewed while there
 * is nothing else to do, since that takes the kernel some milliseconds. */
#ifndef ROAR_ROARD_SERVE_H
#define ROAR_ROARD_SERVE_H

#include <stdbool.h>

#include "base/error.h"

struct serve_options {
	int listener; /* the socket, listening */
	unsigned idle_s; /* without a run until the programs are unloaded */
	bool ends_when_idle; /* somebody starts us again */
};

/* Serves until SIGTERM or SIGINT, which the caller has blocked, or idleness.  0 or a
 * negative errno. */
int serve(const struct serve_options *options, struct roar_error *err);

#endif

/* serve.h - runs the server from start to end. */
#ifndef COORDINATOR_SERVE_H
#define COORDINATOR_SERVE_H

#include "base/error.h"
#include "options.h"

/* Reads the log, listens, prints its addresses to standard output, and serves until it is
 * stopped.  0, or a negative errno with a message. */
int serve(const struct options *options, struct roar_error *err);

#endif

/* serve.h - the program at work, from its options to its end. */
#ifndef COORDINATOR_SERVE_H
#define COORDINATOR_SERVE_H

#include "base/error.h"
#include "options.h"

/* Reads the log, listens, says so on standard output, and serves until it is told to
 * end.  0, or a negative errno with a sentence. */
int serve(const struct options *options, struct roar_error *err);

#endif

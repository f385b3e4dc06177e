/* coordinator_verbs.h - the verbs of `roar coordinator`.
 *
 * Each gets an open connection, prints its own error messages and returns the exit
 * status. */
#ifndef ROAR_COORDINATOR_VERBS_H
#define ROAR_COORDINATOR_VERBS_H

#include "cli/cli.h"
#include "coordinator/coordinator_ask.h"

/* Verbs that only read; --watch repeats them. */
int coordinator_verb_status(const struct args *args, struct coordinator *c);
int coordinator_verb_workers(const struct args *args, struct coordinator *c);
int coordinator_verb_barriers(const struct args *args, struct coordinator *c);
int coordinator_verb_kv(const struct args *args, struct coordinator *c);

/* One key. */
int coordinator_verb_get(const struct args *args, struct coordinator *c);
int coordinator_verb_set(const struct args *args, struct coordinator *c);
int coordinator_verb_delete(const struct args *args, struct coordinator *c);

/* Workers, a job, the server. */
int coordinator_verb_send(const struct args *args, struct coordinator *c);
int coordinator_verb_drain(const struct args *args, struct coordinator *c);
int coordinator_verb_forget(const struct args *args, struct coordinator *c);
int coordinator_verb_stop(const struct args *args, struct coordinator *c);

/* The value of an option in seconds, as ms; -EINVAL, after a message, if it is invalid. */
int coordinator_seconds_ms(const struct args *args, const char *option,
			   int standard);

#endif

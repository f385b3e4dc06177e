/* leadership.h - which of several coordinators answers, where etcd decides that.
 *
 *	STANDBY --elected--> LOADING --the state is read--> LEADS
 *	   ^                    |                             |
 *	   `---- deposed -------+-----------------------------'
 *
 * A standby accepts connections and names the leader: UNAVAILABLE, with the trailer
 * "roar-leader" (empty: there is no leader yet).  The leader answers only while its lease is
 * certainly valid; the clock is read for each request, after it arrived.  So a process that was
 * stopped for a while does not answer from a stale state when it continues.
 *
 * When leadership ends, all connections are closed and the state is dropped: whether records
 * that were not durable survive is unknown.
 *
 * Without etcd there is no `struct leadership`, and the program always leads. */
#ifndef COORDINATOR_LEADERSHIP_H
#define COORDINATOR_LEADERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct leadership;
struct server;
struct str;

/* `address` is where standbys send clients while this coordinator leads. */
int leadership_open(struct server *s, const char *address,
		    struct roar_error *err);
void leadership_close(struct server *s);

/* May requests be answered at this moment? */
bool leadership_serves(const struct server *s);
/* The address of the leader; "": none is known. */
const char *leadership_leader(const struct server *s);
/* A sentence why it does not serve. */
void leadership_sentence(const struct server *s, struct str *ret);
/* The fencing token; 0: it does not lead, or there is no etcd. */
int64_t leadership_token(const struct server *s);
/* Does no member of etcd answer, or does etcd refuse elections? */
bool leadership_in_trouble(const struct server *s);

/* Gives up leadership when the program stops; leadership_is_resigning() until that is done. */
void leadership_resign(struct server *s);
bool leadership_is_resigning(const struct server *s);

/* For journal.c: the state was read; the log is over. */
void leadership_loaded(struct server *s);
void leadership_log_failed(struct server *s, int error, const char *sentence);

#endif

/* leadership.h - which of several coordinators answers, where etcd decides that.
 *
 *	STANDBY --elected--> LOADING --the state is read--> LEADS
 *	   ^                    |                             |
 *	   `---- deposed -------+-----------------------------'
 *
 * A standby accepts connections and says who leads: UNAVAILABLE, with the trailer
 * "roar-leader" (empty: nobody yet).  Who leads answers only while its lease is surely good;
 * the clock is read for each request, after it came.  So a process that was stopped for a
 * while, and finds requests when it goes on, does not answer them from a state that is old.
 *
 * At the end of a lead all connections are ended, and the state is forgotten: what becomes
 * of records that were not durable yet is not known.
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

/* `address` is what clients are told while we lead. */
int leadership_open(struct server *s, const char *address,
		    struct roar_error *err);
void leadership_close(struct server *s);

/* May requests be answered at this moment? */
bool leadership_serves(const struct server *s);
/* Who leads, as a standby knows it; "" for nobody. */
const char *leadership_leader(const struct server *s);
/* Why it does not serve. */
void leadership_sentence(const struct server *s, struct str *ret);
/* 0: it does not lead, or alone. */
int64_t leadership_token(const struct server *s);
/* Is there no etcd that answers, or that lets anybody be elected? */
bool leadership_in_trouble(const struct server *s);

/* Gives the lead away, at the end of the program; leadership_is_resigning() while that takes. */
void leadership_resign(struct server *s);
bool leadership_is_resigning(const struct server *s);

/* For journal.c: the state was read; the log is over. */
void leadership_loaded(struct server *s);
void leadership_log_failed(struct server *s, int error, const char *sentence);

#endif

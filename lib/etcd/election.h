/* election.h - election of the leading coordinator.
 *
 * The leader has a lease of etcd and a key bound to it, which is created only if it does
 * not exist.  The standbys watch that key.  When the lease expires or is revoked, etcd
 * deletes the key, and the first coordinator to create it again becomes the leader.
 *
 *	LOOK ----------> no leader: GRANT --> CAMPAIGN --> LEAD
 *	 ^ ^  \                       |           |          |
 *	 | |   `--> a leader: FOLLOW  |           |          |
 *	 | |             | its end, or a timeout  |          |
 *	 | `-------------'            |           |          |
 *	 `--- RESTING <---- a call failed, another was faster, or the lease expired
 *
 * etcd counts the lease from the arrival of the request.  This process counts from before
 * it sent the request, by a clock that continues while the machine sleeps, and stops a
 * little earlier.  So at most one process at a time believes that it leads, as long as
 * clocks run at about the same speed.  If even that fails, the fencing token, which every
 * write compares, keeps the state consistent.
 *
 * All functions are for the thread of the loop. */
#ifndef ETCD_ELECTION_H
#define ETCD_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "etcd/etcd.h"

struct election;

struct election_events {
	/* This process leads.  The token is larger than all before. */
	void (*elected)(void *data, int64_t token);
	/* This process no longer leads, for this reason. */
	void (*deposed)(void *data, const char *why);
	/* Another process leads, at this address; NULL: none. */
	void (*follows)(void *data, const char *leader);
	/* etcd refuses requests of the election with this message, for example because it
	 * is full.  They are retried; NULL: no longer refused. */
	void (*hindered)(void *data, const char *sentence);
	/* The keys were written by another kind of program: the election stops. */
	void (*refused)(void *data, const char *sentence);
};

/* `address` is where the standbys send clients while this process leads.  The strings are
 * copied. */
int election_new(struct loop *loop, struct etcd *etcd, const char *cluster,
		 const char *address, int64_t ttl_s,
		 const struct election_events *events, void *data,
		 struct election **ret);
void election_free(struct election *e);

/* Does this process lead at this moment?  Reads the clock. */
bool election_holds(const struct election *e);
/* Gives up leadership as if the lease had expired, and revokes the lease, so that another
 * process can lead at once.  With `for_good` this process does not campaign again. */
void election_resign(struct election *e, bool for_good, const char *why);
/* Is a resignation still in progress? */
bool election_is_resigning(const struct election *e);

#endif

/* election.h - who of the coordinators leads.
 *
 * Who leads has a lease of etcd, and a key bound to it that is created only where there is
 * none.  The others watch that key.  When the lease is not kept alive, or given back, the
 * key goes, and the first one to create it anew leads.
 *
 *	LOOK ----------> nobody leads: GRANT --> CAMPAIGN --> LEAD
 *	 ^ ^  \                          |           |          |
 *	 | |   `--> somebody does: FOLLOW|           |          |
 *	 | `-- it ended, or a while is over           |          |
 *	 `--- RESTING <---- a call failed, or another was faster, or the lease is over
 *
 * etcd counts the lease from when it hears of it; we count from before we asked, by a clock
 * that goes on while the machine sleeps, and stop a little earlier.  So at any moment at
 * most one process believes that it leads, as long as clocks run at about the same speed.
 * Where even that fails, the token that is compared with every write keeps the state whole.
 *
 * All of it happens on the thread of the loop. */
#ifndef ETCD_ELECTION_H
#define ETCD_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "etcd/etcd.h"

struct election;

struct election_events {
	/* We lead.  The token is larger than all before. */
	void (*elected)(void *data, int64_t token);
	/* We lead no more, for this reason. */
	void (*deposed)(void *data, const char *why);
	/* Another one does, at this address; NULL: nobody. */
	void (*follows)(void *data, const char *leader);
	/* etcd answers and refuses what an election needs, in these words: it is full, say.  It
	 * is tried again; NULL: not refused any more. */
	void (*hindered)(void *data, const char *sentence);
	/* What is under our names was written by a program of another kind: nothing is done
	 * any more. */
	void (*refused)(void *data, const char *sentence);
};

/* `address` is what the others tell clients while we lead.  The strings are copied. */
int election_new(struct loop *loop, struct etcd *etcd, const char *cluster,
		 const char *address, int64_t ttl_s,
		 const struct election_events *events, void *data,
		 struct election **ret);
void election_free(struct election *e);

/* Do we lead at this very moment?  Reads the clock. */
bool election_holds(const struct election *e);
/* Ends a lead as if the lease were over; the lease is given back, so that another one may
 * lead at once.  With `for_good` we do not try again. */
void election_resign(struct election *e, bool for_good, const char *why);
/* Is something of that under way still? */
bool election_is_resigning(const struct election *e);

#endif

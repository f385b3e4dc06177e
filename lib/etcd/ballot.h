/* ballot.h - the two questions of an election, as transactions of etcd. */
#ifndef ETCD_BALLOT_H
#define ETCD_BALLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "etcd/etcd.h"
#include "etcd/keys.h"

struct ballot {
	struct etcd_key leader, schema;
	const char *address; /* ours */
};

/* Who leads?  The first one to ask says what kind of state this is: then the transaction
 * succeeds, else its first operation has found the schema; the second has found the leader,
 * either way. */
void ballot_look(struct etcd *etcd, struct etcd_call *call,
		 const struct ballot *b, int64_t timeout_ms);
/* Let us lead, if nobody does.  What is the leader's then is found by the second operation of
 * a transaction that succeeded, and by the first of one that did not. */
void ballot_campaign(struct etcd *etcd, struct etcd_call *call,
		     const struct ballot *b, int64_t lease, int64_t timeout_ms);

/* The one key that an operation has found, or NULL. */
const Etcd__KeyValue *ballot_found(const Etcd__TxnResponse *m, size_t op);
/* Is it the schema that we know? */
bool ballot_is_ours(const Etcd__KeyValue *schema);

#endif

/* ballot.h - the two requests of an election, as transactions of etcd. */
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

/* Reads the leader.  If there is no schema yet, the transaction writes it and succeeds;
 * otherwise its first operation reads the schema.  In both cases the second operation reads
 * the leader. */
void ballot_look(struct etcd *etcd, struct etcd_call *call,
		 const struct ballot *b, int64_t timeout_ms);
/* Makes this process the leader if there is none.  If the transaction succeeds, its second
 * operation reads the leader's key; if not, its first one does. */
void ballot_campaign(struct etcd *etcd, struct etcd_call *call,
		     const struct ballot *b, int64_t lease, int64_t timeout_ms);

/* The one key that an operation has found, or NULL. */
const Etcd__KeyValue *ballot_found(const Etcd__TxnResponse *m, size_t op);
/* Is it the schema of this version? */
bool ballot_is_ours(const Etcd__KeyValue *schema);

#endif

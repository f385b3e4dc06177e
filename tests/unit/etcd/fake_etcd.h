/* fake_etcd.h - as much of etcd as the coordinator uses, in memory, on the test's own loop, and
 * as faulty as a test wants it.
 *
 * Keys, transactions that compare create revisions, leases that end when the test says so, and
 * watches that tell of a key's end. */
#ifndef TESTS_ETCD_FAKE_ETCD_H
#define TESTS_ETCD_FAKE_ETCD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/loop.h"

enum { FAKE_KEYS = 256, FAKE_WATCHES = 8 };

struct fake_key {
	char *name; /* NULL: free */
	struct str value;
	int64_t create_revision;
	int64_t lease;
};

struct rpc_call;

struct fake_etcd {
	struct rpc_server *server;
	char url[64];
	struct fake_key keys[FAKE_KEYS]; /* by name */
	size_t n_keys;
	int64_t revision;
	int64_t last_lease;
	struct rpc_call *watches[FAKE_WATCHES];

	/* what it does wrong */
	unsigned n_lose; /* so many transactions are done, and not answered */
	unsigned n_refuse; /* so many are not done: UNAVAILABLE */
	bool is_full; /* nothing can be put */
	bool is_mute; /* nothing is answered */
	bool is_strict; /* every transaction is too large */

	/* what it was asked */
	unsigned n_txns, n_compactions, n_keep_alives;
	int64_t compacted; /* up to there */
};

void fake_etcd_start(struct fake_etcd *f, struct loop *loop);
void fake_etcd_stop(struct fake_etcd *f);

const struct fake_key *fake_etcd_find(const struct fake_etcd *f,
				      const char *name);
void fake_etcd_put(struct fake_etcd *f, const char *name, const char *value);
/* Removes all keys of the lease, or with 0 the key of that name; watches hear of it. */
void fake_etcd_remove(struct fake_etcd *f, int64_t lease, const char *name);

#endif

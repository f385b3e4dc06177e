/* keys.h - the keys of one cluster of coordinators in etcd.
 *
 *	/roar/CLUSTER/schema	ETCD_SCHEMA; a coordinator refuses any other value
 *	/roar/CLUSTER/leader	the leader's address, bound to its lease.  The
 *				revision that created it is the fencing token
 *	/roar/CLUSTER/head	where the state starts: "N PARTS", in hexadecimal
 *	/roar/CLUSTER/log/N	chunks of records (chunk.h), from the head's N on; N is
 *				16 hexadecimal digits
 *	/roar/CLUSTER/snap/N/I	the state before log/N, as PARTS chunks, I from 0;
 *				temporarily also parts of a snapshot in progress
 *	/roar/CLUSTER/probe	written to find out whether etcd has room again
 *
 * Only the leader writes, and every write is a transaction that compares the fencing token.
 * So no late write of a previous leader takes effect after a new leader was elected. */
#ifndef ETCD_KEYS_H
#define ETCD_KEYS_H

#include <stdint.h>

#include "etcd.pb-c.h"

#define ETCD_SCHEMA "roar-coordinator 2"

enum {
	ETCD_MAX_CLUSTER = 64, /* bytes of a cluster's name */
	ETCD_MAX_KEY = 128, /* bytes of any key, its NUL included */
};

struct etcd_key {
	char text[ETCD_MAX_KEY];
};

/* "schema", "leader", ... */
struct etcd_key etcd_key(const char *cluster, const char *name);
struct etcd_key etcd_key_log(const char *cluster, uint64_t number);
struct etcd_key etcd_key_part(const char *cluster, uint64_t number,
			      uint32_t part);
/* The first key after all keys that start with this one. */
struct etcd_key etcd_key_behind(const struct etcd_key *prefix);

/* The key in the form of a protobuf field; valid as long as the key. */
ProtobufCBinaryData etcd_key_bytes(const struct etcd_key *key);

/* A comparison of the key's create revision; 0: the key does not exist. */
void etcd_compare_created(Etcd__Compare *ret, const struct etcd_key *key,
			  int64_t revision);

#endif

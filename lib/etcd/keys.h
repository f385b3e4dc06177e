/* keys.h - what the coordinators of one cluster keep in etcd, and under which names.
 *
 *	/roar/CLUSTER/schema	ETCD_SCHEMA; whoever finds another one stays away
 *	/roar/CLUSTER/leader	the address of who leads, bound to its lease.  The
 *				revision that created it is the fencing token
 *	/roar/CLUSTER/head	where the state begins: "N PARTS", in hexadecimal
 *	/roar/CLUSTER/log/N	chunks of records (chunk.h), from the head's N on; N is
 *				16 hexadecimal digits
 *	/roar/CLUSTER/snap/N/I	the state before log/N, as PARTS chunks, I from 0 on
 *				for a moment also of a snapshot that is being written
 *	/roar/CLUSTER/probe	written to see whether etcd has room again
 *
 * Only who leads writes, and every write is a transaction that compares the token.  So after
 * a new leader came to be nothing of an old one can arrive any more, however late. */
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
/* The first key that is behind all that begin with this one. */
struct etcd_key etcd_key_behind(const struct etcd_key *prefix);

/* As messages have it; lives as long as the key. */
ProtobufCBinaryData etcd_key_bytes(const struct etcd_key *key);

/* Is it the create revision of this key?  0: there is no such key. */
void etcd_compare_created(Etcd__Compare *ret, const struct etcd_key *key,
			  int64_t revision);

#endif

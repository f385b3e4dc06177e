/* keys.c - see keys.h */
#include "etcd/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct etcd_key etcd_key(const char *cluster, const char *name)
{
	struct etcd_key key;

	(void)snprintf(key.text, sizeof(key.text), "/roar/%.*s/%s",
		       ETCD_MAX_CLUSTER, cluster, name);
	return key;
}

struct etcd_key etcd_key_log(const char *cluster, uint64_t number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "log/%016" PRIx64, number);
	return etcd_key(cluster, name);
}

struct etcd_key etcd_key_part(const char *cluster, uint64_t number,
			      uint32_t part)
{
	char name[48];

	(void)snprintf(name, sizeof(name), "snap/%016" PRIx64 "/%08" PRIx32,
		       number, part);
	return etcd_key(cluster, name);
}

/* Our keys are ASCII: the last byte is never the largest there is. */
struct etcd_key etcd_key_behind(const struct etcd_key *prefix)
{
	struct etcd_key key = *prefix;

	key.text[strlen(key.text) - 1]++;
	return key;
}

ProtobufCBinaryData etcd_key_bytes(const struct etcd_key *key)
{
	return (ProtobufCBinaryData){ .len = strlen(key->text),
				      .data = (uint8_t *)key->text };
}

void etcd_compare_created(Etcd__Compare *ret, const struct etcd_key *key,
			  int64_t revision)
{
	etcd__compare__init(ret);
	ret->target = ETCD__COMPARE__TARGET__CREATE;
	ret->key = etcd_key_bytes(key);
	ret->to_case = ETCD__COMPARE__TO_CREATE_REVISION;
	ret->create_revision = revision;
}

/* client_keys.c - keys of the job: each function is one call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "coord/client/client.h"
#include "roar_coordinator.pb-c.h"

static char *job_of(const struct roar_coord *c)
{
	return (char *)(c->job ? c->job : "");
}

static int run(struct roar_coord *c, enum coord_method_number method,
	       const ProtobufCMessage *request, int64_t timeout_ms,
	       Roar__KvReply **ret)
{
	return client_call_run(c, method, request, timeout_ms,
			       &roar__kv_reply__descriptor, ret);
}

API int roar_coord_set(struct roar_coord *c, const char *key, const void *value,
		       size_t len, int64_t ttl_ms)
{
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;
	Roar__KvReply *reply;
	int r;

	m.job_id = job_of(c);
	m.key = (char *)key;
	m.value = (ProtobufCBinaryData){ .data = (uint8_t *)value, .len = len };
	m.ttl_ms = ttl_ms;
	r = run(c, METHOD_KV_SET, &m.base, CLIENT_CALL_MS, &reply);
	if (r == 0)
		roar__kv_reply__free_unpacked(reply, NULL);
	return r;
}

/* The value of a reply, as the caller's. */
static int give(const Roar__KvEntry *e, void **ret_value, size_t *ret_len,
		uint64_t *ret_version)
{
	char *value = malloc(e->value.len + 1);

	if (!value)
		return sentence_fail(-ENOMEM, "out of memory");
	if (e->value.len)
		memcpy(value, e->value.data, e->value.len);
	value[e->value.len] = '\0';
	*ret_value = value;
	*ret_len = e->value.len;
	if (ret_version)
		*ret_version = e->version;
	return 0;
}

static int none(const char *key)
{
	return sentence_fail(-ENOENT, "there is no key '%.200s'", key);
}

API int roar_coord_get(struct roar_coord *c, const char *key, int64_t wait_ms,
		       void **ret_value, size_t *ret_len, uint64_t *ret_version)
{
	Roar__KvGetRequest m = ROAR__KV_GET_REQUEST__INIT;
	Roar__KvReply *reply;
	int r;

	m.job_id = job_of(c);
	m.key = (char *)key;
	m.wait = wait_ms != 0;
	r = run(c, METHOD_KV_GET, &m.base, wait_ms ? wait_ms : CLIENT_CALL_MS,
		&reply);
	if (r < 0)
		return r;
	r = reply->entry && reply->entry->version ?
		    give(reply->entry, ret_value, ret_len, ret_version) :
		    none(key);
	roar__kv_reply__free_unpacked(reply, NULL);
	return r;
}

static int read_sum(const Roar__KvReply *reply, int64_t *ret_sum)
{
	char digits[32] = "";

	if (!reply->entry || !reply->entry->value.len ||
	    reply->entry->value.len >= sizeof(digits))
		return sentence_fail(
			-EPROTO,
			"the coordinator's answer to a sum is empty or too long");
	memcpy(digits, reply->entry->value.data, reply->entry->value.len);
	if (number_parse(digits, INT64_MIN, INT64_MAX, ret_sum) < 0)
		return sentence_fail(
			-EPROTO,
			"the coordinator's answer to a sum is not a number");
	return 0;
}

API int roar_coord_add(struct roar_coord *c, const char *key, int64_t delta,
		       int64_t *ret_sum)
{
	Roar__KvAddRequest m = ROAR__KV_ADD_REQUEST__INIT;
	Roar__KvReply *reply;
	int64_t sum;
	int r;

	m.job_id = job_of(c);
	m.key = (char *)key;
	m.delta = delta;
	r = run(c, METHOD_KV_ADD, &m.base, CLIENT_CALL_MS, &reply);
	if (r < 0)
		return r;
	r = read_sum(reply, ret_sum ? ret_sum : &sum);
	roar__kv_reply__free_unpacked(reply, NULL);
	return r;
}

API int roar_coord_compare_set(struct roar_coord *c, const char *key,
			       uint64_t version, const void *value, size_t len,
			       int64_t ttl_ms)
{
	Roar__KvCompareSetRequest m = ROAR__KV_COMPARE_SET_REQUEST__INIT;
	Roar__KvReply *reply;
	int r;

	m.job_id = job_of(c);
	m.key = (char *)key;
	m.version = version;
	m.value = (ProtobufCBinaryData){ .data = (uint8_t *)value, .len = len };
	m.ttl_ms = ttl_ms;
	r = run(c, METHOD_KV_COMPARE_SET, &m.base, CLIENT_CALL_MS, &reply);
	if (r < 0)
		return r;
	r = reply->done;
	roar__kv_reply__free_unpacked(reply, NULL);
	return r;
}

API int roar_coord_delete(struct roar_coord *c, const char *key)
{
	Roar__KvDeleteRequest m = ROAR__KV_DELETE_REQUEST__INIT;
	Roar__KvReply *reply;
	int r;

	m.job_id = job_of(c);
	m.key = (char *)key;
	r = run(c, METHOD_KV_DELETE, &m.base, CLIENT_CALL_MS, &reply);
	if (r < 0)
		return r;
	r = reply->done ? 0 : none(key);
	roar__kv_reply__free_unpacked(reply, NULL);
	return r;
}

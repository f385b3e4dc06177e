/* key_calls.c - requests about keys. */
#include "coord/keys/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	ALL_KEYS_TIMES = 4, /* limit of all jobs, as a multiple of one job's */
	MAX_KEY_VALUE = 1 << 20, /* bytes */
	PAGE_DEFAULT = 1000,
	PAGE_MAX = 10000,
	PAGE_BYTES = 16 << 20, /* of keys and values in one reply */
	NUMBER_MAX = 20, /* characters of a 64-bit number */
};

static const int64_t max_ttl_ms = 100LL * 366 * 24 * 3600 * 1000;

static void tell_key(const struct request *q, const struct job *job,
		     const char *name, bool done, bool with_value)
{
	Roar__KvReply reply = ROAR__KV_REPLY__INIT;
	Roar__KvEntry entry;

	key_view(job, name, key_find(job, name), &entry);
	if (!with_value)
		entry.value = (ProtobufCBinaryData){ 0 };
	reply.done = done;
	reply.entry = &entry;
	request_reply(q, &reply);
}

static void tell_entry(const struct request *q, const struct job *job,
		       const char *name, bool done)
{
	tell_key(q, job, name, done, true);
}

static int check_ttl(const struct request *q, int64_t ttl_ms)
{
	if (ttl_ms >= 0 && ttl_ms <= max_ttl_ms)
		return 0;
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "ttl_ms is %lld; it must be from 0 (for ever) to %lld",
		       (long long)ttl_ms, (long long)max_ttl_ms);
	return -EINVAL;
}

static int64_t expiry(const struct request *q, int64_t ttl_ms)
{
	return ttl_ms ? q->c->time_ms + ttl_ms : 0;
}

static int check_room(const struct request *q, const struct job *job,
		      const char *name, size_t len)
{
	const struct coord_limits *limits = &q->c->limits;
	const struct key *old = key_find(job, name);
	uint64_t bytes = job->key_bytes + len, all;

	bytes = old ? bytes - old->len : bytes + strlen(name);
	all = q->c->key_bytes - job->key_bytes + bytes;
	if (len > MAX_KEY_VALUE)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the value is %zu bytes long; at most %d are kept", len,
			MAX_KEY_VALUE);
	else if (!old && job->n_keys >= limits->max_keys)
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"job '%s' has %zu keys already; delete some first",
			job->id, job->n_keys);
	else if (all > ALL_KEYS_TIMES * limits->max_key_bytes)
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"the keys of all jobs are too large already; delete some first");
	else if (bytes > limits->max_key_bytes)
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"the keys of job '%s' would be %llu bytes, more than %llu; delete some first",
			job->id, (unsigned long long)bytes,
			(unsigned long long)limits->max_key_bytes);
	else
		return 0;
	return -ENOSPC;
}

/* Fails after a refusal.  `request` as key_record() has it. */
static int record(const struct request *q, struct job *job, const char *name,
		  const uint8_t *value, size_t len, int64_t expires_ms,
		  uint64_t request)
{
	int r = check_room(q, job, name, len);

	if (r < 0)
		return r;
	r = key_record(job, name, value, len, expires_ms, request);
	if (r < 0)
		request_refuse_change(q, r);
	return r;
}

/* The caller has the value: it is not sent back. */
static void set(const struct request *q, struct job *job, const char *name,
		const ProtobufCBinaryData *value, int64_t ttl_ms,
		uint64_t request)
{
	if (record(q, job, name, value->data, value->len, expiry(q, ttl_ms),
		   request) < 0)
		return;
	tell_key(q, job, name, true, false);
	key_changed(job, name);
}

/* A request that was done already is told so, with its own version, and changes nothing:
 * others may have set the key since. */
static bool was_done(const struct request *q, const struct job *job,
		     const char *name, uint64_t request)
{
	Roar__KvReply reply = ROAR__KV_REPLY__INIT;
	Roar__KvEntry entry = ROAR__KV_ENTRY__INIT;

	if (!key_requests_find(&job->key_requests, request, &entry.version))
		return false;
	entry.key = (char *)name;
	reply.done = true;
	reply.entry = &entry;
	request_reply(q, &reply);
	return true;
}

void method_kv_set(const struct request *q, const void *message)
{
	const Roar__KvSetRequest *m = message;
	struct job *job;

	if (request_check_key(q, m->key) < 0 || check_ttl(q, m->ttl_ms) < 0)
		return;
	job = request_job_ensure(q, m->job_id);
	if (job && !was_done(q, job, m->key, m->request))
		set(q, job, m->key, &m->value, m->ttl_ms, m->request);
}

void method_kv_get(const struct request *q, const void *message)
{
	const Roar__KvGetRequest *m = message;
	struct job *job;
	const struct key *key;

	if (request_check_key(q, m->key) < 0)
		return;
	/* Who waits may be the first of its job. */
	job = m->wait ? request_job_ensure(q, m->job_id) :
			request_job(q, m->job_id);
	if (!job)
		return;
	key = key_find(job, m->key);
	if (key && (!m->wait || key->version > m->after_version))
		tell_entry(q, job, m->key, true);
	else if (m->wait)
		(void)key_wait(q, job, m);
	else
		request_refuse(q, COORD_NOT_FOUND, "job '%s' has no key '%s'",
			       job->id, m->key);
}

/* ---- add ---- */

static int number_of(const struct key *key, int64_t *ret)
{
	char text[NUMBER_MAX + 1];
	char *end;

	*ret = 0;
	if (!key)
		return 0;
	if (!key->len || key->len > NUMBER_MAX || key->value[0] == ' ')
		return -EINVAL;
	memcpy(text, key->value, key->len);
	text[key->len] = '\0';
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno || *end || strlen(text) != key->len ? -EINVAL : 0;
}

void method_kv_add(const struct request *q, const void *message)
{
	const Roar__KvAddRequest *m = message;
	struct job *job;
	const struct key *key;
	int64_t sum, expires;
	char text[NUMBER_MAX + 1];

	if (request_check_key(q, m->key) < 0 || check_ttl(q, m->ttl_ms) < 0)
		return;
	job = request_job_ensure(q, m->job_id);
	if (!job)
		return;
	key = key_find(job, m->key);
	if (number_of(key, &sum) < 0) {
		request_refuse(q, COORD_FAILED_PRECONDITION,
			       "the value of key '%s' is not a decimal number",
			       m->key);
		return;
	}
	if (__builtin_add_overflow(sum, m->delta, &sum)) {
		request_refuse(q, COORD_OUT_OF_RANGE,
			       "the sum in key '%s' would not fit 64 bits",
			       m->key);
		return;
	}
	(void)snprintf(text, sizeof(text), "%lld", (long long)sum);
	/* A counter keeps its time unless it is given another. */
	expires = !m->ttl_ms && key ? key->expires_ms : expiry(q, m->ttl_ms);
	if (record(q, job, m->key, (const uint8_t *)text, strlen(text), expires,
		   0) < 0)
		return;
	tell_entry(q, job, m->key, true);
	key_changed(job, m->key);
}

/* ---- compare and set, delete ---- */

/* An absent key has the version 0 and an empty value. */
static bool as_expected(const struct key *key,
			const Roar__KvCompareSetRequest *m)
{
	size_t len = key ? key->len : 0;

	if (!m->by_value)
		return m->version == (key ? key->version : 0);
	return m->expected.len == len &&
	       (!len || memcmp(m->expected.data, key->value, len) == 0);
}

void method_kv_compare_set(const struct request *q, const void *message)
{
	const Roar__KvCompareSetRequest *m = message;
	struct job *job;

	if (request_check_key(q, m->key) < 0 || check_ttl(q, m->ttl_ms) < 0)
		return;
	job = request_job_ensure(q, m->job_id);
	if (!job)
		return;
	if (as_expected(key_find(job, m->key), m))
		set(q, job, m->key, &m->value, m->ttl_ms, 0);
	else
		tell_entry(q, job, m->key, false);
}

void method_kv_delete(const struct request *q, const void *message)
{
	const Roar__KvDeleteRequest *m = message;
	struct job *job = request_job(q, m->job_id);
	int r;

	if (!job || request_check_key(q, m->key) < 0 ||
	    was_done(q, job, m->key, m->request))
		return;
	if (!key_find(job, m->key)) {
		tell_entry(q, job, m->key, false);
		return;
	}
	r = key_record_gone(job, m->key, m->request);
	if (r < 0) {
		request_refuse_change(q, r);
		return;
	}
	tell_entry(q, job, m->key, true);
	key_changed(job, m->key);
}

/* ---- list ---- */

static size_t first_of(const struct job *job, const Roar__KvListRequest *m)
{
	size_t i = key_index(job, m->prefix);

	if (!*m->after)
		return i;
	size_t behind = key_index(job, m->after);

	if (behind < job->n_keys &&
	    strcmp(job->keys[behind]->name, m->after) == 0)
		behind++;
	return behind > i ? behind : i;
}

/* Fills what fits in a page.  Returns whether there is more. */
static bool fill(const struct job *job, const Roar__KvListRequest *m,
		 Roar__KvEntry *entries, size_t max, size_t *ret_n)
{
	size_t bytes = 0, len = strlen(m->prefix);

	for (size_t i = first_of(job, m); i < job->n_keys; i++) {
		const struct key *key = job->keys[i];

		if (strncmp(key->name, m->prefix, len) != 0)
			return false;
		if (key_expired(key))
			continue;
		bytes += strlen(key->name) + (m->keys_only ? 0 : key->len);
		if (*ret_n == max || (*ret_n && bytes > PAGE_BYTES))
			return true;
		key_view(job, key->name, key, &entries[*ret_n]);
		if (m->keys_only)
			entries[*ret_n].value = (ProtobufCBinaryData){ 0 };
		++*ret_n;
	}
	return false;
}

void method_kv_list(const struct request *q, const void *message)
{
	const Roar__KvListRequest *m = message;
	Roar__KvListReply reply = ROAR__KV_LIST_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	size_t max = m->limit <= 0	 ? PAGE_DEFAULT :
		     m->limit > PAGE_MAX ? PAGE_MAX :
					   (size_t)m->limit;
	CLEANUP(freep) Roar__KvEntry *entries = NULL;
	CLEANUP(freep) Roar__KvEntry **ptrs = NULL;

	if (!job || request_check_prefix(q, m->prefix) < 0 ||
	    request_check_prefix(q, m->after) < 0)
		return;
	entries = calloc(max, sizeof(*entries));
	ptrs = calloc(max, sizeof(*ptrs));
	if (!entries || !ptrs) {
		request_refuse_change(q, -ENOMEM);
		return;
	}
	reply.more = fill(job, m, entries, max, &reply.n_entries);
	for (size_t i = 0; i < reply.n_entries; i++)
		ptrs[i] = &entries[i];
	reply.entries = ptrs;
	request_reply(q, &reply);
}

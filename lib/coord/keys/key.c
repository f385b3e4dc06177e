/* key.c - the keys of a job: found by name, walked in order, gone when their time is
 * over.
 *
 * A sorted array: a key is found in the steps of a bisection, and one that is added
 * moves pointers only.  Keys expire by service time (service_time.c). */
#include "coord/keys/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"

size_t key_index(const struct job *job, const char *name)
{
	size_t low = 0, high = job->n_keys;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(job->keys[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct key *find_any(const struct job *job, const char *name)
{
	size_t i = key_index(job, name);

	if (i < job->n_keys && strcmp(job->keys[i]->name, name) == 0)
		return job->keys[i];
	return NULL;
}

bool key_expired(const struct key *key)
{
	return key->expires_ms && key->expires_ms <= key->job->c->time_ms;
}

struct key *key_find(const struct job *job, const char *name)
{
	struct key *key = find_any(job, name);

	return key && !key_expired(key) ? key : NULL;
}

void key_view(const struct job *job, const char *name, const struct key *key,
	      Roar__KvEntry *ret)
{
	roar__kv_entry__init(ret);
	ret->key = (char *)name;
	if (!key)
		return;
	ret->value.data = key->value;
	ret->value.len = key->len;
	ret->version = key->version;
	if (key->expires_ms)
		ret->expires_in_ms = key->expires_ms - job->c->time_ms;
}

static void key_free(struct key *key)
{
	timer_heap_remove(&key->job->c->service, &key->expiry.timer);
	free(key->value);
	free(key);
}

void keys_free(struct job *job)
{
	for (size_t i = 0; i < job->n_keys; i++)
		key_free(job->keys[i]);
	free(job->keys);
	key_requests_release(&job->key_requests);
}

/* ---- records ---- */

static int copy_value(const ProtobufCBinaryData *value, uint8_t **ret)
{
	*ret = malloc(value->len ? value->len : 1);
	if (!*ret)
		return -ENOMEM;
	if (value->len)
		memcpy(*ret, value->data, value->len);
	return 0;
}

static void count_bytes(struct job *job, int64_t change)
{
	job->key_bytes += (uint64_t)change;
	job->c->key_bytes += (uint64_t)change;
}

static void set(struct key *key, const Roar__Record__Key *m, uint8_t *value)
{
	struct job *job = key->job;

	count_bytes(job, (int64_t)m->value.len - (int64_t)key->len);
	free(key->value);
	key->value = value;
	key->len = m->value.len;
	key->version = m->version;
	key->expires_ms = m->expires_ms;
	if (m->version > job->last_version)
		job->last_version = m->version;
	if (!m->expires_ms) {
		timer_heap_remove(&job->c->service, &key->expiry.timer);
		return;
	}
	timer_heap_set(&job->c->service, &key->expiry.timer, m->expires_ms);
	service_time_note(job->c, m->time_ms);
}

/* A key whose expiry cannot be recorded is invisible nevertheless (key_expired()). */
static void key_due(struct coord *c, struct alarm *a)
{
	struct key *key = container_of(a, struct key, expiry);
	struct job *job = key->job;
	CLEANUP(freep) char *name = strdup(key->name);

	if (!name || key_record_gone(job, name, 0) < 0)
		timer_heap_set(&c->service, &a->timer,
			       c->time_ms + RECORD_RETRY_MS);
	else
		key_changed(job, name);
}

static int key_new(struct job *job, const char *name, struct key **ret)
{
	size_t len = strlen(name);
	struct key *key;

	if (vec_reserve(&job->keys, &job->cap_keys, job->n_keys + 1,
			sizeof(struct key *)) < 0)
		return -ENOMEM;
	key = calloc(1, sizeof(*key) + len + 1);
	if (!key)
		return -ENOMEM;
	key->job = job;
	key->expiry.ring = key_due;
	memcpy(key->name, name, len + 1);
	*ret = key;
	return 0;
}

static void insert(struct job *job, struct key *key)
{
	size_t i = key_index(job, key->name);

	memmove(job->keys + i + 1, job->keys + i,
		(job->n_keys - i) * sizeof(struct key *));
	job->keys[i] = key;
	job->n_keys++;
	count_bytes(job, (int64_t)strlen(key->name));
}

int change_key(struct coord *c, const Record *record)
{
	const Roar__Record__Key *m = record->key;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(freep) struct key *made = NULL;
	CLEANUP(freep) uint8_t *value = NULL;
	struct key *key;
	int r;

	if (!job || !*m->key || !m->version || m->expires_ms < 0 ||
	    m->expires_ms > max_wall_ms || m->time_ms < 0 ||
	    m->time_ms > max_wall_ms)
		return -EBADMSG;
	key = find_any(job, m->key);
	r = key ? 0 : key_new(job, m->key, &made);
	if (r == 0)
		r = copy_value(&m->value, &value);
	if (r == 0)
		r = timer_heap_reserve(&c->service);
	if (r == 0)
		r = key_requests_reserve(&job->key_requests, m->request);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	key_requests_add(&job->key_requests, m->request, m->version);
	if (made) {
		key = TAKE_PTR(made);
		insert(job, key);
	}
	set(key, m, TAKE_PTR(value));
	return 0;
}

int change_key_gone(struct coord *c, const Record *record)
{
	const Roar__Record__KeyGone *m = record->key_gone;
	struct job *job = job_find(c, m->job_id);
	size_t i = job ? key_index(job, m->key) : 0;
	struct key *key = job ? find_any(job, m->key) : NULL;
	int r;

	if (!key)
		return -EBADMSG;
	r = key_requests_reserve(&job->key_requests, m->request);
	if (r == 0)
		r = record_append(c, record);
	if (r < 0)
		return r;
	key_requests_add(&job->key_requests, m->request, 0);
	job->n_keys--;
	memmove(job->keys + i, job->keys + i + 1,
		(job->n_keys - i) * sizeof(struct key *));
	count_bytes(job, -(int64_t)(strlen(key->name) + key->len));
	if (m->version > job->last_version)
		job->last_version = m->version;
	key_free(key);
	return 0;
}

int key_record(struct job *job, const char *name, const uint8_t *value,
	       size_t len, int64_t expires_ms, uint64_t request)
{
	Roar__Record__Key m = ROAR__RECORD__KEY__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = job->id;
	m.key = (char *)name;
	m.value.data = (uint8_t *)value;
	m.value.len = len;
	m.version = job->last_version + 1;
	m.expires_ms = expires_ms;
	m.time_ms = expires_ms ? job->c->time_ms : 0;
	m.request = request;
	record.what_case = ROAR__RECORD__RECORD__WHAT_KEY;
	record.key = &m;
	return change_make(job->c, &record);
}

int key_record_gone(struct job *job, const char *name, uint64_t request)
{
	Roar__Record__KeyGone m = ROAR__RECORD__KEY_GONE__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = job->id;
	m.key = (char *)name;
	m.version = job->last_version + 1;
	m.request = request;
	record.what_case = ROAR__RECORD__RECORD__WHAT_KEY_GONE;
	record.key_gone = &m;
	return change_make(job->c, &record);
}

/* etcd_log_load.c - the state as it was kept: the head, the snapshot it names, the log behind.
 *
 * Only who leads writes, so while we lead and read nothing changes, and pages of keys that
 * are asked for one after the other fit each other. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "etcd/etcd_log_internal.h"

enum {
	FIRST_LIMIT = 16, /* keys of an answer, where each may have a whole MiB */
	MAX_LIMIT = 32, /* the next ones may be large: what is asked for must fit */
	SMALL_ANSWER = 1 << 20, /* bytes: the next one may have more keys */
	MAX_VALUE = 3 << 19, /* bytes: what etcd takes in a request */
};

/* Else a page of the largest values would be asked for again without end. */
static_assert(MAX_LIMIT <= GRPC_CLIENT_MAX_MESSAGE / MAX_VALUE,
	      "a page is too large");

static void say_damaged(struct etcd_log *l, const char *key, const char *what)
{
	char sentence[512];

	(void)snprintf(sentence, sizeof(sentence),
		       "'%s' in etcd %s; put back a copy of etcd, or give "
		       "another --cluster to begin anew",
		       key, what);
	log_fail(l, -EBADMSG, sentence);
}

void log_load_end(struct etcd_log *l)
{
	log_step_end(&l->load.step);
	chunk_reader_release(&l->load.reader);
}

static void finish(struct etcd_log *l)
{
	struct log_load *p = &l->load;

	l->next = p->at;
	l->is_loaded = true;
	chunk_reader_release(&p->reader); /* what a leader did not finish */
	log_sweep(l); /* likewise */
	l->events.loaded(l->data);
}

/* ---- keys ---- */

static struct etcd_key key_at(const struct etcd_log *l)
{
	const struct log_load *p = &l->load;

	return p->in_snapshot ?
		       etcd_key_part(l->cluster, l->begin, (uint32_t)p->at) :
		       etcd_key_log(l->cluster, p->at);
}

static int read_key(struct etcd_log *l, const Etcd__KeyValue *kv)
{
	struct log_load *p = &l->load;
	struct etcd_key key = key_at(l);
	int r;

	if (kv->key.len != strlen(key.text) ||
	    memcmp(kv->key.data, key.text, kv->key.len) != 0) {
		say_damaged(l, key.text,
			    "is missing, but what follows is there");
		return -EBADMSG;
	}
	r = chunk_read(&p->reader, kv->value.data, kv->value.len,
		       l->events.record, l->data);
	if (r < 0) {
		say_damaged(l, key.text,
			    r == -ENOMEM ? "is too large for our memory" :
					   "is damaged, or of another kind");
		return r;
	}
	p->at++;
	if (p->in_snapshot)
		l->snapshot_bytes += kv->value.len;
	else
		l->counts.bytes += kv->value.len;
	return 0;
}

static void set_limit(struct log_load *p, const Etcd__RangeResponse *m)
{
	size_t bytes = 0;

	for (size_t i = 0; i < m->n_kvs; i++)
		bytes += m->kvs[i]->value.len;
	if (bytes > SMALL_ANSWER)
		p->limit = FIRST_LIMIT;
	else if (p->limit < MAX_LIMIT)
		p->limit *= 2;
}

/* ---- pages ---- */

/* The snapshot is read; the log follows. */
static void begin_log(struct etcd_log *l)
{
	struct log_load *p = &l->load;

	if (p->at != l->n_parts) {
		say_damaged(l, key_at(l).text, "is missing");
		return;
	}
	p->in_snapshot = false;
	p->at = l->begin;
	p->step.begin(&p->step);
}

static void on_page(struct etcd_call *call, unsigned status,
		    const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	const Etcd__RangeResponse *m = (const Etcd__RangeResponse *)reply;
	struct etcd_log *l = s->log;

	if (!log_step_is_over(s, status))
		return;
	if (status != RPC_OK) {
		log_fail(l, -EIO, sentence);
		return;
	}
	for (size_t i = 0; i < m->n_kvs; i++) {
		if (read_key(l, m->kvs[i]) < 0)
			return;
	}
	set_limit(&l->load, m);
	if (m->more)
		s->begin(s);
	else if (l->load.in_snapshot)
		begin_log(l);
	else
		finish(l);
}

static void ask_for_page(struct log_step *s)
{
	struct etcd_log *l = s->log;
	struct etcd_key from = key_at(l);
	struct etcd_key prefix = etcd_key(l->cluster, "log/");
	Etcd__RangeRequest m = ETCD__RANGE_REQUEST__INIT;
	struct etcd_key behind;

	if (l->load.in_snapshot) {
		prefix = etcd_key_part(l->cluster, l->begin, 0);
		*(strrchr(prefix.text, '/') + 1) = '\0';
	}
	behind = etcd_key_behind(&prefix);
	m.key = etcd_key_bytes(&from);
	m.range_end = etcd_key_bytes(&behind);
	m.limit = l->load.limit;
	log_step_call(s, ETCD_RANGE, &m.base, on_page);
}

/* ---- the head ---- */

static int read_head(struct etcd_log *l, const Etcd__KeyValue *kv)
{
	char text[64];
	uint64_t begin = 0;
	uint32_t n_parts = 0;

	(void)snprintf(text, sizeof(text), "%.*s",
		       (int)(kv->value.len > 60 ? 60 : kv->value.len),
		       (const char *)kv->value.data);
	if (sscanf(text, "%" SCNx64 " %" SCNx32, &begin, &n_parts) != 2 ||
	    !begin)
		return -EBADMSG;
	l->begin = begin;
	l->n_parts = n_parts;
	return 0;
}

static void on_head(struct etcd_call *call, unsigned status,
		    const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	const Etcd__RangeResponse *m = (const Etcd__RangeResponse *)reply;
	struct etcd_log *l = s->log;

	if (!log_step_is_over(s, status))
		return;
	if (status != RPC_OK) {
		log_fail(l, -EIO, sentence);
		return;
	}
	if (m->n_kvs && read_head(l, m->kvs[0]) < 0) {
		say_damaged(l, etcd_key(l->cluster, "head").text,
			    "is damaged, or of another kind");
		return;
	}
	s->begin = ask_for_page;
	l->load.in_snapshot = l->n_parts > 0;
	l->load.at = l->load.in_snapshot ? 0 : l->begin;
	ask_for_page(s);
}

static void ask_for_head(struct log_step *s)
{
	struct etcd_key key = etcd_key(s->log->cluster, "head");
	Etcd__RangeRequest m = ETCD__RANGE_REQUEST__INIT;

	m.key = etcd_key_bytes(&key);
	log_step_call(s, ETCD_RANGE, &m.base, on_head);
}

void log_load_begin(struct etcd_log *l)
{
	l->begin = 1;
	l->load.limit = FIRST_LIMIT;
	log_step_init(&l->load.step, l, ask_for_head);
	ask_for_head(&l->load.step);
}

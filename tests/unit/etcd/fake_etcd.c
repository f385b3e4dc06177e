/* fake_etcd.c - see fake_etcd.h */
#include "fake_etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "etcd.pb-c.h"
#include "net/rpc/rpc.h"

/* ---- keys ---- */

static size_t place_of(const struct fake_etcd *f, const char *name)
{
	size_t i = 0;

	while (i < f->n_keys && strcmp(f->keys[i].name, name) < 0)
		i++;
	return i;
}

static bool is_there(const struct fake_etcd *f, size_t i, const char *name)
{
	return i < f->n_keys && strcmp(f->keys[i].name, name) == 0;
}

const struct fake_key *fake_etcd_find(const struct fake_etcd *f,
				      const char *name)
{
	size_t i = place_of(f, name);

	return is_there(f, i, name) ? &f->keys[i] : NULL;
}

static void put(struct fake_etcd *f, const char *name, const void *value,
		size_t len, int64_t lease)
{
	size_t i = place_of(f, name);

	f->revision++;
	if (!is_there(f, i, name)) {
		assert_true(f->n_keys < FAKE_KEYS);
		memmove(&f->keys[i + 1], &f->keys[i],
			(f->n_keys++ - i) * sizeof(f->keys[0]));
		f->keys[i] = (struct fake_key){ .name = strdup(name),
						.create_revision = f->revision };
	}
	str_clear(&f->keys[i].value);
	str_add(&f->keys[i].value, value, len);
	f->keys[i].lease = lease;
}

void fake_etcd_put(struct fake_etcd *f, const char *name, const char *value)
{
	put(f, name, value, strlen(value), 0);
}

static void tell_watches(struct fake_etcd *f)
{
	Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
	Etcd__Event e = ETCD__EVENT__INIT;
	Etcd__Event *events[] = { &e };
	uint8_t bytes[64];

	e.type = ETCD__EVENT__TYPE__DELETE;
	m.events = events;
	m.n_events = 1;
	for (size_t i = 0; i < FAKE_WATCHES; i++) {
		if (f->watches[i])
			rpc_call_send(f->watches[i], bytes,
				      etcd__watch_response__pack(&m, bytes));
	}
}

static void remove_at(struct fake_etcd *f, size_t i)
{
	f->revision++;
	free(f->keys[i].name);
	str_release(&f->keys[i].value);
	memmove(&f->keys[i], &f->keys[i + 1],
		(--f->n_keys - i) * sizeof(f->keys[0]));
}

void fake_etcd_remove(struct fake_etcd *f, int64_t lease, const char *name)
{
	for (size_t i = f->n_keys; i-- > 0;) {
		if (lease ? f->keys[i].lease == lease :
			    strcmp(f->keys[i].name, name) == 0)
			remove_at(f, i);
	}
	tell_watches(f);
}

/* ---- answers ---- */

static void answer(struct rpc_call *call, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = malloc(len + 1);

	protobuf_c_message_pack(m, bytes);
	rpc_call_send(call, bytes, len);
	rpc_call_end(call, 0, NULL, NULL, 0);
	free(bytes);
}

static char *text_of(const ProtobufCBinaryData *b)
{
	/* Nothing may be nowhere. */
	char *text = strndup(b->len ? (const char *)b->data : "", b->len);

	assert_non_null(text);
	return text;
}

/* ---- ranges ---- */

struct found {
	Etcd__RangeResponse m;
	Etcd__KeyValue kvs[FAKE_KEYS];
	Etcd__KeyValue *ptrs[FAKE_KEYS];
};

static void look(struct fake_etcd *f, const Etcd__RangeRequest *q,
		 struct found *ret)
{
	char *from = text_of(&q->key), *to = text_of(&q->range_end);

	etcd__range_response__init(&ret->m);
	ret->m.kvs = ret->ptrs;
	for (size_t i = 0; i < f->n_keys; i++) {
		struct fake_key *k = &f->keys[i];
		Etcd__KeyValue *kv = &ret->kvs[ret->m.n_kvs];

		if (*to ? strcmp(k->name, from) < 0 ||
				    strcmp(k->name, to) >= 0 :
			  strcmp(k->name, from) != 0)
			continue;
		if (q->limit && ret->m.n_kvs == (size_t)q->limit) {
			ret->m.more = true;
			break;
		}
		etcd__key_value__init(kv);
		kv->key.data = (uint8_t *)k->name;
		kv->key.len = strlen(k->name);
		kv->value.data = (uint8_t *)k->value.data;
		kv->value.len = k->value.len;
		kv->create_revision = k->create_revision;
		kv->lease = k->lease;
		ret->ptrs[ret->m.n_kvs++] = kv;
	}
	free(from);
	free(to);
}

static void on_range(struct fake_etcd *f, struct rpc_call *call,
		     const void *data, size_t len)
{
	Etcd__RangeRequest *q = etcd__range_request__unpack(NULL, len, data);
	static struct found found;

	look(f, q, &found);
	answer(call, &found.m.base);
	etcd__range_request__free_unpacked(q, NULL);
}

/* ---- transactions ---- */

enum { MAX_OPS = 4 };

static bool holds(const struct fake_etcd *f, const Etcd__TxnRequest *q)
{
	bool good = true;

	for (size_t i = 0; i < q->n_compare; i++) {
		const Etcd__Compare *c = q->compare[i];
		char *name = text_of(&c->key);
		const struct fake_key *k = fake_etcd_find(f, name);

		assert_int_equal(c->target, ETCD__COMPARE__TARGET__CREATE);
		good = good &&
		       (k ? k->create_revision : 0) == c->create_revision;
		free(name);
	}
	return good;
}

static void remove_range(struct fake_etcd *f, const Etcd__DeleteRangeRequest *q)
{
	char *from = text_of(&q->key), *to = text_of(&q->range_end);

	for (size_t i = f->n_keys; i-- > 0;) {
		if (strcmp(f->keys[i].name, from) >= 0 &&
		    strcmp(f->keys[i].name, to) < 0)
			remove_at(f, i);
	}
	free(from);
	free(to);
}

static void do_op(struct fake_etcd *f, const Etcd__RequestOp *op,
		  Etcd__ResponseOp *ret, struct found *found)
{
	char *name;

	etcd__response_op__init(ret);
	if (op->request_case == ETCD__REQUEST_OP__REQUEST_PUT) {
		name = text_of(&op->put->key);
		put(f, name, op->put->value.data, op->put->value.len,
		    op->put->lease);
		free(name);
	} else if (op->request_case == ETCD__REQUEST_OP__REQUEST_RANGE) {
		look(f, op->range, found);
		ret->response_case = ETCD__RESPONSE_OP__RESPONSE_RANGE;
		ret->range = &found->m;
	} else {
		remove_range(f, op->delete_range);
	}
}

static void do_txn(struct fake_etcd *f, struct rpc_call *call,
		   const Etcd__TxnRequest *q)
{
	static struct found found[MAX_OPS];
	bool good = holds(f, q);
	size_t n = good ? q->n_success : q->n_failure;
	Etcd__TxnResponse m = ETCD__TXN_RESPONSE__INIT;
	Etcd__Header header = ETCD__HEADER__INIT;
	Etcd__ResponseOp ops[MAX_OPS];
	Etcd__ResponseOp *ptrs[MAX_OPS];

	assert_true(n <= MAX_OPS);
	for (size_t i = 0; i < n; i++) {
		do_op(f, good ? q->success[i] : q->failure[i], &ops[i],
		      &found[i]);
		ptrs[i] = &ops[i];
	}
	header.revision = f->revision;
	m.header = &header;
	m.succeeded = good;
	m.responses = ptrs;
	m.n_responses = n;
	if (f->n_lose > 0) {
		f->n_lose--;
		rpc_server_hang_up(f->server);
		return;
	}
	answer(call, &m.base);
}

static bool puts_something(const Etcd__TxnRequest *q)
{
	for (size_t i = 0; i < q->n_success; i++) {
		if (q->success[i]->request_case == ETCD__REQUEST_OP__REQUEST_PUT)
			return true;
	}
	return false;
}

static void on_txn(struct fake_etcd *f, struct rpc_call *call, const void *data,
		   size_t len)
{
	Etcd__TxnRequest *q = etcd__txn_request__unpack(NULL, len, data);

	f->n_txns++;
	if (f->n_refuse > 0) {
		f->n_refuse--;
		rpc_call_end(call, 14, "etcdserver: no leader", NULL, 0);
	} else if (f->is_full && puts_something(q)) {
		rpc_call_end(call, 8,
			     "etcdserver: mvcc: database space exceeded", NULL,
			     0);
	} else if (f->is_strict) {
		rpc_call_end(call, 3, "etcdserver: request is too large", NULL,
			     0);
	} else {
		do_txn(f, call, q);
	}
	etcd__txn_request__free_unpacked(q, NULL);
}

/* ---- leases, watches, compaction ---- */

static void on_grant(struct fake_etcd *f, struct rpc_call *call,
		     const void *data, size_t len)
{
	Etcd__LeaseGrantRequest *q = etcd__lease_grant_request__unpack(
		NULL, len, data);
	Etcd__LeaseGrantResponse m = ETCD__LEASE_GRANT_RESPONSE__INIT;

	m.id = ++f->last_lease;
	m.ttl_s = q->ttl_s;
	answer(call, &m.base);
	etcd__lease_grant_request__free_unpacked(q, NULL);
}

static void on_keep_alive(struct fake_etcd *f, struct rpc_call *call,
			  const void *data, size_t len)
{
	Etcd__LeaseKeepAliveResponse m = ETCD__LEASE_KEEP_ALIVE_RESPONSE__INIT;

	(void)data, (void)len;
	f->n_keep_alives++;
	m.ttl_s = 2;
	answer(call, &m.base);
}

static void on_revoke(struct fake_etcd *f, struct rpc_call *call,
		      const void *data, size_t len)
{
	Etcd__LeaseRevokeRequest *q = etcd__lease_revoke_request__unpack(
		NULL, len, data);
	Etcd__LeaseRevokeResponse m = ETCD__LEASE_REVOKE_RESPONSE__INIT;

	fake_etcd_remove(f, q->id, NULL);
	answer(call, &m.base);
	etcd__lease_revoke_request__free_unpacked(q, NULL);
}

static void on_watch(struct fake_etcd *f, struct rpc_call *call,
		     const void *data, size_t len)
{
	(void)data, (void)len;
	for (size_t i = 0; i < FAKE_WATCHES; i++) {
		if (!f->watches[i]) {
			f->watches[i] = call;
			return;
		}
	}
	fail_msg("there are too many watches");
}

static void on_compact(struct fake_etcd *f, struct rpc_call *call,
		       const void *data, size_t len)
{
	Etcd__CompactionRequest *q = etcd__compaction_request__unpack(NULL, len,
								      data);
	Etcd__CompactionResponse m = ETCD__COMPACTION_RESPONSE__INIT;

	f->n_compactions++;
	f->compacted = q->revision;
	answer(call, &m.base);
	etcd__compaction_request__free_unpacked(q, NULL);
}

/* ---- the server ---- */

static const struct {
	struct rpc_method rpc;
	void (*act)(struct fake_etcd *f, struct rpc_call *call,
		    const void *data, size_t len);
} methods[] = {
	{ { .path = "/etcdserverpb.KV/Range" }, on_range },
	{ { .path = "/etcdserverpb.KV/Txn" }, on_txn },
	{ { .path = "/etcdserverpb.KV/Compact" }, on_compact },
	{ { .path = "/etcdserverpb.Lease/LeaseGrant" }, on_grant },
	{ { .path = "/etcdserverpb.Lease/LeaseRevoke" }, on_revoke },
	{ { .path = "/etcdserverpb.Lease/LeaseKeepAlive" }, on_keep_alive },
	{ { .path = "/etcdserverpb.Watch/Watch",
	    .streams_in = true,
	    .streams_out = true },
	  on_watch },
};

static const struct rpc_method *by_path(void *ctx, const char *path, size_t len)
{
	(void)ctx;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strlen(methods[i].rpc.path) == len &&
		    memcmp(methods[i].rpc.path, path, len) == 0)
			return &methods[i].rpc;
	}
	return NULL;
}

static void on_message(void *ctx, struct rpc_call *call, const void *data,
		       size_t len)
{
	const struct rpc_method *m = rpc_call_method(call);
	struct fake_etcd *f = ctx;

	if (f->is_mute)
		return;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (&methods[i].rpc == m)
			methods[i].act(f, call, data, len);
	}
}

static void on_cancelled(void *ctx, struct rpc_call *call)
{
	struct fake_etcd *f = ctx;

	for (size_t i = 0; i < FAKE_WATCHES; i++) {
		if (f->watches[i] == call)
			f->watches[i] = NULL;
	}
}

void fake_etcd_start(struct fake_etcd *f, struct loop *loop)
{
	static const struct rpc_handler handler = {
		.by_path = by_path,
		.message = on_message,
		.cancelled = on_cancelled,
	};
	struct roar_error err;
	uint16_t port = 0;

	*f = (struct fake_etcd){ .revision = 1 };
	assert_int_equal(rpc_server_new(loop, &handler, f, NULL, &f->server),
			 0);
	assert_int_equal(rpc_server_listen(f->server, "127.0.0.1:0", NULL,
					   &port, &err),
			 0);
	(void)snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u", port);
}

void fake_etcd_stop(struct fake_etcd *f)
{
	rpc_server_free(f->server);
	while (f->n_keys > 0)
		remove_at(f, f->n_keys - 1);
}

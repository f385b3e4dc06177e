/* etcd_log.c - records handed in, and the transactions that keep them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "etcd/etcd_log_internal.h"

enum { MAX_QUEUED = 64 << 20 }; /* bytes that wait for etcd */

void log_fail(struct etcd_log *l, int error, const char *sentence)
{
	if (l->has_failed)
		return;
	l->has_failed = true;
	l->events.failed(l->data, error, sentence);
}

/* ---- steps ---- */

static void on_again(struct loop_timer *t)
{
	struct log_step *s = container_of(t, struct log_step, again);

	s->begin(s);
}

void log_step_init(struct log_step *s, struct etcd_log *l,
		   void (*begin)(struct log_step *s))
{
	s->log = l;
	s->begin = begin;
	s->again.due = on_again;
	s->timeout_ms = LOG_CALL_MS;
}

void log_step_call(struct log_step *s, enum etcd_method method,
		   const ProtobufCMessage *message,
		   void (*done)(struct etcd_call *call, unsigned status,
				const ProtobufCMessage *reply,
				const char *sentence))
{
	s->call.done = done;
	s->began_ns = clock_mono_ns();
	etcd_begin(s->log->etcd, &s->call, method, message, s->timeout_ms);
}

/* etcd that is slow gets more time, so that it is not asked the same for ever. */
bool log_step_is_over(struct log_step *s, unsigned status)
{
	struct etcd_log *l = s->log;

	if (status == RPC_OK || status == RPC_INVALID_ARGUMENT ||
	    status == RPC_RESOURCE_EXHAUSTED || status == RPC_OUT_OF_RANGE) {
		s->timeout_ms = LOG_CALL_MS;
		return true;
	}
	if (status == RPC_DEADLINE_EXCEEDED && s->timeout_ms < LOG_CALL_MAX_MS)
		s->timeout_ms *= 2;
	(void)loop_timer_set(l->loop, &s->again,
			     loop_now_ms(l->loop) + LOG_AGAIN_MS);
	return false;
}

void log_step_end(struct log_step *s)
{
	if (!s->log)
		return;
	etcd_cancel(&s->call);
	loop_timer_clear(s->log->loop, &s->again);
}

/* ---- writes under the token ---- */

union message {
	Etcd__PutRequest put;
	Etcd__DeleteRangeRequest gone;
};

static void fill_op(Etcd__RequestOp *op, union message *m,
		    const struct log_op *from)
{
	etcd__request_op__init(op);
	if (from->behind) {
		etcd__delete_range_request__init(&m->gone);
		m->gone.key = etcd_key_bytes(from->key);
		m->gone.range_end = etcd_key_bytes(from->behind);
		op->request_case = ETCD__REQUEST_OP__REQUEST_DELETE_RANGE;
		op->delete_range = &m->gone;
		return;
	}
	etcd__put_request__init(&m->put);
	m->put.key = etcd_key_bytes(from->key);
	m->put.value = (ProtobufCBinaryData){ .len = from->len,
					      .data = (uint8_t *)from->value };
	op->request_case = ETCD__REQUEST_OP__REQUEST_PUT;
	op->put = &m->put;
}

void log_step_write(struct log_step *s, const struct log_op *ops, size_t n_ops,
		    void (*done)(struct etcd_call *call, unsigned status,
				 const ProtobufCMessage *reply,
				 const char *sentence))
{
	struct etcd_key leader = etcd_key(s->log->cluster, "leader");
	Etcd__TxnRequest m = ETCD__TXN_REQUEST__INIT;
	Etcd__Compare token;
	Etcd__Compare *compare[] = { &token };
	Etcd__RequestOp wire[LOG_MAX_OPS];
	Etcd__RequestOp *success[LOG_MAX_OPS];
	union message messages[LOG_MAX_OPS];

	for (size_t i = 0; i < n_ops; i++) {
		fill_op(&wire[i], &messages[i], &ops[i]);
		success[i] = &wire[i];
	}
	etcd_compare_created(&token, &leader, s->log->token);
	m.compare = compare;
	m.n_compare = 1;
	m.success = success;
	m.n_success = n_ops;
	log_step_call(s, ETCD_TXN, &m.base, done);
}

int log_step_result(unsigned status, const ProtobufCMessage *reply,
		    const char *sentence)
{
	const Etcd__TxnResponse *m = (const Etcd__TxnResponse *)reply;

	if (status == RPC_OK)
		return m->succeeded ? 0 : -ESTALE;
	/* "too many requests" is the other way to be exhausted, and passes. */
	if (status == RPC_RESOURCE_EXHAUSTED)
		return strstr(sentence, "space") ? -ENOSPC : -EAGAIN;
	return -EIO;
}

/* ---- chunks ---- */

static void fail_write(struct etcd_log *l, int error, const char *sentence)
{
	if (error == -ESTALE)
		sentence = LOG_STALE;
	log_fail(l, error, sentence);
}

static void commit(struct record_log *log);

static void on_put(struct etcd_call *call, unsigned status,
		   const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	struct etcd_log *l = s->log;
	int64_t took_us = (clock_mono_ns() - s->began_ns) / 1000;
	int r;

	if (!log_step_is_over(s, status))
		return;
	r = log_step_result(status, reply, sentence);
	if (r == -EAGAIN) {
		(void)log_step_is_over(s, RPC_UNAVAILABLE);
		return;
	}
	if (r < 0) {
		fail_write(l, r, sentence);
		return;
	}
	if (l->queue.first->last)
		l->durable = l->queue.first->last;
	chunk_drop_first(&l->queue);
	l->next++;
	log_snapshot_go_on(l);
	commit(&l->log);
	l->events.synced(l->data, took_us);
	l->events.written(l->data);
}

static void put_chunk(struct log_step *s)
{
	struct etcd_log *l = s->log;
	const struct chunk *c = chunk_first(&l->queue);
	struct etcd_key key = etcd_key_log(l->cluster, l->next);
	const struct log_op op = { .key = &key,
				   .value = c->bytes.data,
				   .len = c->bytes.len };

	log_step_write(s, &op, 1, on_put);
}

static void commit(struct record_log *log)
{
	struct etcd_log *l = (struct etcd_log *)log;

	if (l->queue.first && !l->has_failed &&
	    !etcd_call_is_on(&l->put.call) && !loop_timer_is_set(&l->put.again))
		put_chunk(&l->put);
}

static int append(struct record_log *log, const void *record, size_t len,
		  uint64_t *ret_number)
{
	struct etcd_log *l = (struct etcd_log *)log;
	size_t before = l->queue.n_bytes;
	int r = 0;

	if (l->has_failed || !l->is_loaded)
		return -EIO;
	if (l->is_full)
		return -ENOSPC;
	if (before > MAX_QUEUED)
		return -EAGAIN;
	r = chunk_add(&l->queue, record, len, l->last_record + 1);
	if (r < 0)
		return r;
	l->counts.records++;
	l->counts.bytes += l->queue.n_bytes - before;
	*ret_number = ++l->last_record;
	return 0;
}

static uint64_t durable(const struct record_log *log)
{
	return ((const struct etcd_log *)log)->durable;
}

static void count(struct record_log *log, struct record_log_counts *ret)
{
	*ret = ((struct etcd_log *)log)->counts;
}

/* ---- room ---- */

static void on_probe(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	struct etcd_log *l = s->log;
	int r;

	if (!log_step_is_over(s, status))
		return;
	r = log_step_result(status, reply, sentence);
	if (r == 0)
		l->is_full = false;
	else if (r == -ESTALE)
		fail_write(l, r, sentence);
	else
		(void)loop_timer_set(l->loop, &s->again,
				     loop_now_ms(l->loop) + LOG_PROBE_MS);
}

static void probe(struct log_step *s)
{
	struct etcd_key key = etcd_key(s->log->cluster, "probe");
	const struct log_op op = { .key = &key, .value = "room?", .len = 5 };

	log_step_write(s, &op, 1, on_probe);
}

/* ---- life ---- */

static void close_log(struct record_log *log)
{
	struct etcd_log *l = (struct etcd_log *)log;

	log_load_end(l);
	log_snapshot_end(l);
	log_step_end(&l->put);
	log_step_end(&l->probe);
	log_step_end(&l->sweep);
	chunk_queue_release(&l->queue);
	free(l);
}

static const struct record_log_kind kind = {
	.append = append,
	.commit = commit,
	.durable = durable,
	.wants_snapshot = log_snapshot_wanted,
	.snapshot = log_snapshot_begin,
	.count = count,
	.close = close_log,
};

int etcd_log_open(struct loop *loop, struct etcd *etcd, const char *cluster,
		  int64_t token, bool is_full,
		  const struct record_log_events *events, void *data,
		  struct record_log **ret)
{
	struct etcd_log *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->log.kind = &kind;
	l->loop = loop;
	l->etcd = etcd;
	l->token = token;
	l->is_full = is_full;
	l->events = *events;
	l->data = data;
	(void)snprintf(l->cluster, sizeof(l->cluster), "%s", cluster);
	log_step_init(&l->put, l, put_chunk);
	log_step_init(&l->probe, l, probe);
	if (is_full)
		probe(&l->probe);
	log_load_begin(l);
	*ret = &l->log;
	return 0;
}

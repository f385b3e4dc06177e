/* server.c - the host of the state machine: its log, its replies, its crashes */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "hash/digest/crc64nvme.h"
#include "sim.h"

struct call {
	struct ask ask;
	bool answered; /* the last reply waits for the disk */
};

/* ---- state as a number ---- */

struct walk {
	uint64_t crc;
	struct packed **log; /* or NULL: only the number */
	size_t *n, *cap;
};

static int walk_record(void *data, const Roar__Record__Record *record)
{
	struct walk *w = data;
	size_t len = roar__record__record__get_packed_size(record);
	uint8_t *bytes = malloc(len);
	struct packed *p;

	(void)roar__record__record__pack(record, bytes);
	w->crc = crc64nvme(w->crc, &len, sizeof(len));
	w->crc = crc64nvme(w->crc, bytes, len);
	if (!w->log) {
		free(bytes);
		return 0;
	}
	p = VEC_PUSH(*w->log, *w->n, *w->cap);
	*p = (struct packed){ bytes, len };
	return 0;
}

static uint64_t digest(const struct coord *c)
{
	struct walk w = { .crc = 1 };

	(void)coord_snapshot(c, walk_record, &w);
	return w.crc ? w.crc : 1;
}

static void remember_digest(struct server *v, uint64_t value)
{
	if (vec_reserve(&v->digests, &v->cap_digests, v->n_log + 1,
			sizeof(*v->digests)) < 0)
		abort();
	v->digests[v->n_log] = value;
}

/* ---- what the state machine wants ---- */

static int keep_record(void *host, const Roar__Record__Record *record)
{
	struct sim *s = host;
	struct server *v = &s->server;
	size_t len = roar__record__record__get_packed_size(record);
	struct packed *p;

	if (v->full)
		return -ENOSPC;
	p = VEC_PUSH(v->log, v->n_log, v->cap_log);
	p->bytes = malloc(len);
	p->len = roar__record__record__pack(record, p->bytes);
	remember_digest(v, 0);
	v->n_records++;
	s->counts.records++;
	model_record(s, record, true);
	return 0;
}

static void reply(void *host, uint64_t number, enum coord_status status,
		  const ProtobufCMessage *message, const char *sentence,
		  const char *const *names, size_t n_names)
{
	struct sim *s = host;
	struct server *v = &s->server;
	struct call *call = map_get(&v->calls, &number, sizeof(number));
	struct held *h;

	if (!call || call->answered) {
		sim_fail(s, "call %" PRIu64 " is answered %s", number,
			 call ? "twice" : "though nobody asks any more");
		return;
	}
	if (is_good(status) != !!message || (!message && !sentence)) {
		sim_fail(s,
			 "call %" PRIu64
			 " has status %d without what belongs to it",
			 number, (int)status);
		return;
	}
	h = VEC_PUSH(v->held, v->n_held, v->cap_held);
	h->answer.call = number;
	h->answer.status = status;
	h->needs = v->n_log;
	if (message)
		answer_take(&h->answer, message);
	if (sentence)
		(void)snprintf(h->answer.sentence, sizeof(h->answer.sentence),
			       "%s", sentence);
	call->answered = status != COORD_MORE;
	s->counts.answers++;
	sim_trace(s, "  reply to call %" PRIu64 " (w%u, method %u): %d %s",
		  number, call->ask.who, call->ask.method, (int)status,
		  sentence ? sentence : "");
	model_answer(s, &call->ask, &h->answer, message, names, n_names);
}

static void note(void *host, int level, const char *job, const char *sentence)
{
	(void)level;
	(void)job;
	sim_trace(host, "  note: %s", sentence);
}

static uint64_t give_random(void *host)
{
	return prng(&((struct sim *)host)->server.random);
}

static const struct coord_host host_calls = {
	.record = keep_record,
	.reply = reply,
	.note = note,
	.random = give_random,
};

/* ---- replies leave when their records are on disk ---- */

static void let_go(struct sim *s)
{
	struct server *v = &s->server;
	size_t kept = 0;

	for (size_t i = 0; i < v->n_held; i++) {
		struct held h = v->held[i];
		struct call *call;

		if (h.needs > v->n_synced) {
			v->held[kept++] = h;
			continue;
		}
		call = map_get(&v->calls, &h.answer.call,
			       sizeof(h.answer.call));
		if (!call)
			continue; /* its connection ended meanwhile */
		model_left(s, &call->ask, &h.answer);
		client_send(s, &h.answer, &call->ask);
		if (h.answer.status == COORD_MORE)
			continue;
		(void)map_remove(&v->calls, &h.answer.call,
				 sizeof(h.answer.call));
		free(call);
	}
	v->n_held = kept;
}

static void begin_sync(struct sim *s);

static void end_sync(struct sim *s, void *what, uint64_t life)
{
	struct server *v = &s->server;

	(void)what;
	if (life != v->life || !v->c)
		return;
	v->syncing = false;
	if (v->n_synced < v->syncs_to)
		v->n_synced = v->syncs_to;
	let_go(s);
	begin_sync(s);
}

static void begin_sync(struct sim *s)
{
	struct server *v = &s->server;

	if (v->syncing || v->n_synced == v->n_log)
		return;
	v->syncing = true;
	v->syncs_to = v->n_log;
	sim_after(s, 1 + pick(&v->random, (uint32_t)v->sync_ms), end_sync, NULL,
		  v->life);
}

/* Without a record nothing slow may have changed; large states are looked at less
 * often. */
static void look(struct sim *s)
{
	struct server *v = &s->server;
	uint32_t rare = 1 + s->plan->n_workers[0] / 4;
	uint64_t known = v->digests[v->n_log];
	uint64_t found;

	if (!known && !v->n_records)
		return;
	if (!chance(&v->random, known ? 4 * rare : rare))
		return;
	found = digest(v->c);
	if (known && known != found)
		sim_fail(s, "the state changed and no record says so");
	remember_digest(v, found);
}

/* After each call into the state machine. */
static void settle(struct sim *s)
{
	look(s);
	s->server.n_records = 0;
	let_go(s);
	begin_sync(s);
	model_check(s);
}

/* ---- calls into it ---- */

static struct coord_now now(const struct sim *s)
{
	return (struct coord_now){ s->now, s->wall };
}

void server_ask(struct sim *s, const struct ask *ask)
{
	struct call *call;

	if (!s->server.c)
		return;
	call = map_get(&s->server.calls, &ask->call, sizeof(ask->call));
	if (ask->follows && (!call || call->answered))
		return; /* the stream is over, and it does not know yet */
	if (call) {
		call->ask = *ask; /* the last message of the stream */
	} else {
		call = calloc(1, sizeof(*call));
		call->ask = *ask;
		(void)map_set(&s->server.calls, &call->ask.call,
			      sizeof(call->ask.call), call);
	}
	s->counts.asks++;
	model_ask(s, ask);
	request_give(s, ask);
	model_asked(s, ask);
	settle(s);
}

void server_cancel(struct sim *s, uint64_t number)
{
	struct call *call = map_remove(&s->server.calls, &number,
				       sizeof(number));

	if (!call)
		return;
	sim_trace(s, "call %" PRIu64 " is cancelled", number);
	model_cancel(s, &call->ask);
	coord_cancel(s->server.c, now(s), number);
	free(call);
	settle(s);
}

/* Those whose reply still waits for the disk never hear it. */
void server_gone(struct sim *s, uint64_t conn)
{
	struct server *v = &s->server;
	size_t pos = 0;
	struct call *call;

	if (!v->c)
		return;
	sim_trace(s, "connection %" PRIu64 " ended", conn);
	model_gone(s, conn);
	for (size_t i = 0; i < v->n_held; i++) {
		call = map_get(&v->calls, &v->held[i].answer.call, 8);
		if (call && call->ask.conn == conn)
			coord_cancel(v->c, now(s), call->ask.call);
	}
	while ((call = map_next(&v->calls, &pos)))
		if (call->ask.conn == conn) {
			(void)map_remove(&v->calls, &call->ask.call, 8);
			free(call);
			pos = 0;
		}
	coord_gone(v->c, now(s), conn);
	settle(s);
}

int64_t server_due(const struct sim *s)
{
	return s->server.c ? coord_due_ms(s->server.c) : INT64_MAX;
}

void server_tick(struct sim *s)
{
	coord_tick(s->server.c, now(s));
	settle(s);
}

/* ---- crashes, snapshots ---- */

static void apply_log(struct sim *s, struct coord *c, bool to_model)
{
	struct server *v = &s->server;

	for (size_t i = 0; i < v->n_log; i++) {
		Roar__Record__Record *record = roar__record__record__unpack(
			NULL, v->log[i].len, v->log[i].bytes);
		int r = record ? coord_replay(c, record) : -EBADMSG;

		if (r < 0)
			sim_fail(s, "record %zu cannot be replayed: %s", i,
				 strerror(-r));
		else if (to_model)
			model_record(s, record, false);
		roar__record__record__free_unpacked(record, NULL);
	}
}

void server_compare(struct sim *s)
{
	struct server *v = &s->server;
	struct coord *c;

	if (!v->c || s->failed)
		return;
	s->counts.compares++;
	if (coord_new(&host_calls, s, &s->plan->limits, &c) < 0)
		abort();
	apply_log(s, c, false);
	if (!s->failed && digest(c) != digest(v->c))
		sim_fail(s, "the log leads to another state than the live one");
	coord_free(c);
}

static void free_log(struct server *v, size_t from)
{
	for (size_t i = from; i < v->n_log; i++)
		free(v->log[i].bytes);
	v->n_log = from;
}

void server_snapshot(struct sim *s)
{
	struct server *v = &s->server;
	struct packed *log = NULL;
	size_t n = 0, cap = 0;
	struct walk w = { .crc = 1, .log = &log, .n = &n, .cap = &cap };

	if (!v->c || v->full)
		return;
	server_compare(s);
	(void)coord_snapshot(v->c, walk_record, &w);
	/* What was handed in is on disk with it: the sync under way is of the past. */
	for (size_t i = 0; i < v->n_held; i++)
		v->held[i].needs = n;
	free_log(v, 0);
	free(v->log);
	v->log = log;
	v->cap_log = cap;
	v->n_log = v->n_synced = v->syncs_to = n;
	remember_digest(v, w.crc ? w.crc : 1);
	for (size_t i = 0; i < n; i++)
		v->digests[i] = 0;
	model_snapshot(s);
	server_compare(s);
	let_go(s);
}

static void drop_calls(struct server *v)
{
	size_t pos = 0;
	struct call *call;

	while ((call = map_next(&v->calls, &pos)))
		free(call);
	map_release(&v->calls);
	v->calls = MAP_INIT;
	v->n_held = 0;
}

void server_start(struct sim *s)
{
	struct server *v = &s->server;

	if (!v->sync_ms) {
		v->sync_ms = 5;
		v->random = s->plan->seed ^ 0x5eed;
		remember_digest(v, 0);
	}
	if (coord_new(&host_calls, s, &s->plan->limits, &v->c) < 0)
		abort();
	model_restart(s);
	apply_log(s, v->c, true);
	if (s->failed)
		return;
	if (v->digests[v->n_log] && v->digests[v->n_log] != digest(v->c))
		sim_fail(s,
			 "after the crash the state is not that of record %zu",
			 v->n_log);
	coord_resume(v->c, now(s));
	coord_set_fencing_token(v->c, sim_token(s, v->life));
	model_resume(s);
	sim_trace(s, "the coordinator runs, %zu records", v->n_log);
}

static void restart(struct sim *s, void *what, uint64_t n)
{
	(void)what;
	(void)n;
	if (!s->server.c)
		server_start(s);
}

/* What was synced stays; of the rest any part from its beginning on. */
void server_crash(struct sim *s, int64_t down_ms)
{
	struct server *v = &s->server;
	size_t loose = v->n_log - v->n_synced;

	if (!v->c)
		return;
	sim_trace(s,
		  "the coordinator crashes, %zu records of %zu are not on disk",
		  loose, v->n_log);
	s->counts.crashes++;
	drop_calls(v);
	coord_free(v->c);
	v->c = NULL;
	v->life++;
	v->syncing = false;
	free_log(v, v->n_synced + pick(&v->random, (uint32_t)loose + 1));
	v->n_synced = v->n_log;
	clients_crash(s);
	sim_after(s, down_ms, restart, NULL, 0);
}

void server_stop(struct sim *s)
{
	struct server *v = &s->server;

	drop_calls(v);
	coord_free(v->c);
	free_log(v, 0);
	free(v->log);
	free(v->digests);
	free(v->held);
	*v = (struct server){ 0 };
}

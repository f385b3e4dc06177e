/* host.c - see host.h */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/vec.h"

/* ---- what the state machine calls ---- */

static int keep_record(void *data, const Roar__Record__Record *record)
{
	struct host *h = data;
	int armed;
	struct kept *k;

	if (h->record_error)
		return h->record_error;
	if (h->refused && record->what_case == h->refused)
		return -ENOSPC;
	armed = alloc_fail_pause();
	k = VEC_PUSH(h->records, h->n_records, h->cap_records);
	assert_non_null(k);
	k->len = roar__record__record__get_packed_size(record);
	k->data = malloc(k->len + 1);
	assert_non_null(k->data);
	roar__record__record__pack(record, k->data);
	alloc_fail_after(armed);
	return 0;
}

static ProtobufCMessage *copy(const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	CLEANUP(freep) uint8_t *data = malloc(len + 1);

	assert_non_null(data);
	protobuf_c_message_pack(m, data);
	return protobuf_c_message_unpack(m->descriptor, NULL, len, data);
}

static void take_reply(void *data, uint64_t call, enum coord_status status,
		       const ProtobufCMessage *message, const char *sentence,
		       const char *const *names, size_t n_names)
{
	struct host *h = data;
	int armed = alloc_fail_pause();
	struct reply *r = VEC_PUSH(h->replies, h->n_replies, h->cap_replies);

	assert_non_null(r);
	r->call = call;
	r->status = status;
	if (status != COORD_OK && status != COORD_MORE) {
		assert_null(message);
		assert_non_null(sentence);
	}
	r->message = message ? copy(message) : NULL;
	r->sentence = sentence ? strdup(sentence) : NULL;
	r->names = calloc(n_names + 1, sizeof(*r->names));
	assert_non_null(r->names);
	for (size_t i = 0; i < n_names; i++)
		r->names[i] = strdup(names[i]);
	r->n_names = n_names;
	alloc_fail_after(armed);
}

static void take_note(void *data, int level, const char *job,
		      const char *sentence)
{
	(void)data;
	(void)level;
	assert_true(*job && *sentence);
}

static uint64_t next_random(void *data)
{
	struct host *h = data;

	return ++h->last_random * 0x9e3779b97f4a7c15ull;
}

static const struct coord_host callbacks = {
	.record = keep_record,
	.reply = take_reply,
	.note = take_note,
	.random = next_random,
};

/* ---- life ---- */

struct host *host_new(const struct coord_limits *limits)
{
	struct host *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	if (limits)
		h->limits = *limits;
	h->now = (struct coord_now){ 1000000, 1700000000000 };
	h->who.admin = true;
	assert_int_equal(coord_new(&callbacks, h, &h->limits, &h->c), 0);
	return h;
}

void host_free(struct host *h)
{
	coord_free(h->c);
	for (size_t i = 0; i < h->n_replies; i++) {
		struct reply *r = &h->replies[i];

		if (r->message)
			protobuf_c_message_free_unpacked(r->message, NULL);
		free(r->sentence);
		for (size_t k = 0; k < r->n_names; k++)
			free(r->names[k]);
		free(r->names);
	}
	for (size_t i = 0; i < h->n_records; i++)
		free(h->records[i].data);
	free(h->replies);
	free(h->records);
	free(h);
}

int host_setup(void **state)
{
	*state = host_new(NULL);
	return 0;
}

int host_teardown(void **state)
{
	struct host *h = *state;

	host_check_replay(h);
	host_free(h);
	return 0;
}

/* ---- replay ---- */

static int write_record(void *data, const Roar__Record__Record *record)
{
	struct str *out = data;
	size_t len = roar__record__record__get_packed_size(record);

	str_add(out, &len, sizeof(len));
	assert_int_equal(str_reserve(out, len), 0);
	roar__record__record__pack(record, (uint8_t *)out->data + out->len);
	out->len += len;
	return 0;
}

void host_snapshot(const struct coord *c, struct str *ret)
{
	assert_int_equal(coord_snapshot(c, write_record, ret), 0);
}

static void replay(struct coord *c, const void *data, size_t len)
{
	Roar__Record__Record *record = roar__record__record__unpack(NULL, len,
								    data);

	assert_non_null(record);
	assert_int_equal(coord_replay(c, record), 0);
	roar__record__record__free_unpacked(record, NULL);
}

static struct coord *replay_log(const struct host *h)
{
	struct coord *c;

	assert_int_equal(coord_new(&callbacks, (void *)h, &h->limits, &c), 0);
	for (size_t i = 0; i < h->n_records; i++)
		replay(c, h->records[i].data, h->records[i].len);
	return c;
}

static struct coord *replay_snapshot(const struct host *h,
				     const struct str *snapshot)
{
	struct coord *c;
	size_t at = 0, len;

	assert_int_equal(coord_new(&callbacks, (void *)h, &h->limits, &c), 0);
	while (at < snapshot->len) {
		memcpy(&len, snapshot->data + at, sizeof(len));
		at += sizeof(len);
		replay(c, snapshot->data + at, len);
		at += len;
	}
	return c;
}

static void check_same(struct coord *c, const struct str *expected)
{
	CLEANUP(str_release) struct str got = STR_INIT;

	host_snapshot(c, &got);
	assert_int_equal(got.len, expected->len);
	if (got.len)
		assert_memory_equal(got.data, expected->data, got.len);
	coord_free(c);
}

void host_check_replay(const struct host *h)
{
	CLEANUP(str_release) struct str live = STR_INIT;

	host_snapshot(h->c, &live);
	check_same(replay_log(h), &live);
	check_same(replay_snapshot(h, &live), &live);
}

static void begin_with(struct host *h, struct coord *c)
{
	coord_free(h->c);
	h->c = c;
	coord_resume(c, h->now);
}

void host_restart(struct host *h)
{
	begin_with(h, replay_log(h));
}

void host_restore(struct host *h)
{
	CLEANUP(str_release) struct str snapshot = STR_INIT;

	host_snapshot(h->c, &snapshot);
	begin_with(h, replay_snapshot(h, &snapshot));
}

/* ---- asking ---- */

static const struct coord_method *find_method(const char *name)
{
	static const char *const services[] = { "coordinator.Coordinator",
						"roar.Control", "roar.Shards" };
	const struct coord_method *m = NULL;
	char path[128];

	for (size_t i = 0; i < 3 && !m; i++) {
		snprintf(path, sizeof(path), "/%s/%s", services[i], name);
		m = coord_method_by_path(path, strlen(path));
	}
	assert_non_null(m);
	return m;
}

uint64_t ask(struct host *h, uint64_t conn, const char *method,
	     const void *message)
{
	int64_t deadline = h->timeout_ms ? h->now.mono_ms + h->timeout_ms :
					   INT64_MAX;

	h->who.conn = conn;
	coord_request(h->c, h->now, &h->who, find_method(method),
		      ++h->last_call, deadline, message);
	return h->last_call;
}

void pass_ms(struct host *h, int64_t ms)
{
	int64_t end = h->now.mono_ms + ms, due;

	while ((due = coord_due_ms(h->c)) <= end) {
		int64_t step = due > h->now.mono_ms ? due - h->now.mono_ms : 0;

		h->now.mono_ms += step;
		h->now.wall_ms += step;
		coord_tick(h->c, h->now);
	}
	h->now.wall_ms += end - h->now.mono_ms;
	h->now.mono_ms = end;
	coord_tick(h->c, h->now);
}

void gone(struct host *h, uint64_t conn)
{
	coord_gone(h->c, h->now, conn);
}

const struct reply *reply_at(const struct host *h, uint64_t call, size_t i)
{
	for (size_t k = 0; k < h->n_replies; k++)
		if (h->replies[k].call == call && i-- == 0)
			return &h->replies[k];
	return NULL;
}

size_t n_replies(const struct host *h, uint64_t call)
{
	size_t n = 0;

	while (reply_at(h, call, n))
		n++;
	return n;
}

const struct reply *expect(const struct host *h, uint64_t call,
			   enum coord_status status)
{
	const struct reply *r = reply_at(h, call, 0);

	assert_non_null(r);
	if (r->status != status)
		print_error("status %d: %s\n", (int)r->status,
			    r->sentence ? r->sentence : "");
	assert_int_equal(r->status, status);
	assert_null(reply_at(h, call, 1));
	return r;
}

void expect_waiting(const struct host *h, uint64_t call)
{
	assert_null(reply_at(h, call, 0));
}

void expect_says(const struct reply *r, const char *part)
{
	if (!strstr(r->sentence, part))
		print_error("said: %s\n", r->sentence);
	assert_non_null(strstr(r->sentence, part));
}

/* ---- common requests ---- */

uint64_t ask_register(struct host *h, uint64_t conn, const char *id,
		      uint64_t session)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;

	m.worker_id = (char *)id;
	m.hostname = "host";
	m.session = session;
	return ask(h, conn, "RegisterWorker", &m);
}

const Coordinator__WorkerConfig *join(struct host *h, uint64_t conn,
				      const char *id)
{
	uint64_t call = ask_register(h, conn, id, 0);

	return MESSAGE(expect(h, call, COORD_OK), Coordinator__WorkerConfig);
}

uint64_t ask_heartbeat(struct host *h, uint64_t conn, const char *id,
		       uint64_t session)
{
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session;
	return ask(h, conn, "Heartbeat", &m);
}

const Coordinator__HeartbeatResponse *beat(struct host *h, uint64_t conn,
					   const char *id)
{
	return MESSAGE(expect(h, ask_heartbeat(h, conn, id, 0), COORD_OK),
		       Coordinator__HeartbeatResponse);
}

uint64_t ask_deregister(struct host *h, uint64_t conn, const char *id)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;

	m.worker_id = (char *)id;
	return ask(h, conn, "DeregisterWorker", &m);
}

uint64_t ask_barrier(struct host *h, uint64_t conn, const char *id,
		     const char *barrier, uint64_t generation)
{
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.barrier_id = (char *)barrier;
	m.generation = generation;
	return ask(h, conn, "WaitBarrier", &m);
}

uint64_t session_of(const struct host *h, const char *id)
{
	for (size_t i = h->n_replies; i-- > 0;) {
		const ProtobufCMessage *m = h->replies[i].message;
		const Coordinator__WorkerConfig *told = (const void *)m;

		if (m &&
		    m->descriptor == &coordinator__worker_config__descriptor &&
		    strcmp(told->assigned_id, id) == 0)
			return told->session;
	}
	return 0;
}

void configure(struct host *h, const Roar__JobSettings *settings)
{
	expect(h, ask(h, 0, "Configure", settings), COORD_OK);
}

const Roar__WorkerView *worker(struct host *h, const char *id)
{
	Roar__ListWorkersRequest m = ROAR__LIST_WORKERS_REQUEST__INIT;
	const Roar__ListWorkersReply *list;

	list = MESSAGE(expect(h, ask(h, 0, "ListWorkers", &m), COORD_OK),
		       Roar__ListWorkersReply);
	for (size_t i = 0; i < list->n_workers; i++)
		if (strcmp(list->workers[i]->worker_id, id) == 0)
			return list->workers[i];
	return NULL;
}

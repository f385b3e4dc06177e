/* fuzz_coord.c - the coordinator's state machine under any requests, records, times.
 *
 * The input is a list of steps: what, on which connection, how many bytes (u16), and the
 * bytes, which are a message of protobuf where one is needed.  Records are replayed
 * before anything else happens, as at a start.  Whatever comes: each call gets one last
 * reply at most, time that has passed is dealt with, and the records that were kept
 * lead to the state that there is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "coord/coord.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum {
	MAX_CALLS = 4096,
	STEP_RECORD = 200,
	STEP_TIME,
	STEP_GONE,
	STEP_CANCEL,
	STEP_DISK,
};

struct world {
	struct coord *c;
	struct coord_now now;
	struct str records;
	uint64_t n_calls;
	uint8_t ended[MAX_CALLS];
	uint64_t random;
	int full;
	int running; /* requests have come: no more records */
};

static void require(int promise)
{
	if (!promise)
		abort();
}

static int put(void *data, const Roar__Record__Record *record)
{
	struct str *out = data;
	size_t len = roar__record__record__get_packed_size(record);

	str_add(out, &len, sizeof(len));
	require(str_reserve(out, len) == 0);
	roar__record__record__pack(record, (uint8_t *)out->data + out->len);
	out->len += len;
	return 0;
}

static int keep(void *host, const Roar__Record__Record *record)
{
	struct world *w = host;

	return w->full ? -28 : put(&w->records, record);
}

static void reply(void *host, uint64_t call, enum coord_status status,
		  const ProtobufCMessage *message, const char *sentence,
		  const char *const *names, size_t n_names)
{
	struct world *w = host;
	CLEANUP(freep) uint8_t *bytes = NULL;

	require(call > 0 && call < MAX_CALLS && !w->ended[call]);
	w->ended[call] = status != COORD_MORE;
	require(status == COORD_OK || status == COORD_MORE || !message);
	require(message || sentence || status == COORD_OK);
	for (size_t i = 0; i < n_names; i++)
		require(names[i] && *names[i]);
	if (!message)
		return;
	bytes = malloc(protobuf_c_message_get_packed_size(message) + 1);
	protobuf_c_message_pack(message, bytes);
}

static uint64_t random_number(void *host)
{
	struct world *w = host;

	return ++w->random * 0x9e3779b97f4a7c15ull;
}

static const struct coord_host host = { .record = keep,
					.reply = reply,
					.random = random_number };

static struct coord *new_coord(struct world *w)
{
	struct coord_limits limits = { .max_jobs = 4,
				       .max_workers = 64,
				       .max_meetings = 8,
				       .max_keys = 16,
				       .max_key_bytes = 1024,
				       .max_waiting = 64,
				       .max_watchers = 8 };
	struct coord *c;

	require(coord_new(&host, w, &limits, &c) == 0);
	return c;
}

/* ---- steps ---- */

static void replay(struct world *w, const uint8_t *data, size_t len)
{
	Roar__Record__Record *record = roar__record__record__unpack(NULL, len,
								    data);

	if (!record)
		return;
	if (coord_replay(w->c, record) == 0)
		require(put(&w->records, record) == 0);
	roar__record__record__free_unpacked(record, NULL);
}

static void request(struct world *w, const struct coord_method *m,
		    uint64_t conn, const uint8_t *data, size_t len)
{
	struct coord_caller who = { .conn = conn & 7,
				    .job = conn & 8 ? "own" : NULL };
	int64_t deadline = conn & 16 ? INT64_MAX : w->now.mono_ms + 500;
	ProtobufCMessage *message = protobuf_c_message_unpack(m->request, NULL,
							      len, data);
	uint64_t call;

	if (!message)
		return;
	if (++w->n_calls < MAX_CALLS) {
		call = w->n_calls;
		coord_request(w->c, w->now, &who, m, call, deadline, message);
		if (m->kind == COORD_BIDI && !w->ended[call])
			coord_finish(w->c, w->now, call);
		require(m->kind != COORD_BIDI || w->ended[call]);
	}
	protobuf_c_message_free_unpacked(message, NULL);
}

static void pass(struct world *w, uint64_t ms)
{
	w->now.mono_ms += (int64_t)ms;
	w->now.wall_ms += (int64_t)ms;
	coord_tick(w->c, w->now);
	require(coord_due_ms(w->c) > w->now.mono_ms);
}

static void step(struct world *w, unsigned what, uint64_t where,
		 const uint8_t *data, size_t len)
{
	const struct coord_method *m = coord_method_by_number((uint16_t)what);

	if (what == STEP_RECORD && !w->running) {
		replay(w, data, len);
		return;
	}
	if (!w->running) {
		coord_resume(w->c, w->now);
		w->running = 1;
	}
	if (m)
		request(w, m, where, data, len);
	else if (what == STEP_TIME)
		pass(w, where * where * 4);
	else if (what == STEP_GONE)
		coord_gone(w->c, w->now, where & 7);
	else if (what == STEP_CANCEL && where < w->n_calls) {
		coord_cancel(w->c, w->now, w->n_calls - where);
		w->ended[w->n_calls - where] = 1;
	} else if (what == STEP_DISK)
		w->full = where & 1;
}

/* ---- what must hold ---- */

static void check_replay(struct world *w)
{
	CLEANUP(str_release) struct str live = STR_INIT;
	CLEANUP(str_release) struct str again = STR_INIT;
	struct coord *c = new_coord(w);
	size_t len;

	for (size_t at = 0; at < w->records.len; at += len) {
		Roar__Record__Record *record;

		memcpy(&len, w->records.data + at, sizeof(len));
		at += sizeof(len);
		record = roar__record__record__unpack(
			NULL, len, (uint8_t *)w->records.data + at);
		require(record && coord_replay(c, record) == 0);
		roar__record__record__free_unpacked(record, NULL);
	}
	require(coord_snapshot(w->c, put, &live) == 0);
	require(coord_snapshot(c, put, &again) == 0);
	require(live.len == again.len);
	require(!live.len || memcmp(live.data, again.data, live.len) == 0);
	coord_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct world w = { .now = { 1000, 1700000000000 } };

	w.c = new_coord(&w);
	while (len >= 4) {
		size_t n = (size_t)(data[2] | data[3] << 8);

		if (n > len - 4)
			n = len - 4;
		step(&w, data[0], data[1], data + 4, n);
		data += 4 + n;
		len -= 4 + n;
	}
	pass(&w, 3600 * 1000);
	check_replay(&w);
	coord_free(w.c);
	str_release(&w.records);
	return 0;
}

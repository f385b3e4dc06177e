/* client_session.c - what a connection is for: the place, heartbeats, and the world.
 *
 * Each connection begins with the token and the registration, which carries the session
 * of the first one: the coordinator knows the process again.  Heartbeats are single
 * calls; their replies bring rank, world and commands.  Who asks for the world, or waits for
 * changes, gets them at once by a watch, which is opened for the first of them: ten
 * thousand workers that all watch would hear of each other's coming in fifty million
 * messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "coord/client/client.h"
#include "coordinator.pb-c.h"
#include "net/frames/frames.h"
#include "roar_coordinator.pb-c.h"

enum {
	BEAT_MS = 5000, /* until the coordinator says otherwise */
	BEAT_MIN_MS = 10, /* beyond these it does not know what it says */
	BEAT_MAX_MS = 24 * 3600 * 1000,
	WATCH_MS = 1000, /* between two of them, when they do not last */
	SILENCE_MS = 2000, /* a heartbeat may always take so long */
	SILENCE_BEATS = 3, /* and as long as this many take */
};

static char *word(const char *text)
{
	return (char *)(text ? text : "");
}

/* ---- the world ---- */

static void set_world(struct roar_coord *c, uint64_t epoch, int32_t rank,
		      int32_t size, bool ready)
{
	struct roar_coord_world *w = &c->world;

	if (w->epoch == epoch && w->rank == rank && w->size == size &&
	    w->ready == ready)
		return;
	w->epoch = epoch;
	w->rank = rank;
	w->size = size;
	w->ready = ready;
	(void)pthread_cond_broadcast(&c->changed);
}

static void drop_command(struct roar_coord *c)
{
	struct client_command *oldest = c->commands;

	c->commands = oldest->next;
	if (!c->commands)
		c->last_command = &c->commands;
	c->n_commands--;
	free(oldest);
}

static void add_command(struct roar_coord *c, const char *text)
{
	size_t len = strlen(text);
	struct client_command *command = malloc(sizeof(*command) + len + 1);

	if (!command)
		return;
	command->next = NULL;
	memcpy(command->text, text, len + 1);
	*c->last_command = command;
	c->last_command = &command->next;
	if (++c->n_commands > CLIENT_MAX_COMMANDS)
		drop_command(c);
	(void)pthread_cond_broadcast(&c->changed);
}

/* ---- registration ---- */

static size_t count_metadata(char *const *metadata)
{
	size_t n = 0;

	while (metadata && metadata[2 * n])
		n++;
	return n;
}

static int pack_join(struct roar_coord *c)
{
	Coordinator__WorkerInfo info = COORDINATOR__WORKER_INFO__INIT;
	size_t n = count_metadata(c->metadata);
	CLEANUP(freep)
	Coordinator__WorkerInfo__MetadataEntry *entries = calloc(
		n + 1, sizeof(*entries));
	CLEANUP(freep)
	Coordinator__WorkerInfo__MetadataEntry **table = calloc(n + 1,
								sizeof(*table));

	if (!entries || !table)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		coordinator__worker_info__metadata_entry__init(&entries[i]);
		entries[i].key = c->metadata[2 * i];
		entries[i].value = c->metadata[2 * i + 1];
		table[i] = &entries[i];
	}
	info.worker_id = word(c->worker_id);
	info.hostname = word(c->hostname);
	info.port = c->port;
	info.gpu_count = c->gpu_count;
	info.memory_bytes = c->memory_bytes;
	info.n_metadata = n;
	info.metadata = table;
	info.job_id = word(c->job);
	info.session = c->session;
	return client_call_init(&c->join, c, METHOD_REGISTER_WORKER, &info.base,
				-1);
}

static int64_t sane_interval(int64_t ms)
{
	return ms >= BEAT_MIN_MS && ms <= BEAT_MAX_MS ? ms : BEAT_MS;
}

static void take_place(struct roar_coord *c, const Coordinator__WorkerConfig *w)
{
	int64_t now = client_now_ms();

	if (c->session != w->session) {
		c->session = w->session;
		client_meet_renew(c);
	}
	c->world.incarnation = w->incarnation;
	c->world.heartbeat_interval_ms = sane_interval(w->heartbeat_interval_ms);
	c->world.timeout_ms = w->timeout_ms;
	set_world(c, w->world_epoch, w->rank, w->world_size, w->ready);
	c->beat_due_ms = now + c->world.heartbeat_interval_ms;
	client_link_is_up(c);
	(void)pthread_cond_broadcast(&c->changed);
}

/* Refused for now: as often as it takes, once we had the place. */
static bool is_for_now(const struct roar_coord *c, int error)
{
	return (error == -EAGAIN && c->joined) || error == -ENOTCONN ||
	       error == -ETIMEDOUT || error == -ENOMEM || error == -EIO ||
	       error == -ECANCELED;
}

static void refuse_place(struct roar_coord *c, int error, const char *why)
{
	if (!client_is_joining(c))
		return; /* the connection ended: the next one asks again */
	if (is_for_now(c, error))
		dial_fail(&c->link.frames.dial, "%s", why);
	else if (c->joined && (error == -EEXIST || error == -ESTALE))
		client_die(c, -ESTALE, why);
	else
		client_die(c, error, why);
}

static void join_done(struct client_call *call)
{
	struct roar_coord *c = call->c;
	Coordinator__WorkerConfig *w;

	if (call->result < 0) {
		refuse_place(c, call->result, str_cstr(&call->reply));
		return;
	}
	w = coordinator__worker_config__unpack(
		NULL, call->reply.len, (const uint8_t *)str_cstr(&call->reply));
	if (!w) {
		client_die(c, -EPROTO,
			   "the coordinator's reply to a registration is "
			   "malformed");
		return;
	}
	take_place(c, w);
	coordinator__worker_config__free_unpacked(w, NULL);
	str_release(&c->registration);
	c->registration = call->reply;
	call->reply = STR_INIT;
}

static void ask_for_place(struct roar_coord *c)
{
	client_call_release(&c->join);
	if (pack_join(c) < 0) {
		dial_fail(&c->link.frames.dial, "out of memory");
		return;
	}
	c->join.finish = join_done;
	client_call_begin(&c->join);
}

static void say_hello(struct roar_coord *c)
{
	CLEANUP(str_release) struct str hello = STR_INIT;

	c->n_hellos++;
	str_adds(&hello, word(c->token));
	str_addc(&hello, '\0');
	str_adds(&hello, word(c->job));
	if (str_error(&hello) < 0)
		c->link.frames.no_memory = true;
	else
		client_link_send(c, FRAME_HELLO, 0, 0, hello.data, hello.len);
}

void client_session_renew(struct roar_coord *c)
{
	if (client_is_connected(c))
		say_hello(c);
}

void client_session_begin(struct roar_coord *c)
{
	if (c->token || c->job)
		say_hello(c);
	if (c->observer)
		client_link_send(c, FRAME_PING, 0, 0, NULL, 0);
	else
		ask_for_place(c);
}

void client_session_answered(struct roar_coord *c)
{
	if (!client_is_joining(c) || !c->observer)
		return;
	client_link_is_up(c);
	(void)pthread_cond_broadcast(&c->changed);
}

void client_session_lost(struct roar_coord *c)
{
	c->refused = 0; /* another connection, another word */
	(void)pthread_cond_broadcast(&c->changed);
}

/* ---- heartbeats ---- */

/* The coordinator knows us no more: the place is asked for anew, on this connection. */
static void take_place_again(struct roar_coord *c)
{
	c->refused = 0;
	dial_greet(&c->link.frames.dial);
	ask_for_place(c);
}

/* The coordinator does not hear us, and whoever looks shall see it.  What it refuses for
 * now, while it stops or its disk is full, it may take the next time. */
static void note_refusal(struct roar_coord *c, int error)
{
	c->refused = error;
	(void)snprintf(c->refusal, sizeof(c->refusal), "%s",
		       str_cstr(&c->beat.reply));
	if (error == -EAGAIN)
		return;
	c->n_beats++;
	(void)pthread_cond_broadcast(&c->changed);
}

static void beat_refused(struct roar_coord *c, int error)
{
	if (c->link.frames.dial.state != DIAL_UP)
		return; /* the connection ended */
	if (error == -ENOENT)
		take_place_again(c);
	else if (error == -ESTALE || error == -EACCES)
		client_die(c, error, str_cstr(&c->beat.reply));
	else
		note_refusal(c, error);
}

static void take_answer(struct roar_coord *c,
			const Coordinator__HeartbeatResponse *m)
{
	if (m->world_epoch) /* others' coordinators do not know it */
		set_world(c, m->world_epoch, m->rank, m->world_size, m->ready);
	for (size_t i = 0; i < m->n_pending_commands; i++)
		add_command(c, m->pending_commands[i]);
	/* From the answer on: workers that an agent speaks for are answered together, and
	 * so beat together from then on. */
	c->beat_due_ms = client_now_ms() + c->world.heartbeat_interval_ms;
	c->refused = 0;
	c->n_beats++;
	(void)pthread_cond_broadcast(&c->changed);
}

static void beat_done(struct client_call *call)
{
	struct roar_coord *c = call->c;
	Coordinator__HeartbeatResponse *m;

	if (call->result < 0) {
		beat_refused(c, call->result);
		return;
	}
	m = coordinator__heartbeat_response__unpack(
		NULL, call->reply.len, (const uint8_t *)str_cstr(&call->reply));
	if (!m)
		return;
	take_answer(c, m);
	coordinator__heartbeat_response__free_unpacked(m, NULL);
}

static int pack_beat(struct roar_coord *c)
{
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;
	Coordinator__WorkerStatus status = COORDINATOR__WORKER_STATUS__INIT;

	status.state = (Coordinator__WorkerStatus__State)c->state;
	status.current_step = c->step;
	status.current_epoch = c->epoch;
	status.current_task = word(c->task);
	m.worker_id = word(c->worker_id);
	m.timestamp_ms = clock_now_ns() / 1000000;
	m.status = &status;
	m.job_id = word(c->job);
	m.session = c->session;
	return client_call_init(&c->beat, c, METHOD_HEARTBEAT, &m.base, -1);
}

static void send_beat(struct roar_coord *c, int64_t now_ms)
{
	c->beat_due_ms = now_ms + c->world.heartbeat_interval_ms;
	client_call_release(&c->beat);
	if (pack_beat(c) < 0)
		return; /* no memory now; perhaps for the next one */
	c->beat.finish = beat_done;
	c->beat_sent_ms = now_ms;
	client_call_begin(&c->beat);
}

static bool is_waiting(const struct client_call *call)
{
	return call->c &&
	       (call->state == CALL_QUEUED || call->state == CALL_SENT);
}

static int64_t silence_ms(const struct roar_coord *c)
{
	int64_t ms = SILENCE_BEATS * c->world.heartbeat_interval_ms;

	return ms > c->silence_ms ? ms : c->silence_ms;
}

/* A heartbeat without an answer means that nobody is there, though the socket lives. */
static int64_t beat_turn(struct roar_coord *c, int64_t now_ms)
{
	if (is_waiting(&c->beat)) {
		if (now_ms - c->beat_sent_ms < silence_ms(c))
			return c->beat_sent_ms + silence_ms(c);
		dial_fail(&c->link.frames.dial,
			  "it has not answered heartbeats for %lld ms",
			  (long long)silence_ms(c));
		return now_ms;
	}
	if (now_ms >= c->beat_due_ms)
		send_beat(c, now_ms);
	return c->beat_due_ms;
}

/* ---- the watch ---- */

static void watch_message(struct client_call *call, const void *data,
			  size_t len)
{
	struct roar_coord *c = call->c;
	Roar__WatchEvent *e = roar__watch_event__unpack(NULL, len, data);

	if (!e)
		return;
	if (e->kind == ROAR__WATCH_EVENT__KIND__COMMAND)
		add_command(c, e->command);
	else if (e->kind == ROAR__WATCH_EVENT__KIND__WORLD)
		set_world(c, e->world_epoch, c->observer ? -1 : e->rank,
			  e->world_size, e->ready);
	roar__watch_event__free_unpacked(e, NULL);
}

/* It ended; it is opened again, after a while or on the next connection. */
static void watch_done(struct client_call *call)
{
	if (call->result == -ENOTCONN)
		call->c->watch_due_ms = 0;
}

static void open_watch(struct roar_coord *c)
{
	Roar__WatchRequest m = ROAR__WATCH_REQUEST__INIT;

	m.job_id = word(c->job);
	m.worker_id = word(c->worker_id);
	client_call_release(&c->watch);
	if (client_call_init(&c->watch, c, METHOD_WATCH, &m.base, -1) < 0)
		return;
	c->watch_due_ms = client_now_ms() + WATCH_MS;
	c->watch.message = watch_message;
	c->watch.finish = watch_done;
	client_call_begin(&c->watch);
}

/* ---- life ---- */

int64_t client_session_turn(struct roar_coord *c, int64_t now_ms)
{
	int64_t due = INT64_MAX;

	if (!client_is_up(c))
		return due;
	if (!c->observer)
		due = beat_turn(c, now_ms);
	if (!c->watching || is_waiting(&c->watch))
		return due;
	if (now_ms >= c->watch_due_ms && client_is_up(c))
		open_watch(c);
	else if (c->watch_due_ms < due)
		due = c->watch_due_ms;
	return due;
}

uint64_t client_session(struct roar_coord *c)
{
	uint64_t session = 0;

	if (client_enter(c) < 0)
		return 0; /* who asks with it is told why */
	session = c->session;
	client_leave(c);
	return session;
}

void client_session_init(struct roar_coord *c)
{
	c->last_command = &c->commands;
	c->world.rank = -1;
	c->silence_ms = SILENCE_MS;
	c->world.heartbeat_interval_ms = BEAT_MS;
	c->state = COORDINATOR__WORKER_STATUS__STATE__INITIALIZING;
}

void client_session_release(struct roar_coord *c)
{
	client_call_release(&c->join);
	client_call_release(&c->beat);
	client_call_release(&c->watch);
	str_release(&c->registration);
	while (c->commands)
		drop_command(c);
}

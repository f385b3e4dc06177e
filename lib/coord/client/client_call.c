/* client_call.c - requests that wait for their reply, on whichever connection.
 *
 * There are as many as threads that wait, and a few of our own: a list is enough. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/client/client.h"
#include "net/frames/frames.h"

enum { AGAIN_MS = 100 }; /* when a server that refuses for now is asked again */

/* gRPC's statuses as errno. */
static const int errors[] = {
	[1] = -ECANCELED,     [2] = -EPROTO,  [3] = -EINVAL,
	[4] = -ETIMEDOUT,     [5] = -ENOENT,  [6] = -EEXIST,
	[7] = -EACCES,	      [8] = -EAGAIN,  [9] = -ESTALE,
	[10] = -ECONNABORTED, [11] = -ERANGE, [12] = -EOPNOTSUPP,
	[13] = -EIO,	      [14] = -EAGAIN, [15] = -EIO,
	[16] = -EACCES,
};

enum { STATUS_UNAVAILABLE = 14, STATUS_UNAUTHENTICATED = 16 };

static int error_of(uint32_t status)
{
	return status && status < ARRAY_SIZE(errors) ? errors[status] : -EPROTO;
}

/* ---- life ---- */

enum {
	NUMBER_LEN = 9,
	FIXED64 = 1
}; /* a tag and eight bytes; as protobuf has it */

/* The same however often it is sent.  Fields may come in any order and the last one counts, so a
 * number that the caller has given stays. */
static void add_number(struct str *request)
{
	uint64_t number = 0;

	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	str_addc(request, COORD_REQUEST_FIELD << 3 | FIXED64);
	str_add(request, &number, sizeof(number));
}

static int prepare(struct client_call *call, struct roar_coord *c,
		   const struct coord_method *method, size_t len,
		   int64_t timeout_ms)
{
	int r;

	if (len > CLIENT_MAX_MESSAGE)
		return sentence_fail(-EINVAL,
				     "a message of %zu bytes is too large for "
				     "a coordinator: it takes %d",
				     len, CLIENT_MAX_MESSAGE);
	*call = (struct client_call){
		.method = method,
		.deadline_ms = client_deadline_ms(timeout_ms),
	};
	r = client_cond_init(&call->done);
	if (r < 0)
		return sentence_fail(r, "cannot wait for a reply: %s",
				     strerror(-r));
	call->c = c;
	call->pid = c->pid;
	if (str_reserve(&call->request, len + NUMBER_LEN) < 0) {
		client_call_release(call);
		return sentence_fail(-ENOMEM, "out of memory");
	}
	if (method->retry == COORD_NUMBERED)
		add_number(&call->request);
	return 0;
}

int client_call_init(struct client_call *call, struct roar_coord *c,
		     enum coord_method_number method,
		     const ProtobufCMessage *request, int64_t timeout_ms)
{
	size_t len = protobuf_c_message_get_packed_size(request);
	int r = prepare(call, c, coord_method_by_number(method), len,
			timeout_ms);

	if (r == 0)
		call->request.len += protobuf_c_message_pack(
			request,
			(uint8_t *)call->request.data + call->request.len);
	return r;
}

int client_call_init_packed(struct client_call *call, struct roar_coord *c,
			    const char *path, const void *request, size_t len,
			    int64_t timeout_ms)
{
	const struct coord_method *method = coord_method_unary(path);
	int r;

	if (!method)
		return sentence_fail(-EINVAL,
				     "'%.200s' is not a unary method of the "
				     "coordinator",
				     path);
	r = prepare(call, c, method, len, timeout_ms);
	if (r == 0)
		str_add(&call->request, request, len);
	return r;
}

void client_call_release(struct client_call *call)
{
	if (!call->c)
		return;
	str_release(&call->request);
	str_release(&call->reply);
	free(call->absent);
	/* In a child, threads of the parent may seem to wait for it.  The client itself may
	 * be gone: who waited has left it. */
	if (call->pid == getpid())
		(void)pthread_cond_destroy(&call->done);
	call->c = NULL;
}

static void put_on_list(struct client_call *call)
{
	struct roar_coord *c = call->c;

	call->next = NULL;
	call->prev = c->last;
	if (c->last)
		c->last->next = call;
	else
		c->first = call;
	c->last = call;
}

static void take_off_list(struct client_call *call)
{
	struct roar_coord *c = call->c;

	if (call->prev)
		call->prev->next = call->next;
	else
		c->first = call->next;
	if (call->next)
		call->next->prev = call->prev;
	else
		c->last = call->prev;
}

/* ---- begin and end ---- */

static bool in_use(const struct roar_coord *c, uint32_t id)
{
	for (const struct client_call *call = c->first; call; call = call->next)
		if (call->state == CALL_SENT && call->id == id)
			return true;
	return false;
}

static uint32_t new_id(struct roar_coord *c)
{
	do
		c->last_id++;
	while (!c->last_id || in_use(c, c->last_id));
	return c->last_id;
}

/* How long the server may take, as frames say it. */
static uint32_t time_left(const struct client_call *call)
{
	int64_t left = call->deadline_ms - client_now_ms();

	if (call->deadline_ms == INT64_MAX || left > UINT32_MAX)
		return 0;
	return left > 0 ? (uint32_t)left : 1;
}

static void send_it(struct client_call *call)
{
	call->id = new_id(call->c);
	call->hello = call->c->n_hellos;
	call->state = CALL_SENT;
	client_link_send(call->c, call->method->number, call->id,
			 time_left(call), call->request.data,
			 call->request.len);
}

/* Our own registration is what brings the connection up. */
static bool may_be_sent(const struct client_call *call)
{
	const struct roar_coord *c = call->c;

	if (client_now_ms() < call->not_before_ms)
		return false;
	return call == &c->join ? client_is_joining(c) : client_is_up(c);
}

void client_call_begin(struct client_call *call)
{
	struct roar_coord *c = call->c;

	assert(client_is_locked(call->c) && call->state != CALL_SENT);
	call->state = CALL_QUEUED;
	put_on_list(call);
	if (c->dead || c->stopping) {
		client_call_end(call, c->dead ? c->dead : -ECANCELED,
				c->dead ? c->dead_text :
					  "the client is being freed");
		return;
	}
	if (!may_be_sent(call))
		return;
	send_it(call);
	client_link_flush(c);
}

void client_call_end(struct client_call *call, int result, const char *text)
{
	take_off_list(call);
	call->state = CALL_DONE;
	call->result = result;
	if (text) {
		str_clear(&call->reply);
		str_adds(&call->reply, text);
	}
	(void)pthread_cond_broadcast(&call->done);
	if (call->c->driver == call && call->c->driver_sleeps)
		client_nudge_reader(call->c); /* somebody else has ended it */
	if (call->finish)
		call->finish(call);
}

void client_call_cancel(struct client_call *call)
{
	assert(client_is_locked(call->c));
	if (call->state == CALL_SENT && client_is_connected(call->c)) {
		client_link_send(call->c, FRAME_CANCEL, call->id, 0, NULL, 0);
		client_link_flush(call->c);
	}
	if (call->state == CALL_QUEUED || call->state == CALL_SENT)
		client_call_end(call, -ECANCELED, "the call was cancelled");
}

/* ---- replies ---- */

static struct client_call *find(const struct roar_coord *c, uint32_t id)
{
	for (struct client_call *call = c->first; call; call = call->next)
		if (call->state == CALL_SENT && call->id == id)
			return call;
	return NULL;
}

/* "SENTENCE", and for each trailer a 0 byte and "NAME=VALUE". */
static void read_failure(struct client_call *call, const char *data, size_t len)
{
	static const char absent[] = "roar-absent=";
	const char *end = data + len;
	size_t n = strnlen(data, len);

	str_clear(&call->reply);
	str_add(&call->reply, data, n);
	for (const char *at = data + n + 1; at < end; at += n + 1) {
		n = strnlen(at, (size_t)(end - at));
		if (n < sizeof(absent) ||
		    memcmp(at, absent, sizeof(absent) - 1) != 0)
			continue;
		free(call->absent);
		call->absent = strndup(at + sizeof(absent) - 1,
				       n - (sizeof(absent) - 1));
	}
}

void client_call_repeat(struct client_call *call)
{
	if (call->count)
		client_meet_again(call);
	call->state = CALL_QUEUED;
}

/* A server that stops, or has no room for now, is asked again: its successor knows. */
static bool shall_wait(const struct client_call *call, uint32_t status)
{
	bool ours = call->finish && !call->user_done;

	return status == STATUS_UNAVAILABLE && !ours &&
	       call->method->retry != COORD_ONCE;
}

/* It was withdrawn with the token it came with, and we have another one by now. */
static bool has_new_token(const struct client_call *call, uint32_t status)
{
	return status == STATUS_UNAUTHENTICATED &&
	       call->hello != call->c->n_hellos &&
	       call->method->retry != COORD_ONCE;
}

void client_call_reply(struct roar_coord *c, uint32_t id, bool end,
		       uint32_t status, const char *data, size_t len)
{
	struct client_call *call = find(c, id);

	if (!call)
		return; /* it was taken back */
	if (!end) {
		if (call->message)
			call->message(call, data, len);
		return;
	}
	if (status == STATUS_UNAVAILABLE && client_standby_said(call, data, len))
		return;
	if (shall_wait(call, status)) {
		client_call_repeat(call);
		call->not_before_ms = client_now_ms() + AGAIN_MS;
		return;
	}
	if (has_new_token(call, status)) {
		client_call_repeat(call);
		return;
	}
	if (status) {
		read_failure(call, data, len);
		client_call_end(call, error_of(status), NULL);
		return;
	}
	c->link.n_standbys = 0; /* this one answers */
	str_clear(&call->reply);
	str_add(&call->reply, data, len);
	if (str_error(&call->reply) < 0)
		client_call_end(call, -ENOMEM, "out of memory");
	else
		client_call_end(call, 0, NULL);
}

bool client_calls_wait(const struct roar_coord *c)
{
	for (const struct client_call *call = c->first; call; call = call->next)
		if (call->state == CALL_SENT && !call->message)
			return true;
	return false;
}

/* ---- connections that end, times that are over ---- */

/* Of what is sent again the generation, number or session says that it is the same.  The
 * registration is made anew, even when it only waited. */
void client_calls_lost(struct roar_coord *c)
{
	struct client_call *next;

	for (struct client_call *call = c->first; call; call = next) {
		next = call->next;
		if (call->state != CALL_SENT && call != &c->join)
			continue;
		client_call_repeat(call);
		call->not_before_ms = 0;
		if (call->method->retry == COORD_ONCE)
			client_call_end(call, -ENOTCONN,
					"the connection to the coordinator "
					"ended before its reply came: the call "
					"may or may not have been executed");
		else if (call->finish && !call->user_done)
			client_call_end(call, -ENOTCONN, c->link.failure);
	}
}

void client_calls_end(struct roar_coord *c, int result, const char *text)
{
	while (c->first)
		client_call_end(c->first, result, text);
}

/* Until when the call may wait: the server's own word on a deadline names the absent. */
static int64_t give_up_ms(const struct client_call *call)
{
	if (call->deadline_ms == INT64_MAX || call->state != CALL_SENT)
		return call->deadline_ms;
	return call->deadline_ms + CLIENT_GRACE_MS;
}

static void expire(struct client_call *call)
{
	struct roar_coord *c = call->c;
	bool sent = call->state == CALL_SENT;

	if (sent && client_is_connected(c))
		client_link_send(c, FRAME_CANCEL, call->id, 0, NULL, 0);
	if (sent || client_is_up(c))
		client_call_end(call, -ETIMEDOUT,
				"the coordinator did not answer in time");
	else
		client_call_end(call, -ENOTCONN,
				c->link.failure[0] ?
					c->link.failure :
					"there is no connection to the "
					"coordinator yet");
}

/* Only its time keeps it from being sent. */
static bool waits_for_its_time(const struct client_call *call)
{
	const struct roar_coord *c = call->c;

	return call->state == CALL_QUEUED &&
	       (call == &c->join ? client_is_joining(c) : client_is_up(c));
}

int64_t client_calls_turn(struct roar_coord *c, int64_t now_ms)
{
	int64_t due = INT64_MAX;
	struct client_call *next;

	for (struct client_call *call = c->first; call; call = next) {
		next = call->next;
		if (call->state == CALL_QUEUED && may_be_sent(call))
			send_it(call);
		if (now_ms >= give_up_ms(call)) {
			expire(call);
			continue;
		}
		if (give_up_ms(call) < due)
			due = give_up_ms(call);
		if (waits_for_its_time(call) && call->not_before_ms < due)
			due = call->not_before_ms;
	}
	return due;
}

/* ---- for those who wait ---- */

bool client_call_wait(struct client_call *call, int64_t until_ms)
{
	assert(client_is_locked(call->c));
	while (call->state != CALL_DONE) {
		int64_t now = client_now_ms();
		int64_t give_up = give_up_ms(call);
		int64_t until = give_up < until_ms ? give_up : until_ms;

		if (now >= give_up) {
			expire(call);
			client_link_flush(call->c);
			break;
		}
		if (now >= until_ms)
			return false;
		if (!client_read_reply(call, until))
			client_wait(call->c, &call->done, until);
	}
	return true;
}

int client_call_told(const struct client_call *call)
{
	if (call->result == 0)
		return 0;
	last_error_set("%s", call->reply.len ? str_cstr(&call->reply) :
					       strerror(-call->result));
	last_error_set_absent(call->absent);
	return call->result;
}

static int unpack(const struct client_call *call,
		  const ProtobufCMessageDescriptor *type, void *ret_reply)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(
		type, NULL, call->reply.len,
		(const uint8_t *)str_cstr(&call->reply));

	if (!m)
		return sentence_fail(-EPROTO,
				     "the coordinator's reply to %s is "
				     "malformed",
				     call->method->path);
	*(ProtobufCMessage **)ret_reply = m;
	return 0;
}

int client_call_run(struct roar_coord *c, enum coord_method_number method,
		    const ProtobufCMessage *request, int64_t timeout_ms,
		    const ProtobufCMessageDescriptor *type, void *ret_reply)
{
	CLEANUP(client_call_release) struct client_call call = { 0 };
	int r = client_enter(c);

	if (r < 0)
		return r;
	r = client_call_init(&call, c, method, request, timeout_ms);
	if (r == 0) {
		client_call_begin(&call);
		(void)client_call_wait(&call, INT64_MAX);
		r = client_call_told(&call);
	}
	client_leave(c);
	return r == 0 && type ? unpack(&call, type, ret_reply) : r;
}

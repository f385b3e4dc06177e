/* etcd.c - see etcd.h
 *
 * The connection is a grpc_client, which roams: a member that cannot be used is left for the
 * next one.  Here is what makes a member unusable, and what becomes of the calls. */
#include "etcd/etcd.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "etcd/login.h"

enum {
	CONNECT_MS = 2000, /* for a connection to a member */
	HANDSHAKE_MS = 4000, /* for its TLS */
	PAUSE_MAX_MS = 1000, /* between rounds through all members */
};

struct etcd {
	struct loop *loop;
	struct etcd_door door;
	struct grpc_client *client;
	struct login login;
	bool is_open; /* calls may be made on the connection */
	bool is_refused; /* this member does not let us in */
	struct etcd_call *waiting, **waiting_end;
	void (*changed)(void *data, const char *trouble);
	void *data;
	bool in_trouble;
};

static const struct {
	const char *path;
	const ProtobufCMessageDescriptor *reply;
} methods[] = {
	[ETCD_RANGE] = { "/etcdserverpb.KV/Range",
			 &etcd__range_response__descriptor },
	[ETCD_TXN] = { "/etcdserverpb.KV/Txn", &etcd__txn_response__descriptor },
	[ETCD_COMPACT] = { "/etcdserverpb.KV/Compact",
			   &etcd__compaction_response__descriptor },
	[ETCD_GRANT] = { "/etcdserverpb.Lease/LeaseGrant",
			 &etcd__lease_grant_response__descriptor },
	[ETCD_REVOKE] = { "/etcdserverpb.Lease/LeaseRevoke",
			  &etcd__lease_revoke_response__descriptor },
	[ETCD_KEEP_ALIVE] = { "/etcdserverpb.Lease/LeaseKeepAlive",
			      &etcd__lease_keep_alive_response__descriptor },
	[ETCD_WATCH] = { "/etcdserverpb.Watch/Watch",
			 &etcd__watch_response__descriptor },
};

/* ---- members ---- */

static void say_trouble(struct etcd *e, const struct address *address,
			const char *why)
{
	struct str text = STR_INIT;

	if (e->in_trouble || !e->changed)
		return;
	e->in_trouble = true;
	str_addf(&text, "etcd %s: %s: %s",
		 e->is_refused ? "does not let us in" : "cannot be reached",
		 address->name, why);
	e->changed(e->data, str_cstr(&text));
	str_release(&text);
}

static void say_good(struct etcd *e)
{
	grpc_client_good(e->client);
	if (e->in_trouble && e->changed)
		e->changed(e->data, NULL);
	e->in_trouble = false;
}

/* On to the next member; what was under way at this one fails. */
static void move_on(struct etcd *e, const char *why)
{
	e->is_open = false;
	grpc_client_leave(e->client, why);
}

static void move_on_refused(struct etcd *e, const char *why)
{
	e->is_refused = true;
	move_on(e, why);
}

static void on_lost(void *data, const struct address *address, const char *why)
{
	struct etcd *e = data;

	login_end(&e->login);
	e->is_open = false;
	if (grpc_client_round_is_over(e->client))
		say_trouble(e, address, why);
	e->is_refused = false;
}

/* ---- calls on their way ---- */

static void unqueue(struct etcd_call *call)
{
	struct etcd *e = call->etcd;

	if (!call->link)
		return;
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	else
		e->waiting_end = call->link;
	call->link = NULL;
}

static void free_reply(struct etcd_call *call)
{
	if (call->reply)
		protobuf_c_message_free_unpacked(call->reply, NULL);
	call->reply = NULL;
}

/* Not under way any more; its owner is told by who calls this. */
static struct etcd *take_back(struct etcd_call *call)
{
	struct etcd *e = call->etcd;

	unqueue(call);
	loop_timer_clear(e->loop, &call->timer);
	str_release(&call->request);
	call->etcd = NULL;
	return e;
}

static void on_message(struct grpc_client_call *rpc, const void *data,
		       size_t len)
{
	struct etcd_call *call = container_of(rpc, struct etcd_call, rpc);
	ProtobufCMessage *m = protobuf_c_message_unpack(
		methods[call->method].reply, NULL, len, data);

	if (!m)
		return; /* without an answer the call fails at its end */
	say_good(call->etcd);
	free_reply(call);
	if (call->method != ETCD_WATCH) {
		call->reply = m;
		return;
	}
	call->done(call, RPC_OK, m, NULL);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* It does not know us, or not any more.  Two of these have the status of a wrong request. */
static bool is_refusal(unsigned status, const char *sentence)
{
	return status == RPC_UNAUTHENTICATED ||
	       status == RPC_PERMISSION_DENIED ||
	       (status == RPC_INVALID_ARGUMENT &&
		(strstr(sentence, "user name is empty") ||
		 strstr(sentence, "revision of auth store is old")));
}

/* A member that cannot answer now may be cut off from the others: the next one may not. */
static void on_ended(struct grpc_client_call *rpc, unsigned status,
		     const char *sentence)
{
	struct etcd_call *call = container_of(rpc, struct etcd_call, rpc);
	ProtobufCMessage *reply = TAKE_PTR(call->reply);
	struct etcd *e = take_back(call);

	if (status == RPC_OK && !reply)
		status = RPC_INTERNAL;
	if (status == RPC_UNAVAILABLE && e->is_open)
		move_on(e, sentence);
	if (is_refusal(status, sentence)) { /* as if there had been no answer */
		status = RPC_UNAVAILABLE;
		if (e->is_open)
			move_on_refused(e, sentence);
	}
	if (status == RPC_OK)
		call->done(call, status, reply, NULL);
	else
		call->done(call, status, NULL,
			   *sentence ? sentence : "etcd gave no answer");
	if (reply)
		protobuf_c_message_free_unpacked(reply, NULL);
}

static void on_deadline(struct loop_timer *t)
{
	struct etcd_call *call = container_of(t, struct etcd_call, timer);
	struct etcd *e = call->etcd;
	bool was_sent = call->rpc.client != NULL;
	char why[64];

	(void)snprintf(why, sizeof(why), "no answer within %lld ms",
		       (long long)call->timeout_ms);
	grpc_client_cancel(&call->rpc);
	(void)take_back(call);
	free_reply(call);
	call->done(call, RPC_DEADLINE_EXCEEDED, NULL, why);
	if (was_sent && e->is_open)
		move_on(e, why);
}

static void send_call(struct etcd *e, struct etcd_call *call)
{
	int r = str_error(&call->request);

	unqueue(call);
	call->rpc.message = on_message;
	call->rpc.ended = on_ended;
	if (r == 0)
		r = grpc_client_begin(e->client, &call->rpc,
				      methods[call->method].path,
				      call->request.data, call->request.len,
				      call->method != ETCD_WATCH);
	str_release(&call->request);
	if (r < 0) /* told by the timer, as `done` is promised to come later */
		(void)loop_timer_set(e->loop, &call->timer,
				     loop_now_ms(e->loop));
}

void etcd_begin(struct etcd *e, struct etcd_call *call, enum etcd_method method,
		const ProtobufCMessage *request, int64_t timeout_ms)
{
	size_t len = protobuf_c_message_get_packed_size(request);

	assert(call->done && !call->etcd);
	call->etcd = e;
	call->method = method;
	call->timeout_ms = timeout_ms;
	call->timer.due = on_deadline;
	call->request = STR_INIT;
	call->reply = NULL;
	if (str_reserve(&call->request, len + 1) == 0)
		call->request.len = protobuf_c_message_pack(
			request, (uint8_t *)call->request.data);
	if (timeout_ms >= 0)
		(void)loop_timer_set(e->loop, &call->timer,
				     loop_now_ms(e->loop) + timeout_ms);
	call->next = NULL;
	call->link = e->waiting_end;
	*e->waiting_end = call;
	e->waiting_end = &call->next;
	if (e->is_open)
		send_call(e, call);
}

void etcd_cancel(struct etcd_call *call)
{
	if (!call->etcd)
		return;
	grpc_client_cancel(&call->rpc);
	(void)take_back(call);
	free_reply(call);
}

/* ---- connections ---- */

static void send_waiting(struct etcd *e)
{
	e->is_open = true;
	while (e->waiting)
		send_call(e, e->waiting);
}

static void on_login(struct login *l, const char *sentence)
{
	struct etcd *e = container_of(l, struct etcd, login);

	if (sentence)
		move_on_refused(e, sentence);
	else
		send_waiting(e);
}

static void on_opened(void *data)
{
	struct etcd *e = data;

	(void)grpc_client_set_field(e->client, "token", NULL);
	if (!e->door.user)
		send_waiting(e);
	else if (login_begin(&e->login, e->loop, e->client, e->door.user,
			     e->door.password) < 0)
		move_on(e, "out of memory");
}

static const struct grpc_client_user client_user = {
	.opened = on_opened,
	.lost = on_lost,
};

/* Rather an error at once than a wait until etcd has a leader. */
static int open_client(struct etcd *e)
{
	const struct dial_options options = {
		.addresses = &e->door.addresses,
		.tls = e->door.tls,
		.program = "etcd",
		.connect_ms = CONNECT_MS,
		.greet_ms = HANDSHAKE_MS,
		.pause_max_ms = PAUSE_MAX_MS,
		.roams = true,
	};
	int r = grpc_client_open(e->loop, &options, &client_user, e,
				 &e->client);

	if (r == 0)
		r = grpc_client_set_field(e->client, "hasleader", "true");
	return r;
}

int etcd_new(struct loop *loop, const struct etcd_access *access,
	     void (*changed)(void *data, const char *trouble), void *data,
	     struct etcd **ret, struct roar_error *err)
{
	struct etcd *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_set(err, -ENOMEM, "out of memory");
	e->loop = loop;
	e->changed = changed;
	e->data = data;
	e->waiting_end = &e->waiting;
	e->login.done = on_login;
	r = etcd_door_open(&e->door, access, err);
	if (r == 0) {
		r = open_client(e);
		if (r < 0)
			(void)error_set(err, r, "out of memory");
	}
	if (r < 0) {
		etcd_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

void etcd_free(struct etcd *e)
{
	assert(!e || !e->waiting);
	if (!e)
		return;
	login_end(&e->login);
	grpc_client_close(e->client, "the program ends");
	etcd_door_release(&e->door);
	free(e);
}

/* etcd.c - see etcd.h
 *
 *	PAUSE --due--> RESOLVING --> channel (being made, then up)
 *	  ^                |            |
 *	  `-- all tried ---+------------'   else the next member at once */
#include "etcd/etcd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "etcd/login.h"
#include "net/host_lookup.h"

enum {
	PAUSE_MS = 100, /* after a round through all members, ... */
	PAUSE_MAX_MS = 1000, /* ... and, growing, after many */
};

struct etcd {
	struct loop *loop;
	struct etcd_door door;
	size_t at; /* the member that is used or tried */
	/* Which address of its name, a member: one that did not answer is changed. */
	unsigned which[ETCD_MAX_MEMBERS];
	bool answered; /* this one has, since it was connected to */
	size_t n_failed; /* members in a row */
	struct host_lookup *resolve;
	struct channel *channel;
	struct login login;
	bool is_open; /* calls may be made on the channel */
	bool is_refused; /* the last member did not let us in */
	struct loop_timer timer; /* when the next one is tried */
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

static void connect_next(struct etcd *e);

static void say_trouble(struct etcd *e, const char *why)
{
	struct str text = STR_INIT;

	if (e->in_trouble || !e->changed)
		return;
	e->in_trouble = true;
	str_addf(&text, "etcd %s: %s: %s",
		 e->is_refused ? "does not let us in" : "cannot be reached",
		 e->door.addresses.list[e->at].name, why);
	e->changed(e->data, str_cstr(&text));
	str_release(&text);
}

static void say_good(struct etcd *e)
{
	e->n_failed = 0;
	e->answered = true;
	if (e->in_trouble && e->changed)
		e->changed(e->data, NULL);
	e->in_trouble = false;
}

static int64_t pause_ms(const struct etcd *e)
{
	size_t rounds = e->n_failed / e->door.addresses.n;
	int64_t ms = PAUSE_MS * (int64_t)rounds;

	return ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : ms;
}

/* On to the next member; what was under way at this one has failed. */
static void move_on(struct etcd *e, const char *why)
{
	struct channel *channel = TAKE_PTR(e->channel);
	bool round_over = ++e->n_failed % e->door.addresses.n == 0;
	char sentence[512];

	(void)snprintf(sentence, sizeof(sentence), "%s: %s",
		       e->door.addresses.list[e->at].name, why);
	host_lookup_end(e->resolve);
	e->resolve = NULL;
	login_end(&e->login);
	e->is_open = false;
	if (round_over)
		say_trouble(e, why);
	e->is_refused = false;
	if (!e->answered)
		e->which[e->at]++;
	e->answered = false;
	e->at = (e->at + 1) % e->door.addresses.n;
	(void)loop_timer_set(e->loop, &e->timer,
			     loop_now_ms(e->loop) +
				     (round_over ? pause_ms(e) : 0));
	channel_close(channel, sentence);
}

static void move_on_refused(struct etcd *e, const char *why)
{
	e->is_refused = true;
	move_on(e, why);
}

static void on_lost(void *data, const char *sentence)
{
	move_on(data, sentence);
}

static void on_due(struct loop_timer *t)
{
	connect_next(container_of(t, struct etcd, timer));
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

static void queue(struct etcd *e, struct etcd_call *call)
{
	call->next = NULL;
	call->link = e->waiting_end;
	*e->waiting_end = call;
	e->waiting_end = &call->next;
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

static void fail(struct etcd_call *call, unsigned status, const char *sentence)
{
	(void)take_back(call);
	free_reply(call);
	call->done(call, status, NULL, sentence);
}

static void on_message(struct channel_call *rpc, const void *data, size_t len)
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
	call->done(call, ETCD_OK, m, NULL);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* It does not know us, or not any more.  Two of these have the status of a wrong request. */
static bool is_refusal(unsigned status, const char *sentence)
{
	return status == ETCD_UNAUTHENTICATED ||
	       status == ETCD_PERMISSION_DENIED ||
	       (status == ETCD_INVALID_ARGUMENT &&
		(strstr(sentence, "user name is empty") ||
		 strstr(sentence, "revision of auth store is old")));
}

/* A member that cannot answer now may be cut off from the others: the next one may not. */
static void on_ended(struct channel_call *rpc, unsigned status,
		     const char *sentence)
{
	struct etcd_call *call = container_of(rpc, struct etcd_call, rpc);
	ProtobufCMessage *reply = TAKE_PTR(call->reply);
	struct etcd *e = take_back(call);

	if (status == ETCD_OK && !reply)
		status = ETCD_INTERNAL;
	if (status == ETCD_UNAVAILABLE && e->channel)
		move_on(e, sentence);
	if (is_refusal(status, sentence)) { /* as if there had been no answer */
		status = ETCD_UNAVAILABLE;
		if (e->channel)
			move_on_refused(e, sentence);
	}
	if (status == ETCD_OK)
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
	channel_cancel(&call->rpc);
	fail(call, ETCD_DEADLINE_EXCEEDED, why);
	if (was_sent && e->channel)
		move_on(e, why);
}

static void send_call(struct etcd *e, struct etcd_call *call)
{
	int r = str_error(&call->request);

	unqueue(call);
	call->rpc.message = on_message;
	call->rpc.ended = on_ended;
	if (r == 0)
		r = channel_begin(e->channel, &call->rpc,
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

	call->etcd = e;
	call->method = method;
	call->timeout_ms = timeout_ms;
	call->timer.due = on_deadline;
	call->request = STR_INIT;
	call->reply = NULL;
	call->link = NULL;
	if (str_reserve(&call->request, len + 1) == 0)
		call->request.len = protobuf_c_message_pack(
			request, (uint8_t *)call->request.data);
	if (timeout_ms >= 0)
		(void)loop_timer_set(e->loop, &call->timer,
				     loop_now_ms(e->loop) + timeout_ms);
	queue(e, call);
	if (e->is_open)
		send_call(e, call);
}

void etcd_cancel(struct etcd_call *call)
{
	if (!call->etcd)
		return;
	channel_cancel(&call->rpc);
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

static int open_channel(struct etcd *e, const struct sockaddr *address,
			socklen_t len)
{
	const struct address *a = &e->door.addresses.list[e->at];
	const struct channel_peer peer = {
		.authority = a->name,
		.host = a->host,
		.tls = a->is_tls ? e->door.tls : NULL,
	};

	return channel_open(e->loop, address, len, &peer, on_lost, e,
			    &e->channel);
}

static const struct addrinfo *pick(const struct addrinfo *all, unsigned number)
{
	const struct addrinfo *a = all;

	for (; number > 0; number--)
		a = a->ai_next ? a->ai_next : all;
	return a;
}

static void on_found(void *data, const struct addrinfo *all, const char *why)
{
	struct etcd *e = data;

	if (!all) {
		move_on(e, why);
		return;
	}
	all = pick(all, e->which[e->at]);
	if (open_channel(e, all->ai_addr, all->ai_addrlen) < 0 ||
	    (e->door.user && login_begin(&e->login, e->loop, e->channel,
					 e->door.user, e->door.password) < 0)) {
		move_on(e, "no memory for a connection");
		return;
	}
	host_lookup_end(e->resolve);
	e->resolve = NULL;
	if (!e->door.user)
		send_waiting(e);
}

static void connect_next(struct etcd *e)
{
	const struct address *a = &e->door.addresses.list[e->at];

	if (host_lookup_begin(e->loop, a->host, a->port, on_found, e,
			      &e->resolve) < 0)
		move_on(e, "no memory for a connection");
}

int etcd_new(struct loop *loop, const struct etcd_access *access,
	     void (*changed)(void *data, const char *trouble), void *data,
	     struct etcd **ret, struct roar_error *err)
{
	struct etcd *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_set(err, -ENOMEM, "no memory for etcd");
	e->loop = loop;
	e->changed = changed;
	e->data = data;
	e->waiting_end = &e->waiting;
	e->timer.due = on_due;
	e->login.done = on_login;
	r = etcd_door_open(&e->door, access, err);
	if (r == 0) {
		r = loop_timer_set(loop, &e->timer, loop_now_ms(loop));
		if (r < 0)
			(void)error_set(err, r, "no memory for etcd");
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
	struct channel *channel;

	if (!e)
		return;
	login_end(&e->login);
	channel = TAKE_PTR(e->channel);
	channel_close(channel, "the program ends");
	host_lookup_end(e->resolve);
	loop_timer_clear(e->loop, &e->timer);
	etcd_door_release(&e->door);
	free(e);
}

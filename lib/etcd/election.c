/* election.c - see election.h */
#include "etcd/election.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/macros.h"
#include "etcd/ballot.h"

enum {
	REST_MS = 150, /* after a failure, and as much again by chance */
	CALL_MS = 2000,
	LOOK_MIN_MS = 500,
};

enum state {
	LOOK, /* who leads? */
	GRANT, /* a lease is asked for */
	CAMPAIGN, /* the key is being created */
	FOLLOW,
	LEAD,
	RESTING,
	ENDED,
};

struct election {
	struct loop *loop;
	struct etcd *etcd;
	char *address;
	int64_t ttl_ms; /* as asked for, then as granted */
	struct election_events events;
	void *data;

	enum state state;
	struct etcd_call call; /* the step that is under way */
	struct etcd_call alive; /* the lease is kept alive */
	struct etcd_call watch; /* of the leader's key */
	struct etcd_call revoke;
	struct loop_timer step; /* what is next */
	struct loop_timer lapse; /* the lease is over for us */
	int64_t lease;
	int64_t token;
	int64_t asked_ms; /* when the lease was last asked for, boot clock */
	int64_t holds_until_ms; /* boot clock */
	char *leader; /* who leads, as last told; NULL: nobody */
	bool is_hindered; /* as last told */
	struct ballot ballot;
};

static int64_t boot_ms(void)
{
	return clock_boot_ns() / 1000000;
}

/* ---- between the states ---- */

static void rest(struct election *e)
{
	uint16_t chance = 0;

	(void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
	e->state = RESTING;
	etcd_cancel(&e->watch);
	(void)loop_timer_set(e->loop, &e->step,
			     loop_now_ms(e->loop) + REST_MS + chance % REST_MS);
}

static void tell_leader(struct election *e, const char *leader)
{
	bool same = leader && e->leader ? strcmp(leader, e->leader) == 0 :
					  leader == e->leader;

	if (same)
		return;
	free(e->leader);
	e->leader = leader ? strdup(leader) : NULL;
	e->events.follows(e->data, e->leader);
}

/* What said nothing, or not in time, is no refusal: etcd.h tells of that. */
static void rest_hindered(struct election *e, unsigned status,
			  const char *sentence)
{
	bool said_no = status != RPC_OK && status != RPC_UNAVAILABLE &&
		       status != RPC_DEADLINE_EXCEEDED;

	rest(e);
	if (!said_no || e->is_hindered)
		return;
	e->is_hindered = true;
	e->events.hindered(e->data, sentence);
}

static void unhinder(struct election *e)
{
	if (e->is_hindered)
		e->events.hindered(e->data, NULL);
	e->is_hindered = false;
}

static void depose(struct election *e, const char *why)
{
	loop_timer_clear(e->loop, &e->lapse);
	etcd_cancel(&e->alive);
	e->token = 0;
	e->holds_until_ms = 0;
	rest(e);
	e->events.deposed(e->data, why);
}

/* The lease is good from when it was asked for.  A tenth less: clocks differ. */
static void extend(struct election *e, int64_t ttl_s)
{
	e->ttl_ms = ttl_s * 1000;
	e->holds_until_ms = e->asked_ms + e->ttl_ms - e->ttl_ms / 10;
	(void)loop_timer_set(e->loop, &e->lapse,
			     loop_now_ms(e->loop) + e->holds_until_ms -
				     boot_ms());
}

bool election_holds(const struct election *e)
{
	return e->state == LEAD && boot_ms() < e->holds_until_ms;
}

static void on_lapse(struct loop_timer *t)
{
	struct election *e = container_of(t, struct election, lapse);

	if (e->state == LEAD)
		depose(e, "its lease in etcd could not be kept alive in time");
}

/* ---- following ---- */

/* The key is gone, or the watch is: a look will tell. */
static void look_soon(struct election *e)
{
	etcd_cancel(&e->watch);
	e->state = RESTING;
	(void)loop_timer_set(e->loop, &e->step, loop_now_ms(e->loop));
}

static bool says_gone(const Etcd__WatchResponse *m)
{
	for (size_t i = 0; i < m->n_events; i++) {
		if (m->events[i]->type == ETCD__EVENT__TYPE__DELETE)
			return true;
	}
	return m->canceled;
}

static void watch_again(struct election *e, int64_t revision);

/* Who leads watches as well: the key may be removed by hand. */
static void on_watch(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence)
{
	struct election *e = container_of(call, struct election, watch);
	const Etcd__WatchResponse *m = (const Etcd__WatchResponse *)reply;

	(void)status, (void)sentence;
	if (m && !says_gone(m))
		return;
	if (e->state == FOLLOW)
		look_soon(e);
	else if (e->state == LEAD && m && !m->canceled)
		depose(e, "its key in etcd was removed");
	else if (e->state == LEAD)
		watch_again(e, m && m->compact_revision ? m->compact_revision :
							  e->token + 1);
}

static void watch_again(struct election *e, int64_t revision)
{
	Etcd__WatchCreateRequest create = ETCD__WATCH_CREATE_REQUEST__INIT;
	Etcd__WatchRequest m = ETCD__WATCH_REQUEST__INIT;

	create.key = etcd_key_bytes(&e->ballot.leader);
	create.start_revision = revision;
	m.request_case = ETCD__WATCH_REQUEST__REQUEST_CREATE;
	m.create = &create;
	etcd_cancel(&e->watch);
	e->watch.done = on_watch;
	etcd_begin(e->etcd, &e->watch, ETCD_WATCH, &m.base, -1);
}

/* A watch may be cut off without a word, with the member of etcd that it is at.  So it is looked
 * again and again: often enough that, whoever hangs, another member has told of the key before
 * its lease is over. */
static void follow(struct election *e, const Etcd__KeyValue *leader,
		   int64_t revision)
{
	char address[256];

	(void)snprintf(address, sizeof(address), "%.*s", (int)leader->value.len,
		       (const char *)leader->value.data);
	e->state = FOLLOW;
	unhinder(e);
	watch_again(e, revision + 1);
	(void)loop_timer_set(e->loop, &e->step,
			     loop_now_ms(e->loop) + e->ttl_ms / 3);
	tell_leader(e, address);
}

/* ---- leading ---- */

static void keep_alive(struct election *e);

static void on_alive(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence)
{
	struct election *e = container_of(call, struct election, alive);
	const Etcd__LeaseKeepAliveResponse
		*m = (const Etcd__LeaseKeepAliveResponse *)reply;

	(void)sentence;
	if (e->state != LEAD)
		return;
	if (status == RPC_OK && m->ttl_s <= 0) {
		depose(e, "its lease in etcd is over");
		return;
	}
	if (status == RPC_OK)
		extend(e, m->ttl_s);
	(void)loop_timer_set(e->loop, &e->step,
			     loop_now_ms(e->loop) + (status == RPC_OK ?
							     e->ttl_ms / 3 :
							     REST_MS));
}

static void keep_alive(struct election *e)
{
	Etcd__LeaseKeepAliveRequest m = ETCD__LEASE_KEEP_ALIVE_REQUEST__INIT;

	m.id = e->lease;
	e->asked_ms = boot_ms();
	e->alive.done = on_alive;
	etcd_begin(e->etcd, &e->alive, ETCD_KEEP_ALIVE, &m.base, e->ttl_ms / 4);
}

static void lead(struct election *e, int64_t token)
{
	assert(token > 0);
	e->state = LEAD;
	e->token = token;
	unhinder(e);
	free(e->leader);
	e->leader = NULL;
	watch_again(e, token + 1);
	(void)loop_timer_set(e->loop, &e->step,
			     loop_now_ms(e->loop) + e->ttl_ms / 3);
	e->events.elected(e->data, token);
}

/* ---- the campaign ---- */

/* We lead when the key is bound to our lease, also where the answer that said so was lost. */
static bool is_ours(const struct election *e, const Etcd__KeyValue *kv)
{
	return kv->lease == e->lease && boot_ms() < e->holds_until_ms;
}

static void on_campaign(struct etcd_call *call, unsigned status,
			const ProtobufCMessage *reply, const char *sentence)
{
	struct election *e = container_of(call, struct election, call);
	const Etcd__TxnResponse *m = (const Etcd__TxnResponse *)reply;
	const Etcd__KeyValue *kv;

	kv = status == RPC_OK ? ballot_found(m, m->succeeded ? 1 : 0) : NULL;
	if (kv && is_ours(e, kv))
		lead(e, kv->create_revision);
	else if (kv && kv->lease != e->lease)
		follow(e, kv, m->header ? m->header->revision : 0);
	else
		rest_hindered(e, status, sentence);
}

static void campaign(struct election *e)
{
	e->state = CAMPAIGN;
	e->call.done = on_campaign;
	ballot_campaign(e->etcd, &e->call, &e->ballot, e->lease, CALL_MS);
}

static void on_grant(struct etcd_call *call, unsigned status,
		     const ProtobufCMessage *reply, const char *sentence)
{
	struct election *e = container_of(call, struct election, call);
	const Etcd__LeaseGrantResponse *m = (const Etcd__LeaseGrantResponse *)
		reply;

	if (status != RPC_OK || m->ttl_s <= 0) {
		rest_hindered(e, status, sentence);
		return;
	}
	e->lease = m->id;
	extend(e, m->ttl_s);
	campaign(e);
}

static void ask_for_lease(struct election *e)
{
	Etcd__LeaseGrantRequest m = ETCD__LEASE_GRANT_REQUEST__INIT;

	m.ttl_s = (e->ttl_ms + 999) / 1000;
	e->state = GRANT;
	e->asked_ms = boot_ms();
	e->call.done = on_grant;
	etcd_begin(e->etcd, &e->call, ETCD_GRANT, &m.base, CALL_MS);
}

static void stand_for_election(struct election *e)
{
	ask_for_lease(e);
	tell_leader(e, NULL);
}

/* ---- the look ---- */

static void refuse(struct election *e, const Etcd__KeyValue *schema)
{
	char sentence[512];

	(void)snprintf(sentence, sizeof(sentence),
		       "etcd has state of another kind under '%s': '%.*s' "
		       "instead of '%s'; give this cluster another name "
		       "(--cluster), or use the version that wrote it",
		       e->ballot.schema.text,
		       (int)(schema->value.len > 64 ? 64 : schema->value.len),
		       (const char *)schema->value.data, ETCD_SCHEMA);
	e->state = ENDED;
	e->events.refused(e->data, sentence);
}

static void on_look(struct etcd_call *call, unsigned status,
		    const ProtobufCMessage *reply, const char *sentence)
{
	struct election *e = container_of(call, struct election, call);
	const Etcd__TxnResponse *m = (const Etcd__TxnResponse *)reply;
	const Etcd__KeyValue *schema, *leader;

	if (status != RPC_OK) {
		rest_hindered(e, status, sentence);
		return;
	}
	schema = m->succeeded ? NULL : ballot_found(m, 0);
	leader = ballot_found(m, 1);
	if (schema && !ballot_is_ours(schema))
		refuse(e, schema);
	else if (leader && is_ours(e, leader))
		lead(e, leader->create_revision);
	else if (leader)
		follow(e, leader, m->header ? m->header->revision : 0);
	else
		stand_for_election(e);
}

static void look(struct election *e)
{
	int64_t timeout_ms = e->ttl_ms / 4;

	if (timeout_ms > CALL_MS)
		timeout_ms = CALL_MS;
	else if (timeout_ms < LOOK_MIN_MS)
		timeout_ms = LOOK_MIN_MS;
	e->state = LOOK;
	e->call.done = on_look;
	ballot_look(e->etcd, &e->call, &e->ballot, timeout_ms);
}

static void on_step(struct loop_timer *t)
{
	struct election *e = container_of(t, struct election, step);

	if (e->state == LEAD) {
		keep_alive(e);
	} else if (e->state == RESTING || e->state == FOLLOW) {
		etcd_cancel(&e->watch);
		look(e);
	}
}

/* ---- the end ---- */

static void on_revoked(struct etcd_call *call, unsigned status,
		       const ProtobufCMessage *reply, const char *sentence)
{
	/* Where it failed, the lease ends by itself. */
	(void)call, (void)status, (void)reply, (void)sentence;
}

void election_resign(struct election *e, bool for_good, const char *why)
{
	Etcd__LeaseRevokeRequest m = ETCD__LEASE_REVOKE_REQUEST__INIT;
	bool led = e->state == LEAD;

	m.id = e->lease;
	etcd_cancel(&e->call);
	if (led) {
		depose(e, why);
		etcd_cancel(&e->revoke);
		e->revoke.done = on_revoked;
		etcd_begin(e->etcd, &e->revoke, ETCD_REVOKE, &m.base, CALL_MS);
	}
	if (!for_good)
		return;
	etcd_cancel(&e->watch);
	loop_timer_clear(e->loop, &e->step);
	e->state = ENDED;
}

bool election_is_resigning(const struct election *e)
{
	return etcd_call_is_on(&e->revoke);
}

void election_free(struct election *e)
{
	if (!e)
		return;
	etcd_cancel(&e->call);
	etcd_cancel(&e->alive);
	etcd_cancel(&e->watch);
	etcd_cancel(&e->revoke);
	loop_timer_clear(e->loop, &e->step);
	loop_timer_clear(e->loop, &e->lapse);
	free(e->leader);
	free(e->address);
	free(e);
}

int election_new(struct loop *loop, struct etcd *etcd, const char *cluster,
		 const char *address, int64_t ttl_s,
		 const struct election_events *events, void *data,
		 struct election **ret)
{
	struct election *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->loop = loop;
	e->etcd = etcd;
	e->address = strdup(address);
	e->ttl_ms = ttl_s * 1000;
	e->events = *events;
	e->data = data;
	e->step.due = on_step;
	e->lapse.due = on_lapse;
	e->ballot = (struct ballot){ .leader = etcd_key(cluster, "leader"),
				     .schema = etcd_key(cluster, "schema"),
				     .address = e->address };
	if (!e->address) {
		election_free(e);
		return -ENOMEM;
	}
	look(e);
	*ret = e;
	return 0;
}

/* client.c - workers' processes, and what befalls them
 *
 * A smart client proves itself by its session, sends heartbeats also while it waits, connects
 * again and asks again for what it waited for.  A simple one knows the nine calls: it
 * has no session, and no heartbeats while it waits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

enum {
	REGISTER = 1,
	HEARTBEAT = 2,
	STREAM_HEARTBEATS = 9,
	WATCH = 11,
	DEREGISTER = 3,
	REGISTER_DATASET = 4,
	NOTIFY_CHECKPOINT = 6,
	WAIT_BARRIER = 8,
	MEET = 10,
	KV_SET = 16,
	KV_GET,
	KV_ADD,
	KV_COMPARE_SET,
	KV_DELETE,
	LIST_SHARDS = 28,
	TAKE_LEASE = 33,
	USE_LEASE = 34,
	MAX_TRIES = 6,
};

static struct client *find(struct sim *s, uint64_t n)
{
	struct client *c = &s->clients[n & 0xffffffff];

	return c->alive && c->life == n >> 32 ? c : NULL;
}

static void after(struct sim *s, struct client *c, int64_t ms,
		  void (*happen)(struct sim *s, void *what, uint64_t n))
{
	sim_after(s, ms, happen, NULL, (uint64_t)c->life << 32 | c->index);
}

/* ---- what a worker does ---- */

static const struct item *current(struct sim *s, const struct client *c)
{
	const struct plan *p = s->plan;
	size_t n = 0;

	for (size_t i = 0; i < p->n_items; i++)
		if (s->kept[i] && p->items[i].kind == ITEM_STEP &&
		    p->items[i].job == c->item->job && n++ == c->step)
			return &p->items[i];
	return NULL;
}

static bool is_meeting(const struct ask *ask)
{
	return ask->method == WAIT_BARRIER || ask->method == MEET;
}

static uint64_t *generation_of(struct client *c, const struct ask *ask)
{
	return &c->next[ask->group ? N_NAMES + ask->group : ask->name];
}

/* Thousands need more of it. */
static int64_t patience(struct sim *s, struct client *c)
{
	int64_t n = 2 + pick(&c->random, 20);

	return c->interval * (s->plan->n_workers[0] > 200 ? n + 30 : n);
}

static void prepare_meeting(struct sim *s, struct client *c,
			    const struct item *it, struct ask *ask)
{
	bool plain = it->what == STEP_BARRIER || c->item->simple;

	ask->method = plain ? WAIT_BARRIER : MEET;
	ask->name = it->name;
	ask->group = plain ? 0 : it->group;
	ask->kind = plain ? 0 : it->what - STEP_MEET;
	ask->policy = plain ? 0 : it->policy;
	ask->generation = *generation_of(c, ask);
	ask->in_favour = chance(&c->random, 2);
	ask->aside = !plain && !ask->group && c->random >> 60 == 0;
	ask->deadline = s->now + patience(s, c);
	if (ask->kind == ROAR__MEET_KIND__GATHER)
		(void)snprintf(ask->value, TEXT, "v%u.%u.%" PRIx64,
			       c->item->who, c->life, prng(&c->random));
}

static void prepare_key(struct sim *s, struct client *c, const struct item *it,
			struct ask *ask)
{
	uint32_t n = s->plan->n_workers[c->item->job];

	ask->name = it->name;
	if (it->what == STEP_ADD) {
		ask->method = KV_ADD;
		ask->delta = 1;
	} else if (it->what == STEP_SET) {
		ask->method = KV_SET;
		ask->name = 100 + c->item->who;
		if (chance(&c->random, 2))
			ask->ttl = c->interval * (1 + pick(&c->random, 40));
		(void)snprintf(ask->value, TEXT, "s%u.%u", c->item->who,
			       ++c->n_set);
	} else if (it->what == STEP_TAKE) {
		ask->method = c->version ? KV_DELETE : KV_COMPARE_SET;
		ask->name = 50 + it->name;
		(void)snprintf(ask->value, TEXT, "t%u", c->item->who);
	} else {
		ask->method = KV_GET;
		ask->wait = chance(&c->random, 2);
		ask->name = 100 + (c->item->who + pick(&c->random, 2)) % n;
		ask->deadline = s->now + c->interval * 5;
	}
}

/* How much of the lease is consumed by now: a part, all, or it only lives. */
static void prepare_use(struct client *c)
{
	uint64_t left = c->lent;
	int n = __builtin_popcountll(left);

	c->using = (struct ask){ .method = USE_LEASE };
	c->using.give_back = chance(&c->random, 5);
	if (!chance(&c->random, 4))
		n -= (int)pick(&c->random, (uint32_t)n + 1);
	while (n-- > 0) {
		c->using.shards |= left & -left;
		left &= left - 1;
	}
}

/* What was asked and not answered is asked again as it was. */
static void prepare_lease(struct client *c, struct ask *ask)
{
	if (ask->method == TAKE_LEASE) {
		c->n_takes += !c->taking;
		c->taking = true;
		ask->request = c->n_takes;
	}
	if (ask->method != USE_LEASE)
		return;
	if (!c->using.method)
		prepare_use(c);
	ask->version = c->lease;
	ask->shards = c->using.shards;
	ask->give_back = c->using.give_back;
}

/* All use the same id while they know of the same world; now and then one does not, or
 * has a token of a coordinator before. */
static void prepare_commit(struct sim *s, struct client *c, struct ask *ask)
{
	ask->method = COMMIT_CHECKPOINT;
	ask->session = c->session;
	ask->generation = c->step + 1;
	ask->name = (uint32_t)c->epoch * 2 + chance(&c->random, 16);
	if (c->epoch > 1 && chance(&c->random, 16))
		ask->name -= 2; /* a save of before */
	ask->version = chance(&c->random, 2) ? c->epoch : 0;
	ask->request = sim_token(s, c->server_life);
	if (chance(&c->random, 20))
		ask->request++;
	ask->kind = c->writes ? ASK_MANIFEST : ASK_PART;
	if (chance(&c->random, 12))
		ask->kind = chance(&c->random, 2) ? ASK_FAILURE : ASK_MANIFEST;
	ask->deadline = s->now + patience(s, c);
	(void)snprintf(ask->value, TEXT, "%c%u.%u",
		       ask->kind == ASK_PART ? 'p' : 'm', c->item->who,
		       c->life);
}

static void prepare_shards(struct client *c, struct ask *ask)
{
	ask->session = c->session;
	ask->method = c->lease			  ? USE_LEASE :
		      c->data == LIST_SHARDS	  ? TAKE_LEASE :
		      c->data == REGISTER_DATASET ? LIST_SHARDS :
						    REGISTER_DATASET;
	prepare_lease(c, ask);
}

static void do_step(struct sim *s, void *what, uint64_t n)
{
	struct client *c = find(s, n);
	const struct item *it = c ? current(s, c) : NULL;
	struct ask ask = { .deadline = INT64_MAX };

	(void)what;
	if (!c || !c->conn || !c->registered || c->doing.call)
		return;
	if (!it) {
		if (!c->item->what)
			return; /* stays, and sends heartbeats */
		ask.method = DEREGISTER;
		ask.session = c->session;
	} else if (it->what <= STEP_VOTE) {
		prepare_meeting(s, c, it, &ask);
		ask.session = c->session;
		if (ask.group &&
		    (c->item->who >= MAX_GROUP ||
		     !(plan_group(s->plan, c->item->job, ask.group) >>
			       c->item->who &
		       1))) {
			c->step++; /* not for this one */
			after(s, c, 1, do_step);
			return;
		}
	} else if (it->what == STEP_SAVE) {
		ask.method = NOTIFY_CHECKPOINT;
		ask.generation = c->step + 1;
	} else if (it->what == STEP_COMMIT) {
		prepare_commit(s, c, &ask);
	} else if (it->what == STEP_SHARDS) {
		prepare_shards(c, &ask);
	} else {
		prepare_key(s, c, it, &ask);
	}
	wire_send(s, c, &ask);
	c->doing = ask;
}

static void do_again(struct sim *s, struct client *c)
{
	struct ask ask = c->doing;

	if (!ask.method || !is_meeting(&ask)) {
		c->doing.call = 0;
		after(s, c, 1 + pick(&c->random, 50), do_step);
		return;
	}
	ask.deadline = s->now + patience(s, c);
	ask.session = c->session;
	wire_send(s, c, &ask);
	c->doing = ask;
}

/* Thinks better of it. */
static void give_up(struct sim *s, void *what, uint64_t n)
{
	struct client *c = find(s, n);

	(void)what;
	if (!c || !c->conn || !c->doing.call || !is_meeting(&c->doing))
		return;
	wire_cancel(s, c, c->doing.call);
	c->doing.call = 0;
	after(s, c, 1 + pick(&c->random, (uint32_t)c->interval), do_step);
}

/* ---- membership ---- */

static void beat(struct sim *s, void *what, uint64_t n)
{
	struct client *c = find(s, n);
	struct ask ask = { .method = HEARTBEAT, .deadline = INT64_MAX };

	(void)what;
	if (!c)
		return;
	after(s, c, c->interval, beat);
	if (s->now < c->paused_until || !c->conn || !c->registered)
		return;
	if (c->heartbeat && s->now - c->heartbeat_at > 3 * c->interval) {
		wire_end(s, c, 0); /* nobody seems to be there */
		client_connect_later(s, c);
		return;
	}
	if (c->heartbeat || (c->item->simple && c->doing.call))
		return;
	ask.session = c->session;
	if (c->item->random & 1) { /* all in one call */
		ask.method = STREAM_HEARTBEATS;
		ask.follows = c->stream != 0;
		ask.call = c->stream;
	}
	wire_send(s, c, &ask);
	if (c->item->random & 1)
		c->stream = ask.call;
	c->heartbeat = ask.call;
	c->heartbeat_at = s->now;
	/* Not so often that there is always one of thousands. */
	if (!c->item->simple &&
	    chance(&c->random, 40 + 10 * s->plan->n_workers[c->item->job]))
		after(s, c, 1 + pick(&c->random, 50), give_up);
}

static void join(struct sim *s, struct client *c)
{
	struct ask ask = { .method = REGISTER, .deadline = INT64_MAX };

	ask.session = c->session;
	c->registered = false;
	wire_send(s, c, &ask);
	c->joining = ask.call;
}

static void join_again(struct sim *s, void *what, uint64_t n)
{
	struct client *c = find(s, n);

	(void)what;
	if (c && c->conn && !c->registered && !c->joining)
		join(s, c);
}

static void connect_now(struct sim *s, void *what, uint64_t n)
{
	struct client *c = find(s, n);

	(void)what;
	if (!c || c->conn)
		return;
	if (!s->server.c || s->now < c->cut_until || s->now < c->paused_until) {
		client_connect_later(s, c);
		return;
	}
	c->conn = ++s->last_conn;
	c->server_life = s->server.life;
	c->sent_until = c->received_until = s->now;
	/* A simple client that had a place goes on as if nothing was. */
	if (c->item->simple && c->registered)
		do_again(s, c);
	else
		join(s, c);
}

void client_connect_later(struct sim *s, struct client *c)
{
	after(s, c, 1 + pick(&c->random, (uint32_t)c->interval), connect_now);
}

static void start(struct sim *s, void *what, uint64_t n)
{
	struct client *c = &s->clients[n];

	(void)what;
	c->alive = true;
	c->life++;
	wire_lose(c);
	c->session = 0;
	c->registered = false;
	c->doing = (struct ask){ 0 };
	c->tries = 0;
	c->version = 0;
	c->lease = c->n_takes = 0;
	c->taking = false;
	c->using.method = 0;
	c->writes = false;
	c->epoch = 0;
	c->data = 0;
	c->paused_until = 0;
	/* From where the others are, as from a checkpoint.  The first process counts uses
	 * from 1 on; a successor does not know them. */
	c->step = s->progress[c->item->job];
	for (size_t i = 0; i < N_NAMES + N_GROUPS + 1; i++)
		c->next[i] = c->life == 1;
	c->interval = s->plan->interval[c->item->job];
	sim_trace(s, "process of w%u of j%u (item %u) starts", c->item->who,
		  c->item->job, c->index);
	after(s, c, 0, connect_now);
	after(s, c, c->interval, beat);
}

static void end(struct sim *s, struct client *c)
{
	sim_trace(s, "process of w%u of j%u (item %u) ends", c->item->who,
		  c->item->job, c->index);
	wire_end(s, c, 0);
	c->alive = false;
}

/* ---- answers ---- */

/* Some want to hear of the world as it changes. */
static void watch(struct sim *s, struct client *c)
{
	struct ask ask = { .method = WATCH, .deadline = INT64_MAX };

	if (c->watch || c->item->random & 2)
		return;
	ask.session = c->session;
	wire_send(s, c, &ask);
	c->watch = ask.call;
}

static void on_joined(struct sim *s, struct client *c, const struct answer *a)
{
	c->joining = 0;
	if (a->status != COORD_OK) {
		/* A place that is taken may become free. */
		c->session = 0;
		after(s, c, 1 + pick(&c->random, (uint32_t)c->interval * 4),
		      join_again);
		return;
	}
	c->registered = true;
	if (!c->item->simple) {
		c->session = a->session;
		watch(s, c);
	}
	if (c->doing.call)
		do_again(s, c);
	else
		after(s, c, pick(&c->random, (uint32_t)c->interval), do_step);
}

static void on_heartbeat(struct sim *s, struct client *c,
			 const struct answer *a)
{
	c->heartbeat = 0;
	if (a->status != COORD_MORE)
		c->stream = 0;
	if (a->status == COORD_FAILED_PRECONDITION) {
		end(s, c); /* another has the place */
	} else if (a->status == COORD_NOT_FOUND) {
		c->session = 0;
		join(s, c);
	}
}

static void next_step(struct sim *s, struct client *c)
{
	c->step++;
	c->tries = 0;
	if (s->progress[c->item->job] < c->step)
		s->progress[c->item->job] = c->step;
	after(s, c, 1 + pick(&c->random, (uint32_t)c->interval * 2), do_step);
}

static void on_failure(struct sim *s, struct client *c, const struct ask *did,
		       const struct answer *a)
{
	bool wrong = a->status == COORD_FAILED_PRECONDITION ||
		     a->status == COORD_INVALID_ARGUMENT;

	if (is_meeting(did) && wrong)
		*generation_of(c, did) = 0;
	if (did->method == USE_LEASE && wrong)
		c->lease = 0; /* it is another's, and must not be applied */
	c->taking = false;
	c->using.method = 0;
	c->writes = false;
	if (a->status == COORD_NOT_FOUND && is_meeting(did) && !did->group) {
		c->session = 0;
		join(s, c);
	}
	if (++c->tries > MAX_TRIES) {
		if (is_meeting(did))
			*generation_of(c, did) = 0;
		next_step(s, c);
		return;
	}
	if (c->step < s->progress[c->item->job])
		c->step = s->progress[c->item->job];
	after(s, c, 1 + pick(&c->random, (uint32_t)c->interval), do_step);
}

/* With the dataset or a checkpoint: whether this step has more to do. */
static bool goes_on(struct client *c, const struct ask *did,
		    const struct answer *a)
{
	if (did->method == REGISTER_DATASET || did->method == LIST_SHARDS) {
		c->data = did->method;
		return true;
	}
	if (did->method == COMMIT_CHECKPOINT) {
		c->writes = did->kind == ASK_PART && !a->done;
		return c->writes;
	}
	if (did->method == TAKE_LEASE) {
		c->taking = false;
		c->lease = a->version;
		c->lent = a->shards;
	} else if (did->method == USE_LEASE) {
		c->using.method = 0;
		c->lent &= ~did->shards;
		c->lease = a->done ? 0 : c->lease;
	} else {
		return false;
	}
	c->data = c->lease ? c->data : REGISTER_DATASET;
	return c->lease != 0;
}

static void on_done(struct sim *s, struct client *c, const struct answer *a)
{
	struct ask did = c->doing;

	c->doing.call = 0;
	if (did.method == DEREGISTER) {
		end(s, c);
		return;
	}
	if (a->status != COORD_OK) {
		on_failure(s, c, &did, a);
		return;
	}
	if (is_meeting(&did))
		*generation_of(c, &did) = a->generation + 1;
	if (goes_on(c, &did, a)) {
		after(s, c, 1 + pick(&c->random, (uint32_t)c->interval),
		      do_step); /* and now what comes next */
		return;
	}
	if (did.method == KV_COMPARE_SET && a->done) {
		c->version = a->version;
		after(s, c, 1 + pick(&c->random, 20),
		      do_step); /* gives it back */
		return;
	}
	c->version = 0;
	next_step(s, c);
}

void client_answer(struct sim *s, uint32_t client, const struct answer *a)
{
	struct client *c = &s->clients[client];

	if (a->epoch > c->epoch)
		c->epoch = a->epoch;
	if (a->call == c->joining)
		on_joined(s, c, a);
	else if (a->call == c->watch)
		c->watch = a->status == COORD_MORE ? a->call : 0;
	else if (a->call == c->heartbeat)
		on_heartbeat(s, c, a);
	else if (a->call == c->doing.call)
		on_done(s, c, a);
}

/* ---- faults ---- */

void clients_crash(struct sim *s)
{
	for (size_t i = 0; i < s->plan->n_items; i++) {
		struct client *c = &s->clients[i];

		if (!c->alive || !c->conn)
			continue;
		wire_lose(c);
		client_connect_later(s, c);
	}
}

static void kill_it(struct sim *s, struct client *c, const struct item *item)
{
	int64_t silence = item->what ? 0 : s->plan->timeout[item->job] * 3;

	if (!c->alive)
		return;
	sim_trace(s, "process of w%u of j%u (item %u) is killed", c->item->who,
		  c->item->job, c->index);
	wire_end(s, c, silence);
	c->alive = false;
	if (item->len % 4)
		sim_after(s, item->len, start, NULL, c->index);
}

void client_fault(struct sim *s, const struct item *item)
{
	struct client *c = &s->clients[item->who];

	if (item->kind == ITEM_KILL)
		kill_it(s, c, item);
	if (!c->alive)
		return;
	sim_trace(s, "fault %d for w%u of j%u (item %u), %" PRId64 " ms",
		  (int)item->kind, c->item->who, c->item->job, c->index,
		  item->len);
	if (item->kind == ITEM_PAUSE)
		c->paused_until = s->now + item->len;
	if (item->kind == ITEM_CUT)
		c->cut_until = s->now + item->len;
	if (item->kind == ITEM_RESET && c->conn) {
		wire_end(s, c, item->what ? 0 : pick(&c->random, 500));
		client_connect_later(s, c);
	}
}

/* ---- life ---- */

void clients_start(struct sim *s)
{
	const struct plan *p = s->plan;

	s->clients = calloc(p->n_items, sizeof(*s->clients));
	for (size_t i = 0; i < p->n_items; i++) {
		struct client *c = &s->clients[i];

		c->item = &p->items[i];
		c->index = (uint32_t)i;
		c->random = c->item->random;
		if (s->kept[i] && c->item->kind == ITEM_WORKER)
			sim_after(s, c->item->at, start, NULL, i);
	}
}

void clients_stop(struct sim *s)
{
	free(s->clients);
	s->clients = NULL;
}

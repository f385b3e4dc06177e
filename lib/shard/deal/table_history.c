/* table_history.c - see table_history.h */
#include "shard/deal/table_history.h"

#include <errno.h>

#include "shard/deal/table_internal.h"
#include "shard/deal/varint.h"

void shard_history_release(struct shard_history *h)
{
	str_release(&h->deals);
	str_release(&h->next);
}

bool shard_history_is_over(const struct shard_history *h, uint32_t n_tables)
{
	uint64_t share = UINT64_C(4) * SHARD_HISTORY_STEPS /
			 (n_tables ? n_tables : 1);
	uint64_t least = UINT64_C(64) * SHARD_HISTORY_MIN_STEPS;

	if (share > SHARD_HISTORY_STEPS)
		share = SHARD_HISTORY_STEPS;
	return h->steps > (share > least ? share : least);
}

/* ---- writing ---- */

/* Who belongs into a list. */
typedef bool in_list_fn(const struct shard_table *t, uint32_t worker);

static bool has_gone(const struct shard_table *t, uint32_t worker)
{
	return t->states[worker] == WORKER_LEAVING;
}

static bool has_come(const struct shard_table *t, uint32_t worker)
{
	return t->states[worker] == WORKER_NEW;
}

/* The first number from `w` on that is in the list, or that is not. */
static uint32_t find(const struct shard_table *t, uint32_t w, in_list_fn *in,
		     bool is_in)
{
	while (w < t->n_slots && in(t, w) != is_in)
		w++;
	return w;
}

static uint64_t count_runs(const struct shard_table *t, in_list_fn *in)
{
	uint64_t n = 0;

	for (uint32_t w = find(t, 0, in, true); w < t->n_slots;
	     w = find(t, find(t, w, in, false), in, true))
		n++;
	return n;
}

static bool nobody(const struct shard_table *t, uint32_t worker)
{
	(void)t;
	(void)worker;
	return false;
}

static bool has_changed(const struct shard_table *t, uint32_t worker)
{
	return t->states[worker] == WORKER_CHANGED;
}

static void describe(struct str *out, const struct shard_table *t,
		     uint32_t worker, uint32_t end)
{
	for (; worker < end; worker++) {
		varint_put(out, t->workers[worker].weight);
		varint_put(out, t->workers[worker].home);
	}
}

static void add_list(struct str *out, const struct shard_table *t,
		     in_list_fn *in, bool is_described)
{
	uint32_t end = 0;

	varint_put(out, count_runs(t, in));
	for (uint32_t w = find(t, 0, in, true); w < t->n_slots;
	     w = find(t, end, in, true)) {
		varint_put(out, w - end);
		end = find(t, w, in, false);
		varint_put(out, end - w - 1);
		if (is_described)
			describe(out, t, w, end);
	}
}

int shard_history_note(struct shard_history *h, const struct shard_table *t,
		       bool anew)
{
	bool is_described = t->options.is_described;

	str_clear(&h->next);
	h->anew = anew || t->options.mode != SHARD_TABLE;
	add_list(&h->next, t, h->anew ? nobody : has_gone, false);
	add_list(&h->next, t, h->anew ? is_there : has_come, is_described);
	if (is_described)
		add_list(&h->next, t, h->anew ? nobody : has_changed, true);
	if (str_error(&h->next) < 0)
		return -ENOMEM;
	return str_reserve(&h->deals, h->next.len);
}

static void add_steps(struct shard_history *h, const struct shard_table *t,
		      uint64_t moved)
{
	/* With homes, who gives one goes through all it has. */
	uint64_t steps = t->n_slots + (t->options.homes ? t->n_shards : moved);

	h->steps += steps > SHARD_HISTORY_MIN_STEPS ? steps :
						      SHARD_HISTORY_MIN_STEPS;
}

void shard_history_made(struct shard_history *h, const struct shard_table *t,
			const struct shard_certificate *c)
{
	if (h->anew || !t->n_here) {
		str_clear(&h->deals);
		h->steps = 0;
	}
	if (t->n_here) {
		str_add(&h->deals, h->next.data, h->next.len);
		add_steps(h, t, h->anew ? 0 : c->moved);
	}
}

/* ---- who was there ---- */

uint32_t shard_table_n_slots(const struct shard_table *t)
{
	return t->n_slots;
}

bool shard_table_was_here(const struct shard_table *t, uint32_t worker)
{
	return t->states[worker] == WORKER_HERE ||
	       t->states[worker] == WORKER_CHANGED ||
	       t->states[worker] == WORKER_LEAVING;
}

uint64_t shard_table_key(const struct shard_table *t, uint32_t worker)
{
	return t->workers[worker].key;
}

uint32_t shard_table_n_dealt(const struct shard_table *t)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < t->n_slots; w++)
		n += shard_table_was_here(t, w);
	return n;
}

/* ---- reading ---- */

struct reader {
	const uint8_t *at, *end;
	struct shard_table *table;
	shard_key_fn *key;
	void *data;
};

static int go(struct reader *r, uint32_t worker)
{
	return shard_table_leave(r->table, worker) < 0 ? -EBADMSG : 0;
}

/* What the table is told of `worker`. */
static int take_who(struct reader *r, uint32_t worker, struct shard_worker *ret)
{
	uint64_t weight = 1, home = 0;

	*ret = (struct shard_worker){ 0 };
	if (r->key(r->data, worker, &ret->key) < 0)
		return -EBADMSG;
	if (r->table->options.is_described &&
	    (!varint_get(&r->at, r->end, &weight) ||
	     !varint_get(&r->at, r->end, &home) || !weight ||
	     weight > UINT32_MAX || home > UINT32_MAX))
		return -EBADMSG;
	ret->weight = (uint32_t)weight;
	ret->home = (uint32_t)home;
	return 0;
}

static int come(struct reader *r, uint32_t worker)
{
	struct shard_worker who;
	int e = take_who(r, worker, &who);

	if (e == 0)
		e = shard_table_join(r->table, worker, &who);
	return e < 0 && e != -ENOMEM ? -EBADMSG : e;
}

static int stay(struct reader *r, uint32_t worker)
{
	struct shard_worker who;

	if (take_who(r, worker, &who) < 0 ||
	    shard_table_change(r->table, worker, &who) < 0 ||
	    !has_changed(r->table, worker))
		return -EBADMSG;
	return 0;
}

/* The next run, behind the one that ended at *at, which moves to its end. */
static int take_run(struct reader *r, uint64_t *at,
		    int (*each)(struct reader *r, uint32_t worker))
{
	uint64_t gap, more;
	int e = 0;

	if (!varint_get(&r->at, r->end, &gap) ||
	    !varint_get(&r->at, r->end, &more) || gap >= SHARD_MAX_WORKERS ||
	    more >= SHARD_MAX_WORKERS)
		return -EBADMSG;
	*at += gap;
	for (uint64_t end = *at + more + 1; *at < end && e == 0; (*at)++)
		e = *at < SHARD_MAX_WORKERS ? each(r, (uint32_t)*at) : -EBADMSG;
	return e;
}

static int take_list(struct reader *r,
		     int (*each)(struct reader *r, uint32_t worker))
{
	uint64_t n_runs, at = 0;
	int e = varint_get(&r->at, r->end, &n_runs) ? 0 : -EBADMSG;

	for (uint64_t i = 0; e == 0 && i < n_runs; i++)
		e = take_run(r, &at, each);
	return e;
}

/* One deal: who went and came, and what followed from that. */
static int take_deal(struct shard_history *h, struct reader *r)
{
	struct shard_certificate c = { 0 };
	int e = shard_history_is_over(h, 1) ? -EBADMSG : take_list(r, go);

	if (e == 0)
		e = take_list(r, come);
	if (e == 0 && r->table->options.is_described)
		e = take_list(r, stay);
	if (e == 0 && !shard_table_is_due(r->table))
		e = -EBADMSG;
	if (e == 0)
		e = shard_history_note(h, r->table, false);
	if (e == 0)
		e = shard_table_deal(r->table, &c);
	if (e < 0)
		return e;
	shard_history_made(h, r->table, &c);
	return 0;
}

int shard_history_replay(struct shard_history *h, struct shard_table *t,
			 const void *deals, size_t len, shard_key_fn *key,
			 void *data)
{
	/* What is empty may be nowhere. */
	const uint8_t *bytes = len ? deals : (const uint8_t *)"";
	struct reader r = { .at = bytes,
			    .end = bytes + len,
			    .table = t,
			    .key = key,
			    .data = data };
	int e = 0;

	while (e == 0 && r.at < r.end)
		e = take_deal(h, &r);
	return e;
}

int shard_history_end(struct shard_table *t, uint64_t version, uint64_t hash)
{
	if (version < t->version || !version || t->hash != hash)
		return -EBADMSG;
	t->version = version;
	return 0;
}

/* table.c - life, changes and questions of a table; deal_counts.c and its neighbours move */
#include "shard/deal/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "shard/deal/table_internal.h"

/* ---- life cycle ---- */

void shard_table_free(struct shard_table *t)
{
	if (!t)
		return;
	free(t->next);
	free(t->hands);
	free(t->workers);
	free(t->states);
	free(t->tops);
	free(t->counts);
	free(t->wants);
	free(t->loads);
	work_drop(t);
	free(t);
}

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

static bool are_possible(const struct shard_options *o)
{
	return o->mode <= SHARD_RING && !(o->bytes && o->homes) &&
	       !((o->bytes || o->homes) && o->mode != SHARD_TABLE);
}

/* Sums of bytes stay below this, and nothing overflows. */
static const uint64_t max_bytes = UINT64_C(1) << 62;

static int add_up(struct shard_table *t)
{
	for (uint32_t s = 0; t->options.bytes && s < t->n_shards; s++) {
		uint64_t bytes = bytes_of(t, s);

		if (bytes > max_bytes - t->total)
			return -EINVAL;
		t->total += bytes;
		t->largest = bytes > t->largest ? bytes : t->largest;
	}
	return 0;
}

/* Most of what a large table costs at first is the memory it has not touched yet. */
static void ask_for_huge_pages(void *memory, size_t len)
{
	enum { HUGE_PAGE = 2 << 20 };
	uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) & -HUGE_PAGE;
	uintptr_t end = ((uintptr_t)memory + len) & -HUGE_PAGE;

	if (begin < end) /* a wish, which may not be granted */
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

int shard_table_new(uint32_t n_shards, const struct shard_options *options,
		    struct shard_table **ret)
{
	CLEANUP(shard_table_freep) struct shard_table *t = NULL;

	if (n_shards > SHARD_MAX_SHARDS || (options && !are_possible(options)))
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	if (options)
		t->options = *options;
	t->n_shards = n_shards;
	t->free_hand = SHARD_NONE;
	if (add_up(t) < 0)
		return -EINVAL;
	t->next = malloc(((size_t)n_shards + 1) * sizeof(*t->next));
	if (!t->next)
		return -ENOMEM;
	ask_for_huge_pages(t->next, n_shards * sizeof(*t->next));
	*ret = TAKE_PTR(t);
	return 0;
}

/* ---- changes ---- */

static int grow(void *array, size_t n, size_t size)
{
	void **p = array;
	void *bigger = realloc(*p, n * size);

	if (!bigger)
		return -ENOMEM;
	*p = bigger;
	return 0;
}

/* Room for workers below `n`, and for the hands that they may come to have. */
static int reserve(struct shard_table *t, size_t n)
{
	size_t cap = t->cap_slots + t->cap_slots / 4;

	if (n <= t->cap_slots)
		return 0;
	if (cap < n)
		cap = n < 16 ? 16 : n;
	if (grow(&t->workers, cap, sizeof(*t->workers)) < 0 ||
	    grow(&t->states, cap, sizeof(*t->states)) < 0 ||
	    grow(&t->tops, cap, sizeof(*t->tops)) < 0 ||
	    grow(&t->counts, cap, sizeof(*t->counts)) < 0 ||
	    grow(&t->wants, cap, sizeof(*t->wants)) < 0 ||
	    (t->options.bytes && grow(&t->loads, cap, sizeof(*t->loads)) < 0) ||
	    grow(&t->hands, t->n_shards / HAND + cap + 1, sizeof(*t->hands)) < 0)
		return -ENOMEM;
	t->cap_slots = cap;
	return 0;
}

static void add_slots(struct shard_table *t, uint32_t n)
{
	for (; t->n_slots < n; t->n_slots++) {
		t->workers[t->n_slots] = (struct worker){ 0 };
		t->states[t->n_slots] = WORKER_NONE;
		t->tops[t->n_slots] = SHARD_NONE;
		t->counts[t->n_slots] = 0;
		t->wants[t->n_slots] = 0;
		if (t->loads)
			t->loads[t->n_slots] = 0;
	}
}

static bool is_change(enum worker_state state)
{
	return state == WORKER_NEW || state == WORKER_CHANGED ||
	       state == WORKER_LEAVING;
}

void table_note_worker(struct shard_table *t, uint32_t worker,
		       enum worker_state state)
{
	t->n_due -= is_change(t->states[worker]);
	t->n_due += is_change(state);
	t->states[worker] = (uint8_t)state;
}

static uint32_t count_at_home(const struct shard_table *t, uint32_t worker)
{
	uint32_t n = 0;

	for (uint32_t s = shard_table_next(t, worker, SHARD_NONE);
	     t->options.homes && s != SHARD_NONE;
	     s = shard_table_next(t, worker, s))
		n += is_at_home(t, worker, s);
	return n;
}

/* Returns whether that is another weight or home than it had. */
static bool describe(struct shard_table *t, uint32_t worker,
		     const struct shard_worker *who)
{
	struct worker *w = &t->workers[worker];
	uint32_t weight = who->weight ? who->weight : 1;

	if (w->weight == weight && w->home == who->home)
		return false;
	t->n_at_home -= count_at_home(t, worker);
	w->weight = weight;
	w->home = who->home;
	t->n_weighted += weight != 1;
	t->n_at_home += count_at_home(t, worker);
	return true;
}

int shard_table_join(struct shard_table *t, uint32_t worker,
		     const struct shard_worker *who)
{
	enum worker_state was;
	bool is_other;

	if (worker >= SHARD_MAX_WORKERS)
		return -EINVAL;
	work_drop(t);
	if (reserve(t, (size_t)worker + 1) < 0)
		return -ENOMEM;
	add_slots(t, worker + 1);
	was = t->states[worker];
	/* Who leaves has shards under its key until the deal. */
	if (is_there(t, worker) ||
	    (was == WORKER_LEAVING && t->workers[worker].key != who->key))
		return -EEXIST;
	t->workers[worker].key = who->key;
	is_other = describe(t, worker, who);
	if (was != WORKER_LEAVING)
		table_note_worker(t, worker, WORKER_NEW);
	else
		table_note_worker(t, worker,
				  is_other ? WORKER_CHANGED : WORKER_HERE);
	t->total_weight += t->workers[worker].weight;
	t->n_here++;
	return 0;
}

int shard_table_leave(struct shard_table *t, uint32_t worker)
{
	if (worker >= t->n_slots || !is_there(t, worker))
		return -ENOENT;
	work_drop(t);
	table_note_worker(t, worker,
			  t->states[worker] == WORKER_NEW ? WORKER_NONE :
							    WORKER_LEAVING);
	t->total_weight -= t->workers[worker].weight;
	t->n_here--;
	return 0;
}

int shard_table_change(struct shard_table *t, uint32_t worker,
		       const struct shard_worker *who)
{
	if (worker >= t->n_slots || !is_there(t, worker) ||
	    t->workers[worker].key != who->key)
		return -ENOENT;
	work_drop(t);
	t->total_weight -= t->workers[worker].weight;
	if (describe(t, worker, who) && t->states[worker] == WORKER_HERE)
		table_note_worker(t, worker, WORKER_CHANGED);
	t->total_weight += t->workers[worker].weight;
	return 0;
}

bool shard_table_is_free(const struct shard_table *t, uint32_t worker)
{
	return worker >= t->n_slots || t->states[worker] == WORKER_NONE;
}

bool shard_table_is_due(const struct shard_table *t)
{
	return t->n_due > 0;
}

/* ---- looking ---- */

uint32_t shard_table_n_shards(const struct shard_table *t)
{
	return t->n_shards;
}

uint32_t shard_table_n_workers(const struct shard_table *t)
{
	return t->n_here;
}

uint64_t shard_table_version(const struct shard_table *t)
{
	return t->version;
}

uint64_t shard_table_hash(const struct shard_table *t)
{
	return t->hash;
}

size_t shard_table_bytes(const struct shard_table *t)
{
	size_t per_worker = sizeof(*t->workers) + sizeof(*t->states) +
			    sizeof(*t->tops) + sizeof(*t->counts) +
			    sizeof(*t->wants) +
			    (t->loads ? sizeof(*t->loads) : 0);
	size_t n_hands = t->hands ? t->n_shards / HAND + t->cap_slots + 1 : 0;

	return sizeof(*t) + (t->n_shards + (size_t)1) * sizeof(*t->next) +
	       t->cap_slots * per_worker + n_hands * sizeof(*t->hands);
}

uint32_t shard_table_owner(const struct shard_table *t, uint32_t shard)
{
	uint32_t at = shard;

	if (!t->is_dealt || shard >= t->n_shards)
		return SHARD_NONE;
	while (!(at & HAND_FLAG))
		at = t->next[at];
	return t->hands[at & ~HAND_FLAG].worker;
}

uint32_t shard_table_count(const struct shard_table *t, uint32_t worker)
{
	return worker < t->n_slots ? t->counts[worker] : 0;
}

uint32_t shard_table_next(const struct shard_table *t, uint32_t worker,
			  uint32_t shard)
{
	uint32_t hand;

	if (shard == SHARD_NONE) {
		hand = worker < t->n_slots ? t->tops[worker] : SHARD_NONE;
		return hand == SHARD_NONE ? SHARD_NONE : t->hands[hand].first;
	}
	assert(shard < t->n_shards);
	if (!(t->next[shard] & HAND_FLAG))
		return t->next[shard];
	hand = t->hands[t->next[shard] & ~HAND_FLAG].next;
	return hand == SHARD_NONE ? SHARD_NONE : t->hands[hand].first;
}

/* ---- certificates ---- */

void shard_table_certify(const struct shard_table *t,
			 struct shard_certificate *ret)
{
	struct shard_certificate c = { .version = t->version,
				       .hash = t->hash,
				       .n_workers = t->n_here,
				       .n_shards = t->n_shards,
				       .least = t->n_here ? UINT32_MAX : 0,
				       .at_home = t->n_at_home };

	c.least_bytes = t->loads && t->n_here ? UINT64_MAX : 0;
	for (uint32_t w = 0; w < t->n_slots; w++) {
		if (!is_there(t, w))
			continue;
		c.most = t->counts[w] > c.most ? t->counts[w] : c.most;
		c.least = t->counts[w] < c.least ? t->counts[w] : c.least;
		if (!t->loads)
			continue;
		if (t->loads[w] > c.most_bytes)
			c.most_bytes = t->loads[w];
		if (t->loads[w] < c.least_bytes)
			c.least_bytes = t->loads[w];
	}
	*ret = c;
}

double shard_certificate_ratio(const struct shard_certificate *c)
{
	uint64_t moved = c->most_bytes ? c->moved_bytes : c->moved;
	uint64_t minimum = c->most_bytes ? c->minimum_bytes : c->minimum;

	if (moved == minimum)
		return 1;
	return minimum ? (double)moved / (double)minimum : (double)moved;
}

/* table_store.c - the lists of a table as bytes, and back.
 *
 * A list is told as runs of shards that follow each other.  A run is two numbers, seven
 * bits in a byte, the lowest first, the top bit set in all but the last byte:
 *
 *	gap	first - (the last of the run before + 1), zigzag; before the first run: - 0
 *	more	shards of the run beyond the first
 *
 * The order of a list is part of it, because it decides which shards go first; so the
 * table that is read back behaves as the one that was written. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "shard/table_internal.h"
#include "shard/table_store.h"

/* ---- writing ---- */

static void add_number(struct str *out, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		str_addc(out, (char)(n | 0x80));
	str_addc(out, (char)n);
}

static void add_run(struct str *out, uint32_t before, uint32_t first,
		    uint32_t n)
{
	int64_t gap = (int64_t)first - before;

	add_number(out, gap < 0 ? (uint64_t)-gap * 2 - 1 : (uint64_t)gap * 2);
	add_number(out, n - 1);
}

int shard_table_store(const struct shard_table *t, uint32_t worker,
		      struct str *out)
{
	uint32_t before = 0;
	uint32_t s = shard_table_next(t, worker, SHARD_NONE);

	while (s != SHARD_NONE) {
		uint32_t first = s, n = 1;

		while ((s = shard_table_next(t, worker, s)) == first + n)
			n++;
		add_run(out, before, first, n);
		before = first + n;
	}
	return str_error(out);
}

uint32_t shard_table_n_slots(const struct shard_table *t)
{
	return t->n_slots;
}

bool shard_table_was_here(const struct shard_table *t, uint32_t worker)
{
	return t->states[worker] == WORKER_HERE ||
	       t->states[worker] == WORKER_LEAVING;
}

uint64_t shard_table_key(const struct shard_table *t, uint32_t worker)
{
	return t->workers[worker].key;
}

/* ---- reading ---- */

struct reader {
	const uint8_t *at, *end;
};

static int take_number(struct reader *r, uint64_t *ret)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 35 && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;

		n |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = n;
			return 0;
		}
	}
	return -EBADMSG;
}

/* The next run; `before` is the end of the one before. */
static int take_run(struct reader *r, uint32_t n_shards, uint32_t before,
		    uint32_t *ret_first, uint32_t *ret_end)
{
	uint64_t gap, more;
	int64_t first;

	if (take_number(r, &gap) < 0 || take_number(r, &more) < 0)
		return -EBADMSG;
	first = before +
		(gap & 1 ? -(int64_t)(gap / 2) - 1 : (int64_t)(gap / 2));
	if (first < 0 || first >= n_shards ||
	    more >= n_shards - (uint64_t)first)
		return -EBADMSG;
	*ret_first = (uint32_t)first;
	*ret_end = (uint32_t)first + (uint32_t)more + 1;
	return 0;
}

/* All shards of a list, which has at most `room`. */
static int64_t take_list(struct reader *r, uint32_t n_shards, uint32_t *shards,
			 uint32_t room)
{
	uint32_t before = 0, n = 0;

	while (r->at < r->end) {
		uint32_t first, end;

		if (take_run(r, n_shards, before, &first, &end) < 0 ||
		    end - first > room - n)
			return -EBADMSG;
		for (uint32_t s = first; s < end; s++)
			shards[n++] = s;
		before = end;
	}
	return n;
}

/* Gives a list to `worker`, if nobody has any of it yet, nor the list itself twice. */
static int give(struct shard_table *t, uint32_t worker, const uint32_t *shards,
		int64_t n)
{
	int64_t i = 0;

	while (i < n && t->next[shards[i]] == SHARD_NONE)
		t->next[shards[i++]] = HAND_FLAG; /* until it is given */
	for (int64_t k = i; k-- > 0;) {
		t->next[shards[k]] = SHARD_NONE;
		if (i == n)
			chain_push(t, worker, shards[k]);
	}
	return i == n ? 0 : -EBADMSG;
}

static void begin(struct shard_table *t)
{
	if (t->is_restoring)
		return;
	chain_clear(t);
	for (uint32_t s = 0; s < t->n_shards; s++)
		t->next[s] = SHARD_NONE;
	t->is_restoring = true;
	t->n_restored = 0;
}

static int take_and_give(struct shard_table *t, uint32_t worker,
			 const void *list, size_t len)
{
	/* An empty list may be nowhere. */
	const uint8_t *bytes = len ? list : (const uint8_t *)"";
	struct reader r = { bytes, bytes + len };
	uint32_t room = t->n_shards - t->n_restored;
	CLEANUP(freep) uint32_t *shards = NULL;
	int64_t n;
	int e;

	shards = malloc(((size_t)room + 1) * sizeof(*shards));
	if (!shards)
		return -ENOMEM;
	n = take_list(&r, t->n_shards, shards, room);
	if (n < 0)
		return -EBADMSG;
	e = give(t, worker, shards, n);
	if (e == 0)
		t->n_restored += (uint32_t)n;
	return e;
}

int shard_table_restore(struct shard_table *t, uint32_t worker, uint64_t key,
			const void *list, size_t len)
{
	struct shard_worker who = { .key = key };
	/* Who is not there now has left since the last deal. */
	bool is_gone = shard_table_is_free(t, worker);
	int r;

	if (t->version || worker >= SHARD_MAX_WORKERS)
		return -EBADMSG;
	r = is_gone ? shard_table_join(t, worker, &who) : 0;
	if (r < 0)
		return r;
	begin(t);
	r = t->workers[worker].key == key && t->states[worker] == WORKER_NEW ?
		    take_and_give(t, worker, list, len) :
		    -EBADMSG;
	if (r == 0) {
		t->states[worker] = WORKER_HERE;
		t->n_due--;
	}
	if (is_gone)
		(void)shard_table_leave(t, worker);
	return r;
}

int shard_table_restored(struct shard_table *t, uint64_t version, uint64_t hash)
{
	uint32_t n = t->is_restoring ? t->n_restored : 0;

	if (t->version || !version || (n != 0 && n != t->n_shards) ||
	    (n ? t->hash : 0) != hash)
		return -EBADMSG;
	t->version = version;
	t->is_restoring = false;
	t->is_dealt = n != 0;
	return 0;
}

/* deal_homes.c - dealing counts, with an eye on where shards are at home.
 *
 * What moves is first put aside, so that each shard can be offered to those who are
 * where it is at home before anybody else.  Of who has too many, those go first that
 * somebody who lacks some has at home, then those that are not at home where they
 * are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shard/deal/table_internal.h"

/* The index of `home` in `homes` (sorted, n of them), or n. */
static size_t home_find(const uint32_t *homes, size_t n, uint32_t home)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (homes[middle] < home)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && homes[low] == home ? low : n;
}

/* ---- who takes ---- */

void takers_release(struct takers *k)
{
	free(k->list);
	free(k->homes);
	free(k->at);
}

static int by_home(const void *a, const void *b)
{
	const struct taker *x = a, *y = b;

	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	return x->worker < y->worker ? -1 : 1;
}

static void takers_find(const struct shard_table *t, struct takers *k)
{
	for (uint32_t w = who_lacks(t, 0); w < t->n_slots;
	     w = who_lacks(t, w + 1))
		k->list[k->n++] = (struct taker){ .home = t->workers[w].home,
						  .worker = w };
	qsort(k->list, k->n, sizeof(*k->list), by_home);
	for (size_t i = 0; i < k->n; i++) {
		if (i > 0 && k->list[i].home == k->list[i - 1].home)
			continue;
		k->homes[k->n_homes] = k->list[i].home;
		k->at[k->n_homes++] = i;
	}
}

/* Gives `shard` to somebody who is where it is at home and still wants one. */
static void give_at_home(struct shard_table *t, struct takers *k,
			 uint32_t shard)
{
	size_t h = home_find(k->homes, k->n_homes, t->options.homes[shard]);

	if (h == k->n_homes)
		return;
	for (size_t *i = &k->at[h];
	     *i < k->n && k->list[*i].home == k->homes[h]; (*i)++) {
		uint32_t w = k->list[*i].worker;

		if (t->counts[w] >= t->wants[w])
			continue;
		chain_push(t, w, shard);
		return;
	}
}

/* Gives `n` shards away that nobody has: those at home first, so that the others lie
 * in front and are the first to go another time.  The last one first, so that lists begin
 * with the lowest. */
static void give(struct shard_table *t, struct takers *k,
		 const uint32_t *shards, size_t n)
{
	uint32_t to = who_lacks(t, 0);

	for (size_t i = n; i-- > 0;)
		give_at_home(t, k, shards[i]);
	for (size_t i = n; i-- > 0;) {
		if (t->next[shards[i]] != SHARD_NONE)
			continue;
		to = who_lacks(t, to);
		chain_push(t, to, shards[i]);
	}
}

/* ---- who gives what ---- */

enum { AT_HOME, ELSEWHERE, WANTED, N_WISHES };

/* How gladly `worker` gives `shard` away: most of all to where it is at home. */
static int wish(const struct shard_table *t, const struct takers *k,
		uint32_t worker, uint32_t shard)
{
	if (is_at_home(t, worker, shard))
		return AT_HOME;
	return home_find(k->homes, k->n_homes, t->options.homes[shard]) <
			       k->n_homes ?
		       WANTED :
		       ELSEWHERE;
}

/* How many of each wish go, of `n_go`: the gladdest first. */
static void choose(const uint32_t has[N_WISHES], uint32_t n_go,
		   uint32_t ret[N_WISHES])
{
	for (int i = N_WISHES; i-- > 0;) {
		ret[i] = has[i] < n_go ? has[i] : n_go;
		n_go -= ret[i];
	}
}

/* Takes what `worker` has too many of into `shards`, which has room for all it has.  The
 * others stay in their order.  Returns how many. */
static size_t give_up(struct shard_table *t, const struct takers *k,
		      uint32_t worker, uint32_t *shards)
{
	uint32_t n = t->counts[worker];
	uint32_t has[N_WISHES] = { 0 }, go[N_WISHES];
	size_t n_go = 0;

	for (uint32_t i = 0; i < n; i++) {
		shards[i] = chain_pop(t, worker);
		has[wish(t, k, worker, shards[i])]++;
	}
	choose(has, n - t->wants[worker], go);
	/* From the last on: those that stay are put back so, those that go are gathered
	 * at the end. */
	for (uint32_t i = n; i-- > 0;) {
		uint32_t shard = shards[i];
		int w = wish(t, k, worker, shard);

		/* The first of each wish go. */
		if (has[w]-- > go[w])
			chain_push(t, worker, shard);
		else
			shards[n - ++n_go] = shard;
	}
	memmove(shards, &shards[n - n_go], n_go * sizeof(*shards));
	return n_go;
}

/* What nobody has, or has too many of. */
static size_t put_aside(struct shard_table *t, const struct takers *k,
			uint32_t *shards)
{
	size_t n = 0;

	if (!t->is_dealt) {
		for (uint32_t s = 0; s < t->n_shards; s++) {
			t->next[s] = SHARD_NONE;
			shards[n++] = s;
		}
		return n;
	}
	for (uint32_t w = 0; w < t->n_slots; w++)
		if (t->counts[w] > t->wants[w])
			n += give_up(t, k, w, &shards[n]);
	return n;
}

/* ---- all of it ---- */

int deal_homes_prepare(struct shard_table *t, struct work *work)
{
	struct takers *k = &work->takers;

	k->list = calloc(t->n_slots + (size_t)1, sizeof(*k->list));
	k->homes = calloc(t->n_slots + (size_t)1, sizeof(*k->homes));
	k->at = calloc(t->n_slots + (size_t)1, sizeof(*k->at));
	return k->list && k->homes && k->at ? 0 : -ENOMEM;
}

int64_t deal_homes(struct shard_table *t, struct work *work)
{
	size_t n;

	takers_find(t, &work->takers);
	n = put_aside(t, &work->takers, work->shards);
	give(t, &work->takers, work->shards, n);
	return t->is_dealt ? (int64_t)n : 0;
}

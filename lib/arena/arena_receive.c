/* arena_receive.c - the next unit, into the hands of this process */
#include "arena/arena.h"
#include "arena/piece.h"

#include <errno.h>

#include "base/clock.h"

static int damaged(uint32_t index)
{
	return failure(-EBADMSG,
		       "unit %u of the arena is damaged and was skipped",
		       index);
}

/* Each row is read once and must lie in a unit's own room. */
static int read_rows(struct roar_arena *a, struct held_unit *h,
		     const struct arena_meta *meta)
{
	for (uint64_t i = 0; i < meta->n_rows; i++) {
		uint64_t unit = shared_load(&meta->rows[i].unit);
		uint64_t offset = shared_load(&meta->rows[i].offset);
		uint64_t len = shared_load(&meta->rows[i].len);

		if (unit >= a->map.g.n_units ||
		    !unit_has_range(&a->map, (uint32_t)unit, offset, len))
			return -EBADMSG;
		h->unit.buffers[i].data = a->map.base + offset;
		h->unit.buffers[i].len = len;
	}
	return 0;
}

static int open_unit(struct roar_arena *a, uint32_t index)
{
	struct arena_unit *u = &a->map.units[index];
	struct held_unit *h = &a->hands[index];
	struct arena_meta meta;
	int r = unit_meta(&a->map, index, &meta);

	if (r < 0)
		return damaged(index);
	r = held_unit_buffers(h, meta.n_rows);
	if (r < 0)
		return r;
	if (read_rows(a, h, &meta) < 0)
		return damaged(index);
	h->unit.envelope = a->map.base + meta.envelope_at;
	h->unit.envelope_len = meta.envelope_len;
	h->received = true;
	h->flags = shared_load(&u->flags);
	h->message = shared_load(&u->message);
	h->unit.tag = u->tag;
	h->unit.sequence = u->sequence;
	h->unit.producer = (uint32_t)shared_load(&u->producer);
	h->unit.generation = unit_generation(shared_load(&u->word));
	shared_store(&u->changed_ns, (uint64_t)clock_mono_tick_ns());
	return 0;
}

/* The next unit of anybody's, in hand.  -EAGAIN, or an error of one unit, which is
 * dropped. */
static int take(struct roar_arena *a, struct held_unit **ret)
{
	int64_t index = queue_take(&a->map, arena_me(a));
	uint64_t word;
	int r;

	if (index == -EBADMSG)
		return failure(-EBADMSG,
			       "the arena's queue is damaged: make a new one");
	if (index < 0)
		return (int)index;
	/* Ours already: somebody wrote over its word or the queue. */
	if (atomic_load(&a->hands[index].refs))
		return damaged((uint32_t)index);
	r = open_unit(a, (uint32_t)index);
	if (r == 0) {
		*ret = (struct held_unit *)held_unit_take(a, (uint32_t)index);
		return 0;
	}
	word = shared_load(&a->map.units[index].word);
	held_unit_forget(&a->hands[index]);
	unit_drop(&a->map, arena_me(a), (uint32_t)index, unit_generation(word));
	return r;
}

/* The same with messages put together. */
static int take_whole(struct roar_arena *a, struct held_unit **ret)
{
	for (;;) {
		int r = take(a, ret);

		if (r < 0 || !((*ret)->flags & UNIT_PIECE))
			return r;
		r = piece_join(a, *ret, ret);
		/* The next in the queue may be another's, who could not get at
		 * it behind this piece. */
		bell_ring(&a->map, BELL_UNITS);
		if (r)
			return r < 0 ? r : 0;
	}
}

/* ---- units that are kept while others are asked for ---- */

static struct held_unit *find_kept(struct roar_arena *a, uint32_t from)
{
	struct held_unit **at = &a->kept;
	struct held_unit *h;

	if (!atomic_load(&a->n_kept))
		return NULL;
	(void)pthread_mutex_lock(&a->lock);
	while (*at && from != ROAR_ARENA_ANY && (*at)->unit.producer != from)
		at = &(*at)->next;
	h = *at;
	if (h) {
		*at = h->next;
		atomic_fetch_sub(&a->n_kept, 1);
	}
	(void)pthread_mutex_unlock(&a->lock);
	return h;
}

/* Another thread may wait for this one. */
static void keep(struct roar_arena *a, struct held_unit *h)
{
	struct held_unit **at = &a->kept;

	(void)pthread_mutex_lock(&a->lock);
	while (*at)
		at = &(*at)->next;
	h->next = NULL;
	*at = h;
	atomic_fetch_add(&a->n_kept, 1);
	(void)pthread_mutex_unlock(&a->lock);
	bell_ring(&a->map, BELL_UNITS);
}

static int try(struct roar_arena *a, uint32_t from,
	       struct roar_arena_unit **ret)
{
	struct held_unit *h = find_kept(a, from);
	int r = 0;

	while (!h) {
		r = take_whole(a, &h);
		if (r < 0)
			return r;
		if (from == ROAR_ARENA_ANY || h->unit.producer == from)
			break;
		keep(a, h);
		h = NULL;
	}
	*ret = &h->unit;
	return 0;
}

API int roar_arena_receive(struct roar_arena *a, uint32_t from,
			   long long timeout_ns, struct roar_arena_unit **ret)
{
	struct arena_wait pause;
	int r = arena_check(a, ROAR_ARENA_CONSUMER);

	if (r < 0)
		return r;
	if (from != ROAR_ARENA_ANY && from >= ARENA_PARTIES)
		return failure(-EINVAL, "%u is not the number of a producer",
			       from);
	r = try(a, from, ret);
	if (r == -EAGAIN) {
		arena_wait_begin(&pause, a, BELL_UNITS, timeout_ns);
		pause.from = from;
		while ((r = arena_wait_next(&pause)) == 0)
			if ((r = try(a, from, ret)) != -EAGAIN)
				break;
		arena_wait_end(&pause);
	}
	if (r == 0)
		shared_count(&arena_counts(a)->received, 1);
	return r;
}

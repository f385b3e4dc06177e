/* receive.c - the next unit, into the hands of this process */
#include "arena/arena.h"

#include <errno.h>
#include <stdlib.h>

static int damaged(uint32_t index)
{
	return failure(-EBADMSG,
		       "unit %u of the arena is damaged and was dropped",
		       index);
}

/* Each row is read once and must lie in a unit's own room. */
static int read_rows(struct roar_arena *a, struct hand *h,
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
	const struct arena_unit *u = &a->map.units[index];
	struct hand *h = &a->hands[index];
	struct arena_meta meta;
	int r = unit_meta(&a->map, index, &meta);

	if (r < 0)
		return damaged(index);
	r = hand_buffers(h, meta.n_rows);
	if (r < 0)
		return r;
	if (read_rows(a, h, &meta) < 0)
		return damaged(index);
	h->unit.envelope = a->map.base + meta.envelope_at;
	h->unit.envelope_len = meta.envelope_len;
	h->unit.tag = u->tag;
	h->unit.sequence = u->sequence;
	h->unit.producer = (uint32_t)u->producer;
	h->unit.generation = unit_generation(shared_load(&u->word));
	return 0;
}

/* 0 with a unit, -EAGAIN, or an error of one unit, which is dropped. */
static int try(struct roar_arena *a, struct roar_arena_unit **ret)
{
	int64_t index = queue_take(&a->map, arena_me(a));
	struct hand *h;
	int r;

	if (index == -EBADMSG)
		return failure(-EBADMSG,
			       "the arena's queue is damaged: make a new one");
	if (index < 0)
		return (int)index;
	h = &a->hands[index];
	r = open_unit(a, (uint32_t)index);
	if (r < 0) {
		uint64_t word = shared_load(&a->map.units[index].word);

		hand_forget(h);
		unit_drop(&a->map, arena_me(a), (uint32_t)index,
			  unit_generation(word));
		return r;
	}
	*ret = hand_take(a, (uint32_t)index);
	return 0;
}

API int roar_arena_receive(struct roar_arena *a, uint32_t from,
			   long long timeout_ns, struct roar_arena_unit **ret)
{
	struct pause pause;
	int r = arena_check(a, ROAR_ARENA_CONSUMER);

	(void)from;
	if (r < 0)
		return r;
	r = try(a, ret);
	if (r == -EAGAIN) {
		pause_begin(&pause, a, BELL_UNITS, timeout_ns);
		while ((r = pause_next(&pause)) == 0)
			if ((r = try(a, ret)) != -EAGAIN)
				break;
		pause_end(&pause);
	}
	if (r == 0)
		shared_count(&arena_counts(a)->received, 1);
	return r;
}

/* arena_reserve.c - room for a unit, filled in place and committed */
#include "arena/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Where everything of a unit goes: table, envelope, buffers, each aligned.  All that fits
 * goes into the inline room; else the buffers go to the data, and the table and envelope only
 * if they have to. */
struct plan {
	const struct roar_arena_part *parts;
	size_t n_parts;
	size_t envelope_len;
	uint64_t table_bytes; /* aligned */
	uint64_t meta_bytes; /* table and envelope, aligned */
	uint64_t own_bytes; /* of buffers of its own, aligned */
	uint64_t data_bytes; /* of both, outside of the inline room */
	uint64_t flags;
	const struct piece_of *piece;
};

static int too_large(const struct roar_arena *a)
{
	return failure(
		-EMSGSIZE,
		"the unit is larger than the %llu bytes a unit can have in this arena: send it with roar_arena_send(), or make a larger arena",
		(unsigned long long)geometry_unit_room(&a->map.g, a->share));
}

/* `in` must be a unit of ours that is reserved and not committed. */
static int check_part(const struct roar_arena *a,
		      const struct roar_arena_part *part)
{
	const struct roar_arena_unit *in = part->in;
	uint64_t word;

	if (in->arena != a || in->index >= a->map.g.n_units ||
	    !atomic_load(&a->hands[in->index].refs))
		return failure(
			-EINVAL,
			"a part of the unit is not in a unit that this handle reserved");
	word = shared_load(&a->map.units[in->index].word);
	if (unit_state(word) != UNIT_WRITING || unit_owner(word) != arena_me(a))
		return failure(
			-EINVAL,
			"a part of the unit is in unit %u, which is committed already: reserve another one",
			in->index);
	if (a->hands[in->index].n_children)
		return failure(
			-EINVAL,
			"a part of the unit is in unit %u, which has parts in others itself",
			in->index);
	if (in->n_buffers < 1 || part->offset > in->buffers[0].len ||
	    part->len > in->buffers[0].len - part->offset)
		return failure(
			-EINVAL,
			"a part of the unit is not within the first buffer of unit %u",
			in->index);
	return 0;
}

static int plan_parts(const struct roar_arena *a, struct plan *p)
{
	for (size_t i = 0; i < p->n_parts; i++) {
		int r = 0;

		if (p->parts[i].in) {
			p->flags |= UNIT_PARENT;
			r = check_part(a, &p->parts[i]);
		} else if (arena_add_aligned(&p->own_bytes, p->parts[i].len)) {
			r = too_large(a);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int plan(const struct roar_arena *a, struct plan *p)
{
	uint64_t inline_bytes = a->map.g.inline_bytes;
	int r = plan_parts(a, p);

	if (r < 0)
		return r;
	if (p->n_parts > UINT64_MAX / 2 / sizeof(struct arena_row) ||
	    arena_add_aligned(&p->table_bytes,
			      p->n_parts * sizeof(struct arena_row)))
		return too_large(a);
	p->meta_bytes = p->table_bytes;
	if (arena_add_aligned(&p->meta_bytes, p->envelope_len))
		return too_large(a);
	if (p->meta_bytes > inline_bytes)
		p->flags |= UNIT_META_OUTSIDE;
	if (p->meta_bytes > inline_bytes ||
	    p->own_bytes > inline_bytes - p->meta_bytes)
		p->data_bytes = p->own_bytes;
	if (p->flags & UNIT_META_OUTSIDE &&
	    __builtin_add_overflow(p->data_bytes, p->meta_bytes, &p->data_bytes))
		return too_large(a);
	if (p->data_bytes > geometry_unit_room(&a->map.g, a->share))
		return too_large(a);
	return 0;
}

/* ---- getting it ---- */

/* A place that was claimed is kept while there is no room for its data: to give it back
 * would wake others for nothing. */
static int try(struct roar_arena *a, const struct plan *p, bool thorough,
	       int64_t *unit)
{
	const struct arena_map *m = &a->map;

	if (m->g.flags & ROAR_ARENA_BROADCAST &&
	    !shared_load(&m->header->consumers))
		return -EAGAIN;
	if (*unit < 0)
		*unit = unit_claim(m, arena_me(a), a->share, thorough);
	if (*unit < 0)
		return (int)*unit;
	if (!p->data_bytes || m->g.segment_bytes)
		return 0;
	return block_claim(m, (uint32_t)*unit, a->share, p->data_bytes);
}

static int claim(struct roar_arena *a, const struct plan *p,
		 long long timeout_ns, uint32_t *ret)
{
	struct arena_wait pause;
	int64_t unit = -1;
	int r;

	if (shared_load32(&a->map.header->shutdown))
		return failure(-EPIPE,
			       "the arena has been shut down: make a new one");
	r = try(a, p, false, &unit);
	if (r == -EAGAIN) {
		arena_wait_begin(&pause, a, BELL_ROOM, timeout_ns);
		while ((r = arena_wait_next(&pause)) == 0)
			if ((r = try(a, p, true, &unit)) != -EAGAIN)
				break;
		arena_wait_end(&pause);
	}
	if (r < 0 && unit >= 0)
		unit_free(&a->map, arena_me(a), (uint32_t)unit);
	if (r == 0)
		*ret = (uint32_t)unit;
	return r;
}

/* ---- filling in ---- */

static struct arena_row row_of(const struct roar_arena *a, uint32_t index,
			       const struct roar_arena_part *part, uint64_t *at)
{
	struct arena_row row = { .unit = index,
				 .offset = *at,
				 .len = part->len };

	if (part->in) {
		unsigned char *data = part->in->buffers[0].data;

		row.unit = part->in->index;
		row.offset = (uint64_t)(data + part->offset - a->map.base);
		return row;
	}
	(void)arena_add_aligned(at, part->len);
	return row;
}

static void write_rows(struct roar_arena *a, uint32_t index,
		       const struct plan *p, struct arena_row *rows,
		       uint64_t at)
{
	struct roar_arena_buffer *buffers = a->hands[index].unit.buffers;
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->n_parts; i++) {
		struct arena_row row = row_of(a, index, &p->parts[i], &at);

		rows[i] = row;
		buffers[i].data = a->map.base + row.offset;
		buffers[i].len = row.len;
		bytes += row.len;
	}
	a->map.units[index].bytes = bytes;
}

static void fill_in(struct roar_arena *a, uint32_t index, const struct plan *p)
{
	struct arena_unit *u = &a->map.units[index];
	struct roar_arena_unit *unit = &a->hands[index].unit;
	uint64_t room;
	uint64_t data = unit_room(&a->map, index, &room);
	uint64_t meta = p->flags & UNIT_META_OUTSIDE ?
				data :
				unit_inline_at(&a->map, index);

	if (!p->data_bytes)
		data = meta + p->meta_bytes;
	else if (p->flags & UNIT_META_OUTSIDE)
		data += p->meta_bytes;
	write_rows(a, index, p, (void *)(a->map.base + meta), data);
	u->n_buffers = p->n_parts;
	u->envelope_len = p->envelope_len;
	/* Others look at these two before the unit is theirs. */
	shared_store(&u->producer, arena_me(a));
	shared_store(&u->message, p->piece ? p->piece->message : 0);
	if (p->piece)
		u->sequence = p->piece->sequence;
	shared_store(&u->changed_ns, (uint64_t)clock_mono_tick_ns());
	shared_store(&u->flags, p->flags);
	unit->envelope = a->map.base + meta + p->table_bytes;
	unit->envelope_len = p->envelope_len;
	unit->generation = unit_generation(shared_load(&u->word));
	unit->producer = arena_me(a);
}

/* The units that go with this one, each once. */
static int list_children(struct held_unit *h, const struct plan *p)
{
	if (!(p->flags & UNIT_PARENT))
		return 0;
	h->children = calloc(p->n_parts, sizeof(*h->children));
	if (!h->children)
		return failure(-ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_parts; i++) {
		uint32_t j = 0;

		if (!p->parts[i].in)
			continue;
		while (j < h->n_children &&
		       h->children[j] != p->parts[i].in->index)
			j++;
		if (j == h->n_children)
			h->children[h->n_children++] = p->parts[i].in->index;
	}
	return 0;
}

int arena_reserve(struct roar_arena *a, const struct roar_arena_part *parts,
		  size_t n_parts, size_t envelope_len,
		  const struct piece_of *piece, long long timeout_ns,
		  struct roar_arena_unit **ret)
{
	struct plan p = { .parts = parts,
			  .n_parts = n_parts,
			  .envelope_len = envelope_len,
			  .piece = piece };
	struct held_unit *h;
	uint32_t index = 0;
	int r = arena_check(a, ROAR_ARENA_PRODUCER);

	if (piece)
		p.flags = UNIT_PIECE | (piece->first ? UNIT_FIRST : 0);
	if (r == 0)
		r = plan(a, &p);
	if (r == 0)
		r = claim(a, &p, timeout_ns, &index);
	if (r < 0)
		return r;
	h = &a->hands[index];
	if (atomic_load(&h->refs))
		return failure(
			-EBADMSG,
			"unit %u of the arena is damaged: it is in use and marked as free",
			index);
	r = held_unit_buffers(h, n_parts);
	if (r == 0)
		r = list_children(h, &p);
	if (r < 0) {
		held_unit_forget(h);
		unit_free(&a->map, arena_me(a), index);
		return r;
	}
	fill_in(a, index, &p);
	*ret = held_unit_take(a, index);
	return 0;
}

API int roar_arena_reserve(struct roar_arena *a,
			   const struct roar_arena_part *parts, size_t n_parts,
			   size_t envelope_len, long long timeout_ns,
			   struct roar_arena_unit **ret)
{
	return arena_reserve(a, parts, n_parts, envelope_len, NULL, timeout_ns,
			     ret);
}

/* ---- committing ---- */

static int check_commit(struct roar_arena *a, const struct held_unit *h)
{
	const struct arena_map *m = &a->map;
	uint64_t word = shared_load(&m->units[h->unit.index].word);
	int r = arena_check(a, ROAR_ARENA_PRODUCER);

	if (r < 0)
		return r;
	if (unit_state(word) != UNIT_WRITING || unit_owner(word) != arena_me(a))
		return failure(
			-EINVAL,
			"unit %u is not one that this handle reserved: it cannot be committed",
			h->unit.index);
	if (atomic_load(&h->refs) != 1)
		return failure(
			-EBUSY,
			"unit %u is retained elsewhere: send it as a part of another unit",
			h->unit.index);
	for (uint32_t i = 0; i < h->n_children; i++) {
		word = shared_load(&m->units[h->children[i]].word);
		if (!atomic_load(&a->hands[h->children[i]].refs) ||
		    unit_state(word) != UNIT_WRITING ||
		    unit_owner(word) != arena_me(a))
			return failure(
				-EINVAL,
				"unit %u is part of unit %u and was released or committed before it",
				h->children[i], h->unit.index);
	}
	if (shared_load32(&m->header->shutdown))
		return failure(-EPIPE,
			       "the arena has been shut down: make a new one");
	return 0;
}

/* Hands `unit` and its children over.  -EBADMSG: all of them are ours as before. */
static int publish(struct roar_arena *a, uint32_t unit,
		   const uint32_t *children, uint32_t n_children)
{
	unsigned me = arena_me(a);
	int r;

	for (uint32_t i = 0; i < n_children; i++)
		unit_adopt(&a->map, me, children[i], unit);
	r = unit_publish(&a->map, me, unit);
	for (uint32_t i = 0; r < 0 && i < n_children; i++)
		unit_disown(&a->map, me, children[i]);
	return r;
}

API int roar_arena_commit(struct roar_arena_unit *unit, uint64_t tag)
{
	struct held_unit *h = (struct held_unit *)unit;
	struct roar_arena *a = unit->arena;
	uint32_t index = unit->index;
	struct arena_unit *u;
	struct held_memory was;
	uint64_t bytes;
	int r = check_commit(a, h);

	if (r < 0)
		return r;
	u = &a->map.units[index];
	u->tag = tag;
	if (!(u->flags & UNIT_PIECE))
		u->sequence = atomic_fetch_add(&a->sequence, 1);
	shared_store(&u->changed_ns, (uint64_t)clock_mono_tick_ns());
	bytes = u->bytes;
	/* Once it is published it may come back to us on another thread. */
	was = held_unit_put_down(h);
	r = publish(a, index, was.children, was.n_children);
	if (r < 0) {
		held_unit_pick_up(h, &was);
		return failure(r,
			       "the arena's queue is damaged: make a new one");
	}
	for (uint32_t i = 0; i < was.n_children; i++)
		roar_arena_release(&a->hands[was.children[i]].unit);
	held_memory_free(h, &was);
	shared_count(&arena_counts(a)->committed, 1);
	shared_count(&arena_counts(a)->committed_bytes, bytes);
	arena_unref(a);
	return 0;
}

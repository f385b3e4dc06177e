/* order.c - see order.h
 *
 * Without the short shard all would be division: block = position / (window *
 * shard_size).  With it, everything behind it comes earlier by what it is short of.
 * So both places where shards lie one behind the other, the epoch and the block,
 * are treated as if all shards were whole, and what lies behind the end of the short
 * one is shifted by what is missing: stretch() and shrink() go from one count to the
 * other. */
#include "shard/order/order.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "shard/order/splitmix.h"

enum order_block { WHOLE, SHORT, LAST };

enum { KNOWN_MAX = 256 }; /* shards of a block that are looked up once */

/* One block of the epoch at hand. */
struct block {
	const struct permutation *perm; /* of its samples */
	uint64_t tweak;
	uint64_t first_slot;
	uint64_t start; /* position of its first sample */
	const uint64_t *known; /* its shards, by slot; NULL: look each up */
};

/* ---- what an order follows from ---- */

static uint64_t epoch_key(const struct order_spec *spec)
{
	size_t len = strlen(spec->dataset);
	uint64_t h = splitmix64(len);

	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = 0;

		for (size_t k = i; k < len && k < i + 8; k++)
			word |= (uint64_t)(uint8_t)spec->dataset[k]
				<< 8 * (k - i);
		h = splitmix64(h ^ word);
	}
	return splitmix64(splitmix64(h ^ spec->seed) + spec->epoch);
}

static int check(const struct order_spec *spec, struct roar_error *err)
{
	if (strlen(spec->dataset) > ORDER_NAME_MAX)
		return error_set(err, -EINVAL,
				 "the name of the dataset has %zu bytes: "
				 "give one of at most %d",
				 strlen(spec->dataset), ORDER_NAME_MAX);
	if (!spec->n_samples || spec->n_samples > INT64_MAX)
		return error_set(err, -EINVAL,
				 "dataset '%.200s' has %" PRIu64
				 " samples: give a number from 1 to 2^63 - 1",
				 spec->dataset, spec->n_samples);
	if (spec->shard_size > INT64_MAX)
		return error_set(err, -EINVAL,
				 "dataset '%.200s' has %" PRIu64
				 " samples in a shard: give a number below 2^63",
				 spec->dataset, spec->shard_size);
	if (spec->window && !spec->shard_size)
		return error_set(err, -EINVAL,
				 "dataset '%.200s' is to be shuffled in blocks "
				 "of shards, but has none: give it a shard size",
				 spec->dataset);
	return 0;
}

/* ---- blocks ---- */

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Between the count of real samples and that of samples if all shards were whole,
 * where the short one is number `slot`. */
static uint64_t stretch(const struct order *o, uint64_t at, uint64_t slot)
{
	uint64_t end = (slot + 1) * o->shard_size - o->missing;

	return at >= end ? at + o->missing : at;
}

static uint64_t shrink(const struct order *o, uint64_t at, uint64_t slot)
{
	return at >= (slot + 1) * o->shard_size ? at - o->missing : at;
}

static uint64_t short_block(const struct order *o)
{
	return o->short_slot / o->window;
}

static uint64_t last_block(const struct order *o)
{
	return (o->n_shards - 1) / o->window;
}

static void block_find(const struct order *o, uint64_t slot, struct block *ret)
{
	uint64_t index = slot / o->window;

	ret->known = NULL;
	ret->first_slot = index * o->window;
	ret->start = shrink(o, ret->first_slot * o->shard_size, o->short_slot);
	ret->tweak = splitmix64(index + 1);
	ret->perm = &o->blocks[index == last_block(o)  ? LAST :
			       index == short_block(o) ? SHORT :
							 WHOLE];
}

static bool has_short(const struct order *o, const struct block *b)
{
	return o->missing && b->first_slot / o->window == short_block(o);
}

/* The sample at an offset among the permuted ones of a block. */
static uint64_t block_sample(const struct order *o, const struct block *b,
			     uint64_t at)
{
	uint64_t slot;
	uint64_t shard;

	if (has_short(o, b))
		at = stretch(o, at, o->short_slot - b->first_slot);
	slot = at / o->shard_size;
	shard = b->known ? b->known[slot] :
			   permutation_at(&o->shards, b->first_slot + slot, 0);
	return shard * o->shard_size + at % o->shard_size;
}

static void block_of_position(const struct order *o, uint64_t position,
			      struct block *ret)
{
	block_find(o, stretch(o, position, o->short_slot) / o->shard_size, ret);
}

static uint64_t block_position(const struct order *o, uint64_t sample)
{
	uint64_t slot = permutation_inverse(&o->shards, sample / o->shard_size,
					    0);
	struct block b;
	uint64_t at;

	block_find(o, slot, &b);
	at = (slot - b.first_slot) * o->shard_size + sample % o->shard_size;
	if (has_short(o, &b))
		at = shrink(o, at, o->short_slot - b.first_slot);
	return b.start + permutation_inverse(b.perm, at, b.tweak);
}

/* Samples of the last block, and of the one with the short shard. */
static void init_blocks(struct order *o, uint64_t key)
{
	uint64_t whole = o->window * o->shard_size;
	uint64_t last_slots = o->n_shards - last_block(o) * o->window;
	uint64_t last = last_slots * o->shard_size;

	if (short_block(o) == last_block(o))
		last -= o->missing;
	permutation_init(&o->blocks[LAST], last, key);
	if (!last_block(o))
		return; /* it is the only one */
	permutation_init(&o->blocks[WHOLE], whole, key);
	permutation_init(&o->blocks[SHORT], whole - o->missing, key);
}

/* ---- the order ---- */

/* A window of all shards is a block of all samples.  A dataset of one shard has
 * nothing but its samples; neither takes more than that. */
static void init_shards(struct order *o, const struct order_spec *spec)
{
	assert(spec->n_samples && spec->shard_size);

	o->shard_size = min64(spec->shard_size, spec->n_samples);
	o->n_shards = (spec->n_samples - 1) / o->shard_size + 1;
	o->window = min64(spec->window, o->n_shards);
	o->missing = o->n_shards * o->shard_size - spec->n_samples;
}

int order_init(struct order *o, const struct order_spec *spec,
	       struct roar_error *err)
{
	uint64_t key = epoch_key(spec);
	int r = check(spec, err);

	if (r < 0)
		return r;
	*o = (struct order){ .n_samples = spec->n_samples,
			     .sequential = spec->sequential };
	if (!spec->window) {
		permutation_init(&o->shards, spec->n_samples, key);
		return 0;
	}
	init_shards(o, spec);
	permutation_init(&o->shards, o->n_shards, key);
	o->short_slot = permutation_inverse(&o->shards, o->n_shards - 1, 0);
	init_blocks(o, key + 1);
	return 0;
}

uint64_t order_at(const struct order *o, uint64_t position)
{
	struct block b;

	assert(position < o->n_samples);
	if (o->sequential)
		return position;
	if (!o->window)
		return permutation_at(&o->shards, position, 0);
	block_of_position(o, position, &b);
	return block_sample(
		o, &b, permutation_at(b.perm, position - b.start, b.tweak));
}

uint64_t order_position(const struct order *o, uint64_t sample)
{
	assert(sample < o->n_samples);
	if (o->sequential)
		return sample;
	if (!o->window)
		return permutation_inverse(&o->shards, sample, 0);
	return block_position(o, sample);
}

/* Looks the shards of a block up, where that is less work than to do it for each of
 * `count` samples. */
static void know_shards(const struct order *o, struct block *b, size_t count,
			uint64_t room[KNOWN_MAX])
{
	uint64_t n = min64(o->window, o->n_shards - b->first_slot);

	if (n > count || n > KNOWN_MAX)
		return;
	permutation_fill(&o->shards, b->first_slot, (size_t)n, 0, room);
	b->known = room;
}

static void fill_in_turn(uint64_t first, size_t count, uint64_t *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = first + i;
}

/* As many of the positions from `first` on as are in one block. */
static size_t fill_block(const struct order *o, uint64_t first, size_t count,
			 uint64_t *ret)
{
	uint64_t room[KNOWN_MAX];
	struct block b;
	size_t n;

	block_of_position(o, first, &b);
	n = (size_t)min64(count, b.perm->n - (first - b.start));
	permutation_fill(b.perm, first - b.start, n, b.tweak, ret);
	know_shards(o, &b, n, room);
	for (size_t i = 0; i < n; i++)
		ret[i] = block_sample(o, &b, ret[i]);
	return n;
}

void order_fill(const struct order *o, uint64_t first, size_t count,
		uint64_t *ret)
{
	assert(count <= o->n_samples && first <= o->n_samples - count);
	if (o->sequential) {
		fill_in_turn(first, count, ret);
	} else if (!o->window) {
		permutation_fill(&o->shards, first, count, 0, ret);
	} else {
		for (size_t n; count; count -= n, first += n, ret += n)
			n = fill_block(o, first, count, ret);
	}
}

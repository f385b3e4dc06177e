/* b3_plain.c - BLAKE3's compression in plain C; see b3_internal.h
 *
 * For systems that have BLAKE3 as a library only: it hides its own.  Words of four
 * inputs lie side by side in vectors of 16 bytes, which every CPU that matters
 * has; wider ones would have to be chosen at run time.  So leaves take several
 * times as long as with b3_kernel.c. */
#include <string.h>

#include "base/byte_order.h"
#include "hash/blake3/b3_internal.h"

enum { N_ROUNDS = 7, N_LANES = 4 };

typedef uint32_t lanes __attribute__((vector_size(4 * N_LANES)));

/* What a compression is told, by lane. */
struct node {
	const uint8_t *blocks[N_LANES];
	lanes counter_low, counter_high;
	uint32_t len, flags; /* of all */
};

static lanes all(uint32_t x)
{
	return (lanes){ x, x, x, x };
}

static lanes turn(lanes x, int n)
{
	return x >> n | x << (32 - n);
}

/* Mixes two words of the message into four of the state. */
static inline void mix(lanes *a, lanes *b, lanes *c, lanes *d,
		       const lanes words[2])
{
	*a += *b + words[0];
	*d = turn(*d ^ *a, 16);
	*c += *d;
	*b = turn(*b ^ *c, 12);
	*a += *b + words[1];
	*d = turn(*d ^ *a, 8);
	*c += *d;
	*b = turn(*b ^ *c, 7);
}

/* The columns of the state as a square of four by four, then its diagonals.
 * Written out, because a table of places would keep the state out of
 * registers. */
static inline void mix_round(lanes v[16], const lanes words[16])
{
	mix(&v[0], &v[4], &v[8], &v[12], words);
	mix(&v[1], &v[5], &v[9], &v[13], words + 2);
	mix(&v[2], &v[6], &v[10], &v[14], words + 4);
	mix(&v[3], &v[7], &v[11], &v[15], words + 6);
	mix(&v[0], &v[5], &v[10], &v[15], words + 8);
	mix(&v[1], &v[6], &v[11], &v[12], words + 10);
	mix(&v[2], &v[7], &v[8], &v[13], words + 12);
	mix(&v[3], &v[4], &v[9], &v[14], words + 14);
}

/* Every round takes the words of the message in another order. */
static void reorder(lanes words[16])
{
	static const uint8_t from[16] = { 2, 6,	 3,  10, 7, 0,	4,  13,
					  1, 11, 12, 5,	 9, 14, 15, 8 };
	lanes old[16];

	memcpy(old, words, sizeof(old));
	for (int i = 0; i < 16; i++)
		words[i] = old[from[i]];
}

static void compress(lanes state[8], const struct node *node)
{
	lanes words[16];
	lanes v[16];

	for (int i = 0; i < 16; i++)
		for (int lane = 0; lane < N_LANES; lane++)
			words[i][lane] = le32_get(node->blocks[lane] + 4 * i);
	memcpy(v, state, 8 * sizeof(*v));
	for (int i = 0; i < 4; i++)
		v[8 + i] = all(b3_iv[i]);
	v[12] = node->counter_low;
	v[13] = node->counter_high;
	v[14] = all(node->len);
	v[15] = all(node->flags);
	for (int i = 0; i < N_ROUNDS; i++) {
		mix_round(v, words);
		reorder(words);
	}
	for (int i = 0; i < 8; i++)
		state[i] = v[i] ^ v[i + 8];
}

/* The same in all lanes: the one block at the end of a message may cost that. */
void b3_compress(uint32_t state[8], const uint8_t block[B3_BLOCK], uint8_t len,
		 uint64_t counter, uint8_t flags)
{
	struct node node = { .blocks = { block, block, block, block },
			     .counter_low = all((uint32_t)counter),
			     .counter_high = all((uint32_t)(counter >> 32)),
			     .len = len,
			     .flags = flags };
	lanes wide[8];

	for (int i = 0; i < 8; i++)
		wide[i] = all(state[i]);
	compress(wide, &node);
	for (int i = 0; i < 8; i++)
		state[i] = wide[i][0];
}

/* All blocks of the inputs of `node`, one after the other. */
static void run_blocks(struct node *node, const struct b3_pass *pass,
		       lanes state[8])
{
	for (int i = 0; i < 8; i++)
		state[i] = all(b3_iv[i]);
	for (size_t i = 0; i < pass->n_blocks; i++) {
		node->flags = pass->flags;
		if (i == 0)
			node->flags |= pass->first;
		if (i == pass->n_blocks - 1)
			node->flags |= pass->last;
		compress(state, node);
		for (int lane = 0; lane < N_LANES; lane++)
			node->blocks[lane] += B3_BLOCK;
	}
}

static void put_lane(uint8_t *value, const lanes state[8], size_t lane)
{
	uint32_t words[8];

	for (int i = 0; i < 8; i++)
		words[i] = state[i][lane];
	b3_put_state(value, words);
}

/* Up to N_LANES inputs from number `first` on; spare lanes repeat the last. */
static void run_lanes(const uint8_t *const *inputs, size_t n, size_t first,
		      const struct b3_pass *pass, uint8_t *values)
{
	struct node node = { .len = B3_BLOCK };
	lanes state[8];

	for (size_t lane = 0; lane < N_LANES; lane++) {
		size_t i = first + lane < n ? first + lane : n - 1;
		uint64_t counter = pass->counter + (pass->counts ? i : 0);

		node.blocks[lane] = inputs[i];
		node.counter_low[lane] = (uint32_t)counter;
		node.counter_high[lane] = (uint32_t)(counter >> 32);
	}
	run_blocks(&node, pass, state);
	for (size_t lane = 0; lane < N_LANES && first + lane < n; lane++)
		put_lane(values + (first + lane) * BLAKE3_LEN, state, lane);
}

void b3_many(const uint8_t *const *inputs, size_t n, const struct b3_pass *pass,
	     uint8_t *values)
{
	for (size_t first = 0; first < n; first += N_LANES)
		run_lanes(inputs, n, first, pass, values);
}

/* b3_tree.c - the tree over chunks and over values; see b3_internal.h
 *
 * By the book one joins the first two values, keeps what comes out, and again.
 * That compresses one block at a time.  Here a group of values is joined level by
 * level, so that the vector unit is full for all but the last few joins of 255;
 * an odd value at the end of a level moves up as it is, which is just what the
 * tree asks for.  Only the values of whole groups are joined by the book. */
#include <assert.h>
#include <string.h>

#include "base/byte_order.h"
#include "hash/blake3/b3_internal.h"

enum { MAX_DEPTH = 64 };

/* The values that wait for a neighbour, from the largest subtree to the
 * smallest. */
struct spine {
	uint64_t n_groups; /* that went in */
	size_t n;
	uint8_t values[MAX_DEPTH * BLAKE3_LEN];
};

const uint32_t b3_iv[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

void b3_put_state(uint8_t *value, const uint32_t state[8])
{
	for (int i = 0; i < 8; i++)
		le32_put(value + 4 * i, state[i]);
}

void b3_chunk(const uint8_t *data, size_t len, uint64_t counter, uint8_t flags,
	      uint8_t *value)
{
	uint8_t start = B3_CHUNK_START;
	uint8_t block[B3_BLOCK] = { 0 };
	uint32_t state[8];

	assert(len <= B3_CHUNK);
	memcpy(state, b3_iv, sizeof(state));
	for (; len > B3_BLOCK; len -= B3_BLOCK, data += B3_BLOCK) {
		b3_compress(state, data, B3_BLOCK, counter, start);
		start = 0;
	}
	if (len)
		memcpy(block, data, len);
	b3_compress(state, block, (uint8_t)len, counter,
		    start | B3_CHUNK_END | flags);
	b3_put_state(value, state);
}

void b3_parent(const uint8_t *pair, uint8_t flags, uint8_t *value)
{
	uint32_t state[8];

	memcpy(state, b3_iv, sizeof(state));
	b3_compress(state, pair, B3_BLOCK, 0, B3_PARENT | flags);
	b3_put_state(value, state);
}

/* One level up, in place; returns how many values that leaves. */
static size_t join_level(uint8_t *values, size_t n)
{
	static const struct b3_pass parents = { .n_blocks = 1,
						.flags = B3_PARENT };
	const uint8_t *pairs[B3_GROUP / 2];
	uint8_t joined[B3_GROUP / 2 * BLAKE3_LEN];
	size_t n_pairs = n / 2;

	for (size_t i = 0; i < n_pairs; i++)
		pairs[i] = values + i * B3_BLOCK;
	b3_many(pairs, n_pairs, &parents, joined);
	memcpy(values, joined, n_pairs * BLAKE3_LEN);
	if (n % 2)
		memmove(values + n_pairs * BLAKE3_LEN,
			values + (n - 1) * BLAKE3_LEN, BLAKE3_LEN);
	return n - n_pairs;
}

static size_t join_until(size_t max, uint8_t *values, size_t n)
{
	assert(n <= B3_GROUP);
	while (n > max)
		n = join_level(values, n);
	return n;
}

/* After k groups the finished subtrees are the one-bits of k.  They are joined
 * only when the next group is there: until then the last join may be the root,
 * which is another computation. */
static void spine_push(struct spine *s, const uint8_t *value)
{
	size_t n_finished = (size_t)__builtin_popcountll(s->n_groups);

	for (; s->n > n_finished; s->n--) {
		uint8_t *pair = s->values + (s->n - 2) * BLAKE3_LEN;

		b3_parent(pair, 0, pair);
	}
	memcpy(s->values + s->n * BLAKE3_LEN, value, BLAKE3_LEN);
	s->n++;
	s->n_groups++;
}

static void spine_end(struct spine *s, uint8_t flags, uint8_t *value)
{
	assert(s->n >= 2);
	for (; s->n > 1; s->n--) {
		uint8_t *pair = s->values + (s->n - 2) * BLAKE3_LEN;

		b3_parent(pair, s->n == 2 ? flags : 0, pair);
	}
	memcpy(value, s->values, BLAKE3_LEN);
}

static void only_group(b3_fill_fn *fill, const void *ctx, uint8_t flags,
		       uint8_t *value)
{
	uint8_t values[B3_GROUP * BLAKE3_LEN];
	size_t n = join_until(2, values, fill(ctx, 0, values));

	assert(n == 2 || !(flags & B3_ROOT));
	if (n == 2)
		b3_parent(values, flags, value);
	else
		memcpy(value, values, BLAKE3_LEN);
}

void b3_tree(b3_fill_fn *fill, const void *ctx, uint64_t n_groups,
	     uint8_t flags, uint8_t *value)
{
	uint8_t values[B3_GROUP * BLAKE3_LEN];
	struct spine spine;

	if (n_groups == 1) {
		only_group(fill, ctx, flags, value);
		return;
	}
	spine.n = 0;
	spine.n_groups = 0;
	for (uint64_t i = 0; i < n_groups; i++) {
		(void)join_until(1, values, fill(ctx, i, values));
		spine_push(&spine, values);
	}
	spine_end(&spine, flags, value);
}

struct run {
	const uint8_t *data;
	size_t len;
	uint64_t counter; /* of the first chunk */
};

/* The values of the chunks of a group: all full ones at once. */
static size_t chunk_values(const void *ctx, uint64_t i, uint8_t *values)
{
	const struct run *run = ctx;
	size_t at = i * B3_GROUP * B3_CHUNK;
	const uint8_t *data = run->data + at;
	size_t n_full = (run->len - at) / B3_CHUNK;
	size_t n_rest = (run->len - at) % B3_CHUNK;
	const uint8_t *chunks[B3_GROUP];
	struct b3_pass pass = { .n_blocks = B3_CHUNK / B3_BLOCK,
				.counter = run->counter + i * B3_GROUP,
				.counts = true,
				.first = B3_CHUNK_START,
				.last = B3_CHUNK_END };

	if (n_full >= B3_GROUP) {
		n_full = B3_GROUP;
		n_rest = 0;
	}
	for (size_t k = 0; k < n_full; k++)
		chunks[k] = data + k * B3_CHUNK;
	b3_many(chunks, n_full, &pass, values);
	if (n_rest == 0)
		return n_full;
	b3_chunk(data + n_full * B3_CHUNK, n_rest, pass.counter + n_full, 0,
		 values + n_full * BLAKE3_LEN);
	return n_full + 1;
}

void b3_subtree(const uint8_t *data, size_t len, uint64_t counter,
		uint8_t flags, uint8_t *value)
{
	struct run run = { .data = data, .len = len, .counter = counter };
	uint64_t n_chunks = (len - 1) / B3_CHUNK + 1;

	assert(len > B3_CHUNK);
	b3_tree(chunk_values, &run, (n_chunks - 1) / B3_GROUP + 1, flags,
		value);
}

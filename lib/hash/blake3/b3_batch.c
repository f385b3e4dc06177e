/* b3_batch.c - many small messages side by side; see b3.h
 *
 * The vector unit compresses 16 blocks in the time of one, if all are at the same
 * place of their tree.  A file of 4 KiB fills four of these lanes.  So a window
 * of messages goes through the tree together: chunk 0 of all of them, chunk 1 of
 * all that have one, and so on; then their parents, level by level.  Only short
 * chunks, at the end of a message, are computed one by one. */
#include <string.h>

#include "hash/blake3/b3.h"
#include "hash/blake3/b3_internal.h"

enum {
	WINDOW = 2 *
		 B3_LANES, /* so that lanes are full if half of them drop out */
	MAX_CHUNKS = 16, /* of a message that gains by company */
};

struct item {
	struct b3_message *message;
	size_t n; /* values that are left: the next level has half of them */
	uint8_t values[MAX_CHUNKS * BLAKE3_LEN];
};

/* Inputs that wait for a common pass, and where their values go. */
struct lanes {
	const struct b3_pass *pass;
	size_t n;
	const uint8_t *inputs[B3_LANES];
	uint8_t *values[B3_LANES];
};

/* Values are written only when all inputs are read, so one may go where inputs
 * of the same pass are. */
static void flush(struct lanes *l)
{
	uint8_t out[B3_LANES * BLAKE3_LEN];

	b3_many(l->inputs, l->n, l->pass, out);
	for (size_t i = 0; i < l->n; i++)
		memcpy(l->values[i], out + i * BLAKE3_LEN, BLAKE3_LEN);
	l->n = 0;
}

static void add(struct lanes *l, const uint8_t *input, uint8_t *value)
{
	l->inputs[l->n] = input;
	l->values[l->n] = value;
	if (++l->n == B3_LANES)
		flush(l);
}

static const uint8_t *chunk_at(const struct b3_message *m, size_t k)
{
	return (const uint8_t *)m->data + k * B3_CHUNK;
}

/* Messages of one full chunk: that is their root. */
static void hash_only_chunks(struct item *items, size_t n)
{
	static const struct b3_pass pass = { .n_blocks = B3_CHUNK / B3_BLOCK,
					     .first = B3_CHUNK_START,
					     .last = B3_CHUNK_END | B3_ROOT };
	struct lanes lanes = { .pass = &pass };

	for (size_t i = 0; i < n; i++)
		if (items[i].message->len == B3_CHUNK)
			add(&lanes, items[i].message->data,
			    items[i].message->digest);
	flush(&lanes);
}

/* Chunk `k` of all messages that have more than one and this one in full. */
static void hash_chunks(struct item *items, size_t n, size_t k)
{
	struct b3_pass pass = { .n_blocks = B3_CHUNK / B3_BLOCK,
				.counter = k,
				.first = B3_CHUNK_START,
				.last = B3_CHUNK_END };
	struct lanes lanes = { .pass = &pass };

	for (size_t i = 0; i < n; i++) {
		struct b3_message *m = items[i].message;

		if (items[i].n > 1 && m->len >= (k + 1) * B3_CHUNK)
			add(&lanes, chunk_at(m, k),
			    items[i].values + k * BLAKE3_LEN);
	}
	flush(&lanes);
}

static void hash_short_chunk(struct item *item)
{
	struct b3_message *m = item->message;
	size_t k = m->len / B3_CHUNK;
	size_t len = m->len % B3_CHUNK;

	if (m->len < B3_CHUNK)
		b3_chunk(m->data, len, 0, B3_ROOT, m->digest);
	else if (len)
		b3_chunk(chunk_at(m, k), len, k, 0,
			 item->values + k * BLAKE3_LEN);
}

/* The last two values of a message make its digest. */
static void join_roots(struct item *items, size_t n)
{
	static const struct b3_pass pass = { .n_blocks = 1,
					     .flags = B3_PARENT | B3_ROOT };
	struct lanes lanes = { .pass = &pass };

	for (size_t i = 0; i < n; i++) {
		if (items[i].n != 2)
			continue;
		add(&lanes, items[i].values, items[i].message->digest);
		items[i].n = 1;
	}
	flush(&lanes);
}

/* An odd value moves up, when all pairs of the level have been read. */
static void end_level(struct item *item)
{
	size_t n_pairs = item->n / 2;

	if (item->n % 2 && n_pairs)
		memcpy(item->values + n_pairs * BLAKE3_LEN,
		       item->values + (item->n - 1) * BLAKE3_LEN, BLAKE3_LEN);
	item->n -= n_pairs;
}

/* One level of all messages with more than two values; false: there is none. */
static bool join_level(struct item *items, size_t n)
{
	static const struct b3_pass pass = { .n_blocks = 1,
					     .flags = B3_PARENT };
	struct lanes lanes = { .pass = &pass };
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		uint8_t *values = items[i].values;

		for (size_t k = 0; k < items[i].n / 2; k++) {
			add(&lanes, values + k * B3_BLOCK,
			    values + k * BLAKE3_LEN);
			any = true;
		}
	}
	flush(&lanes);
	for (size_t i = 0; i < n; i++)
		end_level(&items[i]);
	return any;
}

static void hash_window(struct item *items, size_t n)
{
	size_t n_chunks = 1;

	for (size_t i = 0; i < n; i++) {
		hash_short_chunk(&items[i]);
		if (items[i].n > n_chunks)
			n_chunks = items[i].n;
	}
	hash_only_chunks(items, n);
	for (size_t k = 0; n_chunks > 1 && k < n_chunks; k++)
		hash_chunks(items, n, k);
	do
		join_roots(items, n);
	while (join_level(items, n));
}

void b3_hash_batch(struct b3_message *messages, size_t n)
{
	struct item items[WINDOW];
	size_t n_items = 0;

	b3_probe();
	for (size_t i = 0; i < n; i++) {
		struct b3_message *m = &messages[i];

		if (m->len > (size_t)MAX_CHUNKS * B3_CHUNK) {
			b3_hash(m->data, m->len, m->digest);
			continue;
		}
		items[n_items].message = m;
		items[n_items].n = m->len ? (m->len - 1) / B3_CHUNK + 1 : 1;
		if (++n_items == WINDOW) {
			hash_window(items, n_items);
			n_items = 0;
		}
	}
	hash_window(items, n_items);
}

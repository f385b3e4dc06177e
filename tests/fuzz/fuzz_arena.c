/* fuzz_arena.c - a party writes what it likes over the words of an arena.
 *
 * The first byte says what kind of arena it is and what is in it, the rest is a list of
 * words written over its tables: where (two bytes, in words, from the beginning of
 * the memory) and what (eight).  Afterwards one attaches anew, and both receive, reserve,
 * commit and release.  Every call must come back, and every buffer must lie in the memory of the
 * arena, or in private memory for a message that came in pieces. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"

enum { BOTH = ROAR_ARENA_PRODUCER | ROAR_ARENA_CONSUMER, WORD = 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct roar_arena *make(uint8_t kind)
{
	struct roar_arena_config config = {
		.size_bytes = 8192,
		.segment_bytes = kind & 1 ? 2000 : 0,
		.n_units = 5,
		.inline_bytes = 128,
		.flags = kind & 2 ? ROAR_ARENA_BROADCAST : 0,
	};
	struct roar_arena *a = NULL;

	if (roar_arena_create(&config, &a) < 0)
		abort();
	assert(roar_arena_join(a, BOTH, 0) == 0);
	return a;
}

static void put(struct roar_arena *a, size_t len)
{
	struct roar_arena_part part = { .len = len };
	struct roar_arena_unit *u = NULL;

	if (roar_arena_reserve(a, &part, 1, 9, 0, &u) < 0)
		return;
	memset(u->buffers[0].data, 1, u->buffers[0].len);
	if (roar_arena_commit(u, 1) < 0)
		roar_arena_release(u);
}

/* One unit inside of another. */
static void put_parent(struct roar_arena *a)
{
	struct roar_arena_part part = { .len = 300 };
	struct roar_arena_unit *child = NULL;
	struct roar_arena_unit *u = NULL;

	if (roar_arena_reserve(a, &part, 1, 0, 0, &child) < 0)
		return;
	part.in = child;
	if (roar_arena_reserve(a, &part, 1, 0, 0, &u) < 0) {
		roar_arena_release(child);
		return;
	}
	if (roar_arena_commit(u, 2) < 0) {
		roar_arena_release(u);
		roar_arena_release(child);
	}
}

static void put_piece(struct roar_arena *a)
{
	static unsigned char large[20000];
	struct roar_arena_buffer b = { large, sizeof(large) };

	(void)roar_arena_send(a, "x", 1, &b, 1, 3, 1);
}

static void check(const struct roar_arena *a, const struct roar_arena_unit *u)
{
	const unsigned char *base = a->map.base;
	unsigned char seen = 0;

	for (size_t i = 0; i < u->n_buffers; i++) {
		const unsigned char *p = u->buffers[i].data;
		size_t len = u->buffers[i].len;

		if (u->index != UINT32_MAX)
			assert(p >= base && len <= a->map.g.total_bytes &&
			       (size_t)(p - base) <= a->map.g.total_bytes - len);
		if (len)
			seen ^= p[0] ^ p[len - 1];
	}
	if (u->envelope_len)
		seen ^= ((const unsigned char *)
				 u->envelope)[u->envelope_len - 1];
	/* Used, so that it is read. */
	__asm__ volatile("" : : "r"(seen));
}

static void use(struct roar_arena *a)
{
	struct roar_arena_unit *u = NULL;
	struct roar_arena_stats stats;

	for (int i = 0; i < 20; i++) {
		if (roar_arena_receive(a, i % 4 ? ROAR_ARENA_ANY : 0, 0, &u) ==
		    0) {
			check(a, u);
			roar_arena_release(u);
		}
		if (i % 8 == 3)
			put(a, 500);
	}
	put_parent(a);
	assert(roar_arena_stats(a, &stats) == 0);
}

static void write_over(struct roar_arena *a, const uint8_t *data, size_t len)
{
	for (; len >= WORD; data += WORD, len -= WORD) {
		uint64_t at = (data[0] | (uint64_t)data[1] << 8) * 8;

		if (at + 8 <= a->map.g.data_at)
			memcpy(a->map.base + at, data + 2, 8);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct roar_arena *a;
	struct roar_arena *b = NULL;

	if (len < 1)
		return 0;
	a = make(data[0]);
	put(a, 40);
	if (data[0] & 4)
		put_parent(a);
	if (data[0] & 8)
		put_piece(a);
	put(a, 500);
	write_over(a, data + 1, len - 1);
	if (roar_arena_attach(roar_arena_fd(a), &b) == 0 &&
	    roar_arena_join(b, BOTH, 0) == 0)
		use(b);
	use(a);
	roar_arena_close(b);
	roar_arena_close(a);
	return 0;
}

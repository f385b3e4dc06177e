/* geometry.c - see geometry.h */
#include "arena/protocol/geometry.h"

#include <errno.h>
#include <string.h>

#include "arena/protocol/failure.h"

enum {
	PAGE = 4096,
	INLINE_DEFAULT = 960,
	INLINE_MAX = 1 << 20,
	UNITS_MAX = 1 << 20,
	BLOCK_MIN_SHIFT = 6, /* 64 bytes: what buffers are aligned to */
	BLOCK_USUAL_SHIFT = 16, /* not more for most arenas */
	BLOCKS_USUAL = 16384,
	BLOCKS_MAX = 1 << 20,
};

#define SIZE_MAX_BYTES (1ULL << 46)

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t n_blocks(uint64_t size, unsigned shift)
{
	return (size + (1ULL << shift) - 1) >> shift;
}

/* Few enough blocks that a look over all of them is short, and not so large that small
 * units waste the room. */
static unsigned choose_block_shift(uint64_t size)
{
	unsigned shift = BLOCK_MIN_SHIFT;

	while (shift < BLOCK_USUAL_SHIFT && n_blocks(size, shift) > BLOCKS_USUAL)
		shift++;
	while (n_blocks(size, shift) > BLOCKS_MAX)
		shift++;
	return shift;
}

/* Each cell names another unit that is not free, or one that a consumer who came late
 * skips, of which there were no more than units (queue.c has the proof). */
static void choose_cells(struct arena_geometry *g)
{
	g->cell_shift = ARENA_CELL_SHIFT_MIN;
	while (1U << g->cell_shift <= 2 * g->n_units + 1)
		g->cell_shift++;
	g->n_cells = 1U << g->cell_shift;
}

static void place_parts(struct arena_geometry *g)
{
	uint64_t at = PAGE + ARENA_PARTIES * sizeof(struct arena_party);

	g->cells_at = round_up(at, ARENA_LINE);
	at = g->cells_at + (uint64_t)g->n_cells * sizeof(uint64_t);
	g->free_at = round_up(at, ARENA_LINE);
	at = g->free_at + ((uint64_t)g->n_units + 63) / 64 * sizeof(uint64_t);
	g->units_at = round_up(at, ARENA_LINE);
	at = g->units_at + (uint64_t)g->n_units * sizeof(struct arena_unit);
	g->owners_at = round_up(at, ARENA_LINE);
	at = g->owners_at + (uint64_t)g->n_blocks * sizeof(uint32_t);
	g->inline_at = round_up(at, ARENA_LINE);
	at = g->inline_at + (uint64_t)g->n_units * g->inline_bytes;
	g->data_at = round_up(at, PAGE);
	g->total_bytes = round_up(g->data_at + g->size_bytes, PAGE);
}

/* Everything that follows from the first six. */
static void derive(struct arena_geometry *g)
{
	choose_cells(g);
	if (g->segment_bytes) {
		g->segment_stride = round_up(g->segment_bytes, PAGE);
		g->size_bytes = g->segment_stride * g->n_units;
	} else {
		g->block_shift = choose_block_shift(g->size_bytes);
		g->n_blocks = (uint32_t)n_blocks(g->size_bytes, g->block_shift);
		g->size_bytes = (uint64_t)g->n_blocks << g->block_shift;
	}
	place_parts(g);
}

static int check(const struct arena_geometry *g)
{
	if (!g->segment_bytes &&
	    (!g->size_bytes || g->size_bytes > SIZE_MAX_BYTES))
		return failure(
			-EINVAL,
			"an arena of %llu bytes cannot be made: its size must be from 1 to 2^46 bytes",
			(unsigned long long)g->size_bytes);
	if (!g->n_units || g->n_units > UNITS_MAX)
		return failure(
			-EINVAL,
			"an arena of %u units cannot be made: their number must be from 1 to %d",
			g->n_units, UNITS_MAX);
	if (g->segment_bytes > SIZE_MAX_BYTES / g->n_units)
		return failure(
			-EINVAL,
			"an arena of %u segments of %llu bytes cannot be made: together they must have at most 2^46 bytes",
			g->n_units, (unsigned long long)g->segment_bytes);
	if (!g->inline_bytes || g->inline_bytes > INLINE_MAX)
		return failure(
			-EINVAL,
			"an arena with %u inline bytes for each unit cannot be made: they must be from 1 to %d",
			g->inline_bytes, INLINE_MAX);
	if (g->flags & ~(uint32_t)(ROAR_ARENA_BROADCAST | ROAR_ARENA_PARTITION |
				   ROAR_ARENA_HUGE))
		return failure(-EINVAL, "the arena's flags 0x%x are not known",
			       g->flags);
	if (g->n_shares < 1 || g->n_shares >= ARENA_PARTIES)
		return failure(
			-EINVAL,
			"an arena cannot be parted among %u producers: give from 1 to %d",
			g->n_shares, ARENA_PARTIES - 1);
	return 0;
}

static int check_shares(const struct arena_geometry *g)
{
	if (g->n_units < g->n_shares ||
	    (g->n_blocks && g->n_blocks < g->n_shares))
		return failure(
			-EINVAL,
			"an arena of %u units and %llu bytes is too small for the parts of %u producers: make it larger",
			g->n_units, (unsigned long long)g->size_bytes,
			g->n_shares);
	return 0;
}

/* As many as there are likely to be at once: a small unit takes a few KiB. */
static uint32_t choose_units(uint64_t size)
{
	uint64_t n = size / 16384;

	return n < 64 ? 64 : n > 4096 ? 4096 : (uint32_t)n;
}

int geometry_from_config(const struct roar_arena_config *c,
			 struct arena_geometry *ret)
{
	struct arena_geometry g = {
		.size_bytes = c->size_bytes,
		.segment_bytes = c->segment_bytes,
		.n_units = c->n_units,
		.inline_bytes = c->inline_bytes ? c->inline_bytes :
						  INLINE_DEFAULT,
		.n_shares = c->flags & ROAR_ARENA_PARTITION ? c->n_producers :
							      1,
		.flags = c->flags,
	};
	int r;

	if (!g.n_units)
		g.n_units = choose_units(g.segment_bytes ? 0 : g.size_bytes);
	r = check(&g);
	if (r < 0)
		return r;
	g.inline_bytes = (uint32_t)round_up(g.inline_bytes, ROAR_ARENA_ALIGN);
	derive(&g);
	r = check_shares(&g);
	if (r == 0)
		*ret = g;
	return r;
}

int geometry_from_header(const struct arena_header *h, uint64_t total_bytes,
			 struct arena_geometry *ret)
{
	struct arena_geometry g = {
		.size_bytes = h->size_bytes,
		.segment_bytes = h->segment_bytes,
		.n_units = h->n_units,
		.inline_bytes = h->inline_bytes,
		.n_shares = h->n_shares,
		.flags = h->flags,
	};
	int r;

	if (h->magic != ARENA_MAGIC)
		return failure(
			-EINVAL,
			"the descriptor is of no arena: hand on the one of roar_arena_fd()");
	if (h->version != ARENA_VERSION)
		return failure(
			-EPROTO,
			"the arena is of version %u, this library knows version %d: use the same roar on both sides",
			h->version, ARENA_VERSION);
	r = check(&g);
	if (r < 0)
		return r;
	derive(&g);
	if (g.inline_bytes % ROAR_ARENA_ALIGN ||
	    g.size_bytes != h->size_bytes || g.block_shift != h->block_shift ||
	    g.total_bytes != h->total_bytes || g.total_bytes > total_bytes)
		return failure(
			-EINVAL,
			"the header of the arena is damaged, or its memory is cut off: make a new one");
	r = check_shares(&g);
	if (r == 0)
		*ret = g;
	return r;
}

void geometry_map(const struct arena_geometry *g, void *base,
		  struct arena_map *ret)
{
	unsigned char *p = base;

	*ret = (struct arena_map){
		.g = *g,
		.base = p,
		.mapped_bytes = g->total_bytes,
		.header = base,
		.parties = (void *)(p + PAGE),
		.cells = (void *)(p + g->cells_at),
		.free_bits = (void *)(p + g->free_at),
		.units = (void *)(p + g->units_at),
		.owners = (void *)(p + g->owners_at),
	};
}

void geometry_format(const struct arena_map *map, uint32_t page_bytes)
{
	const struct arena_geometry *g = &map->g;

	for (uint32_t i = 0; i < g->n_units; i++)
		map->free_bits[i / 64] |= 1ULL << i % 64;
	*map->header = (struct arena_header){
		.magic = ARENA_MAGIC,
		.version = ARENA_VERSION,
		.flags = g->flags,
		.size_bytes = g->size_bytes,
		.segment_bytes = g->segment_bytes,
		.total_bytes = g->total_bytes,
		.n_units = g->n_units,
		.inline_bytes = g->inline_bytes,
		.n_shares = g->n_shares,
		.block_shift = g->block_shift,
		.page_bytes = page_bytes,
	};
}

struct arena_share geometry_share(const struct arena_geometry *g,
				  unsigned share)
{
	uint64_t n = g->n_shares;

	return (struct arena_share){
		.first_unit = (uint32_t)(g->n_units * (uint64_t)share / n),
		.end_unit = (uint32_t)(g->n_units * (share + 1ULL) / n),
		.first_block = (uint32_t)(g->n_blocks * (uint64_t)share / n),
		.end_block = (uint32_t)(g->n_blocks * (share + 1ULL) / n),
	};
}

uint64_t geometry_unit_room(const struct arena_geometry *g, unsigned share)
{
	struct arena_share s = geometry_share(g, share);

	if (g->segment_bytes)
		return g->segment_stride;
	return (uint64_t)(s.end_block - s.first_block) << g->block_shift;
}

/* block_run.c - runs of blocks for units of any size
 *
 * The owner word of a block is the authority: 0, or the unit that has it.  A unit
 * writes the run it is going to try into its extent first, so whoever sweeps it
 * frees exactly those blocks of the run that say they are its.  First fit from the
 * lowest keeps what is touched small. */
#include "arena/protocol/protocol.h"

#include <errno.h>

/* Gives back the blocks [first, end) as far as they are this unit's. */
static void give_back(const struct arena_map *m, uint32_t unit, uint64_t first,
		      uint64_t end)
{
	for (uint64_t i = first; i < end; i++)
		if (shared_load32(&m->owners[i]) == unit + 1)
			shared_store32(&m->owners[i], 0);
}

/* Claims [first, first + n).  Returns the block it could not get, or first + n. */
static uint64_t claim_run(const struct arena_map *m, uint32_t unit,
			  uint64_t first, uint64_t n)
{
	uint64_t i = first;

	shared_store(&m->units[unit].extent, first << 32 | n);
	while (i < first + n && shared_cas32(&m->owners[i], 0, unit + 1))
		i++;
	if (i < first + n)
		give_back(m, unit, first, i);
	return i;
}

/* The first run of `n` blocks in [from, end) that look free; `end` when there is none. */
static uint64_t find_run(const struct arena_map *m, uint64_t from, uint64_t end,
			 uint64_t n)
{
	uint64_t first = from;

	for (uint64_t i = from; i < end; i++) {
		if (shared_load32(&m->owners[i]))
			first = i + 1;
		else if (i + 1 - first == n)
			return first;
	}
	return end;
}

static int claim_from(const struct arena_map *m, uint32_t unit, uint64_t from,
		      uint64_t end, uint64_t n)
{
	for (;;) {
		uint64_t first = find_run(m, from, end, n);
		uint64_t got;

		if (first == end)
			return -EAGAIN;
		got = claim_run(m, unit, first, n);
		if (got == first + n)
			return 0;
		from = got + 1;
	}
}

int block_claim(const struct arena_map *m, uint32_t unit, unsigned share,
		uint64_t bytes)
{
	struct arena_share s = geometry_share(&m->g, share);
	uint64_t n = (bytes + (1ULL << m->g.block_shift) - 1) >>
		     m->g.block_shift;
	int r = claim_from(m, unit, s.first_block, s.end_block, n);

	if (r < 0)
		shared_store(&m->units[unit].extent, 0);
	return r;
}

void block_free(const struct arena_map *m, uint32_t unit)
{
	uint64_t extent = shared_load(&m->units[unit].extent);
	uint64_t first = extent >> 32;
	uint64_t n = extent & 0xffffffff;

	/* Damaged: blocks are lost rather than those of others given away. */
	if (first <= m->g.n_blocks && n <= m->g.n_blocks - first)
		give_back(m, unit, first, first + n);
	shared_store(&m->units[unit].extent, 0);
}

/* geometry.h - the sizes of an arena and the offsets of its parts.
 *
 * Private to each process: computed from a config or from a header, checked, and then
 * the only source of bounds.  See arena_layout.h for the parts. */
#ifndef ROAR_ARENA_GEOMETRY_H
#define ROAR_ARENA_GEOMETRY_H

#include <stdbool.h>

#include <roar/arena.h>

#include "arena/protocol/arena_layout.h"

struct arena_geometry {
	uint64_t size_bytes; /* of the data */
	uint64_t segment_bytes; /* as asked for; 0: blocks */
	uint64_t segment_stride; /* a multiple of a page */
	uint32_t n_units;
	uint32_t inline_bytes;
	uint32_t n_shares;
	uint32_t flags;
	uint32_t block_shift;
	uint32_t n_blocks; /* 0 with segments */
	uint32_t n_cells; /* a power of two */
	uint32_t cell_shift;
	uint64_t cells_at;
	uint64_t free_at;
	uint64_t units_at;
	uint64_t owners_at;
	uint64_t inline_at;
	uint64_t data_at;
	uint64_t total_bytes;
};

/* The map of one process: its own copy of the sizes, and pointers made from them. */
struct arena_map {
	struct arena_geometry g;
	unsigned char *base;
	uint64_t mapped_bytes; /* g.total_bytes, or more with huge pages */
	struct arena_header *header;
	struct arena_party *parties;
	uint64_t *cells;
	uint64_t *free_bits; /* a hint: bit set = look here for a free unit */
	struct arena_unit *units;
	uint32_t *owners; /* unit + 1; 0: free */
};

/* -EINVAL for impossible sizes, with a sentence in roar_arena_error(). */
int geometry_from_config(const struct roar_arena_config *config,
			 struct arena_geometry *ret);

/* The geometry that a header describes, if it is consistent and the mapping has
 * `total_bytes`.  -EINVAL, -EPROTO. */
int geometry_from_header(const struct arena_header *h, uint64_t total_bytes,
			 struct arena_geometry *ret);

/* Sets up pointers; `base` has g->total_bytes, or more. */
void geometry_map(const struct arena_geometry *g, void *base,
		  struct arena_map *ret);

/* Fills in a header, the queue and the hints of a new arena: memory of zeros. */
void geometry_format(const struct arena_map *map, uint32_t page_bytes);

/* The places and the blocks that producers with this share may use. */
struct arena_share {
	uint32_t first_unit;
	uint32_t end_unit;
	uint32_t first_block;
	uint32_t end_block;
};

struct arena_share geometry_share(const struct arena_geometry *g,
				  unsigned share);

/* The most bytes that a unit of this share can have outside its inline area. */
uint64_t geometry_unit_room(const struct arena_geometry *g, unsigned share);

#endif

/* arena_stats.h - counters of an arena and its present use. */
#ifndef ROAR_ARENA_STATS_H
#define ROAR_ARENA_STATS_H

#include "arena/protocol/geometry.h"

void stats_read(const struct arena_map *m, struct roar_arena_stats *ret);

/* Bytes of the data area that a unit occupies. */
uint64_t stats_unit_bytes(const struct arena_map *m, uint32_t unit);

/* Which parties own the units, for a producer that found no room: "of 4 units 1 is being
 * written, ...". */
void stats_describe(const struct arena_map *m, char *text, size_t size);

#endif

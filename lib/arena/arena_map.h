/* arena_map.h - the memory behind an arena: a sealed memfd and its mapping. */
#ifndef ROAR_ARENA_MAP_H
#define ROAR_ARENA_MAP_H

#include "arena/protocol/geometry.h"

/* New memory, formatted.  -ENOSPC, -ENOMEM, -EMFILE. */
int arena_map_create(const struct arena_geometry *g, int *ret_fd,
		     struct arena_map *ret);

/* The memory of another one; the descriptor is not kept.  -EBADF, -EINVAL, -EPROTO,
 * -ENOMEM. */
int arena_map_attach(int fd, struct arena_map *ret);

void arena_map_release(struct arena_map *m);

#endif

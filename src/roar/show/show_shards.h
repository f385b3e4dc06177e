/* show_shards.h - samples of shards, as processes reported them. */
#ifndef ROAR_SHOW_SHARDS_H
#define ROAR_SHOW_SHARDS_H

#include <stddef.h>

struct json;
struct store_shard;
struct view;

/* A line of text: rank, epoch, samples and path. */
void show_shard_line(struct view *v, const struct store_shard *shard);

/* An array of objects under `key`; `pid` only where it is known. */
void show_shards_json(struct json *j, const char *key,
		      const struct store_shard *shards, size_t n);

#endif

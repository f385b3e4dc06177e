/* table_store.h - a table that outlives its process: its lists as bytes, and back.
 *
 * What is kept is who is there (the caller does that, by joins), the list of each number
 * that was there at the last deal, version and hash.  A table read back from that goes on
 * as the one that was written. */
#ifndef SHARD_TABLE_STORE_H
#define SHARD_TABLE_STORE_H

#include "shard/table.h"

struct str;

/* Numbers that may have shards are below this. */
uint32_t shard_table_n_slots(const struct shard_table *t);
/* `worker` was there at the last deal, so its list is to be kept, also an empty one. */
bool shard_table_was_here(const struct shard_table *t, uint32_t worker);
/* The key under which it was. */
uint64_t shard_table_key(const struct shard_table *t, uint32_t worker);
/* Appends the list of `worker`.  -ENOMEM. */
int shard_table_store(const struct shard_table *t, uint32_t worker,
		      struct str *out);

/* Gives `worker` the list that was stored, in a table that was never dealt.  Who is not
 * there under that key has left.  -EBADMSG for a list that cannot be, -ENOMEM, with
 * nothing changed. */
int shard_table_restore(struct shard_table *t, uint32_t worker, uint64_t key,
			const void *list, size_t len);
/* After the last list.  -EBADMSG when the lists are not all shards, or not the table
 * that had this hash. */
int shard_table_restored(struct shard_table *t, uint64_t version,
			 uint64_t hash);

#endif

/* object_content.c - see object_content.h */
#include "query/object_content.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/pool.h"
#include "event/event.h"
#include "store/store.h"

/* No ETag has a newline. */
static char *make_key(struct pool *pool, const struct store_file *row)
{
	return pool_printf(pool, "%s\n%s", row->etag, row->path);
}

static bool has_etag(const struct store_file *row)
{
	return row->ftype == EVENT_FTYPE_OBJECT && row->etag[0];
}

int object_content_share(struct pool *pool, struct store_file *rows, size_t n)
{
	CLEANUP(map_release) struct map known = MAP_INIT; /* key -> row */
	int64_t last = 0;

	/* Those that are identified first, so that the others find them. */
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < n; i++) {
			struct store_file *row = &rows[i];
			const struct store_file *same;
			char *key;

			if (!has_etag(row) || !row->artifact_id != (round == 1))
				continue;
			key = make_key(pool, row);
			if (!key)
				return -ENOMEM;
			same = map_get(&known, key, strlen(key));
			if (same && !row->artifact_id) {
				row->artifact_id = same->artifact_id;
				row->digests = same->digests;
				if (!row->stamp.size)
					row->stamp.size = same->stamp.size;
			}
			if (same)
				continue;
			if (!row->artifact_id)
				row->artifact_id = --last;
			if (map_set(&known, key, strlen(key), row) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

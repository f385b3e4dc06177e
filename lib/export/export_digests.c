/* export_digests.c - digests that an export needs and the record does not have.
 *
 * A file that still has its recorded content is read once more.  What is gone or has
 * changed stays without the digest. */
#include "export/export_set.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "hash/file/file_hash.h"

static int complete(struct export_entity *e, digest_set want)
{
	struct file_hash hash;
	int r = file_hash(AT_FDCWD, e->path, want | DIGEST_SET_BLAKE3, NULL,
			  NULL, &hash);

	if (r < 0)
		return r;
	if (memcmp(hash.digests.blake3, e->digests.blake3, BLAKE3_LEN) != 0)
		return -ESTALE;
	for (unsigned a = 0; a < DIGEST_ALGO_END; a++) {
		const uint8_t *bytes = digests_get(&hash.digests, a);

		if (!bytes)
			continue;
		memcpy(digests_slot(&e->digests, a), bytes, digest_algo_len(a));
		e->digests.have |= (digest_set)1 << a;
	}
	return 0;
}

int64_t export_digests_complete(struct export_set *set, digest_set want)
{
	int64_t n_missing = 0;

	for (size_t i = 0; i < set->n_entities; i++) {
		struct export_entity *e = &set->entities[i];
		int r = 0;

		if ((e->digests.have & want) == want)
			continue;
		if (e->is_object || !(e->digests.have & DIGEST_SET_BLAKE3))
			r = -ENODATA;
		else
			r = complete(e, want);
		if (r == -ENOMEM)
			return r;
		n_missing += r < 0;
	}
	return n_missing;
}

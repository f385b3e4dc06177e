/* fuzz_s3_xml.c - any bytes as documents that a server sent.
 *
 * Every reader gets them.  A result has no NULL in it, and numbers are in their ranges. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "s3/s3_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_error(const struct s3_error *e)
{
	require(e->code && e->message && e->region && e->endpoint);
}

static void try_list(const char *text, size_t len, struct pool *pool)
{
	CLEANUP(s3_list_release) struct s3_list l;
	int r = s3_xml_list(text, len, pool, &l);

	require(r == 0 || r == -EBADMSG);
	require(l.next);
	if (r < 0)
		return;
	for (size_t i = 0; i < l.n_objects; i++) {
		require(l.objects[i].key && l.objects[i].etag);
		require(l.objects[i].size_bytes >= 0);
	}
}

static void try_others(const char *text, size_t len, struct pool *pool)
{
	CLEANUP(s3_parts_release) struct s3_parts parts;
	CLEANUP(s3_list_release) struct s3_list uploads;
	struct s3_stored s = { "", "" };
	struct s3_error e = { "", "", "", "" };
	struct s3_keys *keys = malloc(sizeof(*keys));

	if (s3_xml_parts(text, len, pool, &parts) == 0)
		for (size_t i = 0; i < parts.n; i++)
			require(parts.parts[i].number <= 10000 &&
				parts.parts[i].etag);
	if (s3_xml_uploads(text, len, pool, &uploads) == 0)
		require(uploads.next && uploads.next_id);
	if (s3_xml_stored(text, len, pool, &s, &e) == 0)
		require(*s.upload_id || *s.etag);
	check_error(&e);
	if (s3_xml_error(text, len, pool, &e) == 0)
		require(*e.code);
	if (keys && s3_xml_sts(text, len, keys) == 0)
		require(keys->key_id[0] && keys->secret[0]);
	free(keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;

	try_list((const char *)data, len, &pool);
	try_others((const char *)data, len, &pool);
	return 0;
}

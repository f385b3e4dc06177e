/* dir_hash_text.c - the text of a tree, which is hashed and written alike.
 *
 * Lines are short and both readers like large pieces, so a buffer stands
 * between; only a path that is longer than the buffer goes by it. */
#include <errno.h>
#include <string.h>

#include "hash/dir/dir_hash_internal.h"

enum { BUFFER = 32 * 1024 };

struct text {
	dir_hash_sink sink;
	void *ctx;
	size_t used; /* bytes of buf */
	char buf[BUFFER];
};

static int flush(struct text *out)
{
	size_t len = out->used;

	out->used = 0;
	return len ? out->sink(out->ctx, out->buf, len) : 0;
}

static int put(struct text *out, const void *data, size_t len)
{
	int r = len > BUFFER - out->used ? flush(out) : 0;

	if (r < 0)
		return r;
	if (len > BUFFER)
		return out->sink(out->ctx, data, len);
	memcpy(out->buf + out->used, data, len);
	out->used += len;
	return 0;
}

static int put_leaf(struct text *out, const struct dir_hash_leaf *leaf)
{
	char tail[DIR_HASH_TAIL_LEN + 1] = DIR_HASH_DIGEST;
	int r = put(out, leaf->path, (size_t)leaf->len + 1); /* and its NUL */

	if (r < 0)
		return r;
	digest_hex(tail + DIR_HASH_DIGEST_LEN, leaf->blake3, BLAKE3_LEN);
	tail[DIR_HASH_TAIL_LEN - 1] = '\n';
	return put(out, tail, DIR_HASH_TAIL_LEN);
}

static bool is_complete(const struct dir_hash *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!t->leaves[i].hashed)
			return false;
	return true;
}

int dir_hash_text(struct dir_hash *t, dir_hash_sink sink, void *ctx)
{
	struct text out;
	int r = dir_hash_sort(t);

	if (r < 0)
		return r;
	if (!is_complete(t))
		return -ENODATA;
	out.sink = sink;
	out.ctx = ctx;
	out.used = 0;
	r = put(&out, DIR_HASH_HEAD, DIR_HASH_HEAD_LEN);
	for (size_t i = 0; r == 0 && i < t->n; i++)
		r = put_leaf(&out, &t->leaves[i]);
	return r < 0 ? r : flush(&out);
}

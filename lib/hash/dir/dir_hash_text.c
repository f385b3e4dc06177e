/* dir_hash_text.c - the text of a tree, which is hashed and written alike.
 *
 * Lines are short and both readers like large pieces, so a buffer stands
 * between; only a path that is longer than the buffer goes by it. */
#include <errno.h>
#include <string.h>

#include "base/str.h"
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

static int put_leaf(struct text *out, const char *path, size_t len,
		    const uint8_t blake3[BLAKE3_LEN])
{
	char tail[DIR_HASH_TAIL_LEN + 1] = DIR_HASH_DIGEST;
	int r = put(out, path, len + 1); /* and its NUL */

	if (r < 0)
		return r;
	digest_hex(tail + DIR_HASH_DIGEST_LEN, blake3, BLAKE3_LEN);
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
		r = put_leaf(&out, t->leaves[i].path, t->leaves[i].len,
			     t->leaves[i].blake3);
	return r < 0 ? r : flush(&out);
}

/* Checks the order as well: `before` is the path of the leaf before. */
static int put_next(struct text *out, size_t i, dir_hash_leaf_fn leaf,
		    void *ctx, struct str *before)
{
	uint8_t blake3[BLAKE3_LEN];
	const char *path;
	size_t len;
	int r = leaf(ctx, i, &path, &len, blake3);

	if (r == 0)
		r = dir_hash_check_path(path, len);
	if (r == 0 && i > 0 && strcmp(str_cstr(before), path) >= 0)
		r = -EINVAL;
	if (r < 0)
		return r;
	str_clear(before);
	str_add(before, path, len);
	r = str_error(before);
	return r < 0 ? r : put_leaf(out, path, len, blake3);
}

int dir_hash_leaves_text(size_t n, dir_hash_leaf_fn leaf, void *leaf_ctx,
			 dir_hash_sink sink, void *ctx)
{
	CLEANUP(str_release) struct str before = STR_INIT;
	struct text out;
	int r;

	out.sink = sink;
	out.ctx = ctx;
	out.used = 0;
	r = put(&out, DIR_HASH_HEAD, DIR_HASH_HEAD_LEN);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_next(&out, i, leaf, leaf_ctx, &before);
	return r < 0 ? r : flush(&out);
}

/* git_cache.c - see git_cache.h */
#include "git/git_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "git/git_env.h"
#include "git/git_index.h"
#include "git/git_repo.h"

static const char magic[8] = "ROARGL2\n";

enum {
	CACHE_MAX_BYTES = 128 << 20,
	TEXT_MAX_BYTES = GIT_PATH_MAX,
};

#define ABSENT UINT32_MAX

void git_cache_release(struct git_cache *cache)
{
	free(cache->ref);
	free(cache->commit);
	free(cache->snapshot);
	free(cache->note);
	git_left_outs_release(&cache->left_out);
	git_watches_release(&cache->watches);
	*cache = (struct git_cache){ 0 };
}

static void add_u32(struct str *out, uint32_t value)
{
	str_add(out, &value, sizeof(value));
}

static void add_text(struct str *out, const char *text)
{
	uint32_t len = text ? (uint32_t)strlen(text) : ABSENT;

	add_u32(out, len);
	if (text)
		str_add(out, text, len);
}

static void add_left_outs(struct str *out, const struct git_left_outs *list)
{
	add_u32(out, list->n);
	add_u32(out, list->n_items);
	for (uint32_t i = 0; i < list->n_items; i++) {
		add_u32(out, list->items[i].reason);
		add_text(out, list->items[i].path);
	}
}

int git_cache_format(const struct git_cache *cache, struct str *out)
{
	const struct git_watches *watches = &cache->watches;
	size_t start = out->len;
	uint64_t sum = 0;

	str_add(out, magic, sizeof(magic));
	str_add(out, &sum, sizeof(sum));
	str_add(out, &cache->context, sizeof(cache->context));
	str_add(out, &cache->index, sizeof(cache->index));
	add_u32(out, cache->n_modified);
	add_u32(out, cache->n_untracked);
	add_u32(out, cache->dirty);
	add_text(out, cache->ref);
	add_text(out, cache->commit);
	add_text(out, cache->snapshot);
	add_text(out, cache->note);
	add_left_outs(out, &cache->left_out);
	add_u32(out, (uint32_t)watches->n_items);
	for (size_t i = 0; i < watches->n_items; i++) {
		const struct git_watch *watch = &watches->items[i];

		str_add(out, &watch->stamp, sizeof(watch->stamp));
		add_u32(out, watch->len);
		str_add(out, watch->path, watch->len);
	}
	if (str_error(out) < 0)
		return -ENOMEM;
	start += sizeof(magic);
	sum = git_hash_add(GIT_HASH_START, out->data + start + sizeof(sum),
			   out->len - start - sizeof(sum));
	memcpy(out->data + start, &sum, sizeof(sum));
	return 0;
}

struct reader {
	const char *pos;
	size_t left;
};

static int take(struct reader *in, void *to, size_t len)
{
	if (in->left < len)
		return -EBADMSG;
	memcpy(to, in->pos, len);
	in->pos += len;
	in->left -= len;
	return 0;
}

static int take_text(struct reader *in, char **ret_text)
{
	uint32_t len;

	if (take(in, &len, sizeof(len)) < 0)
		return -EBADMSG;
	if (len == ABSENT)
		return 0;
	if (len > TEXT_MAX_BYTES || len > in->left ||
	    memchr(in->pos, '\0', len))
		return -EBADMSG;
	*ret_text = strndup(in->pos, len);
	in->pos += len;
	in->left -= len;
	return *ret_text ? 0 : -ENOMEM;
}

static int take_watch(struct reader *in, struct git_watches *watches)
{
	struct stamp stamp;
	uint32_t len;
	int r;

	if (take(in, &stamp, sizeof(stamp)) < 0 ||
	    take(in, &len, sizeof(len)) < 0)
		return -EBADMSG;
	if (len == 0 || len > TEXT_MAX_BYTES || len > in->left ||
	    memchr(in->pos, '\0', len))
		return -EBADMSG;
	r = git_watch_put(watches, in->pos, len, &stamp);
	in->pos += len;
	in->left -= len;
	return r == -E2BIG ? -EBADMSG : r;
}

static int take_counts(struct reader *in, struct git_cache *cache)
{
	uint32_t dirty;

	if (take(in, &cache->context, sizeof(cache->context)) < 0 ||
	    take(in, &cache->index, sizeof(cache->index)) < 0 ||
	    take(in, &cache->n_modified, 4) < 0 ||
	    take(in, &cache->n_untracked, 4) < 0 || take(in, &dirty, 4) < 0 ||
	    dirty > TRI_YES)
		return -EBADMSG;
	cache->dirty = (enum tri)dirty;
	return 0;
}

static int take_left_out(struct reader *in, struct git_left_outs *list)
{
	CLEANUP(freep) char *path = NULL;
	uint32_t reason;
	int r;

	if (take(in, &reason, sizeof(reason)) < 0 || reason >= GIT_REASON_END)
		return -EBADMSG;
	r = take_text(in, &path);
	if (r < 0 || !path)
		return r < 0 ? r : -EBADMSG;
	return git_left_outs_add(list, path, strlen(path),
				 (enum git_reason)reason);
}

static int take_left_outs(struct reader *in, struct git_left_outs *list)
{
	uint32_t n, n_items;
	int r = 0;

	if (take(in, &n, sizeof(n)) < 0 ||
	    take(in, &n_items, sizeof(n_items)) < 0 || n_items > n ||
	    n_items > GIT_LEFT_OUT_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < n_items && r == 0; i++)
		r = take_left_out(in, list);
	list->n = n;
	return r;
}

static int take_all(struct reader *in, struct git_cache *cache)
{
	uint32_t n_watches;
	int r;

	r = take_counts(in, cache);
	if (r == 0)
		r = take_text(in, &cache->ref);
	if (r == 0)
		r = take_text(in, &cache->commit);
	if (r == 0)
		r = take_text(in, &cache->snapshot);
	if (r == 0)
		r = take_text(in, &cache->note);
	if (r == 0)
		r = take_left_outs(in, &cache->left_out);
	if (r == 0)
		r = take(in, &n_watches, sizeof(n_watches));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n_watches && r == 0; i++)
		r = take_watch(in, &cache->watches);
	if (r < 0)
		return r;
	return in->left ? -EBADMSG : 0;
}

int git_cache_parse(const void *data, size_t len, struct git_cache *ret_cache)
{
	CLEANUP(git_cache_release) struct git_cache cache = { 0 };
	struct reader in = { .pos = data, .left = len };
	char found[sizeof(magic)];
	uint64_t sum;
	int r;

	if (take(&in, found, sizeof(found)) < 0 ||
	    memcmp(found, magic, sizeof(magic)) != 0 ||
	    take(&in, &sum, sizeof(sum)) < 0 ||
	    sum != git_hash_add(GIT_HASH_START, in.pos, in.left))
		return -EBADMSG;
	r = take_all(&in, &cache);
	if (r < 0)
		return r;
	*ret_cache = cache;
	cache = (struct git_cache){ 0 };
	return 0;
}

int git_cache_load(const char *path, struct git_cache *ret_cache)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	int r;

	path_dirname(&dir, path);
	if (str_error(&dir) < 0)
		return -ENOMEM;
	r = git_read_file(dir.data, path_basename(path), CACHE_MAX_BYTES,
			  &text);
	if (r < 0)
		return r;
	return git_cache_parse(text.data, text.len, ret_cache);
}

int git_cache_save(const char *path, const struct git_cache *cache)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r;

	r = git_cache_format(cache, &text);
	if (r < 0)
		return r;
	return fd_replace_file(AT_FDCWD, path, text.data, text.len, 0600);
}

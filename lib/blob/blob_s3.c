/* blob_s3.c - a prefix in object storage as a store
 *
 * A name that must not be in use is stored with "If-None-Match: *", which the server checks at
 * the moment of the PUT.  Where a server does not have that, the name is looked for first; two
 * writers at the same moment are then not noticed. */
#include "blob/blob_s3.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_PARALLEL = 16, TRIES = 5 };

static struct blob_s3 *store_of(struct blob_store *s)
{
	return (struct blob_s3 *)s;
}

static void s3_close(struct blob_store *s)
{
	free(store_of(s));
}

static unsigned s3_parallel(const struct blob_store *s)
{
	return ((const struct blob_s3 *)s)->parallel;
}

/* ---- small objects ---- */

static int s3_get_text(struct blob_store *s, const char *name, size_t max,
		       struct str *out, struct roar_error *err)
{
	struct blob_call c = { .begin = blob_s3_get,
			       .name = name,
			       .to = -1,
			       .max = max };
	int r = blob_s3_call(store_of(s), &c, err);

	if (r == 0 && c.n_got > max)
		r = error_set(err, -EFBIG, "'%s/%s' has more than %zu bytes",
			      s->url, name, max);
	if (r == 0) {
		str_add(out, str_cstr(&c.text), c.text.len);
		r = str_error(out);
	}
	str_release(&c.text);
	return r;
}

static bool exists(struct blob_store *s, const char *name)
{
	struct blob_call c = { .begin = blob_s3_head, .name = name };
	int r = blob_s3_call(store_of(s), &c, NULL);

	str_release(&c.text);
	return r == 0;
}

/* A PUT whose reply was lost is repeated, and then finds itself. */
static bool is_ours(struct blob_store *s, const char *name, const void *data,
		    size_t len)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	return s3_get_text(s, name, len, &text, NULL) == 0 && text.len == len &&
	       memcmp(str_cstr(&text), data, len) == 0;
}

static int put_once(struct blob_store *s, const char *name, const void *data,
		    size_t len, bool is_conditional, struct blob_call *ret,
		    struct roar_error *err)
{
	static const struct http_field if_new = { "If-None-Match", "*" };
	int r;

	*ret = (struct blob_call){ .begin = blob_s3_put,
				   .name = name,
				   .body = data,
				   .len = len,
				   .field = is_conditional ? &if_new : NULL };
	r = blob_s3_call(store_of(s), ret, err);
	str_release(&ret->text);
	return r;
}

static int refuse(const struct blob_store *s, const char *name,
		  struct roar_error *err)
{
	return error_set(err, -EEXIST, "'%s/%s' exists", s->url, name);
}

static int put_exclusive(struct blob_store *s, const char *name,
			 const void *data, size_t len, struct roar_error *err)
{
	struct blob_call c;
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		r = put_once(s, name, data, len, true, &c, err);
		if (r == -ESTALE)
			return is_ours(s, name, data, len) ?
				       0 :
				       refuse(s, name, err);
		if (r == 0 || c.status != 409)
			break;
		/* Another conditional PUT is under way: it wins, or fails. */
	}
	if (r < 0 && (c.status == 501 || strcmp(c.code, "NotImplemented") == 0))
		r = exists(s, name) ?
			    refuse(s, name, err) :
			    put_once(s, name, data, len, false, &c, err);
	return r;
}

static int s3_put_text(struct blob_store *s, const char *name,
		       const char *temporary, const void *data, size_t len,
		       enum blob_put_flags flags, struct roar_error *err)
{
	struct blob_call c;

	(void)temporary;
	if (flags & BLOB_PUT_EXCLUSIVE)
		return put_exclusive(s, name, data, len, err);
	return put_once(s, name, data, len, false, &c, err);
}

/* What was stored is durable, and so is its name. */
static int s3_make_durable(struct blob_store *s, const char *dir,
			   struct roar_error *err)
{
	(void)s;
	(void)dir;
	(void)err;
	return 0;
}

static int s3_remove(struct blob_store *s, const char *name,
		     struct roar_error *err)
{
	struct blob_call c = { .begin = blob_s3_delete, .name = name };
	int r;

	if (name[strlen(name) - 1] == '/')
		return 0; /* there are no directories */
	r = blob_s3_call(store_of(s), &c, err);
	str_release(&c.text);
	return r;
}

/* ---- lists ---- */

int64_t blob_s3_parse_time(const char *text)
{
	struct tm t = { 0 };

	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &t))
		return 0;
	return (int64_t)timegm(&t) * 1000000000;
}

static int give_page(const struct blob_s3 *s, const struct s3_list *page,
		     int (*fn)(void *ctx, const struct blob_entry *entry),
		     void *ctx)
{
	size_t skip = strlen(s->prefix);
	int r = 0;

	for (size_t i = 0; r == 0 && i < page->n_objects; i++) {
		const struct s3_object *o = &page->objects[i];
		const struct blob_entry entry = {
			.name = o->key + skip,
			.size_bytes = (uint64_t)o->size_bytes,
			.modified_ns = blob_s3_parse_time(o->modified),
		};

		/* Others may have objects below the prefix too. */
		if (strncmp(o->key, s->prefix, skip) == 0 &&
		    blob_name_is_valid(entry.name))
			r = fn(ctx, &entry);
	}
	return r;
}

static int list_page(const struct blob_s3 *s, const char *prefix,
		     struct str *next, bool *ret_more,
		     int (*fn)(void *ctx, const struct blob_entry *entry),
		     void *ctx, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_list_release) struct s3_list page = { .next = "" };
	struct blob_call c = { .begin = blob_s3_list_page,
			       .name = "",
			       .prefix = prefix,
			       .next = next->len ? next->data : NULL };
	int r = blob_s3_call(s, &c, err);

	if (r == 0) {
		r = s3_xml_list(str_cstr(&c.text), c.text.len, &pool, &page);
		if (r < 0)
			(void)error_set(err, r,
					"the server's list of '%s' cannot be "
					"read",
					s->base.url);
	}
	str_release(&c.text);
	if (r == 0)
		r = give_page(s, &page, fn, ctx);
	*ret_more = r == 0 && page.is_truncated && *page.next;
	str_clear(next);
	str_adds(next, page.next);
	return r ? r : str_error(next);
}

static int s3_list(struct blob_store *store, const char *prefix,
		   int (*fn)(void *ctx, const struct blob_entry *entry),
		   void *ctx, struct roar_error *err)
{
	struct blob_s3 *s = store_of(store);
	CLEANUP(str_release) struct str whole = STR_INIT;
	CLEANUP(str_release) struct str next = STR_INIT;
	bool more = true;
	int r;

	str_addf(&whole, "%s%s", s->prefix, prefix);
	r = str_error(&whole);
	while (r == 0 && more)
		r = list_page(s, whole.data, &next, &more, fn, ctx, err);
	return r;
}

static const struct blob_ops s3_ops = {
	.close = s3_close,
	.block_bytes = blob_s3_block_bytes,
	.parallel = s3_parallel,
	.create = blob_s3_create,
	.write = blob_s3_write,
	.finish = blob_s3_finish,
	.abandon = blob_s3_abandon,
	.open_reader = blob_s3_open_reader,
	.read = blob_s3_read,
	.close_reader = blob_s3_close_reader,
	.put = s3_put_text,
	.get = s3_get_text,
	.make_durable = s3_make_durable,
	.list = s3_list,
	.remove = s3_remove,
	.end_unfinished = blob_s3_end_unfinished,
};

int blob_s3_open(const char *url, unsigned max_parallel,
		 struct blob_store **ret, struct roar_error *err)
{
	struct s3_url parsed;
	int r = s3_url_parse(url, &parsed, err);
	struct blob_s3 *s;
	size_t len;

	if (r < 0)
		return r;
	len = strlen(parsed.key);
	while (len && parsed.key[len - 1] == '/')
		len--;
	s = calloc(1, sizeof(*s) + len + 2);
	if (!s)
		return -ENOMEM;
	s->base.ops = &s3_ops;
	s->url = parsed;
	s->parallel = max_parallel > LEAST_PARALLEL ? max_parallel :
						      LEAST_PARALLEL;
	memcpy(s->prefix, parsed.key, len);
	if (len)
		s->prefix[len] = '/';
	s->url.key = s->prefix;
	*ret = &s->base;
	return 0;
}

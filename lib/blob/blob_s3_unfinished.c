/* blob_s3_unfinished.c - multipart uploads whose writers have died */
#include <errno.h>
#include <string.h>

#include "blob/blob_s3.h"
#include "s3/s3_xml.h"

/* Where a list goes on. */
struct place {
	struct str key, upload_id;
	bool more;
};

static void place_release(struct place *p)
{
	str_release(&p->key);
	str_release(&p->upload_id);
}

static int begin_list(struct blob_call *c, const struct s3_operation *op)
{
	return s3_list_uploads_page(op, c->prefix, c->next, c->upload_id);
}

static int end_upload(const struct blob_s3 *s, const char *name,
		      const char *upload_id, struct roar_error *err)
{
	struct blob_call c = { .begin = blob_s3_abort,
			       .name = name,
			       .upload_id = upload_id };
	int r = blob_s3_call(s, &c, err);

	str_release(&c.text);
	return r == -ENOENT ? 0 : r;
}

/* An upload without a time is taken as young. */
static int end_page(const struct blob_s3 *s, const struct s3_list *page,
		    const struct blob_unfinished *what, struct roar_error *err)
{
	size_t skip = strlen(s->prefix);
	int r = 0;

	for (size_t i = 0; r == 0 && i < page->n_objects; i++) {
		const struct s3_object *o = &page->objects[i];
		int64_t began_ns = blob_s3_parse_time(o->modified);

		if (strncmp(o->key, s->prefix, skip) != 0 ||
		    !blob_name_is_valid(o->key + skip) || began_ns <= 0 ||
		    began_ns >= what->before_ns ||
		    !what->wanted(what->ctx, o->key + skip))
			continue;
		if (!what->dry_run)
			r = end_upload(s, o->key + skip, o->etag, err);
	}
	return r;
}

static int next_page(const struct blob_s3 *s, struct place *at,
		     const struct blob_unfinished *what, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_list_release) struct s3_list page = { .next = "" };
	struct blob_call c = { .begin = begin_list,
			       .name = "",
			       .prefix = s->prefix,
			       .next = at->key.len ? at->key.data : NULL,
			       .upload_id = str_cstr(&at->upload_id) };
	int r = blob_s3_call(s, &c, err);

	if (r == 0) {
		r = s3_xml_uploads(str_cstr(&c.text), c.text.len, &pool, &page);
		if (r < 0)
			(void)error_set(err, r,
					"the server's list of uploads to '%s' "
					"cannot be read",
					s->base.url);
	}
	str_release(&c.text);
	if (r == 0)
		r = end_page(s, &page, what, err);
	if (r < 0)
		return r;
	at->more = page.is_truncated && *page.next;
	str_clear(&at->key);
	str_adds(&at->key, page.next);
	str_clear(&at->upload_id);
	str_adds(&at->upload_id, page.next_id);
	r = str_error(&at->key);
	return r < 0 ? r : str_error(&at->upload_id);
}

int blob_s3_end_unfinished(struct blob_store *store,
			   const struct blob_unfinished *what,
			   struct roar_error *err)
{
	const struct blob_s3 *s = (const struct blob_s3 *)store;
	CLEANUP(place_release)
	struct place at = { STR_INIT, STR_INIT, true };
	int r = 0;

	while (r == 0 && at.more)
		r = next_page(s, &at, what, err);
	return r;
}

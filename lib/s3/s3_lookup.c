/* s3_lookup.c - see s3_lookup.h */
#include "s3/s3_lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/vec.h"
#include "s3/s3_client.h"
#include "s3/s3_engine.h"

/* A question.  Whoever asked may go away; then the engine's thread frees it. */
struct lookup {
	struct s3_work work;
	struct s3_url url;
	char *key;
	struct s3_client *client;
	struct s3_call *call;
	bool is_done;
	bool is_abandoned;
	int error;
	struct roar_error why;
	struct s3_version version;
	struct s3_lookup_list list;
};

static void lookup_free(struct lookup *l)
{
	if (!l)
		return;
	s3_lookup_list_release(&l->list);
	free(l->key);
	free(l);
}
DEFINE_CLEANUP(struct lookup *, lookup_free)

void s3_lookup_list_release(struct s3_lookup_list *l)
{
	free(l->objects);
	pool_release(&l->pool);
	*l = (struct s3_lookup_list){ 0 };
}

/* ---- in the engine's thread ---- */

static void finish(struct lookup *l, int error, const char *why)
{
	bool is_abandoned;

	l->error = error;
	if (error < 0)
		(void)error_set(&l->why, error, "%s", why);
	s3_engine_lock();
	l->is_done = true;
	is_abandoned = l->is_abandoned;
	s3_engine_notify();
	s3_engine_unlock();
	if (is_abandoned)
		lookup_free(l);
}

static void end_head(void *data, const struct s3_reply *reply)
{
	struct lookup *l = data;
	const char *length;

	if (reply->error) {
		finish(l, reply->error, reply->sentence);
		return;
	}
	length = http_head_get(reply->head, "Content-Length");
	l->version.size_bytes = -1;
	if (length)
		(void)number_parse(length, 0, INT64_MAX,
				   &l->version.size_bytes);
	s3_head_etag(reply->head, l->version.etag, sizeof(l->version.etag));
	finish(l, 0, "");
}

static void run_head(struct s3_work *w, struct s3_client *client, int error,
		     const char *why)
{
	static const struct s3_call_events events = { .end = end_head };
	struct lookup *l = container_of(w, struct lookup, work);
	const struct s3_operation op = { .client = client,
					 .bucket = l->url.bucket,
					 .key = l->key,
					 .events = &events,
					 .data = l,
					 .ret = &l->call };

	if (client) {
		error = s3_head(&op);
		why = strerror(-error);
	}
	if (error < 0)
		finish(l, error, why);
}

static void ask_page(struct lookup *l, const char *next);

static int add_page(struct s3_lookup_list *list, const struct s3_list *page)
{
	for (size_t i = 0; i < page->n_objects; i++) {
		struct s3_object *o = list->n < S3_LOOKUP_MAX ?
					      VEC_PUSH(list->objects, list->n,
						       list->cap) :
					      NULL;

		if (!o)
			return list->n < S3_LOOKUP_MAX ? -ENOMEM : -EFBIG;
		*o = page->objects[i];
	}
	return 0;
}

static void end_page(void *data, const struct s3_reply *reply)
{
	struct s3_list page = { .next = "" };
	struct lookup *l = data;
	int r;

	if (reply->error) {
		finish(l, reply->error, reply->sentence);
		return;
	}
	r = s3_xml_list(reply->body, reply->len, &l->list.pool, &page);
	if (r == 0)
		r = add_page(&l->list, &page);
	if (r < 0)
		finish(l, r,
		       r == -EFBIG  ? "there are more than a million objects" :
		       r == -ENOMEM ? "out of memory" :
				      "the server's list of objects is "
				      "malformed");
	else if (page.is_truncated && *page.next)
		ask_page(l, page.next);
	else
		finish(l, 0, "");
	s3_list_release(&page);
}

static void ask_page(struct lookup *l, const char *next)
{
	static const struct s3_call_events events = { .end = end_page };
	const struct s3_operation op = { .client = l->client,
					 .bucket = l->url.bucket,
					 .key = "",
					 .events = &events,
					 .data = l,
					 .ret = &l->call };
	int r = s3_list_page(&op, l->key, next);

	if (r < 0)
		finish(l, r, strerror(-r));
}

static void run_list(struct s3_work *w, struct s3_client *client, int error,
		     const char *why)
{
	struct lookup *l = container_of(w, struct lookup, work);

	l->client = client;
	if (client)
		ask_page(l, NULL);
	else
		finish(l, error, why);
}

/* ---- in the thread that asks ---- */

static int lookup_new(const struct s3_url *url, struct lookup **ret)
{
	CLEANUP(lookup_freep) struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->url = *url;
	l->work.is_gcs = url->is_gcs;
	l->key = strdup(url->key);
	if (!l->key)
		return -ENOMEM;
	*ret = TAKE_PTR(l);
	return 0;
}

/* Takes the lookup over unless it was answered. */
static int ask(struct lookup **lookup, struct roar_error *err)
{
	struct lookup *l = *lookup;
	int r;

	s3_engine_lock();
	r = s3_engine_add(&l->work, err);
	if (r == 0)
		while (r == 0 && !l->is_done)
			r = s3_engine_wait(err);
	else
		l->is_done = true;
	if (!l->is_done) {
		l->is_abandoned = true;
		*lookup = NULL;
	}
	s3_engine_unlock();
	if (r == 0 && l->error < 0)
		r = error_set(err, l->error, "%s", l->why.text);
	return r;
}

int s3_lookup_head(const struct s3_url *url, struct s3_version *ret,
		   struct roar_error *err)
{
	CLEANUP(lookup_freep) struct lookup *l = NULL;
	int r = lookup_new(url, &l);

	if (r < 0)
		return error_set(err, r, "out of memory");
	l->work.run = run_head;
	r = ask(&l, err);
	if (r == 0)
		*ret = l->version;
	return r;
}

int s3_lookup_list(const struct s3_url *url, struct s3_lookup_list *ret,
		   struct roar_error *err)
{
	CLEANUP(lookup_freep) struct lookup *l = NULL;
	int r = lookup_new(url, &l);

	if (r < 0)
		return error_set(err, r, "out of memory");
	l->work.run = run_list;
	r = ask(&l, err);
	if (r == 0) {
		*ret = l->list;
		l->list = (struct s3_lookup_list){ 0 };
	}
	return r;
}

/* blob_s3_call.c - one request to object storage */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "blob/blob_s3.h"

/* ---- operations ---- */

int blob_s3_head(struct blob_call *c, const struct s3_operation *op)
{
	(void)c;
	return s3_head(op);
}

int blob_s3_get(struct blob_call *c, const struct s3_operation *op)
{
	return s3_get(op, c->from, c->to, c->if_etag);
}

int blob_s3_put(struct blob_call *c, const struct s3_operation *op)
{
	return s3_put(op, c->body, c->len, c->field, c->field ? 1 : 0);
}

int blob_s3_delete(struct blob_call *c, const struct s3_operation *op)
{
	(void)c;
	return s3_delete(op);
}

int blob_s3_list_page(struct blob_call *c, const struct s3_operation *op)
{
	return s3_list_page(op, c->prefix, c->next);
}

/* ---- in the engine's thread ---- */

static void finish(struct blob_call *c, int error, const char *why)
{
	s3_engine_lock();
	c->error = error;
	if (error)
		(void)error_set(&c->why, error, "%s", why);
	c->is_done = true;
	s3_engine_notify();
	s3_engine_unlock();
}

/* Bytes beyond what was asked for are counted, not kept. */
static void take_body(void *data, const char *bytes, size_t len)
{
	struct blob_call *c = data;

	if (c->n_got <= c->max && len <= c->max - c->n_got) {
		if (c->into)
			memcpy(c->into + c->n_got, bytes, len);
		else
			str_add(&c->text, bytes, len);
	}
	c->n_got += len;
}

static void copy_field(const struct http_head *head, const char *name,
		       char *ret, size_t size)
{
	const char *text = http_head_get(head, name);

	(void)snprintf(ret, size, "%s",
		       text && strlen(text) < size ? text : "");
}

static void take_head(struct blob_call *c, const struct http_head *head)
{
	const char *length = http_head_get(head, "Content-Length");

	s3_head_etag(head, c->etag, sizeof(c->etag));
	copy_field(head, "x-amz-checksum-crc64nvme", c->crc64nvme,
		   sizeof(c->crc64nvme));
	c->size_bytes = -1;
	if (length)
		(void)number_parse(length, 0, INT64_MAX, &c->size_bytes);
}

static void end_call(void *data, const struct s3_reply *reply)
{
	struct blob_call *c = data;
	int error = reply->error;
	const char *why = reply->sentence;

	c->call = NULL;
	c->status = reply->status;
	(void)snprintf(c->code, sizeof(c->code), "%.*s",
		       (int)sizeof(c->code) - 1,
		       reply->s3.code ? reply->s3.code : "");
	if (!error && reply->head)
		take_head(c, reply->head);
	if (!error && c->begin != blob_s3_get)
		str_add(&c->text, reply->body, reply->len);
	if (!error && str_error(&c->text) < 0) {
		error = -ENOMEM;
		why = "out of memory";
	}
	finish(c, error, why);
}

static void run(struct s3_work *w, struct s3_client *client, int error,
		const char *why)
{
	static const struct s3_call_events to_body = { .body = take_body,
						       .end = end_call };
	static const struct s3_call_events to_end = { .end = end_call };
	struct blob_call *c = container_of(w, struct blob_call, work);
	const struct s3_operation op = {
		.client = client,
		.bucket = c->store->url.bucket,
		.key = c->key,
		.events = c->begin == blob_s3_get ? &to_body : &to_end,
		.data = c,
		.ret = &c->call,
		.crc64nvme = c->body_crc64nvme[0] ? c->body_crc64nvme : NULL,
	};

	if (client) {
		error = c->begin(c, &op);
		why = "the request cannot be made";
	}
	if (error)
		finish(c, error, why);
}

/* ---- in the thread that waits ---- */

static int make_key(const struct blob_s3 *s, struct blob_call *c)
{
	size_t len = strlen(s->prefix) + strlen(c->name) + 1;

	c->key = malloc(len);
	if (!c->key)
		return -ENOMEM;
	/* What concerns the bucket has no key. */
	(void)snprintf(c->key, len, "%s%s", *c->name ? s->prefix : "", c->name);
	return 0;
}

int blob_s3_call(const struct blob_s3 *s, struct blob_call *c,
		 struct roar_error *err)
{
	int r = make_key(s, c);

	if (r < 0)
		return r;
	c->store = s;
	c->work = (struct s3_work){ .is_gcs = s->url.is_gcs, .run = run };
	s3_engine_lock();
	r = s3_engine_add(&c->work, err);
	/* The engine has the call until it ends, however long a signal waits. */
	while (r == 0 && !c->is_done)
		(void)s3_engine_wait(NULL);
	s3_engine_unlock();
	free(c->key);
	if (r < 0)
		return r;
	return c->error ? error_set(err, c->error, "%s", c->why.text) : 0;
}

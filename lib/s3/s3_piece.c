/* s3_piece.c - see s3_piece.h */
#include "s3/s3_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "s3/s3_client.h"
#include "s3/s3_source.h"

enum { KEPT = 16 }; /* buffers of S3_PIECE to use again */

static struct {
	struct list used;
	uint64_t bytes;
	uint8_t *kept[KEPT];
	size_t n_kept;
} cache = { .used = { &cache.used, &cache.used } };

/* ---- life ---- */

/* Pages of a new mapping cost as much as reading them. */
static uint8_t *take_buffer(size_t len)
{
	if (len == S3_PIECE && cache.n_kept)
		return cache.kept[--cache.n_kept];
	return malloc(len);
}

static void give_buffer(uint8_t *data, size_t len)
{
	if (len == S3_PIECE && cache.n_kept < KEPT)
		cache.kept[cache.n_kept++] = data;
	else
		free(data);
}

void s3_piece_free(struct s3_piece *p)
{
	p->content->bytes -= p->len;
	cache.bytes -= p->len;
	list_remove(&p->link);
	list_remove(&p->used);
	give_buffer(p->data, p->len);
	free(p->why);
	free(p);
}

static void drop_if_unused(struct s3_content *c)
{
	if (!c->is_closed || c->n_loading)
		return;
	free(c->key);
	free(c->text);
	free(c);
}

void s3_content_close(struct s3_content *c)
{
	if (!c)
		return;
	c->is_closed = true;
	LIST_EACH(it, after, &c->pieces) {
		struct s3_piece *p = container_of(it, struct s3_piece, link);

		if (p->state != S3_PIECE_LOADING)
			s3_piece_free(p);
	}
	drop_if_unused(c);
}

/* ---- in the engine's thread ---- */

/* What the caller should know of a failure, where S3's words say less. */
static int judge(const struct s3_piece *p, int error, const char *why)
{
	const char *text = p->content->text;

	if (!p->why)
		return error;
	switch (error) {
	case -ESTALE:
		return error_set(p->why, error,
				 "'%s' was replaced while it was read; begin "
				 "again with its new content",
				 text);
	case -ENOENT:
		return error_set(p->why, -ESTALE,
				 "'%s' was removed while it was read", text);
	case -ERANGE:
		return error_set(p->why, -ESTALE,
				 "'%s' has become shorter while it was read",
				 text);
	default:
		return error_set(p->why, error, "%s", why);
	}
}

static void finish(struct s3_piece *p, int error, const char *why)
{
	struct s3_content *c = p->content;

	s3_engine_lock();
	p->call = NULL;
	p->state = error ? S3_PIECE_FAILED : S3_PIECE_READY;
	if (error) {
		p->why = calloc(1, sizeof(*p->why));
		p->error = judge(p, error, why);
	}
	c->n_loading--;
	/* Nobody waits for a failure that came ahead: who needs the piece asks again. */
	if (c->is_closed || (p->state == S3_PIECE_FAILED && !p->n_pins))
		s3_piece_free(p);
	drop_if_unused(c);
	s3_engine_notify();
	s3_engine_unlock();
}

static void take_body(void *data, const char *bytes, size_t len)
{
	struct s3_piece *p = data;

	if (p->n_got <= p->len && len <= p->len - p->n_got)
		memcpy(p->data + p->n_got, bytes, len);
	p->n_got += len;
}

static void end_get(void *data, const struct s3_reply *reply)
{
	struct s3_piece *p = data;

	if (reply->error)
		finish(p, reply->error, reply->sentence);
	else if (p->n_got != p->len)
		finish(p, -EIO,
		       "the server sent another number of bytes than "
		       "it was asked for");
	else
		finish(p, 0, "");
}

static void run_get(struct s3_work *w, struct s3_client *client, int error,
		    const char *why)
{
	static const struct s3_call_events events = { .body = take_body,
						      .end = end_get };
	struct s3_piece *p = container_of(w, struct s3_piece, work);
	const struct s3_operation op = { .client = client,
					 .bucket = p->content->url.bucket,
					 .key = p->content->key,
					 .events = &events,
					 .data = p,
					 .ret = &p->call };

	if (client) {
		error = s3_get(&op, (int64_t)p->offset,
			       (int64_t)(p->offset + p->len),
			       p->content->version.etag);
		why = strerror(-error);
	}
	if (error < 0)
		finish(p, error, why);
}

/* ---- with the lock ---- */

struct s3_piece *s3_piece_find(const struct s3_content *c, uint64_t at)
{
	LIST_EACH(it, after, &c->pieces) {
		struct s3_piece *p = container_of(it, struct s3_piece, link);

		if (p->state != S3_PIECE_FAILED && at >= p->offset &&
		    at - p->offset < p->len)
			return p;
	}
	return NULL;
}

/* The oldest that may go, of one object or of all. */
static bool drop_oldest(const struct s3_content *only)
{
	LIST_EACH(it, after, &cache.used) {
		struct s3_piece *p = container_of(it, struct s3_piece, used);

		if (p->state == S3_PIECE_READY && !p->n_pins &&
		    (!only || p->content == only)) {
			s3_piece_free(p);
			return true;
		}
	}
	return false;
}

static bool make_room(const struct s3_content *c, size_t len)
{
	while (c->bytes + len > S3_OBJECT_CACHE)
		if (!drop_oldest(c))
			return false;
	while (cache.bytes + len > S3_CACHE)
		if (!drop_oldest(NULL))
			return false;
	return true;
}

int s3_piece_new(struct s3_content *c, uint64_t offset, size_t len,
		 bool is_once, struct s3_piece **ret, struct roar_error *err)
{
	struct s3_piece *p;
	int r;

	if (!make_room(c, len))
		return -EAGAIN;
	p = calloc(1, sizeof(*p));
	if (p)
		p->data = take_buffer(len);
	if (!p || !p->data) {
		free(p);
		return error_set(err, -ENOMEM, "out of memory");
	}
	p->work.is_gcs = c->url.is_gcs;
	p->work.run = run_get;
	p->content = c;
	p->offset = offset;
	p->len = len;
	p->is_once = is_once;
	c->bytes += len;
	cache.bytes += len;
	list_add(&c->pieces, &p->link);
	list_add(&cache.used, &p->used);
	r = s3_engine_add(&p->work, err);
	if (r < 0) {
		s3_piece_free(p);
		return r;
	}
	c->n_loading++;
	*ret = p;
	return 0;
}

void s3_piece_unpin(struct s3_piece *p, uint64_t read_to)
{
	bool was_read = read_to == p->offset + p->len;

	list_remove(&p->used);
	list_add_before(was_read ? cache.used.next : &cache.used, &p->used);
	p->n_pins--;
	if (p->n_pins || p->state == S3_PIECE_LOADING)
		return;
	if (p->state == S3_PIECE_FAILED || (p->is_once && was_read))
		s3_piece_free(p);
}

/* ---- fork ---- */

void s3_pieces_begin_child(void)
{
	LIST_EACH(it, after, &cache.used) {
		struct s3_piece *p = container_of(it, struct s3_piece, used);
		struct s3_content *c = p->content;

		p->n_pins = 0;
		if (p->state == S3_PIECE_READY)
			continue;
		if (p->state == S3_PIECE_LOADING)
			c->n_loading--;
		s3_piece_free(p);
		drop_if_unused(c);
	}
}

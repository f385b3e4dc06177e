/* s3_source.c - see s3_source.h
 *
 * A piece is loading, then ready or failed.  Who reads from it pins it; what is neither pinned
 * nor loading may go at any time.  All of this is guarded by the engine's lock, but for
 * `n_got` and the bytes of a piece: while it is loading they are the engine's thread's, then
 * nobody changes them. */
#include "s3/s3_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "hash/file/file_hash.h"
#include "reader/sample_source.h"
#include "s3/s3_client.h"
#include "s3/s3_engine.h"
#include "s3/s3_lookup.h"

enum {
	IN_A_ROW = 3, /* near each other: these reads go on so */
	GAP = 64 << 10, /* bytes between samples that follow each other */
	KEPT = 16, /* buffers of S3_PIECE to use again */
};

struct object {
	struct s3_url url; /* its key is `key` */
	char *key;
	char *text; /* the URL */
	struct s3_version version;
	uint64_t size;
	unsigned n_refs; /* sources */
	unsigned n_loading; /* pieces, which keep it too */
	struct list pieces;
	uint64_t bytes; /* of them */
	uint64_t row_start, last_end; /* of the reads so far */
	unsigned n_near; /* reads in a row */
	uint64_t expected_end; /* of what was announced so far */
	unsigned n_expected; /* in a row */
};

enum state { LOADING, READY, FAILED };

struct piece {
	struct list link; /* of the object */
	struct list used; /* of all; the first one goes first */
	struct s3_work work;
	struct s3_call *call;
	struct object *object;
	uint64_t offset;
	size_t len;
	size_t n_got;
	enum state state;
	unsigned n_pins;
	bool is_once; /* goes when its end was read */
	int error;
	struct roar_error *why; /* NULL: no memory */
	uint8_t *data;
};

static struct {
	struct list used;
	uint64_t bytes;
	uint8_t *kept[KEPT];
	size_t n_kept;
} cache = { .used = { &cache.used, &cache.used } };

/* ---- life ---- */

static void object_free(struct object *o)
{
	if (!o)
		return;
	free(o->key);
	free(o->text);
	free(o);
}
DEFINE_CLEANUP(struct object *, object_free)

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

static void piece_free(struct piece *p)
{
	p->object->bytes -= p->len;
	cache.bytes -= p->len;
	list_remove(&p->link);
	list_remove(&p->used);
	give_buffer(p->data, p->len);
	free(p->why);
	free(p);
}

static void object_drop_if_unused(struct object *o)
{
	if (!o->n_refs && !o->n_loading)
		object_free(o);
}

/* ---- in the engine's thread ---- */

/* What the caller should know of a failure, where S3's words say less. */
static int judge(const struct piece *p, int error, const char *why)
{
	const char *text = p->object->text;

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

static void finish(struct piece *p, int error, const char *why)
{
	struct object *o = p->object;

	s3_engine_lock();
	p->call = NULL;
	p->state = error ? FAILED : READY;
	if (error) {
		p->why = calloc(1, sizeof(*p->why));
		p->error = judge(p, error, why);
	}
	o->n_loading--;
	/* Nobody waits for a failure that came ahead: who needs the piece asks again. */
	if (!o->n_refs || (p->state == FAILED && !p->n_pins))
		piece_free(p);
	object_drop_if_unused(o);
	s3_engine_notify();
	s3_engine_unlock();
}

static void take_body(void *data, const char *bytes, size_t len)
{
	struct piece *p = data;

	if (p->n_got <= p->len && len <= p->len - p->n_got)
		memcpy(p->data + p->n_got, bytes, len);
	p->n_got += len;
}

static void end_get(void *data, const struct s3_reply *reply)
{
	struct piece *p = data;

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
	struct piece *p = container_of(w, struct piece, work);
	const struct s3_operation op = { .client = client,
					 .bucket = p->object->url.bucket,
					 .key = p->object->key,
					 .events = &events,
					 .data = p,
					 .ret = &p->call };

	if (client) {
		error = s3_get(&op, (int64_t)p->offset,
			       (int64_t)(p->offset + p->len),
			       p->object->version.etag);
		why = strerror(-error);
	}
	if (error < 0)
		finish(p, error, why);
}

/* ---- pieces; the lock is held ---- */

static struct piece *find_piece(const struct object *o, uint64_t at)
{
	LIST_EACH(it, after, &o->pieces) {
		struct piece *p = container_of(it, struct piece, link);

		if (p->state != FAILED && at >= p->offset &&
		    at - p->offset < p->len)
			return p;
	}
	return NULL;
}

/* The oldest that may go, of one object or of all. */
static bool drop_oldest(const struct object *only)
{
	LIST_EACH(it, after, &cache.used) {
		struct piece *p = container_of(it, struct piece, used);

		if (p->state == READY && !p->n_pins &&
		    (!only || p->object == only)) {
			piece_free(p);
			return true;
		}
	}
	return false;
}

static bool make_room(const struct object *o, size_t len)
{
	while (o->bytes + len > S3_OBJECT_CACHE)
		if (!drop_oldest(o))
			return false;
	while (cache.bytes + len > S3_CACHE)
		if (!drop_oldest(NULL))
			return false;
	return true;
}

/* Asks for a range.  -EAGAIN: there is no room for it now. */
static int piece_new(struct object *o, uint64_t offset, size_t len,
		     bool is_once, struct piece **ret, struct roar_error *err)
{
	struct piece *p;
	int r;

	if (!make_room(o, len))
		return -EAGAIN;
	p = calloc(1, sizeof(*p));
	if (p)
		p->data = take_buffer(len);
	if (!p || !p->data) {
		free(p);
		return error_set(err, -ENOMEM, "out of memory");
	}
	p->work.is_gcs = o->url.is_gcs;
	p->work.run = run_get;
	p->object = o;
	p->offset = offset;
	p->len = len;
	p->is_once = is_once;
	o->bytes += len;
	cache.bytes += len;
	list_add(&o->pieces, &p->link);
	list_add(&cache.used, &p->used);
	r = s3_engine_add(&p->work, err);
	if (r < 0) {
		piece_free(p);
		return r;
	}
	o->n_loading++;
	*ret = p;
	return 0;
}

/* ---- which pieces ---- */

static bool is_in_a_row(const struct object *o)
{
	return o->n_near >= IN_A_ROW || o->size <= S3_PIECE;
}

/* Threads read a row a little out of order. */
static bool is_near(const struct object *o, uint64_t offset)
{
	return offset + S3_PIECE >= o->last_end &&
	       offset <= o->last_end + S3_PIECE;
}

/* Is it one of samples that follow each other? */
static bool is_expected_in_a_row(struct object *o, uint64_t offset, size_t len)
{
	bool follows = offset >= o->expected_end &&
		       offset - o->expected_end <= GAP;

	o->n_expected = follows ? o->n_expected + 1 : 0;
	o->expected_end = offset + len;
	return o->n_expected >= IN_A_ROW || o->size <= S3_PIECE;
}

static void note_read(struct object *o, uint64_t offset, size_t len)
{
	bool near = is_near(o, offset);

	o->n_near = near ? o->n_near + 1 : 0;
	if (!near || offset < o->row_start)
		o->row_start = offset;
	if (!near || offset + len > o->last_end)
		o->last_end = offset + len;
}

/* The piece that holds `at`, of a read up to `end`, which may be one of a row. */
static int ask_piece(struct object *o, uint64_t at, uint64_t end, bool row,
		     struct piece **ret, struct roar_error *err)
{
	uint64_t from = row ? at / S3_PIECE * S3_PIECE : at;
	uint64_t to = from + S3_PIECE;

	if (!row && to > end)
		to = end;
	if (to > o->size)
		to = o->size;
	return piece_new(o, from, (size_t)(to - from), !row, ret, err);
}

/* Asks for all that is missing between, as far as there is room. */
static void ask_range(struct object *o, uint64_t at, uint64_t end, bool row)
{
	while (at < end) {
		struct piece *p = find_piece(o, at);

		if (!p && ask_piece(o, at, end, row, &p, NULL) < 0)
			return;
		at = p->offset + p->len;
	}
}

/* The longer the row, the more pieces. */
static void ask_ahead(struct object *o)
{
	uint64_t n_pieces = 1 + 4 * (o->last_end - o->row_start) / S3_PIECE;
	uint64_t end;

	if (!is_in_a_row(o))
		return;
	if (n_pieces > S3_AHEAD)
		n_pieces = S3_AHEAD;
	end = o->last_end + n_pieces * S3_PIECE;
	ask_range(o, o->last_end, end < o->size ? end : o->size, true);
}

/* Pieces behind a row are not read again, as a rule.  An object that fits is kept: its begin may
 * be read after it was scanned. */
static void drop_behind(struct object *o)
{
	if (o->size <= S3_OBJECT_CACHE || !is_in_a_row(o))
		return;
	LIST_EACH(it, after, &o->pieces) {
		struct piece *p = container_of(it, struct piece, link);

		if (p->state == READY && !p->n_pins &&
		    p->offset + p->len + 2 * S3_PIECE <= o->last_end)
			piece_free(p);
	}
}

/* ---- reading ---- */

/* What was read to its end goes before what was asked for ahead. */
static void unpin(struct piece *p, uint64_t read_to)
{
	bool was_read = read_to == p->offset + p->len;

	list_remove(&p->used);
	list_add_before(was_read ? cache.used.next : &cache.used, &p->used);
	p->n_pins--;
	if (p->n_pins || p->state == LOADING)
		return;
	if (p->state == FAILED || (p->is_once && was_read))
		piece_free(p);
}

/* Reads what one piece has of a range.  The number of bytes; 0: try again. */
static int64_t read_some(struct object *o, uint64_t at, uint8_t *to, size_t len,
			 struct roar_error *err)
{
	struct piece *p = find_piece(o, at);
	size_t n = 0;
	int r = p ? 0 : ask_piece(o, at, at + len, is_in_a_row(o), &p, err);

	if (r == -EAGAIN)
		return s3_engine_wait(err);
	if (r < 0)
		return r;
	p->n_pins++;
	while (r == 0 && p->state == LOADING)
		r = s3_engine_wait(err);
	if (r == 0 && p->state == FAILED)
		r = error_set(err, p->error, "%s",
			      p->why ? p->why->text : "out of memory");
	if (r == 0) {
		n = (size_t)(p->offset + p->len - at);
		n = n < len ? n : len;
		s3_engine_unlock();
		memcpy(to, p->data + (at - p->offset), n);
		s3_engine_lock();
	}
	unpin(p, at + n);
	return r < 0 ? r : (int64_t)n;
}

static int object_read(void *data, uint64_t offset, void *to, size_t len,
		       struct roar_error *err)
{
	struct object *o = data;
	size_t done = 0;
	int64_t n = 0;

	s3_engine_lock();
	note_read(o, offset, len);
	drop_behind(o);
	ask_range(o, offset, offset + len, is_in_a_row(o));
	ask_ahead(o);
	while (n >= 0 && done < len) {
		n = read_some(o, offset + done, (uint8_t *)to + done,
			      len - done, err);
		if (n > 0)
			done += (size_t)n;
	}
	s3_engine_unlock();
	return n < 0 ? (int)n : 0;
}

static void object_expect(void *data, uint64_t offset, size_t len)
{
	struct object *o = data;

	s3_engine_lock();
	ask_range(o, offset, offset + len,
		  is_expected_in_a_row(o, offset, len));
	s3_engine_unlock();
}

static bool object_is_cached(void *data, uint64_t offset)
{
	struct object *o = data;
	const struct piece *p;
	bool is_ready;

	s3_engine_lock();
	p = find_piece(o, offset);
	is_ready = p && p->state == READY;
	s3_engine_unlock();
	return is_ready;
}

/* ---- opening ---- */

static void *object_hold(void *data)
{
	struct object *o = data;

	s3_engine_lock();
	o->n_refs++;
	s3_engine_unlock();
	return o;
}

static void object_close(void *data)
{
	struct object *o = data;

	s3_engine_lock();
	if (--o->n_refs == 0) {
		LIST_EACH(it, after, &o->pieces) {
			struct piece *p = container_of(it, struct piece, link);

			if (p->state != LOADING)
				piece_free(p);
		}
		object_drop_if_unused(o);
	}
	s3_engine_unlock();
}

/* Another ETag is another content: its digest takes the place of a time.  A negative one is
 * before any time, so that it is never too young to be believed. */
static int make_stamp(const struct object *o, struct stamp *ret)
{
	struct digests d;
	int64_t number;
	int r = digest_buffer(o->version.etag, strlen(o->version.etag),
			      DIGEST_SET_BLAKE3, &d);

	if (r < 0)
		return r;
	memcpy(&number, d.blake3, sizeof(number));
	*ret = (struct stamp){ .ino = 1,
			       .size = o->size,
			       .mtime_ns = number | INT64_MIN };
	return 0;
}

static int look_up(struct object *o, struct roar_error *err)
{
	int r = s3_lookup_head(&o->url, &o->version, err);

	if (r == -ENOENT)
		return error_set(err, r,
				 "cannot open '%s': there is no such "
				 "object, or no such bucket",
				 o->text);
	if (r < 0)
		return r;
	if (o->version.size_bytes < 0 || !*o->version.etag)
		return error_set(err, -ENOTSUP,
				 "the server of '%s' tells neither size nor "
				 "ETag of it, without which it cannot be read",
				 o->text);
	o->size = (uint64_t)o->version.size_bytes;
	return 0;
}

static int object_open(const char *url, struct stamp *ret_stamp,
		       void **ret_data, struct roar_error *err)
{
	CLEANUP(object_freep) struct object *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_set(err, -ENOMEM, "out of memory");
	r = s3_url_parse(url, &o->url, err);
	if (r < 0)
		return r;
	if (!*o->url.key)
		return error_set(err, -EINVAL,
				 "'%s' is a bucket, name an object in it", url);
	list_init(&o->pieces);
	o->n_refs = 1;
	o->n_near = IN_A_ROW; /* from its begin on */
	o->n_expected = IN_A_ROW;
	o->text = strdup(url);
	o->key = strdup(o->url.key);
	if (!o->text || !o->key)
		return error_set(err, -ENOMEM, "out of memory");
	o->url.key = o->key;
	r = look_up(o, err);
	if (r == 0 && make_stamp(o, ret_stamp) < 0)
		r = error_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		*ret_data = TAKE_PTR(o);
	return r;
}

/* ---- fork ---- */

/* Pieces that were loading never come; nobody but this thread reads. */
static void begin_child(void)
{
	LIST_EACH(it, after, &cache.used) {
		struct piece *p = container_of(it, struct piece, used);
		struct object *o = p->object;

		p->n_pins = 0;
		if (p->state == READY)
			continue;
		if (p->state == LOADING)
			o->n_loading--;
		piece_free(p);
		object_drop_if_unused(o);
	}
}

void s3_source_register(void)
{
	static const struct source_ops ops = {
		.open = object_open,
		.hold = object_hold,
		.close = object_close,
		.read = object_read,
		.expect = object_expect,
		.is_cached = object_is_cached,
	};

	s3_engine_at_fork(begin_child);
	source_register("s3", &ops);
	source_register("gs", &ops);
}

/* s3_source.c - see s3_source.h; s3_piece.h has the memory, here is what to ask for */
#include "s3/s3_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "hash/file/file_hash.h"
#include "reader/sample_source.h"
#include "s3/s3_piece.h"

enum {
	IN_A_ROW = 3, /* near each other: these reads go on so */
	GAP = 64 << 10, /* bytes between samples that follow each other */
};

/* The engine's lock guards it, as its pieces. */
struct object {
	struct s3_content *content;
	unsigned n_refs; /* sources */
	uint64_t row_start, last_end; /* of the reads so far */
	unsigned n_near; /* reads in a row */
	uint64_t expected_end; /* of what was announced so far */
	unsigned n_expected; /* in a row */
};

/* ---- which pieces ---- */

static bool is_in_a_row(const struct object *o)
{
	return o->n_near >= IN_A_ROW || o->content->size <= S3_PIECE;
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
	return o->n_expected >= IN_A_ROW || o->content->size <= S3_PIECE;
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
		     struct s3_piece **ret, struct roar_error *err)
{
	uint64_t from = row ? at / S3_PIECE * S3_PIECE : at;
	uint64_t to = from + S3_PIECE;

	if (!row && to > end)
		to = end;
	if (to > o->content->size)
		to = o->content->size;
	return s3_piece_new(o->content, from, (size_t)(to - from), !row, ret,
			    err);
}

/* Asks for all that is missing between, as far as there is room. */
static void ask_range(struct object *o, uint64_t at, uint64_t end, bool row)
{
	while (at < end) {
		struct s3_piece *p = s3_piece_find(o->content, at);

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
	ask_range(o, o->last_end,
		  end < o->content->size ? end : o->content->size, true);
}

/* Pieces behind a row are not read again, as a rule.  An object that fits is kept: its begin may
 * be read after it was scanned. */
static void drop_behind(struct object *o)
{
	if (o->content->size <= S3_OBJECT_CACHE || !is_in_a_row(o))
		return;
	LIST_EACH(it, after, &o->content->pieces) {
		struct s3_piece *p = container_of(it, struct s3_piece, link);

		if (p->state == S3_PIECE_READY && !p->n_pins &&
		    p->offset + p->len + 2 * S3_PIECE <= o->last_end)
			s3_piece_free(p);
	}
}

/* ---- reading ---- */

/* Reads what one piece has of a range.  The number of bytes; 0: try again. */
static int64_t read_some(struct object *o, uint64_t at, uint8_t *to, size_t len,
			 struct roar_error *err)
{
	struct s3_piece *p = s3_piece_find(o->content, at);
	size_t n = 0;
	int r = p ? 0 : ask_piece(o, at, at + len, is_in_a_row(o), &p, err);

	if (r == -EAGAIN)
		return s3_engine_wait(err);
	if (r < 0)
		return r;
	p->n_pins++;
	while (r == 0 && p->state == S3_PIECE_LOADING)
		r = s3_engine_wait(err);
	if (r == 0 && p->state == S3_PIECE_FAILED)
		r = error_set(err, p->error, "%s",
			      p->why ? p->why->text : "out of memory");
	if (r == 0) {
		n = (size_t)(p->offset + p->len - at);
		n = n < len ? n : len;
		s3_engine_unlock();
		memcpy(to, p->data + (at - p->offset), n);
		s3_engine_lock();
	}
	s3_piece_unpin(p, at + n);
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
	const struct s3_piece *p;
	bool is_ready;

	s3_engine_lock();
	p = s3_piece_find(o->content, offset);
	is_ready = p && p->state == S3_PIECE_READY;
	s3_engine_unlock();
	return is_ready;
}

/* ---- opening ---- */

static void object_free(struct object *o)
{
	if (!o)
		return;
	s3_content_close(o->content);
	free(o);
}

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
	if (--o->n_refs == 0)
		object_free(o);
	s3_engine_unlock();
}

/* Another ETag is another content: its digest takes the place of a time.  A negative one is
 * before any time, so that it is never too young to be believed. */
static int make_stamp(const struct s3_content *c, struct stamp *ret)
{
	struct digests d;
	int64_t number;
	int r = digest_buffer(c->version.etag, strlen(c->version.etag),
			      DIGEST_SET_BLAKE3, &d);

	if (r < 0)
		return r;
	memcpy(&number, d.blake3, sizeof(number));
	*ret = (struct stamp){ .ino = 1,
			       .size = c->size,
			       .mtime_ns = number | INT64_MIN };
	return 0;
}

static int look_up(struct s3_content *c, struct roar_error *err)
{
	int r = s3_lookup_head(&c->url, &c->version, err);

	if (r == -ENOENT)
		return error_set(err, r,
				 "cannot open '%s': there is no such "
				 "object, or no such bucket",
				 c->text);
	if (r < 0)
		return r;
	if (c->version.size_bytes < 0 || !*c->version.etag)
		return error_set(err, -ENOTSUP,
				 "the server of '%s' tells neither size nor "
				 "ETag of it, without which it cannot be read",
				 c->text);
	c->size = (uint64_t)c->version.size_bytes;
	return 0;
}

static int fill_content(struct s3_content *c, const char *url,
			struct roar_error *err)
{
	int r = s3_url_parse(url, &c->url, err);

	if (r < 0)
		return r;
	if (!*c->url.key)
		return error_set(err, -EINVAL,
				 "'%s' is a bucket, name an object in it", url);
	c->text = strdup(url);
	c->key = strdup(c->url.key);
	if (!c->text || !c->key)
		return error_set(err, -ENOMEM, "out of memory");
	c->url.key = c->key;
	return look_up(c, err);
}

static int object_open(const char *url, struct stamp *ret_stamp,
		       void **ret_data, struct roar_error *err)
{
	struct object *o = calloc(1, sizeof(*o));
	struct s3_content *c = calloc(1, sizeof(*c));
	int r = o && c ? 0 : error_set(err, -ENOMEM, "out of memory");

	if (r == 0) {
		list_init(&c->pieces);
		r = fill_content(c, url, err);
	}
	if (r == 0 && make_stamp(c, ret_stamp) < 0)
		r = error_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		s3_content_close(c); /* which no other thread knows */
		free(o);
		return r;
	}
	*o = (struct object){
		.content = c,
		.n_refs = 1,
		.n_near = IN_A_ROW, /* from its begin on */
		.n_expected = IN_A_ROW,
	};
	*ret_data = o;
	return 0;
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

	s3_engine_at_fork(s3_pieces_begin_child);
	source_register("s3", &ops);
	source_register("gs", &ops);
}

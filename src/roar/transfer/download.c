/* download.c - fetches objects, large ones in ranges
 *
 * pump() begins requests while there is room: ranges of files that were begun first, then the
 * next file.  A range is a few leaves; each is handed to the file when its last byte is in.
 * A second thread hashes and writes the large ones while others arrive. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "net/side_thread.h"
#include "s3/s3_driver.h"
#include "transfer/download_file.h"

enum {
	RANGE_LEAVES = TRANSFER_PART / TRANSFER_LEAF,
	MAX_ASIDE = 8, /* leaves that wait for the second thread */
};

struct download {
	struct transfer *t;
	size_t next; /* item to begin */
	struct list files; /* begun */
	struct list ranges; /* under way */
	struct side_thread *side; /* stores leaves */
	struct leaf *spare; /* full ones, to be used again: new pages are slow */
	unsigned n_flying;
	bool done;
	int result; /* 0, or the first failure */
	struct roar_error *err;
};

/* Bytes of one leaf on their way to the file. */
struct leaf {
	struct side_job job; /* first: its pointer is ours */
	struct leaf *next; /* while it is spare */
	struct download *download;
	struct download_file *file;
	uint64_t index;
	size_t n, len; /* bytes that are in it, and that it has */
	int result; /* of storing it */
	struct roar_error err;
	uint8_t data[];
};

/* A request under way. */
struct range {
	struct list link;
	struct download *download;
	struct download_file *file;
	struct s3_call *call;
	uint64_t next,
		end; /* the leaf that is being filled, and the last + 1 */
	struct leaf *leaf; /* NULL: there is none yet */
};

static void pump(struct download *d);

static void fail(struct download *d, int error)
{
	if (d->result == 0)
		d->result = error;
	d->done = true;
}

/* ---- leaves ---- */

static struct leaf *new_leaf(struct range *r)
{
	struct download *d = r->download;
	size_t len = download_file_leaf_len(r->file, r->next);
	struct leaf *l = len == TRANSFER_LEAF ? d->spare : NULL;

	if (l)
		d->spare = l->next;
	else
		l = malloc(sizeof(*l) + len);
	if (l)
		*l = (struct leaf){ .download = d,
				    .file = r->file,
				    .index = r->next,
				    .len = len };
	return l;
}

static void free_leaf(struct download *d, struct leaf *l)
{
	if (!l || l->len < TRANSFER_LEAF) {
		free(l);
		return;
	}
	l->next = d->spare;
	d->spare = l;
}

static void free_range(struct range *r)
{
	list_remove(&r->link);
	r->download->n_flying--;
	download_file_release(r->file);
	free_leaf(r->download, r->leaf);
	free(r);
}

static void finish_if_whole(struct download *d, struct download_file *f)
{
	int r;

	if (!download_file_is_whole(f))
		return;
	r = download_file_finish(f, d->err);
	download_file_close(f);
	if (r < 0)
		fail(d, r);
}

static void store_leaf(struct side_job *j)
{
	struct leaf *l = (struct leaf *)j;

	l->result = download_file_store_leaf(l->file, l->index, l->data, l->len,
					     &l->err);
}

static void end_leaf(struct side_job *j)
{
	struct leaf *l = (struct leaf *)j;
	struct download *d = l->download;
	struct download_file *f = l->file;

	if (l->result < 0 && !d->done)
		fail(d, error_set(d->err, l->result, "%s", l->err.text));
	if (l->result == 0)
		download_file_note_leaf(f, l->index);
	free_leaf(d, l);
	if (d->done)
		return;
	finish_if_whole(d, f);
	pump(d);
}

/* A small leaf is stored sooner than it is handed over. */
static void hand_over(struct download *d, struct leaf *l)
{
	l->job = (struct side_job){ .run = store_leaf, .done = end_leaf };
	if (l->len == TRANSFER_LEAF && side_thread_add(d->side, &l->job))
		return;
	store_leaf(&l->job);
	end_leaf(&l->job);
}

/* ---- the reply ---- */

/* What stored the object may have said what it is. */
static void on_head(void *data, const struct http_head *head)
{
	struct range *r = data;
	struct transfer *t = r->download->t;
	struct transfer_item *item = download_file_item(r->file);
	const char *stored = http_head_get(head, S3_BLAKE3_FIELD);
	const char *version = http_head_get(head, "x-amz-version-id");
	char etag[144];

	s3_head_etag(head, etag, sizeof(etag));
	if (stored && strlen(stored) == 2 * BLAKE3_LEN && !item->expected)
		item->expected = pool_strdup(&t->pool, stored);
	if (version && !*item->version)
		item->version = pool_strdup(&t->pool, version);
	if (!*item->etag)
		item->etag = pool_strdup(&t->pool, etag);
	if (!item->version)
		item->version = "";
	if (!item->etag)
		item->etag = "";
}

static int add_bytes(struct range *r, const char *bytes, size_t len)
{
	struct download *d = r->download;

	while (len && !d->done) {
		struct leaf *l = r->leaf;
		size_t n;

		if (r->next == r->end)
			return error_set(d->err, -EPROTO,
					 "the server sends more of '%s' than it "
					 "was asked for",
					 download_file_item(r->file)->place);
		if (!l)
			l = r->leaf = new_leaf(r);
		if (!l)
			return error_set(d->err, -ENOMEM, "out of memory");
		n = l->len - l->n < len ? l->len - l->n : len;
		memcpy(l->data + l->n, bytes, n);
		l->n += n;
		bytes += n;
		len -= n;
		if (l->n < l->len)
			return 0;
		r->leaf = NULL;
		r->next++;
		hand_over(d, l);
	}
	return 0;
}

static void on_body(void *data, const char *bytes, size_t len)
{
	struct range *r = data;
	struct download *d = r->download;
	int e;

	if (d->done)
		return;
	e = r->end ? add_bytes(r, bytes, len) :
		     download_file_append(r->file, bytes, len, d->err);
	if (e < 0)
		fail(d, e);
}

static void on_end(void *data, const struct s3_reply *reply)
{
	struct range *r = data;
	struct download *d = r->download;
	struct download_file *f = r->file;
	bool is_short = r->next < r->end;

	r->call = NULL;
	download_file_item(f)->n_requests++;
	free_range(r);
	if (d->done)
		return;
	if (reply->error) {
		if (reply->error == -ESTALE)
			download_file_discard(f);
		fail(d, error_set(d->err, reply->error, "%s",
				  reply->error == -ESTALE ?
					  "an object changed while it was "
					  "fetched: run the command again" :
					  reply->sentence));
		return;
	}
	if (is_short) {
		fail(d, error_set(d->err, -EPROTO,
				  "the server sent less of '%s' than it "
				  "promised",
				  download_file_item(f)->place));
		return;
	}
	download_file_end_stream(f);
	finish_if_whole(d, f);
	pump(d);
}

/* ---- requests ---- */

static int send_range(struct range *r, int64_t from, int64_t to)
{
	static const struct s3_call_events events = { .head = on_head,
						      .body = on_body,
						      .end = on_end };
	const struct transfer_item *item = download_file_item(r->file);
	const struct s3_call_request request = {
		.method = "GET",
		.bucket = item->bucket,
		.key = item->key,
		.url = item->url,
		.from = from,
		.to = to,
		.etag = *item->etag && strncmp(item->etag, "W/", 2) != 0 ?
				item->etag :
				NULL,
	};

	return s3_call_begin(r->download->t->client, &request, &events, r,
			     &r->call);
}

/* A request for these leaves; for none of them, of everything. */
static void begin_range(struct download *d, struct download_file *f,
			uint64_t first, uint64_t n)
{
	const struct transfer_item *item = download_file_item(f);
	int64_t from = (int64_t)(first * TRANSFER_LEAF);
	int64_t to = (int64_t)((first + n) * TRANSFER_LEAF);
	struct range *r = calloc(1, sizeof(*r));
	int e = -ENOMEM;

	if (r) {
		*r = (struct range){ .download = d,
				     .file = f,
				     .next = first,
				     .end = first + n };
		list_add(&d->ranges, &r->link);
		d->n_flying++;
		download_file_hold(f);
		if (to > item->size_bytes)
			to = item->size_bytes;
		/* All of it needs no range, which some servers do not have. */
		if (!n || (from == 0 && to == item->size_bytes))
			to = -1;
		e = send_range(r, from, to);
	}
	if (e == 0)
		return;
	if (r)
		free_range(r);
	fail(d, error_set(d->err, e, "cannot fetch '%s': %s", item->place,
			  strerror(-e)));
}

static bool begin_leaves(struct download *d, struct download_file *f)
{
	bool in_ranges = download_file_item(f)->has_ranges;
	uint64_t first;
	uint64_t n = download_file_take_leaves(
		f, in_ranges ? RANGE_LEAVES : UINT64_MAX, &first);

	if (!n)
		return false;
	begin_range(d, f, first, n);
	return true;
}

/* An empty object has one leaf, of no bytes, and there is nothing to fetch. */
static void begin_item(struct download *d, struct transfer_item *item)
{
	struct download_file *f;
	int r = download_file_open(d->t, item, &f, d->err);

	if (r < 0) {
		fail(d, r);
		return;
	}
	list_add(&d->files, download_file_link(f));
	if (item->size_bytes == 0) {
		r = download_file_store_leaf(f, 0, "", 0, d->err);
		if (r < 0)
			fail(d, r);
		else
			download_file_note_leaf(f, 0);
	}
	if (download_file_is_whole(f))
		finish_if_whole(d, f);
	else if (item->size_bytes < 0)
		begin_range(d, f, 0, 0);
	else
		(void)begin_leaves(d, f);
}

static bool begin_next(struct download *d)
{
	LIST_EACH(it, after, &d->files)
		if (begin_leaves(d, download_file_of(it)))
			return true;
	while (d->next < d->t->n && d->t->items[d->next].is_done)
		d->next++;
	if (d->next == d->t->n)
		return false;
	begin_item(d, &d->t->items[d->next++]);
	return true;
}

static void pump(struct download *d)
{
	while (!d->done && d->n_flying < TRANSFER_FLYING)
		if (!begin_next(d))
			break;
	if (!d->n_flying && d->next == d->t->n && list_empty(&d->files))
		d->done = true;
}

static void release(struct download *d)
{
	d->done = true;
	side_thread_free(d->side);
	LIST_EACH(it, after, &d->ranges) {
		struct range *r = container_of(it, struct range, link);

		s3_call_cancel(r->call);
		free_range(r);
	}
	LIST_EACH(it, after, &d->files)
		download_file_close(download_file_of(it));
	for (struct leaf *l; (l = d->spare);) {
		d->spare = l->next;
		free(l);
	}
}

int download_run(struct transfer *t, struct roar_error *err)
{
	struct download d = { .t = t, .err = err };
	int r = side_thread_new(s3_driver_loop(t->driver), MAX_ASIDE, &d.side);

	if (r < 0)
		return error_set(err, r, "cannot fetch: %s", strerror(-r));
	t->progress.verb = "fetching";
	list_init(&d.files);
	list_init(&d.ranges);
	pump(&d);
	r = s3_driver_run(t->driver, &d.done, &transfer_stop, transfer_tick, t);
	release(&d);
	if (r == -EINTR)
		return error_set(err, r, "interrupted");
	return d.result < 0 ? d.result : r;
}

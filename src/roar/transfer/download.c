/* download.c - fetches objects, large ones in ranges
 *
 * pump() begins requests while there is room: ranges of files that were begun first, then the
 * next file.  A range is a few leaves; each is handed to the file when its last byte is in. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "s3/s3_driver.h"
#include "transfer/download_file.h"

enum { RANGE_LEAVES = TRANSFER_PART / TRANSFER_LEAF };

struct download {
	struct transfer *t;
	size_t next; /* item to begin */
	struct list files; /* begun */
	struct list ranges; /* under way */
	unsigned n_flying;
	bool done;
	int result; /* 0, or the first failure */
	struct roar_error *err;
};

/* A request under way. */
struct range {
	struct list link;
	struct download *download;
	struct download_file *file;
	struct s3_call *call;
	uint64_t leaf,
		end; /* the leaf that is being filled, and where it ends */
	uint8_t *data; /* of that leaf; NULL: bytes are streamed */
	size_t n, len; /* bytes that are in it, and that it has */
};

static void pump(struct download *d);

static void fail(struct download *d, int error)
{
	if (d->result == 0)
		d->result = error;
	d->done = true;
}

static void free_range(struct range *r)
{
	list_remove(&r->link);
	r->download->n_flying--;
	free(r->data);
	free(r);
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

	while (len) {
		size_t n = r->len - r->n < len ? r->len - r->n : len;
		int e;

		if (r->leaf == r->end)
			return error_set(d->err, -EPROTO,
					 "the server sends more of '%s' than it "
					 "was asked for",
					 download_file_item(r->file)->place);
		memcpy(r->data + r->n, bytes, n);
		r->n += n;
		bytes += n;
		len -= n;
		if (r->n < r->len)
			return 0;
		e = download_file_add_leaf(r->file, r->leaf, r->data, r->len,
					   d->err);
		if (e < 0)
			return e;
		r->n = 0;
		if (++r->leaf < r->end)
			r->len = download_file_leaf_len(r->file, r->leaf);
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
	e = r->data ? add_bytes(r, bytes, len) :
		      download_file_append(r->file, bytes, len, d->err);
	if (e < 0)
		fail(d, e);
}

static void finish_file(struct download *d, struct download_file *f)
{
	int r = download_file_finish(f, d->err);

	download_file_close(f);
	if (r < 0)
		fail(d, r);
}

static void on_end(void *data, const struct s3_reply *reply)
{
	struct range *r = data;
	struct download *d = r->download;
	struct download_file *f = r->file;
	bool is_stream = !r->data;
	bool is_short = r->leaf < r->end;

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
	if (is_stream || download_file_is_whole(f))
		finish_file(d, f);
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
				     .leaf = first,
				     .end = first + n };
		list_add(&d->ranges, &r->link);
		d->n_flying++;
		r->len = n ? download_file_leaf_len(f, first) : 0;
		r->data = n ? malloc(r->len + 1) : NULL;
		if (to > item->size_bytes)
			to = item->size_bytes;
		/* All of it needs no range, which some servers do not have. */
		if (!n || (from == 0 && to == item->size_bytes))
			to = -1;
		if (!n || r->data)
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
		r = download_file_add_leaf(f, 0, "", 0, d->err);
		if (r < 0)
			fail(d, r);
	}
	if (download_file_is_whole(f))
		finish_file(d, f);
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
	LIST_EACH(it, after, &d->ranges) {
		struct range *r = container_of(it, struct range, link);

		s3_call_cancel(r->call);
		free_range(r);
	}
	LIST_EACH(it, after, &d->files)
		download_file_close(download_file_of(it));
}

int download_run(struct transfer *t, struct roar_error *err)
{
	struct download d = { .t = t, .err = err };
	int r;

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

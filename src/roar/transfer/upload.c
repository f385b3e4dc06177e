/* upload.c - sends files, large ones in parts
 *
 * upload_pump() begins requests while there is room: parts of large files that were begun
 * first, then the next file.  Every request ends in on_end(), which pumps again. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/quote.h"
#include "base/str.h"
#include "hash/jobs/engine.h"
#include "hash/user_cache.h"
#include "s3/s3_driver.h"
#include "transfer/transfer_internal.h"

enum { SINGLE_MAX = 2 * TRANSFER_PART }; /* bytes of one request */

/* ---- pieces ---- */

void upload_piece_drop(struct upload_piece *p)
{
	list_remove(&p->link);
	p->upload->n_flying--;
	p->upload->bytes_flying -= p->len;
	free(p->data);
	free(p);
}

struct upload_piece *upload_piece_new(struct upload *u,
				      struct transfer_item *item,
				      void (*end)(struct upload_piece *p,
						  const struct s3_reply *reply))
{
	struct upload_piece *p = calloc(1, sizeof(*p));

	if (!p) {
		upload_fail(u, -ENOMEM, "out of memory");
		return NULL;
	}
	*p = (struct upload_piece){ .upload = u, .item = item, .end = end };
	list_add(&u->pieces, &p->link);
	u->n_flying++;
	return p;
}

int upload_piece_read(struct upload_piece *p, int fd, int64_t offset,
		      size_t len)
{
	struct upload *u = p->upload;

	p->data = malloc(len ? len : 1);
	if (!p->data) {
		upload_fail(u, -ENOMEM, "out of memory");
		return -ENOMEM;
	}
	p->len = len;
	u->bytes_flying += len;
	for (size_t n = 0; n < len;) {
		ssize_t got = pread(fd, p->data + n, len - n,
				    (off_t)offset + (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			upload_fail(u, got < 0 ? -errno : -EIO,
				    "cannot read '%s': %s", p->item->path,
				    got < 0 ? strerror(errno) :
					      "it became shorter meanwhile");
			return -EIO;
		}
		n += (size_t)got;
	}
	return 0;
}

static void on_end(void *data, const struct s3_reply *reply)
{
	struct upload_piece *p = data;
	struct upload *u = p->upload;
	bool was_ending = u->result < 0;

	p->call = NULL;
	p->item->n_requests++;
	if (!was_ending)
		p->end(p, reply);
	upload_piece_drop(p);
	if (!was_ending)
		upload_pump(u);
}

struct s3_operation upload_piece_operation(struct upload_piece *p)
{
	static const struct s3_call_events events = { .end = on_end };

	return (struct s3_operation){ .client = p->upload->t->client,
				      .bucket = p->item->bucket,
				      .key = p->item->key,
				      .events = &events,
				      .data = p,
				      .ret = &p->call };
}

void upload_piece_began(struct upload_piece *p, int r)
{
	if (r == 0)
		return;
	upload_fail(p->upload, r, "cannot send '%s': %s", p->item->path,
		    strerror(-r));
	upload_piece_drop(p);
}

/* ---- the end ---- */

void upload_fail(struct upload *u, int error, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (u->result < 0)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	u->result = error_set(u->err, error, "%s", text);
	u->done = true;
}

/* Calls that are under way end; what they have sent stays with the server. */
static void release(struct upload *u)
{
	LIST_EACH(it, after, &u->pieces) {
		struct upload_piece *p = container_of(it, struct upload_piece,
						      link);

		s3_call_cancel(p->call);
		upload_piece_drop(p);
	}
	LIST_EACH(it, after, &u->files)
		upload_file_free(upload_file_of(it));
}

/* ---- files of one piece ---- */

static void keep_reply(struct transfer *t, struct transfer_item *item,
		       const struct http_head *head)
{
	const char *version = http_head_get(head, "x-amz-version-id");
	char etag[144];

	s3_head_etag(head, etag, sizeof(etag));
	item->etag = pool_strdup(&t->pool, etag);
	item->version = pool_strdup(&t->pool, version ? version : "");
	if (!item->etag || !item->version)
		item->etag = item->version = "";
}

static void end_single(struct upload_piece *p, const struct s3_reply *reply)
{
	struct transfer *t = p->upload->t;

	if (reply->error) {
		upload_fail(p->upload, reply->error, "%s", reply->sentence);
		return;
	}
	keep_reply(t, p->item, reply->head);
	transfer_advance(t, p->len);
	transfer_finish_item(t, p->item);
}

bool upload_is_unchanged(int fd, const struct transfer_item *item)
{
	struct stamp now;
	struct stat st;

	if (fd_stat(fd, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_equal(&now, &item->stamp);
}

static void fail_changed(struct upload *u, const struct transfer_item *item)
{
	upload_fail(u, -EAGAIN,
		    "'%s' changed while it was read: try again when nothing "
		    "writes to it",
		    item->path);
}

/* The digest is that of the bytes that are sent. */
static void send_single(struct upload *u, struct transfer_item *item, int fd,
			size_t len)
{
	struct upload_piece *p = upload_piece_new(u, item, end_single);
	char hex[2 * BLAKE3_LEN + 1];
	struct http_field field = { S3_BLAKE3_FIELD, hex };
	struct s3_operation op;

	if (!p)
		return;
	if (upload_piece_read(p, fd, 0, len) < 0) {
		upload_piece_drop(p);
		return;
	}
	if (!upload_is_unchanged(fd, item)) {
		fail_changed(u, item);
		upload_piece_drop(p);
		return;
	}
	b3_hash(p->data, len, item->blake3);
	digest_hex(hex, item->blake3, BLAKE3_LEN);
	op = upload_piece_operation(p);
	upload_piece_began(p, s3_put(&op, p->data, len, &field, 1));
}

/* ---- the next file ---- */

static void begin_item(struct upload *u, struct transfer_item *item)
{
	CLEANUP(closep)
	int fd = open(item->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct upload_file *file;
	struct stat st;
	int r = fd < 0 ? -errno : fd_stat(fd, &st);

	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r < 0) {
		upload_fail(u, r, "cannot read '%s': %s", item->path,
			    r == -EINVAL ? "it is not a regular file" :
					   strerror(-r));
		return;
	}
	if (st.st_size <= SINGLE_MAX) {
		item->stamp = stamp_of(&st);
		item->size_bytes = st.st_size;
		send_single(u, item, fd, (size_t)st.st_size);
		return;
	}
	if (item->size_bytes != st.st_size) {
		fail_changed(u, item);
		return;
	}
	r = upload_file_new(u, item, TAKE_FD(fd), &file);
	if (r < 0)
		upload_fail(u, r, "cannot send '%s': %s", item->path,
			    strerror(-r));
}

static bool has_room(const struct upload *u)
{
	return u->n_flying < TRANSFER_FLYING &&
	       u->bytes_flying < TRANSFER_FLYING_BYTES;
}

/* Files that were begun come first, so that few are open. */
static bool begin_next(struct upload *u)
{
	LIST_EACH(it, after, &u->files)
		if (upload_file_send_part(upload_file_of(it)))
			return true;
	if (u->next == u->t->n)
		return false;
	begin_item(u, &u->t->items[u->next++]);
	return true;
}

void upload_pump(struct upload *u)
{
	while (!u->done && has_room(u))
		if (!begin_next(u))
			break;
	if (!u->n_flying && u->next == u->t->n && list_empty(&u->files))
		u->done = true;
}

/* ---- digests of large files ---- */

static bool show_hashing(void *ctx, const struct engine_progress *p)
{
	struct transfer *t = ctx;
	struct hasher_progress shown = { .n_done = p->n_done,
					 .bytes_done = p->bytes_read,
					 .bytes_read = p->bytes_read };

	t->progress.verb = "hashing";
	progress_show(&t->progress, &shown);
	return transfer_stop;
}

/* A file may be sent in parts only when its digest is known before: the object carries it.
 * What a run has hashed before is not read again. */
static int hash_large(struct transfer *t, struct roar_error *err)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	CLEANUP(freep) struct engine_file *files = NULL;
	struct engine_options options = { .want = DIGEST_SET_BLAKE3,
					  .look = show_hashing,
					  .ctx = t };
	int r;

	files = calloc(t->n + 1, sizeof(*files));
	if (!files)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].size_bytes > SINGLE_MAX)
			files[i].path = t->items[i].path;
	if (user_cache_open(&cache) < 0)
		cache = NULL;
	options.cache = cache;
	r = engine_run(files, t->n, &options);
	if (r < 0)
		return error_set(err, r, "cannot hash: %s", strerror(-r));
	for (size_t i = 0; i < t->n; i++) {
		struct transfer_item *item = &t->items[i];

		if (!files[i].path)
			continue;
		if (files[i].result < 0)
			return error_set(
				err, transfer_stop ? -EINTR : files[i].result,
				"cannot read '%s': %s", item->path,
				strerror(-files[i].result));
		item->stamp = files[i].hash.stamp;
		item->size_bytes = (int64_t)item->stamp.size;
		memcpy(item->blake3, files[i].hash.digests.blake3, BLAKE3_LEN);
	}
	t->progress.verb = "sending";
	return 0;
}

int upload_run(struct transfer *t, struct roar_error *err)
{
	struct upload u = { .t = t, .err = err };
	int r = hash_large(t, err);

	if (r < 0)
		return r;
	list_init(&u.pieces);
	list_init(&u.files);
	upload_pump(&u);
	r = s3_driver_run(t->driver, &u.done, &transfer_stop, transfer_tick, t);
	release(&u);
	if (r == -EINTR)
		return error_set(err, r, "interrupted");
	return u.result < 0 ? u.result : r;
}

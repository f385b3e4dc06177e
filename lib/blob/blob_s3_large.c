/* blob_s3_large.c - large objects: each block is a part of a multipart upload
 *
 * A thread that writes a block waits until its part is stored, so that as many parts are
 * under way as threads write, and no block is copied.  An object of one block, whose size is
 * known, is one PUT. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_s3.h"

enum {
	MAX_PARTS = 10000, /* S3's bound */
	LEAST_PART = 8 << 20,
};

struct s3_writer {
	struct blob_writer base;
	size_t block_bytes;
	char *upload_id; /* NULL: one PUT */
	pthread_mutex_t lock; /* of the parts */
	struct s3_part *parts; /* MAX_PARTS; number 0: not stored */
	unsigned n_parts; /* the highest number */
	char name[];
};

static struct blob_s3 *store_of(struct blob_store *s)
{
	return (struct blob_s3 *)s;
}

size_t blob_s3_block_bytes(const struct blob_store *s, uint64_t size_bytes)
{
	/* One part in reserve: a delta begins with a header. */
	uint64_t least = size_bytes / (MAX_PARTS - 1) + 1;

	(void)s;
	if (least < LEAST_PART)
		least = LEAST_PART;
	return (size_t)((least + BLOB_BLOCK - 1) / BLOB_BLOCK * BLOB_BLOCK);
}

/* ---- operations ---- */

static int begin_create(struct blob_call *c, const struct s3_operation *op)
{
	(void)c;
	return s3_upload_create(op, NULL, 0);
}

static int begin_part(struct blob_call *c, const struct s3_operation *op)
{
	return s3_upload_part(op, c->upload_id, c->number, c->body, c->len);
}

static int begin_complete(struct blob_call *c, const struct s3_operation *op)
{
	return s3_upload_complete(op, c->upload_id, c->xml);
}

int blob_s3_abort(struct blob_call *c, const struct s3_operation *op)
{
	return s3_upload_abort(op, c->upload_id);
}

/* ---- writing ---- */

static void writer_free(struct s3_writer *w)
{
	for (unsigned i = 0; w->parts && i < w->n_parts; i++) {
		free((char *)w->parts[i].etag);
		free((char *)w->parts[i].crc64nvme);
	}
	free(w->parts);
	free(w->upload_id);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}

static int begin_upload(struct s3_writer *w, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct blob_call c = { .begin = begin_create, .name = w->name };
	struct s3_stored stored = { "", "" };
	struct s3_error error = { "", "", "", "" };
	int r = blob_s3_call(store_of(w->base.store), &c, err);

	if (r == 0) {
		(void)s3_xml_stored(str_cstr(&c.text), c.text.len, &pool,
				    &stored, &error);
		if (stored.upload_id && *stored.upload_id)
			w->upload_id = strdup(stored.upload_id);
		else
			r = error_set(err, -EBADMSG,
				      "the server gave no id for the upload of "
				      "'%s/%s'",
				      w->base.store->url, w->name);
	}
	str_release(&c.text);
	return r < 0 ? r : w->upload_id ? 0 : -ENOMEM;
}

int blob_s3_create(struct blob_store *s, const char *name, uint64_t size_bytes,
		   struct blob_writer **ret, struct roar_error *err)
{
	size_t len = strlen(name) + 1;
	struct s3_writer *w = calloc(1, sizeof(*w) + len);
	int r = w ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	w->base.store = s;
	memcpy(w->name, name, len);
	(void)pthread_mutex_init(&w->lock, NULL);
	w->block_bytes = blob_s3_block_bytes(s, size_bytes);
	if (!size_bytes || size_bytes > w->block_bytes) {
		w->parts = calloc(MAX_PARTS, sizeof(*w->parts));
		r = w->parts ? begin_upload(w, err) : -ENOMEM;
	}
	if (r < 0) {
		writer_free(w);
		return r;
	}
	*ret = &w->base;
	return 0;
}

static int note_part(struct s3_writer *w, const struct blob_call *c)
{
	struct s3_part part = { .number = c->number,
				.etag = strdup(c->etag),
				.crc64nvme = strdup(c->crc64nvme) };

	if (!part.etag || !part.crc64nvme) {
		free((char *)part.etag);
		free((char *)part.crc64nvme);
		return -ENOMEM;
	}
	(void)pthread_mutex_lock(&w->lock);
	w->parts[c->number - 1] = part;
	if (c->number > w->n_parts)
		w->n_parts = c->number;
	(void)pthread_mutex_unlock(&w->lock);
	return 0;
}

/* By the threads that write, which are many: the engine's thread has to send. */
static int take_checksum(struct blob_call *c)
{
	struct s3_checksum sum;
	int r = s3_checksum_init(&sum, S3_CHECKSUM_CRC64NVME);

	if (r < 0)
		return r;
	s3_checksum_update(&sum, c->body, c->len);
	r = s3_checksum_final(&sum, c->body_crc64nvme);
	s3_checksum_release(&sum);
	return r;
}

int blob_s3_write(struct blob_writer *writer, uint64_t offset, const void *buf,
		  size_t len, struct roar_error *err)
{
	struct s3_writer *w = (struct s3_writer *)writer;
	struct blob_call c = { .begin = w->upload_id ? begin_part : blob_s3_put,
			       .name = w->name,
			       .upload_id = w->upload_id,
			       .body = buf,
			       .len = len };
	uint64_t number = offset / w->block_bytes + 1;
	int r;

	if (number > MAX_PARTS)
		return error_set(err, -EFBIG,
				 "'%s/%s' has become too large for its parts",
				 writer->store->url, w->name);
	c.number = (unsigned)number;
	r = take_checksum(&c);
	if (r < 0)
		return r;
	r = blob_s3_call(store_of(writer->store), &c, err);
	str_release(&c.text);
	return r < 0 || !w->upload_id ? r : note_part(w, &c);
}

void blob_s3_abandon(struct blob_writer *writer)
{
	struct s3_writer *w = (struct s3_writer *)writer;
	struct blob_call c = { .begin = w->upload_id ? blob_s3_abort :
						       blob_s3_delete,
			       .name = w->name,
			       .upload_id = w->upload_id };

	/* What cannot be removed now is found later as an unfinished upload. */
	(void)blob_s3_call(store_of(writer->store), &c, NULL);
	str_release(&c.text);
	writer_free(w);
}

/* An upload whose completion was answered, but the answer lost, is not known any more; then
 * the object is there. */
static bool is_stored(struct s3_writer *w, uint64_t size_bytes)
{
	struct blob_call c = { .begin = blob_s3_head, .name = w->name };
	int r = blob_s3_call(store_of(w->base.store), &c, NULL);

	str_release(&c.text);
	return r == 0 && c.size_bytes == (int64_t)size_bytes;
}

static int complete(struct s3_writer *w, uint64_t size_bytes,
		    struct roar_error *err)
{
	CLEANUP(str_release) struct str xml = STR_INIT;
	struct blob_call c = { .begin = begin_complete,
			       .name = w->name,
			       .upload_id = w->upload_id,
			       .xml = &xml };
	int r;

	for (unsigned i = 0; i < w->n_parts; i++)
		if (!w->parts[i].number)
			return error_set(err, -EIO,
					 "part %u of '%s/%s' was not stored",
					 i + 1, w->base.store->url, w->name);
	s3_xml_add_complete(&xml, w->parts, w->n_parts);
	if (str_error(&xml) < 0)
		return -ENOMEM;
	r = blob_s3_call(store_of(w->base.store), &c, err);
	str_release(&c.text);
	if (r < 0 && strcmp(c.code, "NoSuchUpload") == 0 &&
	    is_stored(w, size_bytes))
		r = 0;
	return r;
}

int blob_s3_finish(struct blob_writer *writer, uint64_t size_bytes,
		   struct roar_error *err)
{
	struct s3_writer *w = (struct s3_writer *)writer;
	int r = w->upload_id ? complete(w, size_bytes, err) : 0;

	if (r < 0)
		blob_s3_abandon(writer);
	else
		writer_free(w);
	return r;
}

/* ---- reading ---- */

struct s3_reader {
	struct blob_reader base;
	char etag[144];
	char name[];
};

int blob_s3_open_reader(struct blob_store *s, const char *name,
			enum blob_read_flags flags, struct blob_reader **ret,
			uint64_t *ret_size_bytes, struct roar_error *err)
{
	struct blob_call c = { .begin = blob_s3_head, .name = name };
	size_t len = strlen(name) + 1;
	struct s3_reader *r;
	int error = blob_s3_call(store_of(s), &c, err);

	(void)flags;
	str_release(&c.text);
	if (error < 0)
		return error;
	if (c.size_bytes < 0)
		return error_set(err, -EBADMSG,
				 "the server does not tell the size of '%s/%s'",
				 s->url, name);
	r = calloc(1, sizeof(*r) + len);
	if (!r)
		return -ENOMEM;
	r->base.store = s;
	memcpy(r->etag, c.etag, sizeof(r->etag));
	memcpy(r->name, name, len);
	*ret = &r->base;
	*ret_size_bytes = (uint64_t)c.size_bytes;
	return 0;
}

int blob_s3_read(struct blob_reader *reader, uint64_t offset, void *buf,
		 size_t len, struct roar_error *err)
{
	struct s3_reader *r = (struct s3_reader *)reader;
	struct blob_call c = { .begin = blob_s3_get,
			       .name = r->name,
			       .from = (int64_t)offset,
			       .to = (int64_t)(offset + len),
			       .if_etag = r->etag[0] ? r->etag : NULL,
			       .into = buf,
			       .max = len };
	int error = len ? blob_s3_call(store_of(reader->store), &c, err) : 0;

	str_release(&c.text);
	if (error == -ESTALE)
		return error_set(err, error,
				 "'%s/%s' was replaced while it was read",
				 reader->store->url, r->name);
	if (error == -ERANGE || (error == 0 && c.n_got != len))
		return error_set(err, -ENODATA,
				 "'%s/%s' is truncated: it ends before byte "
				 "%llu",
				 reader->store->url, r->name,
				 (unsigned long long)(offset + len));
	return error;
}

void blob_s3_close_reader(struct blob_reader *r)
{
	free(r);
}

/* blob_s3.h - requests to object storage that a thread waits for.
 *
 * Calls are made by the engine's thread (s3/s3_engine.h), which repeats them where that helps;
 * any number of threads may each wait for one of theirs.
 *
 *	blob_s3.c	the store: names, small objects, lists
 *	blob_s3_large.c	large objects: multipart uploads, and reads of ranges
 *	blob_s3_call.c	one request */
#ifndef ROAR_BLOB_S3_H
#define ROAR_BLOB_S3_H

#include "blob/blob_internal.h"
#include "s3/s3_checksum.h"
#include "s3/s3_client.h"
#include "s3/s3_engine.h"

struct blob_s3 {
	struct blob_store base;
	unsigned parallel; /* requests at once */
	struct s3_url url; /* its key is the prefix */
	char prefix[]; /* "" or ends with "/" */
};

struct blob_call {
	/* Which operation; it has the members below that it needs. */
	int (*begin)(struct blob_call *c, const struct s3_operation *op);
	const char *name; /* relative to the store; "": the bucket */
	const void *body; /* of a PUT */
	size_t len;
	char body_crc64nvme[S3_CHECKSUM_SIZE]; /* "": the engine computes it */
	const struct http_field *field; /* NULL: none */
	const char *upload_id;
	unsigned number; /* of a part */
	const struct str *xml;
	int64_t from, to; /* of a range */
	const char *if_etag;
	const char *prefix, *next; /* of a list */
	char *into; /* where a range goes; NULL: to `text` */
	size_t max; /* of a body that is kept */

	/* Results. */
	unsigned status; /* 0: there was no reply */
	char code[64]; /* of S3's error */
	char etag[144];
	char crc64nvme[32];
	int64_t size_bytes; /* of the object; -1: not told */
	size_t n_got;
	struct str text; /* the body; the caller releases it */

	/* blob_s3_call.c's. */
	struct s3_work work;
	const struct blob_s3 *store;
	char *key;
	struct s3_call *call;
	bool is_done;
	int error;
	struct roar_error why;
};

/* Does it, and waits.  0, or the error of the reply (s3_client.h) with its sentence. */
int blob_s3_call(const struct blob_s3 *s, struct blob_call *c,
		 struct roar_error *err);

/* Operations, for `begin`. */
int blob_s3_head(struct blob_call *c, const struct s3_operation *op);
int blob_s3_get(struct blob_call *c, const struct s3_operation *op);
int blob_s3_put(struct blob_call *c, const struct s3_operation *op);
int blob_s3_delete(struct blob_call *c, const struct s3_operation *op);
int blob_s3_list_page(struct blob_call *c, const struct s3_operation *op);
int blob_s3_abort(struct blob_call *c, const struct s3_operation *op);

/* "2026-11-17T00:00:00.000Z" in ns since 1970; 0: it is no time. */
int64_t blob_s3_parse_time(const char *text);
/* blob_s3_unfinished.c's. */
int blob_s3_end_unfinished(struct blob_store *store,
			   const struct blob_unfinished *what,
			   struct roar_error *err);

/* Operations on the store that blob_s3_large.c has. */
size_t blob_s3_block_bytes(const struct blob_store *s, uint64_t size_bytes);
int blob_s3_create(struct blob_store *s, const char *name, uint64_t size_bytes,
		   struct blob_writer **ret, struct roar_error *err);
int blob_s3_write(struct blob_writer *w, uint64_t offset, const void *buf,
		  size_t len, struct roar_error *err);
int blob_s3_finish(struct blob_writer *w, uint64_t size_bytes,
		   struct roar_error *err);
void blob_s3_abandon(struct blob_writer *w);
int blob_s3_open_reader(struct blob_store *s, const char *name,
			enum blob_read_flags flags, struct blob_reader **ret,
			uint64_t *ret_size_bytes, struct roar_error *err);
int blob_s3_read(struct blob_reader *r, uint64_t offset, void *buf, size_t len,
		 struct roar_error *err);
void blob_s3_close_reader(struct blob_reader *r);

#endif

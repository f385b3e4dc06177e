/* blob_internal.h - what a kind of storage provides to blob.c.
 *
 * A store, reader, writer or hold of a kind begins with the struct declared here. */
#ifndef ROAR_BLOB_INTERNAL_H
#define ROAR_BLOB_INTERNAL_H

#include "blob/blob.h"

struct blob_ops {
	bool is_local;
	void (*close)(struct blob_store *s);
	size_t (*block_bytes)(const struct blob_store *s, uint64_t size_bytes);
	unsigned (*parallel)(const struct blob_store *s);
	int (*create)(struct blob_store *s, const char *name,
		      uint64_t size_bytes, struct blob_writer **ret,
		      struct roar_error *err);
	int (*write)(struct blob_writer *w, uint64_t offset, const void *buf,
		     size_t len, struct roar_error *err);
	int (*finish)(struct blob_writer *w, uint64_t size_bytes,
		      struct roar_error *err);
	void (*abandon)(struct blob_writer *w);
	int (*open_reader)(struct blob_store *s, const char *name,
			   enum blob_read_flags flags, struct blob_reader **ret,
			   uint64_t *ret_size_bytes, struct roar_error *err);
	int (*read)(struct blob_reader *r, uint64_t offset, void *buf,
		    size_t len, struct roar_error *err);
	void (*close_reader)(struct blob_reader *r);
	int (*put)(struct blob_store *s, const char *name,
		   const char *temporary, const void *data, size_t len,
		   enum blob_put_flags flags, struct roar_error *err);
	int (*get)(struct blob_store *s, const char *name, size_t max,
		   struct str *out, struct roar_error *err);
	int (*make_durable)(struct blob_store *s, const char *dir,
			    struct roar_error *err);
	int (*list)(struct blob_store *s, const char *prefix,
		    int (*fn)(void *ctx, const struct blob_entry *entry),
		    void *ctx, struct roar_error *err);
	int (*remove)(struct blob_store *s, const char *name,
		      struct roar_error *err);
	int (*end_unfinished)(struct blob_store *s,
			      const struct blob_unfinished *what,
			      struct roar_error *err); /* or NULL */
};

struct blob_store {
	const struct blob_ops *ops;
	char *url;
};

struct blob_writer {
	struct blob_store *store;
	bool has_digest; /* see blob_set_digest() */
	uint8_t blake3[32];
};

struct blob_reader {
	struct blob_store *store;
};

/* Opens a store of a kind; the url stays the caller's. */
int blob_disk_open(const char *path, bool create, struct blob_store **ret,
		   struct roar_error *err);
int blob_s3_open(const char *url, unsigned max_parallel,
		 struct blob_store **ret, struct roar_error *err);

/* A name of at most two parts that leads nowhere else. */
bool blob_name_is_valid(const char *name);

#endif

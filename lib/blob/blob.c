/* blob.c - which kind of storage a URL means, and the calls that all kinds have */
#include "blob/blob.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_internal.h"

enum { MAX_NAME = 200 };

bool blob_name_is_valid(const char *name)
{
	const char *slash = strchr(name, '/');
	const char *last = slash ? slash + 1 : name;

	if (!*name || strlen(name) > MAX_NAME || slash == name ||
	    (slash && strchr(last, '/')))
		return false;
	/* Names do not start with a dot, so that "." and ".." are none. */
	return name[0] != '.' && last[0] != '.';
}

static int check_name(const struct blob_store *s, const char *name,
		      struct roar_error *err)
{
	if (blob_name_is_valid(name))
		return 0;
	return error_set(err, -EINVAL, "'%.200s' cannot be a file in '%s'",
			 name, s->url);
}

static bool has_scheme(const char *url)
{
	const char *end = strstr(url, "://");

	return end && end > url && !memchr(url, '/', (size_t)(end - url));
}

static int open_kind(const char *url, bool create, unsigned max_parallel,
		     struct blob_store **ret, struct roar_error *err)
{
	/* What stands before the path is a host, of which there is only this one. */
	if (strncmp(url, "file://", 7) == 0 && url[7] != '/')
		return error_set(err, -EINVAL,
				 "'%s' does not name a path: write "
				 "file:///PATH, with three slashes",
				 url);
	if (strncmp(url, "file://", 7) == 0)
		return blob_disk_open(url + 7, create, ret, err);
	if (!has_scheme(url))
		return blob_disk_open(url, create, ret, err);
#ifdef HAVE_S3
	if (strncmp(url, "s3://", 5) == 0 || strncmp(url, "gs://", 5) == 0)
		return blob_s3_open(url, max_parallel, ret, err);
#endif
	(void)max_parallel;
	return error_set(err, -ENOTSUP,
			 "'%s': this build of roar cannot store files there",
			 url);
}

int blob_open(const char *url, bool create, unsigned max_parallel,
	      struct blob_store **ret, struct roar_error *err)
{
	CLEANUP(blob_closep) struct blob_store *s = NULL;
	size_t len = url ? strlen(url) : 0;
	int r;

	if (!len)
		return error_set(err, -EINVAL,
				 "the path of the checkpoints is empty");
	r = open_kind(url, create, max_parallel, &s, err);
	if (r < 0)
		return r;
	while (len > 1 && url[len - 1] == '/')
		len--;
	s->url = strndup(url, len);
	if (!s->url)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

void blob_close(struct blob_store *s)
{
	char *url = s ? s->url : NULL;

	if (s)
		s->ops->close(s);
	free(url);
}

const char *blob_url(const struct blob_store *s)
{
	return s->url;
}

bool blob_is_local(const struct blob_store *s)
{
	return s->ops->is_local;
}

size_t blob_block_bytes(const struct blob_store *s, uint64_t size_bytes)
{
	return s->ops->block_bytes(s, size_bytes);
}

unsigned blob_parallel(const struct blob_store *s)
{
	return s->ops->parallel(s);
}

int blob_create(struct blob_store *s, const char *name, uint64_t size_bytes,
		struct blob_writer **ret, struct roar_error *err)
{
	int r = check_name(s, name, err);

	return r < 0 ? r : s->ops->create(s, name, size_bytes, ret, err);
}

int blob_write(struct blob_writer *w, uint64_t offset, const void *buf,
	       size_t len, struct roar_error *err)
{
	assert(offset % BLOB_ALIGN == 0 && (uintptr_t)buf % BLOB_ALIGN == 0);
	return w->store->ops->write(w, offset, buf, len, err);
}

void blob_set_digest(struct blob_writer *w, const uint8_t blake3[32])
{
	w->has_digest = true;
	memcpy(w->blake3, blake3, sizeof(w->blake3));
}

int blob_finish(struct blob_writer *w, uint64_t size_bytes,
		struct roar_error *err)
{
	return w->store->ops->finish(w, size_bytes, err);
}

void blob_abandon(struct blob_writer *w)
{
	if (w)
		w->store->ops->abandon(w);
}

int blob_open_reader(struct blob_store *s, const char *name,
		     enum blob_read_flags flags, struct blob_reader **ret,
		     uint64_t *ret_size_bytes, struct roar_error *err)
{
	int r = check_name(s, name, err);

	return r < 0 ? r :
		       s->ops->open_reader(s, name, flags, ret, ret_size_bytes,
					   err);
}

int blob_read(struct blob_reader *r, uint64_t offset, void *buf, size_t len,
	      struct roar_error *err)
{
	return r->store->ops->read(r, offset, buf, len, err);
}

void blob_close_reader(struct blob_reader *r)
{
	if (r)
		r->store->ops->close_reader(r);
}

int blob_put(struct blob_store *s, const char *name, const char *temporary,
	     const void *data, size_t len, enum blob_put_flags flags,
	     struct roar_error *err)
{
	int r = check_name(s, name, err);

	if (r == 0 && temporary)
		r = check_name(s, temporary, err);
	return r < 0 ? r :
		       s->ops->put(s, name, temporary, data, len, flags, err);
}

int blob_get(struct blob_store *s, const char *name, size_t max,
	     struct str *out, struct roar_error *err)
{
	int r = check_name(s, name, err);

	return r < 0 ? r : s->ops->get(s, name, max, out, err);
}

int blob_make_durable(struct blob_store *s, const char *dir,
		      struct roar_error *err)
{
	int r = *dir ? check_name(s, dir, err) : 0;

	return r < 0 ? r : s->ops->make_durable(s, dir, err);
}

int blob_list(struct blob_store *s, const char *prefix,
	      int (*fn)(void *ctx, const struct blob_entry *entry), void *ctx,
	      struct roar_error *err)
{
	int r = *prefix ? check_name(s, prefix, err) : 0;

	return r < 0 ? r : s->ops->list(s, prefix, fn, ctx, err);
}

int blob_remove(struct blob_store *s, const char *name, struct roar_error *err)
{
	int r = check_name(s, name, err);

	return r < 0 ? r : s->ops->remove(s, name, err);
}

int blob_end_unfinished(struct blob_store *s,
			const struct blob_unfinished *what,
			struct roar_error *err)
{
	return s->ops->end_unfinished ? s->ops->end_unfinished(s, what, err) :
					0;
}

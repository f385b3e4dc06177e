/* hash.c - include/roar/hash.h on the engine of lib/hash */
#include <roar/hash.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hash/digest/memory_hash.h"
#include "hash/jobs/engine.h"

#define API __attribute__((visibility("default")))

enum { WINDOW = 4096 }; /* files hashed at a time */

_Static_assert(ROAR_BLAKE3 == 1 << DIGEST_BLAKE3 &&
		       ROAR_SHA256 == 1 << DIGEST_SHA256 &&
		       ROAR_SHA512 == 1 << DIGEST_SHA512 &&
		       ROAR_MD5 == 1 << DIGEST_MD5 &&
		       ROAR_CRC64NVME == 1 << DIGEST_CRC64NVME &&
		       ROAR_GIT_BLOB == 1 << DIGEST_GIT_BLOB,
	       "the same sets inside and outside");

static bool is_set(unsigned want)
{
	return want && !(want >> DIGEST_ALGO_END);
}

static void give(const struct digests *d, unsigned want,
		 struct roar_digests *ret)
{
	*ret = (struct roar_digests){ .have = d->have & want };
	memcpy(ret->blake3, d->blake3, sizeof(ret->blake3));
	memcpy(ret->sha256, d->sha256, sizeof(ret->sha256));
	memcpy(ret->sha512, d->sha512, sizeof(ret->sha512));
	memcpy(ret->md5, d->md5, sizeof(ret->md5));
	memcpy(ret->crc64nvme, d->crc64nvme, sizeof(ret->crc64nvme));
	memcpy(ret->git_blob, d->git_blob, sizeof(ret->git_blob));
}

API int roar_hash(const void *data, size_t len, unsigned want,
		  struct roar_digests *ret)
{
	struct memory_hash_options options = { .want = want };
	struct digests d = { 0 };
	int r = memory_hash(data, len, &options, &d);

	if (r == 0)
		give(&d, want, ret);
	return r;
}

static int hash_window(struct roar_file *files, size_t n,
		       const struct engine_options *options,
		       struct engine_file *work)
{
	int r;

	for (size_t i = 0; i < n; i++)
		work[i] = (struct engine_file){ .path = files[i].path };
	r = engine_run(work, n, options);
	for (size_t i = 0; r == 0 && i < n; i++) {
		files[i].error = files[i].path ? work[i].result : -EINVAL;
		files[i].size_bytes = files[i].error ? 0 :
						       work[i].hash.stamp.size;
		give(&work[i].hash.digests, options->want, &files[i].digests);
	}
	return r;
}

API int roar_hash_files(struct roar_file *files, size_t n, unsigned want,
			unsigned n_threads)
{
	struct engine_options options = { .want = want,
					  .n_threads = n_threads };
	size_t size = n < WINDOW ? n : WINDOW;
	CLEANUP(freep) struct engine_file *work = NULL;
	int r = 0;

	if (!is_set(want))
		return -EINVAL;
	work = calloc(size + 1, sizeof(*work));
	if (!work)
		return -ENOMEM;
	for (size_t at = 0; at < n && r == 0; at += size)
		r = hash_window(files + at, n - at < size ? n - at : size,
				&options, work);
	return r;
}

API int roar_hash_file(const char *path, unsigned want,
		       struct roar_digests *ret)
{
	struct roar_file file = { .path = path };
	int r = roar_hash_files(&file, 1, want, 0);

	if (r == 0)
		r = file.error;
	if (r == 0)
		*ret = file.digests;
	return r;
}

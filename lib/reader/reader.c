/* reader.c - see reader.h */
#include "reader/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "hash/digest/multihash.h"
#include "hash/file/file_hash.h"
#include "reader/sample_block.h"

enum { PIECE = 1 << 20 }; /* of an object that is hashed */

static const struct reader_ops *const kinds[READER_KIND_END] = {
	[READER_FILES] = &files_ops,
	[READER_TAR] = &tar_ops,
	[READER_JSONL] = &jsonl_ops,
	[READER_RAW] = &raw_ops,
};

const char *reader_kind_name(enum reader_kind kind)
{
	return kind > READER_AUTO && kind < READER_KIND_END ?
		       kinds[kind]->name :
		       "auto";
}

enum reader_kind reader_kind_parse(const char *name)
{
	for (int i = READER_AUTO + 1; i < READER_KIND_END; i++)
		if (strcmp(name, kinds[i]->name) == 0)
			return (enum reader_kind)i;
	return READER_KIND_END;
}

uint64_t reader_count(const struct reader *r)
{
	return r->count;
}

bool reader_is_whole(const struct reader *r)
{
	return !r->is_cut;
}

enum reader_kind reader_kind_of(const struct reader *r)
{
	return r->kind;
}

struct stamp reader_stamp(const struct reader *r)
{
	return r->source.stamp;
}

bool reader_index_was_kept(const struct reader *r)
{
	return r->index_was_kept;
}

/* ---- opening ---- */

static bool ends(const char *path, const char *with)
{
	size_t len = strlen(path);
	size_t tail = strlen(with);

	return len > tail && strcmp(path + len - tail, with) == 0;
}

static enum reader_kind kind_by_name(const char *path,
				     const struct reader_options *o)
{
	static const struct {
		const char *tail;
		enum reader_kind kind;
	} names[] = {
		{ ".tar", READER_TAR },
		/* Refused there, with the name of the packer. */
		{ ".tar.gz", READER_TAR },
		{ ".tgz", READER_TAR },
		{ ".tar.zst", READER_TAR },
		{ ".tar.xz", READER_TAR },
		{ ".tar.bz2", READER_TAR },
		{ ".tar.lz4", READER_TAR },
		{ ".jsonl", READER_JSONL },
		{ ".ndjson", READER_JSONL },
	};
	struct stat st;

	if (o->record_bytes)
		return READER_RAW;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return READER_FILES;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (ends(path, names[i].tail))
			return names[i].kind;
	return READER_KIND_END;
}

static int choose_kind(struct reader *r, struct roar_error *err)
{
	r->kind = r->options.kind;
	if (r->kind == READER_AUTO)
		r->kind = kind_by_name(r->path, &r->options);
	if (r->kind < READER_AUTO || r->kind >= READER_KIND_END)
		return error_set(err, -EINVAL,
				 "the name of '%s' does not show the kind of "
				 "shard; name the kind: files, tar, jsonl, or "
				 "raw with record_bytes",
				 r->path);
	r->ops = kinds[r->kind];
	return 0;
}

static int say_other(const struct reader *r, const uint8_t *wanted,
		     struct roar_error *err)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, wanted, BLAKE3_LEN);
	return error_set(err, -ESTALE,
			 "the content of '%s' is not the expected one: its "
			 "BLAKE3 is not %s; fetch or make it again",
			 r->path, hex);
}

/* Of an object: all of it is fetched, and what is read later is of the same content. */
static int check_remote(const struct reader *r, const uint8_t *wanted,
			struct roar_error *err)
{
	CLEANUP(freep) uint8_t *piece = malloc(PIECE);
	CLEANUP(multihash_release) struct multihash m;
	uint64_t size = r->source.stamp.size;
	struct digests found;
	int error;

	multihash_init(&m);
	error = piece ? multihash_start(&m, DIGEST_SET_BLAKE3, size) : -ENOMEM;
	for (uint64_t at = 0; error == 0 && at < size; at += PIECE) {
		size_t len = size - at < PIECE ? (size_t)(size - at) : PIECE;

		error = source_read(&r->source, at, piece, len, err);
		if (error < 0)
			return error;
		multihash_update(&m, piece, len);
	}
	if (error == 0)
		error = multihash_final(&m, &found);
	if (error < 0)
		return error_set(err, error, "out of memory");
	return memcmp(found.blake3, wanted, BLAKE3_LEN) == 0 ?
		       0 :
		       say_other(r, wanted, err);
}

/* The content is looked at before the first sample of it is handed out.  It cannot be
 * compared sample by sample: the digest is one of all of it. */
static int check_content(const struct reader *r, const uint8_t *wanted,
			 struct roar_error *err)
{
	struct file_hash found;
	int error;

	if (r->source.ops)
		return check_remote(r, wanted, err);
	error = file_hash_fd(r->source.fd, DIGEST_SET_BLAKE3, NULL, NULL,
			     &found);
	if (error < 0)
		return error_set(err, error == -EAGAIN ? -ESTALE : error,
				 "the content of '%s' could not be checked: %s",
				 r->path,
				 error == -EAGAIN ?
					 "it changed each time it was read" :
					 strerror(-error));
	if (memcmp(found.digests.blake3, wanted, BLAKE3_LEN) == 0)
		return source_check(&r->source, err);
	return say_other(r, wanted, err);
}

static int open_source(struct reader *r, const uint8_t *blake3,
		       struct roar_error *err)
{
	int error;

	if (source_is_remote(r->path) && r->kind == READER_FILES)
		return error_set(err, -EINVAL,
				 "'%s' is in object storage, where kind files "
				 "does not read; fetch the files, or pack them "
				 "into tar shards",
				 r->path);
	if (source_is_remote(r->path) && r->options.index == READER_INDEX_BESIDE)
		return error_set(err, -EINVAL,
				 "no index is written beside '%s', which is in "
				 "object storage; have it kept in the cache or "
				 "in a directory",
				 r->path);
	if (r->kind == READER_FILES)
		return blake3 ?
			       error_set(err, -EINVAL,
					 "'%s' is a directory and has no "
					 "digest: leave the expected BLAKE3 out",
					 r->path) :
			       0;
	error = source_open(r->path, &r->source, err);
	if (error == 0 && blake3)
		error = check_content(r, blake3, err);
	return error;
}

static int copy_options(struct reader *r, const char *path,
			const struct reader_options *o)
{
	r->options = *o;
	r->options.blake3 = NULL;
	r->options.index_dir = NULL;
	if (!r->options.max_sample)
		r->options.max_sample = READER_SAMPLE_MAX;
	r->path = strdup(path);
	if (o->index_dir)
		r->index_dir = strdup(o->index_dir);
	return r->path && (!o->index_dir || r->index_dir) ? 0 : -ENOMEM;
}

/* A reader without a file. */
static int make(const char *path, const struct reader_options *options,
		struct reader **ret_reader, struct roar_error *err)
{
	CLEANUP(reader_closep) struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->source = SOURCE_INIT;
	if (copy_options(r, path, options) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*ret_reader = TAKE_PTR(r);
	return 0;
}

int reader_open(const char *path, const struct reader_options *options,
		struct reader **ret_reader, struct roar_error *err)
{
	CLEANUP(reader_closep) struct reader *r = NULL;
	int error;

	if (!path[0])
		return error_set(err, -EINVAL, "the path of a shard is empty");
	error = make(path, options, &r, err);
	if (error == 0)
		error = choose_kind(r, err);
	if (error == 0)
		error = open_source(r, options->blake3, err);
	if (error == 0)
		error = r->ops->open(r, err);
	if (error < 0)
		return error;
	*ret_reader = TAKE_PTR(r);
	return 0;
}

int reader_open_whole(const struct reader *r, struct reader **ret_reader,
		      struct roar_error *err)
{
	CLEANUP(reader_closep) struct reader *whole = NULL;
	struct reader_options options = r->options;
	int error;

	options.beginning = false;
	options.index_dir = r->index_dir;
	error = make(r->path, &options, &whole, err);
	if (error < 0)
		return error;
	whole->kind = r->kind;
	whole->ops = r->ops;
	if (source_is_open(&r->source))
		error = source_copy(&r->source, whole->path, &whole->source,
				    err);
	if (error == 0)
		error = whole->ops->open(whole, err);
	if (error < 0)
		return error;
	*ret_reader = TAKE_PTR(whole);
	return 0;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	if (r->ops && r->ops->close)
		r->ops->close(r);
	source_close(&r->source);
	free(r->index_dir);
	free(r->path);
	free(r);
}

/* ---- reading ---- */

int reader_load(const struct reader *r, const struct span *span, void *to,
		struct roar_error *err)
{
	return source_read(&r->source, span->offset, to, (size_t)span->len,
			   err);
}

int reader_check_size(const struct reader *r, uint64_t number, uint64_t len,
		      struct roar_error *err)
{
	if (len <= r->options.max_sample)
		return 0;
	return error_set(err, -EFBIG,
			 "sample %" PRIu64 " of '%s' has %" PRIu64
			 " bytes and may have %" PRIu64
			 ": it is damaged, or the limit (max_sample) is too "
			 "low",
			 number, r->path, len, r->options.max_sample);
}

static int check_number(const struct reader *r, uint64_t number,
			struct roar_error *err)
{
	if (number < r->count)
		return 0;
	return error_set(err, -ERANGE,
			 "'%s' has %" PRIu64 " samples, numbered from 0: there "
			 "is no number %" PRIu64,
			 r->path, r->count, number);
}

int reader_read(const struct reader *r, uint64_t number,
		struct reader_block **ret_block,
		const struct reader_sample **ret_sample, struct roar_error *err)
{
	CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
	struct reader_plan plan = { .readers = &r,
				    .n_readers = 1,
				    .first = number,
				    .n = 1 };
	int error = check_number(r, number, err);

	if (error < 0)
		return error;
	if (block_read(NULL, &plan, 0, 1, &b) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	error = block_describe(b, 0, ret_sample, err);
	if (error == 0)
		*ret_block = TAKE_PTR(b);
	return error;
}

void reader_expect(const struct reader *r, uint64_t number)
{
	struct span span;

	if (!r->source.ops || number >= r->count)
		return;
	span = r->ops->span(r, number);
	if (span.len <= r->options.max_sample)
		source_expect(&r->source, span.offset, (size_t)span.len);
}

int64_t reader_read_into(const struct reader *r, uint64_t number, void *to,
			 size_t room, struct roar_error *err)
{
	struct reader_sample sample = { .number = number, .n_parts = 1 };
	struct reader_part part;
	struct span span;
	int error = check_number(r, number, err);

	if (error < 0)
		return error;
	if (reader_n_parts(r, number) != 1)
		return error_set(err, -ENOTSUP,
				 "sample %" PRIu64
				 " of '%s' has several parts and cannot be "
				 "read into one buffer; read it by itself",
				 number, r->path);
	span = r->ops->span(r, number);
	if (span.len > room)
		return error_set(err, -ENOSPC,
				 "sample %" PRIu64 " of '%s' has %" PRIu64
				 " bytes and there is room for %zu",
				 number, r->path, span.len, room);
	error = r->ops->load(r, &span, to, err);
	if (error == 0)
		error = reader_describe(r, to, &sample, &part, err);
	return error < 0 ? error : (int64_t)part.len;
}

/* ---- parts ---- */

size_t reader_n_parts(const struct reader *r, uint64_t number)
{
	assert(number < r->count);
	return r->ops->n_parts ? r->ops->n_parts(r, number) : 1;
}

uint64_t reader_part_of(const struct reader *r, uint64_t number, size_t i,
			struct reader_part *ret)
{
	assert(number < r->count && i < reader_n_parts(r, number));
	if (r->ops->part)
		return r->ops->part(r, number, i, ret);
	*ret = (struct reader_part){
		.name = "",
		.len = (size_t)r->ops->span(r, number).len
	};
	return 0;
}

int reader_describe(const struct reader *r, const uint8_t *data,
		    struct reader_sample *sample, struct reader_part *parts,
		    struct roar_error *err)
{
	int error = 0;

	if (r->ops->key)
		r->ops->key(r, sample);
	for (size_t i = 0; error == 0 && i < sample->n_parts; i++) {
		uint64_t at = reader_part_of(r, sample->number, i, &parts[i]);

		parts[i].data = data + at;
		if (r->ops->check)
			error = r->ops->check(r, sample->number, &parts[i],
					      err);
	}
	return error;
}

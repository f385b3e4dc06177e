/* shards.h - shards made by hand, and what is read from them. */
#ifndef ROAR_TEST_SHARDS_H
#define ROAR_TEST_SHARDS_H

#include "temp_dir.h"

#include "base/error.h"
#include "base/str.h"
#include "reader/reader.h"

/* ---- tar archives ---- */

/* Adds a header whose checksum is right. */
void tar_add_header(struct str *tar, const char *name, char type,
		    uint64_t size);

/* Adds `len` bytes, and zeros up to a whole block. */
void tar_add_data(struct str *tar, const void *data, size_t len);

/* Adds a regular file with that text. */
void tar_add_file(struct str *tar, const char *name, const char *text);

/* Adds the end mark. */
void tar_add_end(struct str *tar);

/* The checksum of the header at `at`, made right after it was changed. */
void tar_seal(struct str *tar, size_t at);

/* ---- files ---- */

/* A path in the folder; it lasts until the next call. */
const char *path_in(const struct temp_dir *dir, const char *name);

void write_file(const struct temp_dir *dir, const char *name, const void *data,
		size_t len);
void write_text(const struct temp_dir *dir, const char *name, const char *text);

/* ---- reading ---- */

/* Opens it without an index on disk; must succeed. */
struct reader *open_shard(const struct temp_dir *dir, const char *name,
			  struct reader_options options);

/* What opening it fails with, and the sentence. */
int open_error(const struct temp_dir *dir, const char *name,
	       struct reader_options options, struct roar_error *err);

/* Sample `number` as text: "key{name=text,name=text}". */
void assert_sample(const struct reader *r, uint64_t number, const char *text);
void sample_text(const struct reader_sample *s, struct str *out);

#endif

/* fuzz_tar.c - tar archives, and their tables as bytes, from anywhere */
#include "fuzz_shard.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "reader/tar_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool has_part_up(const char *text, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++)
		if (text[i] == '.' && text[i + 1] == '.' &&
		    (i == 0 || text[i - 1] == '/') &&
		    (i + 2 < len && text[i + 2] == '/'))
			return true;
	return false;
}

/* All parts are bytes of the archive, in its order; no key leads elsewhere. */
static void check_sample(const struct reader_sample *s, const uint8_t *data,
			 size_t len)
{
	assert(s->n_parts >= 1 && s->n_parts <= READER_PARTS_MAX);
	assert(!s->key_len || s->key[0] != '/');
	assert(!has_part_up(s->key, s->key_len));
	for (size_t i = 0; i < s->n_parts; i++) {
		const struct reader_part *p = &s->parts[i];

		assert(p->len <= len);
		assert(!p->len || memmem(data, len, p->data, p->len));
		assert(!memchr(p->name, '/', p->name_len));
	}
}

static void check_archive(const uint8_t *data, size_t len)
{
	CLEANUP(reader_closep) struct reader *r = NULL;

	if (fuzz_shard_open(data, len, READER_TAR, &r) < 0)
		return;
	for (uint64_t i = 0; i < reader_count(r); i++) {
		CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
		const struct reader_sample *s;

		if (reader_read(r, i, &b, &s, NULL) == 0)
			check_sample(s, data, len);
	}
}

/* A table that is taken says the same as bytes again. */
static void check_table(const uint8_t *data, size_t len)
{
	CLEANUP(tar_table_release) struct tar_table t = TAR_TABLE_INIT;
	CLEANUP(str_release) struct str again = STR_INIT;

	if (tar_table_decode(data, len, 1 << 30, &t) < 0)
		return;
	tar_table_encode(&t, &again);
	assert(again.len == len && memcmp(again.data, data, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	check_archive(data, len);
	check_table(data, len);
	return 0;
}

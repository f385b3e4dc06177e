/* fuzz_hash_list.c - lines of lists of digests, from anywhere */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "hash/hash_line.h"
#include "hash/hash_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A line that we wrote about the entry says the same. */
static void check_line(struct str *line, const struct hash_entry *e)
{
	struct hash_entry again;

	assert(str_error(line) == 0);
	line->data[--line->len] = '\0'; /* its newline */
	assert(!strpbrk(line->data, "\n\r"));
	assert(hash_list_parse(line->data, line->len, e->algo, &again) == 1);
	assert(again.algo == e->algo);
	assert(!memcmp(again.digest, e->digest, digest_algo_len(e->algo)));
	assert(!strcmp(again.name, e->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str plain = STR_INIT;
	CLEANUP(str_release) struct str tagged = STR_INIT;
	struct hash_entry e;

	str_add(&text, data, len);
	assert(text.data || !len);
	if (!len || hash_list_parse(text.data, len, DIGEST_SHA256, &e) != 1)
		return 0;
	assert(*e.name && e.name > text.data && e.name < text.data + len);
	hash_line_plain(&plain, e.name, e.algo, e.digest);
	hash_line_tagged(&tagged, e.name, e.algo, e.digest);
	/* Plain lines of 64 digits are what the caller says they are. */
	check_line(&plain, &e);
	check_line(&tagged, &e);
	return 0;
}

/* fuzz_jsonl.c - lines from anywhere, compared with a slow twin */
#include "fuzz_shard.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct line {
	const uint8_t *data;
	size_t len;
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next line that has something, without blanks around it. */
static bool next_line(const uint8_t **p, const uint8_t *end, struct line *ret)
{
	while (*p < end) {
		const uint8_t *nl = memchr(*p, '\n', (size_t)(end - *p));
		const uint8_t *stop = nl ? nl : end;
		const uint8_t *first = *p;
		const uint8_t *last = stop;

		*p = nl ? nl + 1 : end;
		while (first < last && is_blank(*first))
			first++;
		while (last > first && is_blank(last[-1]))
			last--;
		*ret = (struct line){ first, (size_t)(last - first) };
		if (ret->len)
			return true;
	}
	return false;
}

static void check_line(const struct reader *r, uint64_t number,
		       const struct line *want)
{
	CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
	const struct reader_sample *s;
	struct roar_error err = { "" };
	int error = reader_read(r, number, &b, &s, &err);

	if (error < 0) {
		assert(error == -EILSEQ && strstr(err.text, "line "));
		return;
	}
	assert(s->parts[0].len == want->len);
	assert(memcmp(s->parts[0].data, want->data, want->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(reader_closep) struct reader *r = NULL;
	const uint8_t *p = data;
	struct line line;
	uint64_t n = 0;

	if (fuzz_shard_open(data, len, READER_JSONL, &r) < 0)
		assert(!"every file has lines");
	if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	for (; next_line(&p, data + len, &line); n++) {
		assert(n < reader_count(r));
		check_line(r, n, &line);
	}
	assert(n == reader_count(r));
	return 0;
}

/* jsonl.c - shards that are lines of JSON
 *
 * The index is where lines begin, 8 bytes each, and where the last one ends.  A line goes
 * up to the next one; blank lines and the ends of lines (LF, CR LF) are cut off when it is
 * read.  Blank lines are no samples.  A byte order mark at the beginning is passed over.
 *
 * Whether it is UTF-8 is looked at here, because a parser that is handed other bytes tells
 * neither line nor file; whether it is JSON is the parser's business. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "reader/index_file.h"
#include "reader/reader_internal.h"

enum { PIECE = 1024 * 1024 };

struct lines {
	uint64_t *starts; /* and the end of the last one */
	size_t n, cap;
};

/* ---- finding lines ---- */

struct finder {
	struct lines *lines;
	bool blank; /* nothing but blanks since the line began */
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int add_start(struct lines *l, uint64_t offset)
{
	uint64_t *start = VEC_PUSH(l->starts, l->n, l->cap);

	if (!start)
		return -ENOMEM;
	*start = offset;
	return 0;
}

/* A line begins with its first character, so that blank lines before it are none. */
static int find(struct finder *f, const uint8_t *data, size_t len,
		uint64_t offset)
{
	const uint8_t *p = data;
	const uint8_t *end = data + len;

	while (p < end) {
		if (f->blank && is_blank(*p)) {
			p++;
			continue;
		}
		if (f->blank &&
		    add_start(f->lines, offset + (uint64_t)(p - data)) < 0)
			return -ENOMEM;
		p = memchr(p, '\n', (size_t)(end - p));
		f->blank = p;
		if (!p)
			break;
		p++;
	}
	return 0;
}

static uint64_t mark_len(const uint8_t *data, size_t len)
{
	return len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Of the lines up to `size`. */
static int find_all(const struct reader *r, uint64_t size, struct lines *l,
		    struct roar_error *err)
{
	CLEANUP(freep) uint8_t *piece = malloc(PIECE);
	struct finder f = { .lines = l, .blank = true };
	int found = piece ? 0 : -ENOMEM;

	for (uint64_t at = 0; found == 0 && at < size; at += PIECE) {
		size_t len = size - at < PIECE ? (size_t)(size - at) : PIECE;
		uint64_t skip;

		found = source_read(&r->source, at, piece, len, err);
		if (found < 0)
			return found;
		skip = at ? 0 : mark_len(piece, len);
		found = find(&f, piece + skip, len - (size_t)skip, at + skip);
	}
	/* Where there is more, the last line that began only ends the one before. */
	if (found == 0 && (size == r->source.stamp.size || !l->n))
		found = add_start(l, size);
	return found == -ENOMEM ? error_set(err, found, "out of memory") :
				  found;
}

/* ---- the index ---- */

static bool is_right(const struct lines *l, uint64_t size)
{
	if (!l->n || l->starts[l->n - 1] != size)
		return false;
	for (size_t i = 1; i < l->n; i++)
		if (l->starts[i] <= l->starts[i - 1])
			return false;
	return true;
}

static int find_kept(struct reader *r, struct lines *l)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	int found = index_file_load(r, &body);

	if (found < 0 || body.len % sizeof(*l->starts))
		return -ENOENT;
	l->n = body.len / sizeof(*l->starts);
	l->starts = (uint64_t *)(void *)str_take(&body);
	r->index_was_kept = l->starts && is_right(l, r->source.stamp.size);
	if (r->index_was_kept)
		return 0;
	free(l->starts);
	*l = (struct lines){ 0 };
	return -ENOENT;
}

static int scan(struct reader *r, struct lines *l, struct roar_error *err)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	uint64_t size = r->source.stamp.size;
	int found;

	r->is_cut = r->options.beginning && size > READER_BEGINNING_BYTES;
	found = find_all(r, r->is_cut ? READER_BEGINNING_BYTES : size, l, err);
	if (found == 0)
		found = source_check(&r->source, err);
	if (found < 0 || r->is_cut)
		return found;
	str_add(&body, l->starts, l->n * sizeof(*l->starts));
	if (str_error(&body) == 0)
		index_file_save(r, &body);
	return 0;
}

static int jsonl_open(struct reader *r, struct roar_error *err)
{
	struct lines *l = calloc(1, sizeof(*l));
	int found = 0;

	if (!l)
		return error_set(err, -ENOMEM, "out of memory");
	r->data = l;
	if (find_kept(r, l) < 0)
		found = scan(r, l, err);
	r->count = found == 0 ? l->n - 1 : 0;
	return found;
}

static void jsonl_close(struct reader *r)
{
	struct lines *l = r->data;

	if (l)
		free(l->starts);
	free(l);
}

/* ---- one line ---- */

static struct span jsonl_span(const struct reader *r, uint64_t number)
{
	const struct lines *l = r->data;

	return (struct span){ .offset = l->starts[number],
			      .len = l->starts[number + 1] - l->starts[number] };
}

/* Which line of the file begins at `offset`, from 1 on: blank ones count here.  Only for
 * sentences, so it may take a while; 0 when the file cannot be read any more. */
static uint64_t line_number(const struct reader *r, uint64_t offset)
{
	CLEANUP(freep) uint8_t *piece = malloc(PIECE);
	uint64_t n = 1;

	for (uint64_t at = 0; piece && at < offset; at += PIECE) {
		size_t len = offset - at < PIECE ? (size_t)(offset - at) :
						   PIECE;

		if (source_read(&r->source, at, piece, len, NULL) < 0)
			return 0;
		for (size_t i = 0; i < len; i++)
			n += piece[i] == '\n';
	}
	return n;
}

/* How much of the text is UTF-8; words of plain ASCII are passed at once. */
static size_t valid_len(const uint8_t *data, size_t len)
{
	const uint64_t high = 0x8080808080808080;
	size_t i = 0;

	while (i < len) {
		uint64_t word;
		size_t n;

		if (len - i >= sizeof(word)) {
			memcpy(&word, data + i, sizeof(word));
			if (!(word & high)) {
				i += sizeof(word);
				continue;
			}
		}
		n = utf8_length((const char *)data + i, len - i);
		if (!n)
			return i;
		i += n;
	}
	return len;
}

static int jsonl_check(const struct reader *r, uint64_t number,
		       struct reader_part *part, struct roar_error *err)
{
	size_t valid;

	while (part->len && is_blank(part->data[part->len - 1]))
		part->len--;
	valid = valid_len(part->data, part->len);
	if (valid == part->len)
		return 0;
	return error_set(err, -EILSEQ,
			 "line %" PRIu64
			 " of '%s' is not UTF-8 at its byte %zu; write the "
			 "file again in UTF-8",
			 line_number(r, jsonl_span(r, number).offset), r->path,
			 valid + 1);
}

const struct reader_ops jsonl_ops = {
	.name = "jsonl",
	.open = jsonl_open,
	.close = jsonl_close,
	.span = jsonl_span,
	.load = reader_load,
	.check = jsonl_check,
};

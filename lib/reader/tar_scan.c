/* tar_scan.c - see tar_scan.h
 *
 * Headers are read through a small window: many of a shard of small files come with one
 * read, and of large files little is read that is not wanted. */
#include "reader/tar_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/str.h"
#include "reader/sample_source.h"
#include "reader/tar_header.h"
#include "reader/tar_pax.h"
#include "reader/tar_table.h"

enum {
	WINDOW = 8 * 1024,
	EXTRA_MAX = 1024 * 1024, /* bytes of an extended header */
};

struct scan {
	const struct source *source;
	struct tar_table *table;
	struct roar_error *err;
	uint64_t at; /* of the next header */
	/* For the next member, from extended headers: */
	struct str name; /* empty: that of its header */
	struct str pax_data; /* what `pax` points into */
	struct tar_pax pax;
	uint64_t window_at;
	size_t window_len;
	uint8_t window[WINDOW];
};

/* ---- sentences ---- */

static int refuse(struct scan *s, const char *name, const char *what)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, name, 200);
	return error_set(s->err, -EBADMSG,
			 "'%s' cannot be read as a shard: its member '%s' %s",
			 s->source->path, str_cstr(&shown), what);
}

static int say_damaged(struct scan *s, const char *why)
{
	return error_set(s->err, -EBADMSG,
			 "'%s' is damaged at byte %" PRIu64
			 ": %s; fetch or make it again",
			 s->source->path, s->at, why);
}

static int say_truncated(struct scan *s)
{
	return error_set(s->err, -EBADMSG,
			 "'%s' is truncated: it ends at byte %" PRIu64
			 ", before the end of the archive; fetch or make it "
			 "again",
			 s->source->path, s->source->stamp.size);
}

/* It does not begin with a header: perhaps we know what it is. */
static int say_no_tar(struct scan *s)
{
	static const struct {
		const char *name;
		const char *magic;
		size_t len;
	} packers[] = {
		{ "gzip", "\x1f\x8b", 2 },
		{ "zstd", "\x28\xb5\x2f\xfd", 4 },
		{ "xz", "\xfd\x37zXZ", 5 },
		{ "bzip2", "BZh", 3 },
		{ "lz4", "\x04\x22\x4d\x18", 4 },
	};
	uint64_t size = s->source->stamp.size;
	char head[8] = "";

	/* A failure shows in that nothing is recognised. */
	(void)source_read(s->source, 0, head,
			  size < sizeof(head) ? (size_t)size : sizeof(head),
			  NULL);
	for (size_t i = 0; i < ARRAY_SIZE(packers); i++)
		if (memcmp(head, packers[i].magic, packers[i].len) == 0)
			return error_set(s->err, -EINVAL,
					 "'%s' is compressed with %s, which "
					 "has no random access; decompress it "
					 "first",
					 s->source->path, packers[i].name);
	return error_set(s->err, -EINVAL,
			 "'%s' is not a tar archive; name its kind if it is "
			 "something else",
			 s->source->path);
}

/* ---- reading ---- */

/* A header's block; NULL with *ret_r: 0 at the end of the file, or an error. */
static const uint8_t *block_at(struct scan *s, int *ret_r)
{
	uint64_t size = s->source->stamp.size;
	uint64_t left = s->at <= size ? size - s->at : 0;

	*ret_r = 0;
	if (left < TAR_BLOCK)
		return NULL;
	if (s->at < s->window_at ||
	    s->at + TAR_BLOCK > s->window_at + s->window_len) {
		s->window_len = left < WINDOW ? (size_t)left : WINDOW;
		s->window_at = s->at;
		*ret_r = source_read(s->source, s->at, s->window, s->window_len,
				     s->err);
		if (*ret_r < 0) {
			s->window_len = 0;
			return NULL;
		}
	}
	return s->window + (s->at - s->window_at);
}

/* Behind the data of a member, which fills whole blocks. */
static uint64_t behind(uint64_t data, uint64_t len)
{
	return data + (len + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

static bool fits(const struct scan *s, uint64_t data, uint64_t len)
{
	uint64_t size = s->source->stamp.size;

	return data <= size && len <= size - data;
}

/* The data of an extended header. */
static int read_extra(struct scan *s, const struct tar_header *h,
		      struct str *out)
{
	uint64_t data = s->at + TAR_BLOCK;
	int r;

	if (h->size > EXTRA_MAX)
		return say_damaged(s,
				   "an extended header is larger than 1 MiB");
	if (!fits(s, data, h->size))
		return say_truncated(s);
	str_clear(out);
	if (str_reserve(out, (size_t)h->size + 1) < 0)
		return -ENOMEM;
	r = source_read(s->source, data, out->data, (size_t)h->size, s->err);
	if (r < 0)
		return r;
	out->len = (size_t)h->size;
	out->data[out->len] = '\0';
	return 0;
}

static int take_long_name(struct scan *s, const struct tar_header *h)
{
	int r = read_extra(s, h, &s->name);

	if (r == 0)
		s->name.len = strlen(str_cstr(&s->name));
	if (r == 0 && !s->name.len)
		return say_damaged(s, "a long name is empty");
	return r;
}

static int take_pax(struct scan *s, const struct tar_header *h)
{
	int r = read_extra(s, h, &s->pax_data);

	s->pax = (struct tar_pax){ 0 };
	if (r == 0)
		r = tar_pax_read(str_cstr(&s->pax_data), s->pax_data.len,
				 &s->pax);
	if (r == -EBADMSG)
		return say_damaged(s, "an extended header is malformed");
	if (r == 0 && s->pax.path) {
		str_clear(&s->name);
		str_add(&s->name, s->pax.path, s->pax.path_len);
		r = str_error(&s->name);
	}
	return r;
}

/* ---- members ---- */

static bool goes_up(const char *name)
{
	for (const char *p = name; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += len;
		p += strspn(p, "/");
	}
	return false;
}

static const char *why_refused(char type, const char *name)
{
	switch (type) {
	case '0':
		break;
	case '1':
	case '2':
		return "is a link, pack the file itself (tar "
		       "--dereference --hard-dereference)";
	case '3':
	case '4':
	case '6':
		return "is a device or a fifo, which holds no sample; pack "
		       "regular files only";
	case 'S':
		return "is a sparse file, pack it without --sparse";
	default:
		return "has a nonstandard type, pack regular files only";
	}
	if (name[0] == '/')
		return "has an absolute name, pack it with a relative one";
	if (goes_up(name))
		return "has '..' in its name, pack it from the directory it is "
		       "in";
	return NULL;
}

static int add_member(struct scan *s, const char *name, uint64_t data,
		      uint64_t len)
{
	int r;

	if (!*path_basename(name))
		return refuse(s, name, "has no valid file name; pack it again");
	r = tar_table_add(s->table, name, data, len);
	switch (r) {
	case -EEXIST:
		return refuse(s, name,
			      "occurs twice in one sample; names of a sample "
			      "must differ after the first dot");
	case -E2BIG:
		return refuse(s, name,
			      "is the 257th file of one sample; give samples "
			      "names that differ before the first dot");
	case -EOVERFLOW:
		return refuse(s, name,
			      "is one too many: the names of a shard have at "
			      "most 4 GiB, make several shards");
	default:
		return r < 0 ? r : 0;
	}
}

static int take_member(struct scan *s, const struct tar_header *h)
{
	const char *name = s->name.len ? str_cstr(&s->name) : h->name;
	uint64_t len = s->pax.has_size ? s->pax.size : h->size;
	uint64_t data = s->at + TAR_BLOCK;
	const char *why = s->pax.is_sparse ? why_refused('S', name) :
			  h->type == '5'   ? NULL :
					     why_refused(h->type, name);
	int r = 0;

	if (why)
		return refuse(s, name, why);
	if (!fits(s, data, len))
		return say_truncated(s);
	if (h->type != '5')
		r = add_member(s, name, data, len);
	str_clear(&s->name);
	s->pax = (struct tar_pax){ 0 };
	s->at = behind(data, len);
	return r;
}

/* Extended headers are about the member behind them; a global one ('g') says nothing that
 * we ask for, nor does the long target of a link ('K'). */
static int take_header(struct scan *s, const struct tar_header *h)
{
	int r = 0;

	switch (h->type) {
	case 'L':
		r = take_long_name(s, h);
		break;
	case 'x':
		r = take_pax(s, h);
		break;
	case 'g':
	case 'K':
		break;
	default:
		return take_member(s, h);
	}
	if (r == 0 && !fits(s, s->at + TAR_BLOCK, h->size))
		return say_truncated(s);
	s->at = behind(s->at + TAR_BLOCK, h->size);
	return r;
}

/* 1: go on, 0: the end mark. */
static int step(struct scan *s)
{
	struct tar_header h;
	const char *why = "";
	int r;
	const uint8_t *block = block_at(s, &r);

	if (!block && r < 0)
		return r;
	if (!block)
		return s->at ? say_truncated(s) : say_no_tar(s);
	r = tar_header_read(block, &h, &why);
	if (r < 0)
		return s->at ? say_damaged(s, why) : say_no_tar(s);
	if (r == 0)
		return 0;
	r = take_header(s, &h);
	return r < 0 ? r : 1;
}

static bool is_zero(const uint8_t *data, size_t len)
{
	return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

/* Zeros fill a file up to its end.  What comes behind them would be left out without a
 * word: another archive, or the rest of this one behind a hole. */
static int check_rest(struct scan *s)
{
	uint64_t size = s->source->stamp.size;

	for (; s->at < size; s->at += s->window_len) {
		uint64_t left = size - s->at;
		int r;

		s->window_len = left < WINDOW ? (size_t)left : WINDOW;
		r = source_read(s->source, s->at, s->window, s->window_len,
				s->err);
		if (r < 0)
			return r;
		if (!is_zero(s->window, s->window_len))
			return say_damaged(s, "there is data after its end "
					      "mark, as in concatenated "
					      "archives or a file with a hole");
	}
	return 0;
}

int tar_scan(const struct source *source, uint64_t most,
	     struct tar_table *table, struct roar_error *err)
{
	struct scan s = { .source = source, .table = table, .err = err };
	int more = 1;
	int r;

	for (uint64_t n = 0; more > 0 && n < most; n++)
		more = step(&s);
	str_release(&s.name);
	str_release(&s.pax_data);
	r = more;
	if (more == 0)
		r = check_rest(&s);
	else if (more > 0)
		tar_table_cut(table);
	if (r >= 0)
		r = tar_table_end(table);
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	return r < 0 ? r : more;
}

/* ckpt_layout.c - see ckpt_layout.h */
#include "ckpt/ckpt_layout.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/utf8.h"

#define METADATA \
	"\"__metadata__\":{\"format\":\"roar\",\"roar_checkpoint\":\"1\"}"

enum { SMALL = 12 }; /* names: sorted by insertion */

struct entry {
	uint64_t key; /* the next eight bytes of the name, big-endian */
	const char *name;
	uint32_t len;
	uint32_t item;
	uint8_t bytes; /* of an element */
	bool is_plain; /* the name is ASCII without anything to escape */
};

/* ---- order of names ---- */

static uint64_t key_at(const struct entry *e, size_t depth)
{
	uint64_t key = 0;
	size_t n = e->len > depth ? e->len - depth : 0;

	if (n >= sizeof(key)) {
		memcpy(&key, e->name + depth, sizeof(key));
		return be64toh(key);
	}
	for (size_t i = 0; i < n; i++)
		key |= (uint64_t)(unsigned char)e->name[depth + i]
		       << (56 - 8 * i);
	return key;
}

/* Names have no NUL, so that a name sorts before one that it begins. */
static int compare(const struct entry *a, const struct entry *b, size_t depth)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->len <= depth || b->len <= depth)
		return 0;
	return strcmp(a->name + depth, b->name + depth);
}

static void sort_few(struct entry *e, size_t n, size_t depth)
{
	for (size_t i = 1; i < n; i++) {
		struct entry moved = e[i];
		size_t at = i;

		for (; at && compare(&moved, &e[at - 1], depth) < 0; at--)
			e[at] = e[at - 1];
		e[at] = moved;
	}
}

static void swap(struct entry *a, struct entry *b)
{
	struct entry c = *a;

	*a = *b;
	*b = c;
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

/* Multikey quicksort: names are divided into those whose next eight bytes are less than,
 * equal to and greater than a pivot's; only the equal ones look at later bytes. */
static void sort_names(struct entry *e, size_t n, size_t depth)
{
	while (n > SMALL) {
		uint64_t pivot = middle(e[0].key, e[n / 2].key, e[n - 1].key);
		size_t less = 0, at = 0, greater = n;

		while (at < greater) {
			if (e[at].key < pivot)
				swap(&e[at++], &e[less++]);
			else if (e[at].key > pivot)
				swap(&e[at], &e[--greater]);
			else
				at++;
		}
		sort_names(e, less, depth);
		sort_names(e + greater, n - greater, depth);
		e += less;
		n = greater - less;
		/* A key with a NUL has the end of the name. */
		if ((pivot & 0xff) == 0)
			return;
		depth += sizeof(pivot);
		for (size_t i = 0; i < n; i++)
			e[i].key = key_at(&e[i], depth);
	}
	sort_few(e, n, depth);
}

/* ---- items ---- */

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* Is a byte of the word 0?  Wrong only for bytes above a 0, where the answer is the same. */
static uint64_t zero_bytes(uint64_t word)
{
	return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

static inline uint64_t odd_bytes(uint64_t word)
{
	return (word & EACH_BYTE(0x80)) |
	       ((word - EACH_BYTE(' ')) & ~word & EACH_BYTE(0x80)) |
	       zero_bytes(word ^ EACH_BYTE('"')) |
	       zero_bytes(word ^ EACH_BYTE('\\')) |
	       zero_bytes(word ^ EACH_BYTE(0x7f));
}

/* Only printable ASCII without quotes and backslashes, eight bytes at a time. */
static bool is_plain(const char *name, size_t len)
{
	uint64_t word, odd = 0;
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, name + i, sizeof(word));
		odd |= odd_bytes(word);
	}
	for (word = EACH_BYTE('x'); i < len; i++)
		word = word << 8 | (unsigned char)name[i];
	return (odd | odd_bytes(word)) == 0;
}

/* The name of an item in the file. */
static int name_entry(struct pool *pool, const struct ckpt_item *item,
		      struct entry *e)
{
	CLEANUP(str_release) struct str name = STR_INIT;

	if (!item->offset)
		return 0;
	str_adds(&name, item->name);
	for (unsigned i = 0; i < item->n_dims; i++)
		str_addf(&name, "%c%llu", i ? ',' : '@',
			 (unsigned long long)item->offset[i]);
	e->name = pool_dup(pool, str_cstr(&name), name.len);
	e->len = (uint32_t)name.len;
	return name.failed || !e->name ? -ENOMEM : 0;
}

static int check_item(struct ckpt_item *item, struct entry *e,
		      struct roar_error *err)
{
	size_t len = strlen(item->name);

	e->name = item->name;
	e->len = (uint32_t)len;
	e->bytes = (uint8_t)ckpt_dtype_bytes(item->dtype);
	e->is_plain = is_plain(item->name, len);
	if (len == 0 || len > UINT16_MAX ||
	    (!e->is_plain && !utf8_is_valid(item->name)) ||
	    strcmp(item->name, "__metadata__") == 0)
		return error_set(err, -EINVAL,
				 "a tensor is called '%.80s', which is not a "
				 "name of 1 to 65535 bytes of UTF-8",
				 item->name);
	if (item->n_dims > CKPT_MAX_DIMS)
		return error_set(err, -EINVAL,
				 "tensor '%s' has %u dimensions, more than %d",
				 item->name, item->n_dims, CKPT_MAX_DIMS);
	if (ckpt_dtype_size(item->dtype, item->shape, item->n_dims,
			    &item->n_bytes) < 0)
		return error_set(err, -EINVAL, "tensor '%s' is too large",
				 item->name);
	return 0;
}

static int fill_entries(struct pool *pool, struct ckpt_item *items, size_t n,
			struct entry *entries, struct roar_error *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = check_item(&items[i], &entries[i], err);

		if (r == 0)
			r = name_entry(pool, &items[i], &entries[i]);
		if (r < 0)
			return r;
		entries[i].item = (uint32_t)i;
		entries[i].key = key_at(&entries[i], 0);
	}
	return 0;
}

static int find_equal(const struct entry *entries, size_t n,
		      struct roar_error *err)
{
	for (size_t i = 1; i < n; i++)
		if (entries[i].len == entries[i - 1].len &&
		    memcmp(entries[i].name, entries[i - 1].name,
			   entries[i].len) == 0)
			return error_set(err, -EINVAL,
					 "tensor '%s' is there twice",
					 entries[i].name);
	return 0;
}

/* ---- the header ---- */

static unsigned count_digits(uint64_t value)
{
	unsigned n = 1;

	for (; value >= 10000; value /= 10000)
		n += 4;
	return n + (value >= 10) + (value >= 100) + (value >= 1000);
}

static const char PAIRS[] = "0001020304050607080910111213141516171819"
			    "2021222324252627282930313233343536373839"
			    "4041424344454647484950515253545556575859"
			    "6061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

/* Two digits at a time, straight to their place: numbers are most of a header. */
static char *put_number(char *at, uint64_t value)
{
	char *end = at + count_digits(value);
	char *p = end;

	for (; value >= 10; value /= 100)
		memcpy(p -= 2, PAIRS + 2 * (value % 100), 2);
	if (p > at)
		*--p = (char)('0' + value);
	return end;
}

static char *put_text(char *at, const char *text, size_t len)
{
	memcpy(at, text, len);
	return at + len;
}

#define PUT(at, text) put_text(at, text, sizeof(text) - 1)

static char *put_name(char *at, const char *name, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < ' ') {
			at = PUT(at, "\\u00");
			*at++ = hex[c >> 4];
			*at++ = hex[c & 15];
			continue;
		}
		if (c == '"' || c == '\\')
			*at++ = '\\';
		*at++ = (char)c;
	}
	return at;
}

/* The most bytes of one entry. */
static size_t entry_room(const struct entry *e, const struct ckpt_item *item)
{
	return 6 * (size_t)e->len + 21 * ((size_t)item->n_dims + 2) + 64;
}

/* Where in the header is the end of the last entry: the next one starts there.  0: there is
 * none.  It is copied from there; digits that were just written one by one to a text of their
 * own would be waited for. */
struct digits {
	size_t at, len;
};

static char *put_begin(char *at, const struct str *out, const struct digits *d)
{
	if (!d->len)
		return PUT(at, "0");
	memcpy(at, out->data + d->at, 20);
	return at + d->len;
}

static int add_entry(struct str *out, const struct entry *e,
		     const struct ckpt_item *item, uint64_t end,
		     struct digits *last)
{
	const char *dtype = ckpt_dtype_name(item->dtype);
	char *at;

	if (str_reserve(out, entry_room(e, item)) < 0)
		return -ENOMEM;
	at = PUT(out->data + out->len, ",\"");
	at = e->is_plain ? put_text(at, e->name, e->len) :
			   put_name(at, e->name, e->len);
	at = PUT(at, "\":{\"dtype\":\"");
	at = put_text(at, dtype, strlen(dtype));
	at = PUT(at, "\",\"shape\":[");
	for (unsigned i = 0; i < item->n_dims; i++) {
		if (i)
			*at++ = ',';
		at = put_number(at, item->shape[i]);
	}
	at = PUT(at, "],\"data_offsets\":[");
	at = put_begin(at, out, last);
	*at++ = ',';
	last->at = (size_t)(at - out->data);
	at = put_number(at, end);
	last->len = (size_t)(at - out->data) - last->at;
	at = PUT(at, "]}");
	out->len = (size_t)(at - out->data);
	return 0;
}

static void begin_header(struct str *out)
{
	str_pad(out, '\0', 8);
	str_adds(out, "{" METADATA);
}

/* Closes the object, pads it, and sets its length. */
static void end_header(struct str *out)
{
	str_addc(out, '}');
	str_pad(out, ' ', -out->len % CKPT_ALIGN);
	if (!out->failed)
		le64_put(out->data, out->len - 8);
}

void ckpt_layout_leaves_header(struct str *out, uint64_t n_bytes)
{
	assert(out->len == 0);
	begin_header(out);
	str_addf(out,
		 ",\"roar.leaves\":{\"dtype\":\"U8\",\"shape\":[%llu],"
		 "\"data_offsets\":[0,%llu]}",
		 (unsigned long long)n_bytes, (unsigned long long)n_bytes);
	end_header(out);
}

/* Names are sorted already; each pass takes those of one element size. */
static int place_items(struct ckpt_layout *l, struct ckpt_item *items,
		       const struct entry *entries)
{
	struct digits last = { 0, 0 };
	uint64_t end = 0;
	size_t n_placed = 0;

	for (size_t bytes = 8; bytes && n_placed < l->n_items; bytes /= 2) {
		for (size_t i = 0; i < l->n_items; i++) {
			struct ckpt_item *item = &items[entries[i].item];

			if (entries[i].bytes != bytes)
				continue;
			item->at = end;
			end += item->n_bytes;
			if (end > CKPT_MAX_BYTES ||
			    l->header.len > CKPT_MAX_HEADER)
				return -EFBIG;
			if (add_entry(&l->header, &entries[i], item, end,
				      &last) < 0)
				return -ENOMEM;
			l->order[n_placed++] = entries[i].item;
		}
	}
	l->size_bytes = end;
	return 0;
}

static int build(struct ckpt_layout *l, struct ckpt_item *items,
		 struct entry *entries, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	int r = fill_entries(&pool, items, l->n_items, entries, err);

	if (r < 0)
		return r;
	sort_names(entries, l->n_items, 0);
	r = find_equal(entries, l->n_items, err);
	if (r < 0)
		return r;
	begin_header(&l->header);
	r = place_items(l, items, entries);
	if (r == -EFBIG)
		return error_set(err, r,
				 "%zu tensors have too many bytes or too long "
				 "names for one file",
				 l->n_items);
	if (r < 0)
		return r;
	end_header(&l->header);
	for (size_t i = 0; i < l->n_items; i++)
		items[i].at += l->header.len;
	l->size_bytes += l->header.len;
	return str_error(&l->header);
}

int ckpt_layout_init(struct ckpt_layout *l, struct ckpt_item *items, size_t n,
		     struct roar_error *err)
{
	CLEANUP(freep) struct entry *entries = calloc(n + 1, sizeof(*entries));
	int r = -ENOMEM;

	assert(n < UINT32_MAX);
	*l = (struct ckpt_layout){ .n_items = n };
	l->order = calloc(n + 1, sizeof(*l->order));
	if (entries && l->order)
		r = build(l, items, entries, err);
	if (r < 0)
		ckpt_layout_release(l);
	return r;
}

void ckpt_layout_release(struct ckpt_layout *l)
{
	str_release(&l->header);
	free(l->order);
	*l = (struct ckpt_layout){ 0 };
}

/* compare_npy.c - two arrays of numpy
 *
 *	"\x93NUMPY"  major  minor  length of the header (16 bits in version 1, else 32)
 *	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *	the elements
 *
 * The header is a Python literal; only what numpy writes for arrays of numbers is read.
 * Structured arrays, texts and pickled objects are not supported. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/number.h"
#include "compare/compare_internal.h"

enum { HEADER_MAX = 65536 };

struct npy {
	struct tensor tensor;
	uint64_t shape[CKPT_MAX_DIMS];
};

static const struct {
	const char *code;
	enum ckpt_dtype dtype;
	unsigned n_parts;
} codes[] = {
	{ "b1", CKPT_BOOL, 1 }, { "i1", CKPT_I8, 1 },	{ "i2", CKPT_I16, 1 },
	{ "i4", CKPT_I32, 1 },	{ "i8", CKPT_I64, 1 },	{ "u1", CKPT_U8, 1 },
	{ "u2", CKPT_U16, 1 },	{ "u4", CKPT_U32, 1 },	{ "u8", CKPT_U64, 1 },
	{ "f2", CKPT_F16, 1 },	{ "f4", CKPT_F32, 1 },	{ "f8", CKPT_F64, 1 },
	{ "c8", CKPT_F32, 2 },	{ "c16", CKPT_F64, 2 },
};

static void skip_blanks(const char **at)
{
	while (isspace((unsigned char)**at))
		(*at)++;
}

static bool take(const char **at, const char *token)
{
	skip_blanks(at);
	if (strncmp(*at, token, strlen(token)) != 0)
		return false;
	*at += strlen(token);
	return true;
}

/* A short text in quotes. */
static bool take_text(const char **at, char *text, size_t size)
{
	skip_blanks(at);
	char quote = **at;

	if (quote != '\'' && quote != '"')
		return false;
	const char *end = strchr(*at + 1, quote);

	if (!end || (size_t)(end - *at) > size)
		return false;
	memcpy(text, *at + 1, (size_t)(end - *at) - 1);
	text[end - *at - 1] = '\0';
	*at = end + 1;
	return true;
}

static int take_type(struct npy *npy, const char **at)
{
	char text[16];

	/* A list is a structured type. */
	if (!take_text(at, text, sizeof(text)) || !strchr("<>|=", text[0]) ||
	    text[0] == '\0')
		return -ENOTSUP;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].code, text + 1) == 0) {
			npy->tensor.dtype = codes[i].dtype;
			npy->tensor.n_parts = codes[i].n_parts;
			npy->tensor.is_swapped = text[0] == '>';
			return 0;
		}
	return -ENOTSUP;
}

static int take_shape(struct npy *npy, const char **at)
{
	unsigned n = 0;

	if (!take(at, "("))
		return -EBADMSG;
	while (!take(at, ")")) {
		if (n == CKPT_MAX_DIMS ||
		    number_take(at, CKPT_MAX_BYTES, &npy->shape[n]) < 0)
			return -EBADMSG;
		n++;
		if (!take(at, ",") && (skip_blanks(at), **at != ')'))
			return -EBADMSG;
	}
	npy->tensor.n_dims = n;
	return 0;
}

static int take_order(struct npy *npy, const char **at)
{
	npy->tensor.is_fortran = take(at, "True");
	return npy->tensor.is_fortran || take(at, "False") ? 0 : -EBADMSG;
}

static const struct {
	const char *key;
	int (*take)(struct npy *npy, const char **at);
} fields[] = {
	{ "descr", take_type },
	{ "fortran_order", take_order },
	{ "shape", take_shape },
};

static int take_field(struct npy *npy, const char **at, unsigned *seen)
{
	char key[16];

	if (!take_text(at, key, sizeof(key)) || !take(at, ":"))
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strcmp(fields[i].key, key) == 0 && !(*seen & 1U << i)) {
			*seen |= 1U << i;
			return fields[i].take(npy, at);
		}
	return -EBADMSG;
}

static int parse_header(struct npy *npy, const char *text)
{
	unsigned seen = 0;
	int r = take(&text, "{") ? 0 : -EBADMSG;

	while (r == 0 && !take(&text, "}")) {
		r = take_field(npy, &text, &seen);
		if (r == 0 && !take(&text, ",") &&
		    (skip_blanks(&text), *text != '}'))
			r = -EBADMSG;
	}
	if (r == 0 && seen != (1U << ARRAY_SIZE(fields)) - 1)
		r = -EBADMSG;
	return r;
}

static int read_text(struct compare_source *s, char *text, size_t *ret_len)
{
	uint8_t head[12];
	int r = source_read(s, head, 10);
	size_t len, begin = 10;

	if (r < 0 || memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 ||
	    head[6] > 3)
		return r < 0 ? r : -EBADMSG;
	len = le16_get(head + 8);
	if (head[6] > 1) {
		r = source_read(s, head + 10, 2);
		len = le32_get(head + 8);
		begin = 12;
	}
	if (r == 0 && len >= HEADER_MAX)
		r = -ENOTSUP;
	if (r == 0)
		r = source_read(s, text, len);
	if (r < 0)
		return r;
	text[len] = '\0';
	*ret_len = begin + len;
	return strlen(text) == len ? 0 : -EBADMSG;
}

/* Reads the header; `len` is that of the whole file. */
static int read_npy(struct compare_source *s, uint64_t len, struct npy *npy)
{
	CLEANUP(freep) char *text = malloc(HEADER_MAX);
	size_t begin;

	if (!text)
		return -ENOMEM;
	int r = read_text(s, text, &begin);

	if (r == 0)
		r = parse_header(npy, text);
	if (r < 0)
		return r;
	struct tensor *t = &npy->tensor;

	t->shape = npy->shape;
	if (ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &t->n_bytes) < 0)
		return -EBADMSG;
	t->n_bytes *= t->n_parts;
	return len >= begin && len - begin == t->n_bytes ? 0 : -EBADMSG;
}

int compare_npy_sources(struct comparison *c, const char *name,
			struct compare_source *a, uint64_t len_a,
			struct compare_source *b, uint64_t len_b)
{
	struct npy npy_a = { .tensor = { .name = name } };
	struct npy npy_b = { .tensor = { .name = name } };
	int r = read_npy(a, len_a, &npy_a);

	if (r == 0)
		r = read_npy(b, len_b, &npy_b);
	if (r == -EBADMSG || r == -ENOTSUP)
		return error_set(c->why, r,
				 "'%.150s' is not an array of numbers that "
				 "numpy wrote",
				 name[0] ? name : c->file[0].name);
	if (r < 0 || !tensor_is_like(c, &npy_a.tensor, &npy_b.tensor))
		return r;
	return tensor_compare(c, &npy_a.tensor, &npy_b.tensor, a, b);
}

int compare_npy(struct comparison *c)
{
	struct compare_source a, b;

	(void)source_open(&a, SOURCE_PLAIN, c->file[0].fd, 0, c->size[0]);
	(void)source_open(&b, SOURCE_PLAIN, c->file[1].fd, 0, c->size[1]);
	return compare_npy_sources(c, "", &a, c->size[0], &b, c->size[1]);
}

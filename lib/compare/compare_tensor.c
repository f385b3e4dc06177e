/* compare_tensor.c - the elements of two tensors; see compare_internal.h
 *
 * Pieces with equal bytes are only counted: the usual case costs a memcmp().  In the
 * others each pair of elements with other bytes becomes a pair of doubles, which have all
 * values of the smaller types.  64-bit integers are subtracted as integers. */
#include "compare/compare_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "base/str.h"

enum { PIECE = 256 * 1024, NONE = -1 };

/* A floating-point number of `exponent` and `mantissa` bits below its sign. */
static double small_float(unsigned bits, unsigned exponent, unsigned mantissa)
{
	unsigned e = (bits >> mantissa) & ((1U << exponent) - 1);
	unsigned m = bits & ((1U << mantissa) - 1);
	int bias = (1 << (exponent - 1)) - 1;
	double value;

	if (e == (1U << exponent) - 1)
		value = m ? NAN : INFINITY;
	else if (e == 0)
		value = ldexp(m, 1 - bias - (int)mantissa);
	else
		value = ldexp(m | (1U << mantissa),
			      (int)e - bias - (int)mantissa);
	return (bits >> (exponent + mantissa)) & 1 ? -value : value;
}

/* F8_E4M3 has no infinity, and a NaN only where all bits are 1. */
static double float8_e4m3(unsigned bits)
{
	if ((bits & 0x78) != 0x78)
		return small_float(bits, 4, 3);
	if ((bits & 7) == 7)
		return NAN;
	double value = 256 + 32 * (bits & 7);

	return bits & 0x80 ? -value : value;
}

static double float32(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

static double float64(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t load(const uint8_t *p, size_t bytes, bool swapped)
{
	switch (bytes) {
	case 1:
		return *p;
	case 2:
		return swapped ? be16_get(p) : le16_get(p);
	case 4:
		return swapped ? be32_get(p) : le32_get(p);
	default:
		return swapped ? __builtin_bswap64(le64_get(p)) : le64_get(p);
	}
}

static double as_double(enum ckpt_dtype dtype, uint64_t bits)
{
	switch (dtype) {
	case CKPT_F8_E5M2:
		return small_float((unsigned)bits, 5, 2);
	case CKPT_F8_E4M3:
		return float8_e4m3((unsigned)bits);
	case CKPT_F16:
		return small_float((unsigned)bits, 5, 10);
	case CKPT_BF16:
		return float32((uint32_t)bits << 16);
	case CKPT_F32:
		return float32((uint32_t)bits);
	case CKPT_F64:
		return float64(bits);
	case CKPT_I8:
		return (int8_t)bits;
	case CKPT_I16:
		return (int16_t)bits;
	case CKPT_I32:
		return (int32_t)bits;
	case CKPT_I64:
		return (double)(int64_t)bits;
	default:
		return (double)bits;
	}
}

static bool is_float(enum ckpt_dtype dtype)
{
	return dtype == CKPT_F8_E5M2 || dtype == CKPT_F8_E4M3 ||
	       dtype == CKPT_F16 || dtype == CKPT_BF16 || dtype == CKPT_F32 ||
	       dtype == CKPT_F64;
}

static unsigned tally_bits(struct comparison *c, enum ckpt_dtype dtype,
			   uint64_t a, uint64_t b)
{
	double x = as_double(dtype, a), y = as_double(dtype, b);

	if (is_float(dtype))
		return tally_floats(c, x, y);
	if (ckpt_dtype_bytes(dtype) < 8)
		return tally_integers(c, x, y, fabs(x - y));
	bool less = dtype == CKPT_I64 ? (int64_t)a < (int64_t)b : a < b;

	return tally_integers(c, x, y, (double)(less ? b - a : a - b));
}

/* "tensor 'w' [3, 17]" */
static void add_place(struct str *out, const struct tensor *t, uint64_t element)
{
	uint64_t index[CKPT_MAX_DIMS];
	uint64_t rest = element / t->n_parts;

	for (unsigned i = 0; i < t->n_dims; i++) {
		unsigned dim = t->is_fortran ? i : t->n_dims - 1 - i;

		index[dim] = rest % t->shape[dim];
		rest /= t->shape[dim];
	}
	if (t->name[0] != '\0')
		str_addf(out, "tensor '%.150s' ", t->name);
	str_addc(out, '[');
	for (unsigned i = 0; i < t->n_dims; i++)
		str_addf(out, "%s%" PRIu64, i ? ", " : "", index[i]);
	str_addc(out, ']');
}

static int note_place(struct comparison *c, unsigned news,
		      const struct tensor *t, uint64_t element, double a,
		      double b)
{
	CLEANUP(str_release) struct str place = STR_INIT;

	add_place(&place, t, element);
	if (str_error(&place) < 0)
		return -ENOMEM;
	tally_place(c, news, str_cstr(&place), a, b);
	return 0;
}

/* A piece with different bytes; `element` is the number of its first one.  The place of
 * the largest difference is written only once. */
static int compare_piece(struct comparison *c, const struct tensor *t_a,
			 const struct tensor *t_b, uint64_t element,
			 const uint8_t *a, const uint8_t *b, size_t n)
{
	size_t bytes = ckpt_dtype_bytes(t_a->dtype);
	bool swapped = t_a->is_swapped || t_b->is_swapped;
	int64_t worst = NONE;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *p = a + i * bytes, *q = b + i * bytes;

		if (!swapped && memcmp(p, q, bytes) == 0) {
			c->result->n_values++;
			continue;
		}
		uint64_t x = load(p, bytes, t_a->is_swapped);
		uint64_t y = load(q, bytes, t_b->is_swapped);
		unsigned news = tally_bits(c, t_a->dtype, x, y);

		if (news & TALLY_WORST)
			worst = (int64_t)i;
		if (news & TALLY_FIRST)
			r = note_place(c, TALLY_FIRST, t_a, element + i,
				       as_double(t_a->dtype, x),
				       as_double(t_b->dtype, y));
	}
	if (r == 0 && worst != NONE)
		r = note_place(c, TALLY_WORST, t_a, element + (uint64_t)worst,
			       0, 0);
	return r;
}

int tensor_compare(struct comparison *c, const struct tensor *t_a,
		   const struct tensor *t_b, struct compare_source *a,
		   struct compare_source *b)
{
	CLEANUP(freep) uint8_t *piece = malloc((size_t)2 * PIECE);
	size_t bytes = ckpt_dtype_bytes(t_a->dtype);
	bool same_order = t_a->is_swapped == t_b->is_swapped;
	int r = piece ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < t_a->n_bytes; at += PIECE) {
		uint64_t left = t_a->n_bytes - at;
		size_t n = left < PIECE ? (size_t)left : PIECE;

		r = source_read(a, piece, n);
		if (r == 0)
			r = source_read(b, piece + PIECE, n);
		if (r < 0)
			break;
		if (same_order && memcmp(piece, piece + PIECE, n) == 0)
			c->result->n_values += n / bytes;
		else
			r = compare_piece(c, t_a, t_b, at / bytes, piece,
					  piece + PIECE, n / bytes);
	}
	if (r == -EBADMSG)
		return error_set(c->why, r,
				 "the data of tensor '%.150s' end too early",
				 t_a->name);
	return r;
}

static void add_type(struct str *out, const struct tensor *t)
{
	str_addf(out, "%s%s [", t->n_parts == 2 ? "complex " : "",
		 ckpt_dtype_name(t->dtype));
	for (unsigned i = 0; i < t->n_dims; i++)
		str_addf(out, "%s%" PRIu64, i ? ", " : "", t->shape[i]);
	str_adds(out, t->is_fortran ? "] by columns" : "]");
}

static bool has_same_shape(const struct tensor *a, const struct tensor *b)
{
	if (a->n_dims != b->n_dims)
		return false;
	for (unsigned i = 0; i < a->n_dims; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

bool tensor_is_like(struct comparison *c, const struct tensor *a,
		    const struct tensor *b)
{
	CLEANUP(str_release) struct str type_a = STR_INIT;
	CLEANUP(str_release) struct str type_b = STR_INIT;

	if (a->dtype == b->dtype && a->n_parts == b->n_parts &&
	    has_same_shape(a, b) &&
	    (a->is_fortran == b->is_fortran || a->n_dims < 2))
		return true;
	add_type(&type_a, a);
	add_type(&type_b, b);
	tally_unlike(c, "%s%.120s%s%.60s and %.60s",
		     a->name[0] ? "tensor '" : "the array", a->name,
		     a->name[0] ? "' is " : " is ", str_cstr(&type_a),
		     str_cstr(&type_b));
	return false;
}

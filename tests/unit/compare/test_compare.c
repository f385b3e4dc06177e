/* test_compare.c - values of files that were made up here */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/byte_order.h"
#include "base/fd.h"
#include "base/str.h"
#include "compare/compare.h"

static const struct compare_options exact = { 0 };
static const struct compare_options loose = { .rtol = 1e-3, .atol = 1e-6 };

static int hold(const void *data, size_t len)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, len), 0);
	return fd;
}

/* Compares two contents as files of that name; exchanging them changes no verdict. */
static struct compare_result compare(const char *name,
				     const struct compare_options *o,
				     const struct str *a, const struct str *b)
{
	struct compare_file file_a = { hold(a->data, a->len), name };
	struct compare_file file_b = { hold(b->data, b->len), name };
	struct compare_result r, reverse;

	assert_int_equal(compare_files(&file_b, &file_a, o, &reverse, NULL), 0);
	assert_int_equal(compare_files(&file_a, &file_b, o, &r, NULL), 0);
	assert_int_equal(r.verdict, reverse.verdict);
	assert_true(r.max_abs == reverse.max_abs);
	close(file_a.fd);
	close(file_b.fd);
	return r;
}

static struct compare_result compare_texts(const char *name,
					   const struct compare_options *o,
					   const char *a, const char *b)
{
	struct str x = STR_INIT, y = STR_INIT;

	str_adds(&x, a);
	str_adds(&y, b);
	struct compare_result r = compare(name, o, &x, &y);

	str_release(&x);
	str_release(&y);
	return r;
}

static void add_le32(struct str *s, uint32_t v)
{
	uint8_t b[4];

	le32_put(b, v);
	str_add(s, b, 4);
}

static void add_le16(struct str *s, unsigned v)
{
	uint8_t b[2];

	le16_put(b, (uint16_t)v);
	str_add(s, b, 2);
}

/* ---- bytes ---- */

static void other_files_are_compared_as_bytes(void **state)
{
	struct compare_result r = compare_texts("x.bin", &exact, "abc", "abc");

	(void)state;
	assert_int_equal(r.verdict, COMPARE_IDENTICAL);
	r = compare_texts("x.bin", &exact, "abcd", "abXd");
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_string_equal(r.first, "byte 2");
	assert_string_equal(r.first_a, "0x63");
	r = compare_texts("x.bin", &exact, "abc", "abcd");
	assert_string_equal(r.first, "byte 3");
	/* A name that promises more than the content. */
	r = compare_texts("x.npy", &exact, "abc", "abd");
	assert_string_equal(r.format, "bytes");
	assert_non_null(strstr(r.note, "not an array of numbers"));
}

static void what_is_no_file_is_refused(void **state)
{
	struct compare_result r;
	struct roar_error err = { "" };

	(void)state;
	assert_int_equal(compare_paths("/", "/", &exact, &r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a regular file"));
	assert_int_equal(compare_paths("/nowhere", "/", &exact, &r, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "'/nowhere'"));
}

/* ---- safetensors ---- */

static void add_safetensors(struct str *out, const char *header,
			    const void *data, size_t len)
{
	uint8_t n[8];

	le64_put(n, strlen(header));
	str_add(out, n, 8);
	str_adds(out, header);
	str_add(out, data, len);
}

/* One tensor of 2 elements of that type, from bits. */
static struct compare_result compare_elements(const char *dtype, size_t bytes,
					      const struct compare_options *o,
					      const void *a, const void *b)
{
	struct str x = STR_INIT, y = STR_INIT;
	char header[128];

	(void)snprintf(header, sizeof(header),
		       "{\"w\":{\"dtype\":\"%s\",\"shape\":[1,2],"
		       "\"data_offsets\":[0,%zu]}}",
		       dtype, 2 * bytes);
	add_safetensors(&x, header, a, 2 * bytes);
	add_safetensors(&y, header, b, 2 * bytes);
	struct compare_result r = compare("x.safetensors", o, &x, &y);

	str_release(&x);
	str_release(&y);
	return r;
}

static void all_types_of_elements_are_subtracted(void **state)
{
	/* 1 and the next larger number of each type. */
	static const struct {
		const char *dtype;
		size_t bytes;
		uint64_t a, b;
		double by;
	} types[] = {
		{ "F64", 8, 0x3ff0000000000000, 0x3ff0000000000001, 0x1p-52 },
		{ "F32", 4, 0x3f800000, 0x3f800001, 0x1p-23 },
		{ "BF16", 2, 0x3f80, 0x3f81, 0x1p-7 },
		{ "F16", 2, 0x3c00, 0x3c01, 0x1p-10 },
		{ "F16", 2, 0x0000, 0x0001, 0x1p-24 },
		{ "F16", 2, 0x3c00, 0xbc00, 2 },
		{ "F8_E4M3", 1, 0x38, 0x39, 0.125 },
		{ "F8_E4M3", 1, 0x7e, 0x7d, 32 },
		{ "F8_E5M2", 1, 0x3c, 0x3d, 0.25 },
		{ "I64", 8, 0, UINT64_MAX, 1 },
		{ "U64", 8, UINT64_MAX - 1, UINT64_MAX, 1 },
		{ "I32", 4, 0, UINT32_MAX, 1 },
		{ "U16", 2, 1, 3, 2 },
		{ "I8", 1, 0x80, 0x7f, 255 },
		{ "BOOL", 1, 0, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		uint8_t a[16] = { 0 }, b[16] = { 0 };
		uint64_t x = htole64(types[i].a), y = htole64(types[i].b);

		memcpy(a + types[i].bytes, &x, types[i].bytes);
		memcpy(b + types[i].bytes, &y, types[i].bytes);
		struct compare_result r = compare_elements(
			types[i].dtype, types[i].bytes, &exact, a, b);

		assert_int_equal(r.verdict, COMPARE_DIFFERENT);
		assert_int_equal(r.n_values, 2);
		assert_int_equal(r.n_different, 1);
		assert_true(r.max_abs == types[i].by);
		assert_string_equal(r.first, "tensor 'w' [0, 1]");
		assert_string_equal(r.worst, "tensor 'w' [0, 1]");
	}
}

static void a_tolerance_is_for_floats_only_in_its_relative_part(void **state)
{
	float a[] = { 100, 1 }, b[] = { 100.05F, 1 };
	int32_t i[] = { 100000, 0 }, k[] = { 100001, 0 };
	float nan_a[] = { NAN, 1 }, nan_b[] = { NAN, 1.0001F };

	(void)state;
	struct compare_result r = compare_elements("F32", 4, &loose, a, b);

	assert_int_equal(r.verdict, COMPARE_EQUAL);
	assert_true(r.max_abs > 0.04 && r.max_rel < 0.001);
	assert_string_equal(r.worst, "tensor 'w' [0, 0]");
	assert_string_equal(r.first, "");
	assert_int_equal(compare_elements("I32", 4, &loose, i, k).verdict,
			 COMPARE_DIFFERENT);
	assert_int_equal(
		compare_elements("F32", 4, &loose, nan_a, nan_b).verdict,
		COMPARE_EQUAL);
	r = compare_elements("F32", 4, &loose, nan_a, b);
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_true(isinf(r.max_abs));
}

static struct compare_result compare_headers(const char *a, const char *b)
{
	struct str x = STR_INIT, y = STR_INIT;

	add_safetensors(&x, a, "\1\0\2\0", 4);
	add_safetensors(&y, b, "\2\0\1\0", 4);
	struct compare_result r = compare("x.safetensors", &exact, &x, &y);

	str_release(&x);
	str_release(&y);
	return r;
}

#define ITEM(name, shape, from, to)                        \
	"\"" name "\":{\"dtype\":\"U16\",\"shape\":" shape \
	",\"data_offsets\":[" from "," to "]}"

static void tensors_are_matched_by_name(void **state)
{
	(void)state;
	struct compare_result r = compare_headers(
		"{" ITEM("a", "[1]", "0", "2") "," ITEM("b", "[]", "2", "4") "}",
		"{" ITEM("b", "[]", "0", "2") "," ITEM("a", "[1]", "2",
						       "4") "}");

	assert_int_equal(r.verdict, COMPARE_EQUAL);
	assert_non_null(strstr(r.note, "encoding"));
	r = compare_headers("{" ITEM("a", "[2]", "0", "4") "}",
			    "{" ITEM("a", "[1,2]", "0", "4") "}");
	assert_int_equal(r.verdict, COMPARE_UNLIKE);
	assert_string_equal(r.first, "tensor 'a' is U16 [2] and U16 [1, 2]");
	r = compare_headers("{" ITEM("a", "[2]", "0", "4") "}",
			    "{" ITEM("c", "[2]", "0", "4") "}");
	assert_int_equal(r.verdict, COMPARE_UNLIKE);
	assert_string_equal(r.first, "tensor 'a' is only in the first file");
}

/* ---- npy and npz ---- */

static void add_npy(struct str *out, const char *dict, const void *data,
		    size_t len)
{
	str_add(out, "\x93NUMPY\1\0", 8);
	add_le16(out, (unsigned)strlen(dict));
	str_adds(out, dict);
	str_add(out, data, len);
}

static struct compare_result compare_arrays(const char *dict_a, const void *a,
					    const char *dict_b, const void *b,
					    size_t len)
{
	struct str x = STR_INIT, y = STR_INIT;

	add_npy(&x, dict_a, a, len);
	add_npy(&y, dict_b, b, len);
	struct compare_result r = compare("x.npy", &exact, &x, &y);

	str_release(&x);
	str_release(&y);
	return r;
}

#define DICT(descr, order, shape)                                            \
	"{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape \
	", }\n"

static void arrays_of_numpy_are_compared_by_element(void **state)
{
	static const uint8_t a[8] = { 1, 0, 2, 0, 3, 0, 4, 0 };
	static const uint8_t b[8] = { 1, 0, 2, 0, 9, 0, 4, 0 };
	static const uint8_t big[8] = { 0, 1, 0, 2, 0, 3, 0, 4 };

	(void)state;
	struct compare_result r = compare_arrays(DICT("<i2", "False", "(2, 2)"),
						 a,
						 DICT("<i2", "False", "(2, 2)"),
						 b, 8);

	assert_string_equal(r.first, "[1, 0]");
	assert_true(r.max_abs == 6);
	r = compare_arrays(DICT("<i2", "True", "(2, 2)"), a,
			   DICT("<i2", "True", "(2, 2)"), b, 8);
	assert_string_equal(r.first, "[0, 1]");
	r = compare_arrays(DICT("<i2", "False", "(4,)"), a,
			   DICT(">i2", "False", "(4,)"), big, 8);
	assert_int_equal(r.verdict, COMPARE_EQUAL);
	r = compare_arrays(DICT("<i2", "False", "(4,)"), a,
			   DICT("<u2", "False", "(4,)"), a, 8);
	assert_int_equal(r.verdict, COMPARE_UNLIKE);
	assert_string_equal(r.first, "the array is I16 [4] and U16 [4]");
	r = compare_arrays(DICT("<c8", "False", "()"), a,
			   DICT("<c8", "False", "()"), b, 8);
	assert_int_equal(r.n_values, 2);
	assert_string_equal(r.first, "[]");
	/* Too few elements, and a pickle. */
	r = compare_arrays(DICT("<i2", "False", "(5,)"), a,
			   DICT("<i2", "False", "(5,)"), b, 8);
	assert_string_equal(r.format, "bytes");
	r = compare_arrays(DICT("|O", "False", "(1,)"), a,
			   DICT("|O", "False", "(1,)"), b, 8);
	assert_string_equal(r.format, "bytes");
}

static void deflated(struct str *out, const void *data, size_t len, int window)
{
	z_stream z = { 0 };
	uint8_t buffer[4096];

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, 0), Z_OK);
	z.next_in = (Bytef *)data;
	z.avail_in = (uInt)len;
	z.next_out = buffer;
	z.avail_out = sizeof(buffer);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	str_add(out, buffer, sizeof(buffer) - z.avail_out);
	assert_int_equal(deflateEnd(&z), Z_OK);
}

/* An archive of one array of two floats. */
static void add_npz(struct str *out, const char *name, bool deflate,
		    const float values[2])
{
	struct str npy = STR_INIT, packed = STR_INIT;
	uint32_t n = (uint32_t)strlen(name), at;

	add_npy(&npy, DICT("<f4", "False", "(2,)"), values, 8);
	if (deflate)
		deflated(&packed, npy.data, npy.len, -15);
	else
		str_add(&packed, npy.data, npy.len);
	for (int central = 0; central < 2; central++) {
		at = (uint32_t)out->len;
		str_add(out, central ? "PK\1\2\24\0" : "PK\3\4",
			central ? 6 : 4);
		add_le16(out, 20);
		add_le16(out, 0);
		add_le16(out, deflate ? 8 : 0);
		add_le32(out, 0);
		add_le32(out, 0);
		add_le32(out, (uint32_t)packed.len);
		add_le32(out, (uint32_t)npy.len);
		add_le16(out, n);
		add_le16(out, 0);
		if (central)
			str_pad(out, '\0', 14);
		str_adds(out, name);
		if (!central)
			str_add(out, packed.data, packed.len);
	}
	str_add(out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
	add_le32(out, (uint32_t)out->len - 12 - at);
	add_le32(out, at);
	add_le16(out, 0);
	str_release(&npy);
	str_release(&packed);
}

static void archives_of_numpy_are_compared_by_array(void **state)
{
	static const float values[] = { 1, 2 }, others[] = { 1, 2.5F };
	struct str a = STR_INIT, b = STR_INIT, c = STR_INIT, d = STR_INIT;

	(void)state;
	add_npz(&a, "w.npy", false, values);
	add_npz(&b, "w.npy", true, values);
	add_npz(&c, "w.npy", true, others);
	add_npz(&d, "v.npy", true, values);
	assert_int_equal(compare("x.npz", &exact, &a, &b).verdict,
			 COMPARE_EQUAL);
	struct compare_result r = compare("x.npz", &exact, &a, &c);

	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_string_equal(r.first, "tensor 'w.npy' [1]");
	assert_true(r.max_abs == 0.5);
	r = compare("x.npz", &exact, &a, &d);
	assert_int_equal(r.verdict, COMPARE_UNLIKE);
	/* Any truncation is noticed. */
	for (size_t len = 0; len < b.len; len += 7) {
		struct str cut = { .data = b.data, .len = len };

		assert_string_equal(compare("x.npz", &exact, &a, &cut).format,
				    "bytes");
	}
	str_release(&a);
	str_release(&b);
	str_release(&c);
	str_release(&d);
}

/* ---- JSON ---- */

static void metrics_are_compared_by_key(void **state)
{
	(void)state;
	struct compare_result r = compare_texts(
		"m.json", &exact, "{\"a\": 1, \"b\": [true, \"x\"]}",
		"{\"b\": [true, \"x\"],\n \"a\": 1}\n");

	assert_int_equal(r.verdict, COMPARE_EQUAL);
	r = compare_texts("m.json", &loose, "{\"eval\": {\"loss\": [1, 0.5]}}",
			  "{\"eval\": {\"loss\": [1, 0.50001]}}");
	assert_int_equal(r.verdict, COMPARE_EQUAL);
	assert_string_equal(r.worst, "eval.loss[1]");
	r = compare_texts("m.json", &loose, "{\"eval\": {\"loss\": 0.5}}",
			  "{\"eval\": {\"loss\": 0.6}}");
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_string_equal(r.first, "eval.loss");
	assert_string_equal(r.first_b, "0.6");
	r = compare_texts("m.json", &loose, "{\"a\": 1, \"b\": 2}",
			  "{\"a\": 1}");
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_string_equal(r.first, "b");
	assert_string_equal(r.first_b, "absent");
	r = compare_texts("m.jsonl", &exact, "{\"loss\": 1}\n{\"loss\": 2}\n",
			  "{\"loss\": 1}\n{\"loss\": 3}\n");
	assert_string_equal(r.first, "value 2.loss");
	r = compare_texts("m.json", &exact, "{\"a\":", "{\"b\":");
	assert_string_equal(r.format, "bytes");
}

static void times_and_paths_do_not_decide(void **state)
{
	(void)state;
	struct compare_result r = compare_texts(
		"m.json", &exact,
		"{\"loss\": 1, \"train_runtime\": 3.5, \"output_dir\": \"/a\"}",
		"{\"loss\": 1, \"train_runtime\": 3.7, \"output_dir\": \"/b\"}");

	assert_int_equal(r.verdict, COMPARE_EQUAL);
	assert_int_equal(r.n_volatile, 2);
	assert_string_equal(r.note, "times or paths differ: train_runtime, "
				    "output_dir");
	r = compare_texts("m.json", &exact, "{\"time_step\": 1}",
			  "{\"time_step\": 2}");
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	r = compare_texts("m.csv", &exact, "epoch,startTime\n1,10:00\n",
			  "epoch,startTime\n1,11:00\n");
	assert_int_equal(r.verdict, COMPARE_EQUAL);
}

/* ---- tables ---- */

static void tables_are_compared_by_field(void **state)
{
	(void)state;
	struct compare_result r = compare_texts(
		"m.csv", &loose, "epoch,loss\n1,0.50\n2,0.25\n",
		"epoch,loss\r\n1,0.5\r\n2,0.2501\r\n");

	assert_int_equal(r.verdict, COMPARE_EQUAL);
	assert_string_equal(r.worst, "row 3, column 'loss'");
	r = compare_texts("m.csv", &loose, "epoch,loss\n1,0.5\n",
			  "epoch,loss\n1,0.7\n");
	assert_string_equal(r.first, "row 2, column 'loss'");
	r = compare_texts("m.tsv", &exact, "1\t\"a\tb\"\n", "1\t\"a\tc\"\n");
	assert_string_equal(r.first, "row 1, column 2");
	assert_string_equal(r.first_b, "a\tc");
	r = compare_texts("m.csv", &exact, "a,\"say \"\"x\"\"\"\n",
			  "\"a\",\"say \"\"x\"\"\"");
	assert_int_equal(r.verdict, COMPARE_EQUAL);
	r = compare_texts("m.csv", &exact, "1,2\n3,4\n", "1,2\n");
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_string_equal(r.first_b, "the end of the file");
	r = compare_texts("m.csv", &exact, "1,2\n3,4\n", "1,2,5\n3,4\n");
	assert_string_equal(r.first_b, "more columns");
}

/* ---- images ---- */

static void add_chunk(struct str *out, const char *type, const void *data,
		      size_t len)
{
	uint8_t n[4];

	be32_put(n, (uint32_t)len);
	str_add(out, n, 4);
	str_add(out, type, 4);
	str_add(out, data, len);
	str_add(out, "\0\0\0\0", 4);
}

/* An image of 2x2 pixels; the data are split in two chunks. */
static void add_png(struct str *out, uint8_t colour, const void *rows,
		    size_t len)
{
	uint8_t head[13] = { [3] = 2, [7] = 2, [8] = 8, [9] = colour };
	struct str packed = STR_INIT;

	deflated(&packed, rows, len, 15);
	str_add(out, "\x89PNG\r\n\x1a\n", 8);
	add_chunk(out, "IHDR", head, sizeof(head));
	if (colour == 3)
		add_chunk(out, "PLTE", "\1\2\3\4\5\6", 6);
	add_chunk(out, "IDAT", packed.data, 3);
	add_chunk(out, "IDAT", packed.data + 3, packed.len - 3);
	add_chunk(out, "IEND", "", 0);
	str_release(&packed);
}

static void images_are_compared_by_pixel(void **state)
{
	/* The same image by filters 0, 1 to 4, and with a palette. */
	static const uint8_t plain[] = { 0, 1, 2, 3, 4, 5, 6,
					 0, 4, 5, 6, 1, 2, 3 };
	static const uint8_t sub_up[] = { 1, 1, 2, 3, 3,   3,	3,
					  2, 3, 3, 3, 253, 253, 253 };
	static const uint8_t mean_paeth[] = { 3, 1, 2, 3, 4,   4,   5,
					      4, 3, 3, 3, 253, 253, 253 };
	static const uint8_t palette[] = { 0, 0, 1, 0, 1, 0 };
	static const uint8_t other[] = { 0, 1, 2, 3, 4, 5, 6,
					 0, 4, 5, 6, 1, 9, 3 };
	struct str png[5] = { 0 };

	(void)state;
	add_png(&png[0], 2, plain, sizeof(plain));
	add_png(&png[1], 2, sub_up, sizeof(sub_up));
	add_png(&png[2], 2, mean_paeth, sizeof(mean_paeth));
	add_png(&png[3], 3, palette, sizeof(palette));
	add_png(&png[4], 2, other, sizeof(other));
	for (int i = 1; i < 4; i++) {
		struct compare_result r = compare("x.png", &exact, &png[0],
						  &png[i]);

		assert_string_equal(r.format, "png");
		assert_int_equal(r.verdict, COMPARE_EQUAL);
	}
	struct compare_result r = compare("x.png", &exact, &png[0], &png[4]);

	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_string_equal(r.first, "pixel x=1 y=1 green");
	assert_true(r.max_abs == 7);
	for (size_t len = 1; len < png[1].len - 24; len += 5) {
		struct str cut = { .data = png[1].data, .len = len };

		assert_string_equal(
			compare("x.png", &exact, &png[0], &cut).format,
			"bytes");
	}
	for (int i = 0; i < 5; i++)
		str_release(&png[i]);
}

/* ---- torch ---- */

/* A Python that gives a fixed answer shows what becomes of it. */
static void torch_files_are_compared_by_python(void **state)
{
	char python[] = "/tmp/test_compare.XXXXXX";
	struct compare_options o = { .python = python };
	int fd = mkstemp(python);

	(void)state;
	assert_true(fd >= 0);
	dprintf(fd, "#!/bin/sh\n[ \"$1\" = -c ] && [ -r \"$3\" ] || exit 1\n"
		    "echo '{\"n_values\": 3, \"n_different\": 1, \"first\": "
		    "\"w\", \"max_abs\": -1, \"verdict\": \"\"}'\n");
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	struct compare_result r = compare_texts("x.pt", &o, "ab", "ac");

	assert_int_equal(unlink(python), 0);
	assert_string_equal(r.format, "torch");
	assert_int_equal(r.verdict, COMPARE_DIFFERENT);
	assert_true(isinf(r.max_abs));
	o.python = "/nowhere/python";
	r = compare_texts("x.pt", &o, "ab", "ac");
	assert_string_equal(r.format, "bytes");
	assert_non_null(strstr(r.note, "cannot be run"));
	r = compare_texts("x.pt", &exact, "ab", "ac");
	assert_string_equal(r.format, "bytes");
}

/* ---- all ---- */

static void out_of_memory_is_reported(void **state)
{
	static const char *const names[] = { "x.json", "x.csv", "x.npy", "x" };
	struct str npy = STR_INIT;

	(void)state;
	add_npy(&npy, DICT("<f4", "False", "(2,)"), "\1\1\1\1\1\1\1\1", 8);
	for (size_t i = 0; i < 4; i++) {
		struct compare_file a = { hold(npy.data, npy.len), names[i] };
		struct compare_file b = { hold("{\"a\": [1, 2]}", 13),
					  names[i] };
		struct compare_result r;
		int result = -ENOMEM;

		for (int n = 0; n < 200 && result == -ENOMEM; n++) {
			alloc_fail_after(n);
			result = compare_files(&a, &b, &exact, &r, NULL);
			alloc_fail_never();
		}
		assert_int_equal(result, 0);
		close(a.fd);
		close(b.fd);
	}
	str_release(&npy);
}

static void a_result_is_described(void **state)
{
	struct compare_result r = compare_texts(
		"m.json", &exact, "{\"loss\": 0.5}", "{\"loss\": 0.75}");
	struct str out = STR_INIT;

	(void)state;
	compare_describe(&r, &out);
	assert_string_equal(str_cstr(&out),
			    "different in 1 of 1 values, first at loss: 0.5 "
			    "and 0.75; largest difference 0.25 (relative "
			    "0.333) at loss");
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_files_are_compared_as_bytes),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(all_types_of_elements_are_subtracted),
		cmocka_unit_test(
			a_tolerance_is_for_floats_only_in_its_relative_part),
		cmocka_unit_test(tensors_are_matched_by_name),
		cmocka_unit_test(arrays_of_numpy_are_compared_by_element),
		cmocka_unit_test(archives_of_numpy_are_compared_by_array),
		cmocka_unit_test(metrics_are_compared_by_key),
		cmocka_unit_test(times_and_paths_do_not_decide),
		cmocka_unit_test(tables_are_compared_by_field),
		cmocka_unit_test(images_are_compared_by_pixel),
		cmocka_unit_test(torch_files_are_compared_by_python),
		cmocka_unit_test(out_of_memory_is_reported),
		cmocka_unit_test(a_result_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

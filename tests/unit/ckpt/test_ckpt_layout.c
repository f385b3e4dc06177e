/* test_ckpt_layout.c - the header that is written, by the reader of any header */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/error.h"
#include "base/macros.h"
#include "ckpt/ckpt_header.h"
#include "ckpt/ckpt_layout.h"

static const uint64_t dims[] = { 2, 3 };

static void read_back(const struct ckpt_layout *l, struct ckpt_header *ret)
{
	struct roar_error err = { "" };
	size_t len = 0;

	assert_int_equal(l->header.len % CKPT_ALIGN, 0);
	assert_int_equal(ckpt_header_len((const uint8_t *)l->header.data,
					 l->size_bytes, &len),
			 0);
	assert_int_equal(len, l->header.len);
	assert_int_equal(ckpt_header_read(ret, l->header.data, len,
					  l->size_bytes, "x", &err),
			 0);
}

static void large_elements_come_first_then_names(void **state)
{
	struct ckpt_item items[] = {
		{ .name = "b", .dtype = CKPT_U8, .n_dims = 1, .shape = dims },
		{ .name = "a", .dtype = CKPT_F32, .n_dims = 2, .shape = dims },
		{ .name = "z", .dtype = CKPT_I64, .n_dims = 0 },
		{ .name = "ab", .dtype = CKPT_F32, .n_dims = 1, .shape = dims },
		{ .name = "c", .dtype = CKPT_BF16, .n_dims = 1, .shape = dims },
	};
	static const uint32_t order[] = { 2, 1, 3, 4, 0 };
	static const char *const text =
		"{\"__metadata__\":{\"format\":\"roar\",\"roar_checkpoint\":\"1\"},"
		"\"z\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
		"\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},";
	struct ckpt_layout l;

	(void)state;
	assert_int_equal(ckpt_layout_init(&l, items, 5, NULL), 0);
	assert_memory_equal(l.order, order, sizeof(order));
	assert_memory_equal(l.header.data + 8, text, strlen(text));
	assert_int_equal(items[2].at, 4096);
	assert_int_equal(items[1].at, 4104);
	assert_int_equal(items[0].at, 4096 + 8 + 24 + 8 + 4);
	assert_int_equal(l.size_bytes, items[0].at + 2);
	ckpt_layout_release(&l);
}

static void any_reader_finds_each_tensor(void **state)
{
	struct ckpt_item items[] = {
		{ .name = "quote\" back\\ line\n \xc3\xa4",
		  .dtype = CKPT_F16,
		  .n_dims = 2,
		  .shape = dims },
		{ .name = "empty",
		  .dtype = CKPT_F64,
		  .n_dims = 1,
		  .shape = (const uint64_t[]){ 0 } },
		{ .name = "part",
		  .dtype = CKPT_U8,
		  .n_dims = 2,
		  .shape = dims,
		  .offset = (const uint64_t[]){ 1024, 0 } },
	};
	struct ckpt_header h;
	struct ckpt_layout l;

	(void)state;
	assert_int_equal(ckpt_layout_init(&l, items, 3, NULL), 0);
	read_back(&l, &h);
	assert_int_equal(h.n_items, 3);
	assert_int_equal(h.data_at, l.header.len);
	assert_string_equal(h.items[0].name, "empty");
	assert_string_equal(h.items[1].name, items[0].name);
	assert_int_equal(h.items[1].at, items[0].at);
	assert_int_equal(h.items[1].shape[1], 3);
	assert_string_equal(h.items[2].name, "part@1024,0");
	assert_int_equal(h.items[2].n_bytes, 6);
	ckpt_header_release(&h);
	ckpt_layout_release(&l);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names with long common beginnings, as those of models, against qsort(). */
static void many_names_are_sorted(void **state)
{
	enum { N = 5000 };
	static char names[N][64];
	static char *sorted[N];
	static struct ckpt_item items[N];
	struct ckpt_layout l;

	(void)state;
	for (int i = 0; i < N; i++) {
		(void)snprintf(names[i], sizeof(names[i]),
			       "model.layers.%d.%s%s", i * 7919 % N,
			       i % 3 ? "attention.weight" : "x",
			       i % 2 ? "" : ".bias");
		sorted[i] = names[i];
		items[i] = (struct ckpt_item){ .name = names[i],
					       .dtype = CKPT_F32,
					       .n_dims = 1,
					       .shape = dims };
	}
	qsort(sorted, N, sizeof(*sorted), compare);
	assert_int_equal(ckpt_layout_init(&l, items, N, NULL), 0);
	for (int i = 0; i < N; i++)
		assert_string_equal(items[l.order[i]].name, sorted[i]);
	ckpt_layout_release(&l);
}

static void bad_items_are_refused_by_name(void **state)
{
	const uint64_t huge[] = { UINT64_C(1) << 60, 2 };
	static const struct {
		const char *name, *words;
		int r;
	} names[] = {
		{ "", "called ''", -EINVAL },
		{ "__metadata__", "'__metadata__'", -EINVAL },
		{ "\xff", "UTF-8", -EINVAL },
		{ "huge", "'huge' is too large", -EINVAL },
		{ "ok", "'ok' is there twice", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct ckpt_item items[] = {
			{ .name = "ok",
			  .dtype = CKPT_F64,
			  .n_dims = 1,
			  .shape = dims },
			{ .name = names[i].name,
			  .dtype = CKPT_U8,
			  .n_dims = 2,
			  .shape = i == 3 ? huge : dims },
		};
		struct roar_error err = { "" };
		struct ckpt_layout l;

		assert_int_equal(ckpt_layout_init(&l, items, 2, &err),
				 names[i].r);
		assert_non_null(strstr(err.text, names[i].words));
	}
}

static void no_tensors_are_a_file_too(void **state)
{
	struct ckpt_header h;
	struct ckpt_layout l;

	(void)state;
	assert_int_equal(ckpt_layout_init(&l, NULL, 0, NULL), 0);
	assert_int_equal(l.size_bytes, 4096);
	read_back(&l, &h);
	assert_int_equal(h.n_items, 0);
	ckpt_header_release(&h);
	ckpt_layout_release(&l);
}

static void leaves_of_a_delta_are_one_tensor(void **state)
{
	struct ckpt_layout l = { .size_bytes = 4096 + (3 << 20) };
	struct ckpt_header h;

	(void)state;
	ckpt_layout_leaves_header(&l.header, 3 << 20);
	read_back(&l, &h);
	assert_int_equal(h.n_items, 1);
	assert_string_equal(h.items[0].name, "roar.leaves");
	assert_int_equal(h.items[0].n_bytes, 3 << 20);
	ckpt_header_release(&h);
	str_release(&l.header);
}

static void damaged_headers_are_refused(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{",
		"{\"a\":{\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[0,4]}}",
		"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,5]}}",
		"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}",
		"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
		"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}",
		/* A gap, and an overlap. */
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
		"\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
		"\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
		/* The file is longer. */
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint8_t bytes[512] = { 0 };
		size_t len = strlen(texts[i]);
		struct roar_error err = { "" };
		struct ckpt_header h;

		bytes[0] = (uint8_t)len;
		memcpy(bytes + 8, texts[i], len);
		assert_int_equal(ckpt_header_read(&h, bytes, len + 8, len + 12,
						  "f.safetensors", &err),
				 -EBADMSG);
		assert_non_null(strstr(err.text, "'f.safetensors'"));
	}
}

static void lack_of_memory_is_reported(void **state)
{
	struct ckpt_item items[] = {
		{ .name = "a",
		  .dtype = CKPT_F32,
		  .n_dims = 2,
		  .shape = dims,
		  .offset = dims },
		{ .name = "b", .dtype = CKPT_U8, .n_dims = 1, .shape = dims },
	};
	struct ckpt_layout l;
	int r = -ENOMEM;
	int n = 0;

	(void)state;
	for (; r < 0; n++) {
		alloc_fail_after(n);
		r = ckpt_layout_init(&l, items, 2, NULL);
		alloc_fail_never();
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_true(n > 3);
	ckpt_layout_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_elements_come_first_then_names),
		cmocka_unit_test(any_reader_finds_each_tensor),
		cmocka_unit_test(many_names_are_sorted),
		cmocka_unit_test(bad_items_are_refused_by_name),
		cmocka_unit_test(no_tensors_are_a_file_too),
		cmocka_unit_test(leaves_of_a_delta_are_one_tensor),
		cmocka_unit_test(damaged_headers_are_refused),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_ckpt_name.c - names of files, and types of elements */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "ckpt/ckpt_dtype.h"
#include "ckpt/ckpt_name.h"

static void names_are_read_as_they_are_written(void **state)
{
	static const struct {
		const char *text;
		struct ckpt_name name;
	} names[] = {
		{ "data-00003-of-00004-9f3ac2d1.safetensors",
		  { CKPT_NAME_DATA, 3, 4, "9f3ac2d1" } },
		{ "data-00000-of-99999-00000000.tree",
		  { CKPT_NAME_TREE, 0, 99999, "00000000" } },
		{ "part-00001-of-00002-9f3ac2d1.json",
		  { CKPT_NAME_PART, 1, 2, "9f3ac2d1" } },
		{ "writing-9f3ac2d1", { CKPT_NAME_WRITING, 0, 0, "9f3ac2d1" } },
		{ "manifest.json", { CKPT_NAME_MANIFEST, 0, 0, "" } },
		{ "manifest.json.9f3ac2d1",
		  { CKPT_NAME_TEMPORARY, 0, 0, "9f3ac2d1" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct ckpt_name name = { 0 };
		char text[CKPT_NAME_SIZE];
		uint64_t step = 0;

		ckpt_name_file(text, &names[i].name);
		assert_string_equal(text, names[i].text);
		assert_true(ckpt_name_parse_file(text, &name));
		assert_memory_equal(&name, &names[i].name, sizeof(name));
		ckpt_name_path(text, 100, &name);
		assert_true(ckpt_name_parse_path(text, &step, &name));
		assert_int_equal(step, 100);
		assert_string_equal(text + 18, names[i].text);
	}
}

static void other_names_are_refused(void **state)
{
	static const char *const names[] = {
		"",
		"data-00004-of-00004-9f3ac2d1.safetensors",
		"data-00000-of-00000-9f3ac2d1.safetensors",
		"data-0000-of-00004-9f3ac2d1.safetensors",
		"data-00000-of-00004-9f3ac2dg.safetensors",
		"data-00000-of-00004-9F3AC2D1.safetensors",
		"data-00000-of-00004-9f3ac2d1.safetensors2",
		"data-00000-of-00004-9f3ac2d1",
		"../data-00000-of-00004-9f3ac2d1.tree",
		"manifest.json.",
		"manifest.json2",
		"writing-",
		"..",
	};
	static const char *const paths[] = {
		"manifest.json",
		"step-100/manifest.json",
		"step-000000000100//manifest.json",
		"step-000000000100/../manifest.json",
		"/step-000000000100/manifest.json",
		"../step-000000000100/manifest.json",
		"step-0000000001000/manifest.json",
		"step-000000000100",
	};
	struct ckpt_name name = { .rank = 7 };
	uint64_t step = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(ckpt_name_parse_file(names[i], &name));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_false(ckpt_name_parse_path(paths[i], &step, &name));
	assert_false(ckpt_name_parse_step("step-00000000010", &step));
	assert_false(ckpt_name_parse_step("step-000000000100/", &step));
	assert_int_equal(step, 7);
	assert_int_equal(name.rank, 7);
}

static void save_ids_differ(void **state)
{
	char a[CKPT_SAVE_ID_LEN + 1], b[CKPT_SAVE_ID_LEN + 1];

	(void)state;
	assert_int_equal(ckpt_name_new_save_id(a), 0);
	assert_int_equal(ckpt_name_new_save_id(b), 0);
	assert_true(ckpt_name_is_save_id(a) && ckpt_name_is_save_id(b));
	assert_string_not_equal(a, b);
	assert_false(ckpt_name_is_save_id("9f3ac2d"));
	assert_false(ckpt_name_is_save_id("9f3ac2d11"));
}

static void types_have_the_names_of_safetensors(void **state)
{
	static const char *const names[] = { "BOOL",	"U8",  "I8",  "F8_E5M2",
					     "F8_E4M3", "I16", "U16", "F16",
					     "BF16",	"I32", "U32", "F32",
					     "F64",	"I64", "U64" };
	enum ckpt_dtype dtype;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(ckpt_dtype_parse(names[i], &dtype), 0);
		assert_int_equal(dtype, i);
		assert_string_equal(ckpt_dtype_name(dtype), names[i]);
	}
	assert_true(ckpt_dtype_parse("f32", &dtype) < 0);
	assert_int_equal(ckpt_dtype_bytes(CKPT_BF16), 2);
}

static void sizes_never_overflow(void **state)
{
	const uint64_t huge[] = { UINT64_C(1) << 40, UINT64_C(1) << 40 };
	const uint64_t empty[] = { UINT64_C(1) << 40, UINT64_C(1) << 40, 0 };
	const uint64_t plain[] = { 3, 5 };
	uint64_t size = 1;

	(void)state;
	assert_true(ckpt_dtype_size(CKPT_U8, huge, 2, &size) < 0);
	assert_int_equal(ckpt_dtype_size(CKPT_U8, empty, 3, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(ckpt_dtype_size(CKPT_F32, plain, 2, &size), 0);
	assert_int_equal(size, 60);
	assert_int_equal(ckpt_dtype_size(CKPT_F64, NULL, 0, &size), 0);
	assert_int_equal(size, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_as_they_are_written),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(save_ids_differ),
		cmocka_unit_test(types_have_the_names_of_safetensors),
		cmocka_unit_test(sizes_never_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

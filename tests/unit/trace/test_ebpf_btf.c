/* test_ebpf_btf.c - finding fields in type information, sound and broken.
 *
 * The types are made here, as a compiler would write them:
 *
 *	1 INT "int"
 *	2 STRUCT "inner" { int a @0; int b @4; }
 *	3 UNION "" { inner seen @0; inner other @0; }
 *	4 STRUCT "outer" { int first @0; union {...} @8; inner last @16; }
 *	5 TYPEDEF "word" -> 1
 *	6 FUNC_PROTO
 *	7 FUNC "act" -> 6 */
#include "trace/ebpf/btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/ebpf/image.h"

static const char strings[] = "\0int\0inner\0outer\0a\0b\0first\0seen\0other\0last"
			      "\0word\0act";
static const char *const names[] = { "inner", "outer", "word", "act" };

static uint32_t name(const char *text)
{
	for (uint32_t at = 1; at < sizeof(strings); at++)
		if (!strings[at - 1] && strcmp(strings + at, text) == 0)
			return at;
	return 0;
}

static uint32_t info(uint32_t kind, uint32_t n)
{
	return kind << 24 | n;
}

/* Writes the file; returns its length. */
static size_t write_types(const char *path, size_t cut)
{
	uint32_t types[] = {
		name("int"),
		info(BTF_KIND_INT, 0),
		4,
		32,
		name("inner"),
		info(BTF_KIND_STRUCT, 2),
		8,
		name("a"),
		1,
		0,
		name("b"),
		1,
		32,
		0,
		info(BTF_KIND_UNION, 2),
		8,
		name("seen"),
		2,
		0,
		name("other"),
		2,
		0,
		name("outer"),
		info(BTF_KIND_STRUCT, 3),
		24,
		name("first"),
		1,
		0,
		0,
		3,
		64,
		name("last"),
		2,
		128,
		name("word"),
		info(BTF_KIND_TYPEDEF, 0),
		1,
		0,
		info(BTF_KIND_FUNC_PROTO, 0),
		0,
		name("act"),
		info(BTF_KIND_FUNC, 0),
		6,
	};
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = 1,
		.hdr_len = sizeof(h),
		.type_len = sizeof(types),
		.str_off = sizeof(types),
		.str_len = sizeof(strings),
	};
	char data[sizeof(h) + sizeof(types) + sizeof(strings)];
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), types, sizeof(types));
	memcpy(data + sizeof(h) + sizeof(types), strings, sizeof(strings));
	assert_true(cut <= sizeof(data));
	assert_int_equal(fwrite(data, 1, sizeof(data) - cut, f),
			 sizeof(data) - cut);
	assert_int_equal(fclose(f), 0);
	return sizeof(data);
}

static void make_path(char path[64])
{
	int fd;

	strcpy(path, "/tmp/roar-test-btf-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static int64_t find(const struct btf *b, const char *type, const char *member,
		    const char *inner)
{
	struct image_field field = { .type = type, .path = { member, inner } };

	return btf_field(b, &field);
}

static void fields_are_found_through_unnamed_members(void **state)
{
	CLEANUP(btf_closep) struct btf *b = NULL;
	char path[64];

	(void)state;
	make_path(path);
	write_types(path, 0);
	assert_int_equal(btf_open(path, names, 4, &b), 0);
	unlink(path);
	assert_int_equal(find(b, "outer", "first", NULL), 0);
	assert_int_equal(find(b, "outer", "other", NULL), 8);
	assert_int_equal(find(b, "outer", "last", "b"), 20);
	assert_int_equal(find(b, "outer", "gone", NULL), -ENOENT);
	assert_int_equal(find(b, "int", "a", NULL), -ENOENT);
}

static void types_have_the_number_of_their_order(void **state)
{
	CLEANUP(btf_closep) struct btf *b = NULL;
	char path[64];

	(void)state;
	make_path(path);
	write_types(path, 0);
	assert_int_equal(btf_open(path, names, 4, &b), 0);
	unlink(path);
	assert_int_equal(btf_struct(b, "outer"), 4);
	assert_int_equal(btf_typedef(b, "word"), 5);
	assert_int_equal(btf_function(b, "act"), 7);
	assert_int_equal(btf_function(b, "word"), -ENOENT);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	char path[64];
	size_t len;

	(void)state;
	make_path(path);
	len = write_types(path, 0);
	for (size_t cut = 1; cut <= len; cut++) {
		struct btf *b = NULL;

		write_types(path, cut);
		assert_true(btf_open(path, names, 4, &b) < 0);
	}
	unlink(path);
	assert_int_equal(btf_open(path, names, 4, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_through_unnamed_members),
		cmocka_unit_test(types_have_the_number_of_their_order),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

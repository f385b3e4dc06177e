/* test_dir_hash_manifest.c - written, read back, and refused. */
#include <errno.h>
#include <sys/mman.h>

#include "alloc_fail.h"
#include "base/fd.h"
#include "base/str.h"
#include "hash/dir/dir_hash_manifest.h"
#include "hash/file/file_hash.h"
#include "temp_dir.h"

#define HEAD "roar:blake3-tree:v1\n"
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LEAF(path) path "\0blake3:" HEX "\n"

static int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("manifest", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Both ways to read agree; the tree of the second is handed over. */
static int parse(const void *data, size_t len, struct dir_hash **ret)
{
	CLEANUP(closep) int fd = memory_file(data, len);
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	int r = dir_hash_manifest_parse(data, len, &t);

	assert_int_equal(dir_hash_manifest_read(fd, ret), r);
	if (r == 0)
		assert_int_equal(dir_hash_count(t), dir_hash_count(*ret));
	return r;
}

static void assert_written_is(struct dir_hash *t, const void *data, size_t len)
{
	CLEANUP(closep) int fd = memory_file("", 0);
	struct str text = STR_INIT;
	char path[32];

	assert_int_equal(dir_hash_manifest_write(t, fd), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(fd_read_file(AT_FDCWD, path, len + 1, &text), 0);
	assert_int_equal(text.len, len);
	assert_memory_equal(text.data, data, len);
	str_release(&text);
}

static void assert_root_is_hash_of(struct dir_hash *t, const void *data,
				   size_t len)
{
	uint8_t root[BLAKE3_LEN];
	struct digests d;

	assert_int_equal(dir_hash_root(t, root), 0);
	assert_int_equal(digest_buffer(data, len, 0, &d), 0);
	assert_memory_equal(root, d.blake3, BLAKE3_LEN);
}

static void what_is_read_is_written_and_hashed_as_it_was(void **state)
{
	static const char text[] = HEAD LEAF("a\nb") LEAF("a b") LEAF("a/b/c")
		LEAF("a\\") LEAF("ä");
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;

	(void)state;
	assert_int_equal(parse(text, sizeof(text) - 1, &t), 0);
	assert_int_equal(dir_hash_count(t), 5);
	assert_string_equal(dir_hash_leaf(t, 0)->path, "a\nb");
	assert_int_equal(dir_hash_leaf(t, 2)->blake3[1], 0x23);
	assert_written_is(t, text, sizeof(text) - 1);
	assert_root_is_hash_of(t, text, sizeof(text) - 1);
}

static void an_empty_tree_is_a_manifest(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;

	(void)state;
	assert_int_equal(parse(HEAD, strlen(HEAD), &t), 0);
	assert_int_equal(dir_hash_count(t), 0);
	assert_written_is(t, HEAD, strlen(HEAD));
}

#define BAD(text)                      \
	{                              \
		text, sizeof(text) - 1 \
	}

static void what_is_no_manifest_is_refused(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		BAD(""),
		BAD("roar:blake3-tree:v1"),
		BAD("roar:blake3-tree:v2\n"),
		BAD("roar:sha256-tree:v1\n"),
		BAD(HEAD "\n"),
		BAD(HEAD "a"),
		BAD(HEAD "a blake3:" HEX "\n"),
		BAD(HEAD "a\0blake3:" HEX),
		BAD(HEAD "a\0blake3:" HEX " "),
		BAD(HEAD "a\0sha256:" HEX "\n"),
		BAD(HEAD "a\0blake3:" HEX "0\n"),
		BAD(HEAD LEAF("a") "\n"),
		BAD(HEAD LEAF("b") LEAF("a")),
		BAD(HEAD LEAF("a") LEAF("a")),
		BAD(HEAD LEAF("")),
		BAD(HEAD LEAF("/a")),
		BAD(HEAD LEAF("a/../../b")),
		BAD(HEAD LEAF("\xff")),
	};
	struct dir_hash *t = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parse(bad[i].text, bad[i].len, &t), -EBADMSG);
	assert_null(t);
}

static void every_digit_is_lower_case_hex(void **state)
{
	static const char text[] = HEAD LEAF("a");
	static const char other[] = "AFGg\0 /:`@\n";
	struct dir_hash *t = NULL;
	char bad[sizeof(text)];

	(void)state;
	for (size_t i = sizeof(text) - 66; i < sizeof(text) - 2; i++)
		for (size_t j = 0; j < sizeof(other); j++) {
			memcpy(bad, text, sizeof(bad));
			bad[i] = other[j];
			assert_int_equal(dir_hash_manifest_parse(
						 bad, sizeof(bad) - 1, &t),
					 -EBADMSG);
		}
}

/* A cut at the end of a line is a smaller tree with another hash. */
static void a_cut_inside_a_line_is_noticed(void **state)
{
	static const char text[] = HEAD LEAF("a") LEAF("b");
	size_t head = strlen(HEAD);
	size_t leaf = (sizeof(text) - 1 - head) / 2;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
		bool whole = len >= head && (len - head) % leaf == 0;

		assert_int_equal(parse(text, len, &t), whole ? 0 : -EBADMSG);
	}
}

static void add_leaf(struct str *text, const char *path, size_t len)
{
	str_add(text, path, len);
	str_add(text, LEAF("") "", sizeof(LEAF("")) - 1);
}

/* Long paths, so that leaves lie across the end of every window. */
static void long_manifests_are_read_through_the_window(void **state)
{
	CLEANUP(freep) char *path = malloc(DIR_HASH_PATH_MAX + 1);
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	struct dir_hash *none = NULL;
	struct str text = STR_INIT;

	(void)state;
	memset(path, 'x', DIR_HASH_PATH_MAX + 1);
	str_adds(&text, HEAD);
	for (size_t len = 1; len <= DIR_HASH_PATH_MAX; len += len / 32 + 1)
		add_leaf(&text, path, len);
	add_leaf(&text, path, DIR_HASH_PATH_MAX);
	assert_int_equal(parse(text.data, text.len, &t), 0);
	assert_written_is(t, text.data, text.len);
	assert_root_is_hash_of(t, text.data, text.len);
	add_leaf(&text, path, DIR_HASH_PATH_MAX + 1);
	assert_int_equal(parse(text.data, text.len, &none), -EBADMSG);
	str_release(&text);
}

static void a_name_without_end_is_not_read_to_its_end(void **state)
{
	enum { SIZE = 8 << 20 };
	CLEANUP(freep) char *text = malloc(SIZE);
	struct dir_hash *t = NULL;

	(void)state;
	memset(text, 'x', SIZE);
	memcpy(text, HEAD, strlen(HEAD));
	CLEANUP(closep) int fd = memory_file(text, SIZE);
	assert_int_equal(dir_hash_manifest_read(fd, &t), -EBADMSG);
	assert_true(lseek(fd, 0, SEEK_CUR) < SIZE / 8);
}

static void a_descriptor_that_cannot_be_used_says_why(void **state)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	struct dir_hash *none = NULL;

	(void)state;
	assert_int_equal(dir_hash_manifest_read(-1, &none), -EBADF);
	assert_int_equal(dir_hash_new(&t), 0);
	assert_int_equal(dir_hash_manifest_write(t, -1), -EBADF);
	CLEANUP(closep) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(dir_hash_manifest_write(t, full), -ENOSPC);
}

static void a_leaf_without_digest_is_not_written(void **state)
{
	CLEANUP(closep) int fd = memory_file("", 0);
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	struct stamp stamp = { 0 };

	(void)state;
	assert_int_equal(dir_hash_new(&t), 0);
	assert_int_equal(dir_hash_add_file(t, "a", 1, &stamp), 0);
	assert_int_equal(dir_hash_manifest_write(t, fd), -ENODATA);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
}

static void without_memory_nothing_is_read(void **state)
{
	static const char text[] = HEAD LEAF("a");
	CLEANUP(closep) int fd = memory_file(text, sizeof(text) - 1);
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	int r = -ENOMEM;

	(void)state;
	for (int i = 0; r == -ENOMEM && i < 100; i++) {
		assert_null(t);
		(void)lseek(fd, 0, SEEK_SET);
		alloc_fail_after(i);
		r = dir_hash_manifest_read(fd, &t);
		alloc_fail_never();
	}
	assert_int_equal(r, 0);
	assert_int_equal(dir_hash_count(t), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_written_and_hashed_as_it_was),
		cmocka_unit_test(an_empty_tree_is_a_manifest),
		cmocka_unit_test(what_is_no_manifest_is_refused),
		cmocka_unit_test(every_digit_is_lower_case_hex),
		cmocka_unit_test(a_cut_inside_a_line_is_noticed),
		cmocka_unit_test(long_manifests_are_read_through_the_window),
		cmocka_unit_test(a_name_without_end_is_not_read_to_its_end),
		cmocka_unit_test(a_descriptor_that_cannot_be_used_says_why),
		cmocka_unit_test(a_leaf_without_digest_is_not_written),
		cmocka_unit_test(without_memory_nothing_is_read),
	};

	return cmocka_run_group_tests_name("dir_hash_manifest", tests, NULL,
					   NULL);
}

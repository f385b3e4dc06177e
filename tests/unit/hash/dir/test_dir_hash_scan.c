/* test_dir_hash_scan.c - the hash of a folder on disk. */
#include <blake3.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/str.h"
#include "hash/dir/dir_hash_diff.h"
#include "hash/dir/dir_hash_manifest.h"
#include "hash/dir/dir_hash_scan.h"
#include "hash/read/filesystem.h"
#include "temp_dir.h"

/* Looks of the code under test come through here; linked with --wrap. */
static _Atomic unsigned n_looks;

int __real_fstatat64(int dirfd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat64(int dirfd, const char *path, struct stat *ret, int flags);

int __wrap_fstatat64(int dirfd, const char *path, struct stat *ret, int flags)
{
	n_looks++;
	return __real_fstatat64(dirfd, path, ret, flags);
}

struct root {
	uint8_t bytes[BLAKE3_LEN];
};

static void put(struct temp_dir *dir, const char *path, const char *text)
{
	CLEANUP(closep)
	int fd = openat(dir->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void folder(struct temp_dir *dir, const char *path)
{
	assert_int_equal(mkdirat(dir->fd, path, 0755), 0);
}

static const struct engine_options engine = { .want = DIGEST_SET_BLAKE3,
					      .n_threads = 2 };

static struct dir_hash *read_tree(struct temp_dir *dir)
{
	struct dir_hash *t = NULL;

	assert_int_equal(dir_hash_scan(dir->path, &engine, NULL, NULL, &t), 0);
	return t;
}

static struct root root_of(struct temp_dir *dir)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = read_tree(dir);
	struct root root;

	assert_int_equal(dir_hash_root(t, root.bytes), 0);
	return root;
}

static void plain_blake3(const char *text, size_t len, char hex[65])
{
	blake3_hasher hasher;
	uint8_t bytes[BLAKE3_LEN];

	blake3_hasher_init(&hasher);
	blake3_hasher_update(&hasher, text, len);
	blake3_hasher_finalize(&hasher, bytes, sizeof(bytes));
	digest_hex(hex, bytes, sizeof(bytes));
}

static void add_line(struct str *text, const char *path, const char *content)
{
	char hex[65];

	plain_blake3(content, strlen(content), hex);
	str_add(text, path, strlen(path) + 1);
	str_addf(text, "blake3:%s\n", hex);
}

static void the_hash_of_a_folder_is_that_of_the_literal_text(void **state)
{
	struct temp_dir *dir = *state;
	struct str text = STR_INIT;
	struct root root;
	char expected[65];
	char hex[65];

	folder(dir, "a");
	folder(dir, "a/empty");
	put(dir, "a/b", "one");
	put(dir, "a.txt", "two");
	put(dir, "a0\n", "");
	assert_int_equal(symlinkat("a/b", dir->fd, "l"), 0);

	str_adds(&text, "roar:blake3-tree:v1\n");
	add_line(&text, "a.txt", "two");
	add_line(&text, "a/b", "one");
	add_line(&text, "a0\n", "");
	add_line(&text, "l", "a/b");
	plain_blake3(text.data, text.len, expected);
	str_release(&text);
	root = root_of(dir);
	digest_hex(hex, root.bytes, BLAKE3_LEN);
	assert_string_equal(hex, expected);
}

static void edit_content(struct temp_dir *dir)
{
	put(dir, "d/f", "Content");
}

static void edit_name(struct temp_dir *dir)
{
	assert_int_equal(renameat(dir->fd, "d/f", dir->fd, "d/g"), 0);
}

static void edit_folder_name(struct temp_dir *dir)
{
	assert_int_equal(renameat(dir->fd, "d", dir->fd, "e"), 0);
}

static void add_member(struct temp_dir *dir)
{
	put(dir, "d/g", "");
}

static void drop_member(struct temp_dir *dir)
{
	assert_int_equal(unlinkat(dir->fd, "d/f", 0), 0);
}

static void edit_target(struct temp_dir *dir)
{
	assert_int_equal(unlinkat(dir->fd, "l", 0), 0);
	assert_int_equal(symlinkat("./d/f", dir->fd, "l"), 0);
}

/* The hash of a link is that of its text, so a file may pass for it only by
 * holding that text; this one holds what the link points to. */
static void link_becomes_file(struct temp_dir *dir)
{
	assert_int_equal(unlinkat(dir->fd, "l", 0), 0);
	put(dir, "l", "content");
}

static void make_sample(struct temp_dir *dir)
{
	folder(dir, "d");
	put(dir, "d/f", "content");
	assert_int_equal(symlinkat("d/f", dir->fd, "l"), 0);
}

static int remove_all(struct temp_dir *dir)
{
	char command[96];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'/*", dir->path);
	return system(command);
}

static void every_change_that_counts_changes_the_hash(void **state)
{
	static void (*const edits[])(struct temp_dir * dir) = {
		edit_content, edit_name,   edit_folder_name,  add_member,
		drop_member,  edit_target, link_becomes_file,
	};
	struct temp_dir *dir = *state;

	for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
		struct root before, after;

		make_sample(dir);
		before = root_of(dir);
		edits[i](dir);
		after = root_of(dir);
		assert_memory_not_equal(before.bytes, after.bytes, BLAKE3_LEN);
		assert_int_equal(remove_all(dir), 0);
	}
}

static void modes_times_and_empty_folders_do_not_count(void **state)
{
	struct temp_dir *dir = *state;
	struct root before, after;

	make_sample(dir);
	before = root_of(dir);
	folder(dir, "empty");
	assert_int_equal(fchmodat(dir->fd, "d/f", 0755, 0), 0);
	put(dir, "d/f", "content");
	after = root_of(dir);
	assert_memory_equal(before.bytes, after.bytes, BLAKE3_LEN);
}

static void note_error(void *ctx, const char *path, int error)
{
	str_addf(ctx, "%s:%s ", path, strerrorname_np(-error));
}

static void a_special_file_leaves_no_tree(void **state)
{
	struct temp_dir *dir = *state;
	struct str errors = STR_INIT;
	struct dir_hash *t = NULL;

	make_sample(dir);
	assert_int_equal(mkfifoat(dir->fd, "d/p", 0600), 0);
	assert_int_equal(dir_hash_scan(dir->path, &engine, note_error, &errors,
				       &t),
			 -EINVAL);
	assert_null(t);
	assert_string_equal(str_cstr(&errors), "d/p:EINVAL ");
	str_release(&errors);
}

static void each_file_is_looked_at_once(void **state)
{
	enum { N = 50 };
	struct temp_dir *dir = *state;
	char path[32];

	folder(dir, "d");
	for (int i = 0; i < N; i++) {
		(void)snprintf(path, sizeof(path), "d/%d", i);
		put(dir, path, path);
	}
	n_looks = 0;
	(void)root_of(dir);
	assert_int_equal(n_looks, N);
}

/* What happens to the folder when the walk is told of, and before files are hashed. */
struct meanwhile {
	struct temp_dir *dir;
	void (*act)(struct temp_dir *dir);
	struct str errors;
};

static void act_once(void *ctx, const char *path, int error)
{
	struct meanwhile *m = ctx;

	if (m->act)
		m->act(m->dir);
	m->act = NULL;
	note_error(&m->errors, path, error);
}

static void file_becomes_link(struct temp_dir *dir)
{
	assert_int_equal(renameat(dir->fd, "d/f", dir->fd, "moved"), 0);
	assert_int_equal(symlinkat("../other/f", dir->fd, "d/f"), 0);
}

static void folder_becomes_link(struct temp_dir *dir)
{
	assert_int_equal(renameat(dir->fd, "d", dir->fd, "moved"), 0);
	assert_int_equal(symlinkat("other", dir->fd, "d"), 0);
}

static void file_is_replaced(struct temp_dir *dir)
{
	put(dir, "new", "content");
	assert_int_equal(renameat(dir->fd, "new", dir->fd, "d/f"), 0);
}

static bool has_two_inodes(const struct temp_dir *dir)
{
	struct statfs fs;

	return fstatfs(dir->fd, &fs) == 0 &&
	       filesystem_has_two_inodes((uint32_t)fs.f_type);
}

/* The FIFO comes last: all files have been seen when it is told of. */
static void what_took_the_place_of_a_file_is_not_it(void **state)
{
	static const struct {
		void (*act)(struct temp_dir *dir);
		const char *expected;
	} cases[] = {
		{ file_becomes_link, "z:EINVAL d/f:ESTALE " },
		{ folder_becomes_link, "z:EINVAL d/f:ESTALE " },
		{ file_is_replaced, "z:EINVAL d/f:ESTALE " },
	};
	struct temp_dir *dir = *state;
	/* There a folder does not tell one file from another. */
	size_t n = has_two_inodes(dir) ? 2 : 3;

	for (size_t i = 0; i < n; i++) {
		struct meanwhile m = { .dir = dir, .act = cases[i].act };
		struct dir_hash *t = NULL;

		make_sample(dir);
		folder(dir, "other");
		put(dir, "other/f", "content");
		assert_int_equal(mkfifoat(dir->fd, "z", 0600), 0);
		assert_int_equal(dir_hash_scan(dir->path, &engine, act_once, &m,
					       &t),
				 -EINVAL);
		assert_string_equal(str_cstr(&m.errors), cases[i].expected);
		str_release(&m.errors);
		assert_int_equal(remove_all(dir), 0);
	}
}

static void a_file_that_does_not_hold_still_is_an_error_of_its_name(void **state)
{
	struct str errors = STR_INIT;
	struct dir_hash *t = NULL;

	(void)state;
	assert_int_equal(dir_hash_scan("/proc/self/fdinfo", &engine, note_error,
				       &errors, &t),
			 -EAGAIN);
	assert_null(t);
	assert_non_null(strstr(str_cstr(&errors), "1:EAGAIN "));
	str_release(&errors);
}

static int note_change(void *ctx, enum dir_hash_change change,
		       const struct dir_hash_leaf *a,
		       const struct dir_hash_leaf *b)
{
	static const char *const words[] = { [DIR_HASH_ADDED] = "extra",
					     [DIR_HASH_REMOVED] = "missing",
					     [DIR_HASH_CHANGED] = "different" };

	str_addf(ctx, "%s %s\n", words[change], a ? a->path : b->path);
	return 0;
}

static void a_manifest_tells_what_is_missing_extra_and_different(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(closep) int fd = memfd_create("manifest", MFD_CLOEXEC);
	CLEANUP(dir_hash_freep) struct dir_hash *before = NULL;
	CLEANUP(dir_hash_freep) struct dir_hash *known = NULL;
	CLEANUP(dir_hash_freep) struct dir_hash *now = NULL;
	struct str out = STR_INIT;

	make_sample(dir);
	put(dir, "d/gone", "");
	before = read_tree(dir);
	assert_int_equal(dir_hash_manifest_write(before, fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(dir_hash_manifest_read(fd, &known), 0);

	edit_content(dir);
	edit_target(dir);
	put(dir, "d/new", "");
	assert_int_equal(unlinkat(dir->fd, "d/gone", 0), 0);
	now = read_tree(dir);
	assert_int_equal(dir_hash_diff(known, before, note_change, &out), 0);
	assert_string_equal(str_cstr(&out), "");
	assert_int_equal(dir_hash_diff(known, now, note_change, &out), 0);
	assert_string_equal(str_cstr(&out), "different d/f\nmissing d/gone\n"
					    "extra d/new\ndifferent l\n");
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(the_hash_of_a_folder_is_that_of_the_literal_text),
		DIR_TEST(every_change_that_counts_changes_the_hash),
		DIR_TEST(modes_times_and_empty_folders_do_not_count),
		DIR_TEST(a_special_file_leaves_no_tree),
		DIR_TEST(each_file_is_looked_at_once),
		DIR_TEST(what_took_the_place_of_a_file_is_not_it),
		DIR_TEST(
			a_file_that_does_not_hold_still_is_an_error_of_its_name),
		DIR_TEST(a_manifest_tells_what_is_missing_extra_and_different),
	};

	return cmocka_run_group_tests_name("dir_hash_folder", tests, NULL,
					   NULL);
}

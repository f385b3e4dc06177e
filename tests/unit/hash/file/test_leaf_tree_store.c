/* test_leaf_tree_store.c - the kept trees: written once, believed never. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "alloc_fail.h"
#include "hash/digest/digest.h"
#include "hash/file/leaf_tree_store.h"
#include "temp_dir.h"

enum { LEAF = 4096, SIZE = 20 * LEAF + 5, STORED = 24 + 32 * 21 };

static uint8_t data[SIZE];
static uint8_t digest[BLAKE3_LEN];
static char name[80]; /* of the tree, from the folder */
static int dir; /* the folder */

static int make_data(void **state)
{
	char hex[2 * BLAKE3_LEN + 1];

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(i * 7 + i / 255);
	b3_hash(data, SIZE, digest);
	digest_hex(hex, digest, BLAKE3_LEN);
	(void)snprintf(name, sizeof(name), "trees/%s", hex);
	return 0;
}

static int make_folder(void **state)
{
	int r = temp_dir_make(state);

	if (r == 0)
		dir = ((struct temp_dir *)*state)->fd;
	return r;
}

static void build(struct leaf_tree *u)
{
	assert_int_equal(leaf_tree_init(u, SIZE, LEAF), 0);
	for (uint64_t i = 0; i < u->n_leaves; i++)
		assert_int_equal(leaf_tree_fill(u, i, data + i * LEAF,
						b3_shape_leaf_len(&u->shape, i)),
				 0);
}

static int put(void)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };

	build(&u);
	return leaf_tree_store_put(dir, &u);
}

static void assert_kept(void)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };

	assert_int_equal(leaf_tree_store_get(dir, digest, &u), 0);
	assert_int_equal(u.shape.size_bytes, SIZE);
	assert_true(leaf_tree_check(&u, 3, data + 3 * LEAF, LEAF));
}

static bool exists(const char *path)
{
	return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void what_was_put_is_found(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(put(), 1);
	assert_kept();
	assert_int_equal(fstatat(dir, name, &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fstatat(dir, "trees", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void what_is_there_is_not_written_again(void **state)
{
	struct stat before, after;

	(void)state;
	assert_int_equal(put(), 1);
	assert_int_equal(fstatat(dir, name, &before, 0), 0);
	assert_int_equal(put(), 0);
	assert_int_equal(fstatat(dir, name, &after, 0), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

static void none_is_kept_before_one_was_put(void **state)
{
	struct leaf_tree u;

	(void)state;
	assert_int_equal(leaf_tree_store_get(dir, digest, &u), -ENOENT);
	assert_false(exists("trees"));
}

static void overwrite(off_t offset, const void *bytes, size_t len)
{
	CLEANUP(closep) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, offset), len);
}

static void shorten(off_t len)
{
	CLEANUP(closep) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, len), 0);
}

static void assert_removed(void)
{
	struct leaf_tree u;

	assert_int_equal(leaf_tree_store_get(dir, digest, &u), -ENOENT);
	assert_false(exists(name));
	assert_int_equal(put(), 1);
	assert_kept();
}

static void what_is_damaged_is_removed_and_made_again(void **state)
{
	const off_t lengths[] = { 0, 1, 23, 24, 24 + 32, STORED - 1 };

	(void)state;
	assert_int_equal(put(), 1);
	for (off_t i = 0; i < STORED; i += 11) {
		uint8_t byte = 0x5a;

		/* The sizes are proven by the leaves (leaf_tree.h). */
		if (i >= 16 && i < 24)
			continue;
		overwrite(i, &byte, 1);
		assert_removed();
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		shorten(lengths[i]);
		assert_removed();
	}
}

static void a_shortened_one_is_written_again_without_being_read(void **state)
{
	(void)state;
	assert_int_equal(put(), 1);
	shorten(30);
	assert_int_equal(put(), 1);
	assert_kept();
}

static void the_tree_of_another_file_is_refused(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint8_t other[BLAKE3_LEN];
	char hex[2 * BLAKE3_LEN + 1];
	char path[80];

	(void)state;
	assert_int_equal(leaf_tree_init(&u, 5, LEAF), 0);
	assert_int_equal(leaf_tree_fill(&u, 0, "other", 5), 0);
	assert_int_equal(leaf_tree_store_put(dir, &u), 1);
	leaf_tree_root(&u, other);
	digest_hex(hex, other, BLAKE3_LEN);
	(void)snprintf(path, sizeof(path), "trees/%s", hex);
	assert_int_equal(renameat(dir, path, dir, name), 0);
	assert_removed();
}

static void what_is_no_file_is_no_tree(void **state)
{
	struct leaf_tree u;

	(void)state;
	assert_int_equal(put(), 1);
	assert_int_equal(unlinkat(dir, name, 0), 0);
	assert_int_equal(mkfifoat(dir, name, 0600), 0);
	assert_int_equal(leaf_tree_store_get(dir, digest, &u), -ENOENT);
	assert_false(exists(name));
	assert_int_equal(symlinkat("/etc/passwd", dir, name), 0);
	assert_int_equal(leaf_tree_store_get(dir, digest, &u), -ENOENT);
	assert_false(exists(name));
}

static int want_this(void *ctx, const uint8_t *d)
{
	++*(int *)ctx;
	return memcmp(d, digest, BLAKE3_LEN) == 0;
}

static int refuse(void *ctx, const uint8_t *d)
{
	(void)ctx;
	(void)d;
	return -EIO;
}

static void make_old(const char *path, time_t age_s)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - age_s },
				     { .tv_sec = time(NULL) - age_s } };
	CLEANUP(closep)
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "12345", 5), 5);
	assert_int_equal(futimens(fd, times), 0);
}

static void what_nobody_wants_is_pruned(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	uint64_t n_bytes = 99;
	int n_asked = 0;

	(void)state;
	assert_int_equal(leaf_tree_store_prune(dir, refuse, NULL, &n_bytes), 0);
	assert_int_equal(n_bytes, 0);
	assert_int_equal(put(), 1);
	assert_int_equal(leaf_tree_init(&u, 5, LEAF), 0);
	assert_int_equal(leaf_tree_fill(&u, 0, "other", 5), 0);
	assert_int_equal(leaf_tree_store_put(dir, &u), 1);
	assert_int_equal(leaf_tree_store_prune(dir, refuse, NULL, &n_bytes),
			 -EIO);
	assert_int_equal(
		leaf_tree_store_prune(dir, want_this, &n_asked, &n_bytes), 0);
	assert_int_equal(n_asked, 2);
	assert_int_equal(n_bytes, 24 + 32);
	assert_kept();
}

static void what_a_killed_writer_left_goes_but_no_writers_name(void **state)
{
	uint64_t n_bytes;
	int n_asked = 0;

	(void)state;
	assert_int_equal(put(), 1);
	make_old("trees/old.1-2-3", 7200);
	make_old("trees/new.1-2-3", 0);
	assert_int_equal(
		leaf_tree_store_prune(dir, want_this, &n_asked, &n_bytes), 0);
	assert_int_equal(n_bytes, 5);
	assert_false(exists("trees/old.1-2-3"));
	assert_true(exists("trees/new.1-2-3"));
	assert_kept();
	assert_int_equal(unlinkat(dir, "trees/new.1-2-3", 0), 0);
}

static void what_is_dropped_is_gone(void **state)
{
	(void)state;
	assert_int_equal(put(), 1);
	leaf_tree_store_drop(dir, digest);
	assert_false(exists(name));
	leaf_tree_store_drop(dir, digest);
}

static void *put_and_get(void *arg)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	CLEANUP(leaf_tree_release) struct leaf_tree found = { 0 };

	build(&u);
	for (int i = 0; i < 200; i++) {
		int r = leaf_tree_store_put(dir, &u);

		if (r == 0 || r == 1)
			r = leaf_tree_store_get(dir, digest, &found);
		if (r < 0 && r != -ENOENT)
			return arg;
		leaf_tree_release(&found);
		if (i % 3 == 0)
			leaf_tree_store_drop(dir, digest);
	}
	return NULL;
}

static void threads_do_all_at_once(void **state)
{
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_and_get,
						data),
				 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_true(put() >= 0);
	assert_kept();
}

/* Each writer dies at some moment: what is under the name is whole or not there. */
static void a_killed_writer_leaves_no_half_tree(void **state)
{
	(void)state;
	for (useconds_t i = 0; i < 40; i++) {
		pid_t pid = fork();
		struct stat st;

		assert_true(pid >= 0);
		if (pid == 0)
			for (;;) {
				(void)put();
				leaf_tree_store_drop(dir, digest);
			}
		(void)usleep(1000 + i * 37);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (fstatat(dir, name, &st, 0) == 0)
			assert_int_equal(st.st_size, STORED);
		assert_true(put() >= 0);
		assert_kept();
	}
}

static void what_cannot_be_written_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(mknodat(dir, "trees", S_IFREG | 0600, 0), 0);
	assert_int_equal(put(), -ENOTDIR);
}

static void without_memory_nothing_is_written(void **state)
{
	CLEANUP(leaf_tree_release) struct leaf_tree u = { 0 };
	struct leaf_tree found;
	int r = -ENOMEM;

	(void)state;
	build(&u);
	for (int n = 0; r == -ENOMEM; n++) {
		alloc_fail_after(n);
		r = leaf_tree_store_put(dir, &u);
		alloc_fail_never();
		assert_true(r == 1 || !exists(name));
	}
	assert_int_equal(r, 1);
	r = -ENOMEM;
	for (int n = 0; r == -ENOMEM; n++) {
		alloc_fail_after(n);
		r = leaf_tree_store_get(dir, digest, &found);
		alloc_fail_never();
		assert_true(exists(name));
	}
	assert_int_equal(r, 0);
	leaf_tree_release(&found);
}

#define TREES_TEST(f) \
	cmocka_unit_test_setup_teardown(f, make_folder, temp_dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREES_TEST(what_was_put_is_found),
		TREES_TEST(what_is_there_is_not_written_again),
		TREES_TEST(none_is_kept_before_one_was_put),
		TREES_TEST(what_is_damaged_is_removed_and_made_again),
		TREES_TEST(a_shortened_one_is_written_again_without_being_read),
		TREES_TEST(the_tree_of_another_file_is_refused),
		TREES_TEST(what_is_no_file_is_no_tree),
		TREES_TEST(what_nobody_wants_is_pruned),
		TREES_TEST(what_a_killed_writer_left_goes_but_no_writers_name),
		TREES_TEST(what_is_dropped_is_gone),
		TREES_TEST(threads_do_all_at_once),
		TREES_TEST(a_killed_writer_leaves_no_half_tree),
		TREES_TEST(what_cannot_be_written_is_an_error),
		TREES_TEST(without_memory_nothing_is_written),
	};

	return cmocka_run_group_tests(tests, make_data, NULL);
}

/* test_dir_walk_large.c - deep folders and full ones. */
#include <errno.h>
#include <sys/resource.h>

#include "seen_walk.h"

/* Folders "d" in each other, with a file "a" and a file "z" in each: one is told
 * on the way down, the other on the way up. */
static void make_deep(struct temp_dir *dir, const char *name, unsigned n)
{
	CLEANUP(closep) int fd = dup(dir->fd);

	for (unsigned i = 0; i < n; i++) {
		int below;

		assert_int_equal(mkdirat(fd, name, 0755), 0);
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		(void)close(fd);
		fd = below;
		for (const char *f = "az"; *f; f++) {
			const char file_name[] = { *f, '\0' };
			CLEANUP(closep)
			int made = openat(fd, file_name,
					  O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

			assert_true(made >= 0);
		}
	}
}

struct count {
	size_t n, longest;
	struct str before; /* the leaf told last */
	int error;
	size_t n_errors;
};

static int count_leaf(void *ctx, const struct dir_walk_entry *found)
{
	struct count *count = ctx;

	assert_true(strcmp(str_cstr(&count->before), found->path) < 0);
	str_clear(&count->before);
	str_add(&count->before, found->path, found->len);
	if (found->len > count->longest)
		count->longest = found->len;
	count->n++;
	return 0;
}

static void count_error(void *ctx, const char *path, int error)
{
	struct count *count = ctx;

	(void)path;
	count->error = error;
	count->n_errors++;
}

static int walk_and_count(struct temp_dir *dir, struct count *count)
{
	const struct dir_walk_visitor visitor = { .leaf = count_leaf,
						  .error = count_error,
						  .ctx = count };
	int r = dir_walk(dir->fd, ".", &visitor);

	str_release(&count->before);
	return r;
}

static void three_thousand_levels_are_walked(void **state)
{
	struct count count = { 0 };

	make_deep(*state, "d", 3000);
	assert_int_equal(walk_and_count(*state, &count), 0);
	assert_int_equal(count.n, 6000);
	assert_int_equal(count.longest, 6001);
}

static void a_dozen_descriptors_are_enough_for_any_depth(void **state)
{
	struct rlimit old, few;
	struct count count = { 0 };
	int r;

	make_deep(*state, "d", 100);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)lowest_free_fd() + 12;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = walk_and_count(*state, &count);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r, 0);
	assert_int_equal(count.n, 200);
}

static void folders_past_the_longest_path_are_errors_of_their_name(void **state)
{
	struct count count = { 0 };
	char name[251];

	memset(name, 'n', 250);
	name[250] = '\0';
	/* 261 * 251 bytes and a name is the longest path that fits. */
	make_deep(*state, name, 263);
	assert_int_equal(walk_and_count(*state, &count), -ENAMETOOLONG);
	assert_int_equal(count.n_errors, 1);
	assert_int_equal(count.n, 2 * (DIR_HASH_PATH_MAX / 251));
}

static void fifty_thousand_names_in_one_folder_are_walked(void **state)
{
	struct temp_dir *dir = *state;
	struct count count = { 0 };

	file(dir, "x");
	for (unsigned i = 0; i < 50000; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i * 7919 % 50000);
		assert_int_equal(linkat(dir->fd, "x", dir->fd, name, 0), 0);
	}
	assert_int_equal(walk_and_count(dir, &count), 0);
	assert_int_equal(count.n, 50001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LARGE_DIR_TEST(three_thousand_levels_are_walked),
		LARGE_DIR_TEST(a_dozen_descriptors_are_enough_for_any_depth),
		LARGE_DIR_TEST(
			folders_past_the_longest_path_are_errors_of_their_name),
		LARGE_DIR_TEST(fifty_thousand_names_in_one_folder_are_walked),
	};

	return cmocka_run_group_tests_name("dir_walk_large", tests, NULL, NULL);
}

/* test_dir_walk_end.c - walks that end early, and what they leave behind. */
#include <errno.h>

#include "alloc_fail.h"
#include "seen_walk.h"

static int refuse(void *ctx, const struct dir_walk_entry *found)
{
	(void)found;
	++*(int *)ctx;
	return -ECANCELED;
}

static void a_negative_answer_ends_the_walk(void **state)
{
	int n = 0;
	const struct dir_walk_visitor visitor = { .leaf = refuse, .ctx = &n };
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_int_equal(dir_walk(dir->fd, ".", &visitor), -ECANCELED);
	assert_int_equal(n, 1);
}

static void no_descriptor_is_left_open(void **state)
{
	int before = lowest_free_fd();
	int n = 0;
	const struct dir_walk_visitor refusing = { .leaf = refuse, .ctx = &n };
	struct temp_dir *dir = *state;
	struct seen seen = { .trigger = TEN "/f", .action = move_both };

	make_ten(dir);
	(void)dir_walk(dir->fd, ".", &refusing);
	(void)dir_walk(dir->fd, "z", &refusing);
	(void)walk(dir, &seen);
	release_seen(&seen);
	assert_int_equal(lowest_free_fd(), before);
}

static int accept_leaf(void *ctx, const struct dir_walk_entry *found)
{
	(void)ctx;
	(void)found;
	return 0;
}

static void without_memory_the_walk_ends_and_says_so(void **state)
{
	const struct dir_walk_visitor visitor = { .leaf = accept_leaf };
	struct temp_dir *dir = *state;
	int before = lowest_free_fd();
	int i, r = -ENOMEM;

	make_ten(dir);
	for (i = 0; r == -ENOMEM && i < 100; i++) {
		alloc_fail_after(i);
		r = dir_walk(dir->fd, ".", &visitor);
		alloc_fail_never();
	}
	assert_int_equal(r, 0);
	assert_true(i > 3);
	assert_int_equal(lowest_free_fd(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(a_negative_answer_ends_the_walk),
		DIR_TEST(no_descriptor_is_left_open),
		DIR_TEST(without_memory_the_walk_ends_and_says_so),
	};

	return cmocka_run_group_tests_name("dir_walk_end", tests, NULL, NULL);
}

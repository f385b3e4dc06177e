/* test_dir_walk_changes.c - folders that change under the walk's feet. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "seen_walk.h"

static void remove_b(struct temp_dir *dir)
{
	run(dir, "rm -r b");
}

static void b_becomes_a_link(struct temp_dir *dir)
{
	run(dir, "rm -r b && ln -s /etc b");
}

static void b_becomes_a_folder(struct temp_dir *dir)
{
	run(dir, "rm -r b && mkdir b");
}

static void b_becomes_a_fifo(struct temp_dir *dir)
{
	run(dir, "rm -r b && mkfifo b");
}

static void what_vanishes_or_changes_kind_is_an_error_of_its_name(void **state)
{
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "c");
	folder(dir, "b");
	file(dir, "b/f");
	assert_walk_with(dir, "a", remove_b, -ENOENT, "a b:ENOENT c ");
	folder(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_link, -ENOTDIR,
			 "a b:ENOTDIR c ");
	remove_b(dir);
	file(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_folder, -EISDIR,
			 "a b:EISDIR c ");
	remove_b(dir);
	file(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_fifo, -EINVAL, "a b:EINVAL c ");
	remove_b(dir);
	file(dir, "b");
	assert_walk_with(dir, "a", remove_b, -ENOENT, "a b:ENOENT c ");
}

static void a_file_that_becomes_a_link_is_told_as_one(void **state)
{
	struct temp_dir *dir = *state;

	file(dir, "a");
	file(dir, "b");
	assert_walk_with(dir, "a", b_becomes_a_link, 0, "a b@ ");
}

static void names_of_a_removed_folder_are_errors(void **state)
{
	struct temp_dir *dir = *state;

	folder(dir, "b");
	file(dir, "b/1");
	file(dir, "b/2");
	file(dir, "c");
	assert_walk_with(dir, "b/1", remove_b, -ENOENT, "b/1 b/2:ENOENT c ");
}

static void move_deepest(struct temp_dir *dir)
{
	run(dir, "mkdir y && mv 1/2/3/4 y/4");
}

static void a_moved_folder_is_left_for_the_one_it_was_in(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", move_deepest, 0,
			 TEN "/f 1/2/3/z 1/2/z 1/z z ");
}

static void move_second(struct temp_dir *dir)
{
	run(dir, "mkdir y && mv 1/2 y/2 && mkdir -p 1/2/3 && touch 1/2/3/z");
}

/* Folder 4 is still in 3 and that in 2, so these are found by "..".  But 2 is not
 * in 1 any more, and 1 is found from the top. */
static void a_folder_whose_place_was_taken_is_not_mistaken(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", move_second, 0,
			 TEN "/f 1/2/3/z 1/2/z 1/z z ");
}

static void a_folder_that_is_lost_is_an_error_of_its_name(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", move_both, -ESTALE,
			 TEN "/f 1/2/3:ESTALE 1/2/z 1/z z ");
}

static void remove_all(struct temp_dir *dir)
{
	run(dir, "rm -r 1");
}

static void names_in_folders_removed_around_the_walk_are_errors(void **state)
{
	struct temp_dir *dir = *state;

	make_ten(dir);
	assert_walk_with(dir, TEN "/f", remove_all, -ENOENT,
			 TEN "/f 1/2/3/z:ENOENT 1/2/z:ENOENT 1/z:ENOENT z ");
}

/* Folders and files come and go; "stable" files are there all the time. */
struct churn {
	struct temp_dir *dir;
	atomic_bool stop;
};

static void *churn(void *arg)
{
	struct churn *c = arg;

	for (unsigned i = 0; !atomic_load(&c->stop); i++) {
		char name[16];
		char inside[32];

		(void)snprintf(name, sizeof(name), "x%u", i % 5);
		(void)snprintf(inside, sizeof(inside), "%s/f", name);
		(void)mkdirat(c->dir->fd, name, 0755);
		(void)symlinkat("x", c->dir->fd, inside);
		(void)renameat(c->dir->fd, name, c->dir->fd, "moved");
		(void)renameat(c->dir->fd, "moved", c->dir->fd, name);
		(void)unlinkat(c->dir->fd, inside, 0);
		(void)unlinkat(c->dir->fd, name, AT_REMOVEDIR);
		(void)symlinkat("x", c->dir->fd, name);
		(void)unlinkat(c->dir->fd, name, 0);
	}
	return NULL;
}

static int count_stable(void *ctx, const struct dir_walk_entry *found)
{
	*(size_t *)ctx += strstr(found->path, "stable") != NULL;
	return 0;
}

static void a_tree_that_changes_all_the_time_is_walked(void **state)
{
	struct churn c = { .dir = *state };
	pthread_t thread;

	folder(c.dir, "w");
	file(c.dir, "w/stable");
	file(c.dir, "a-stable");
	file(c.dir, "z-stable");
	assert_int_equal(pthread_create(&thread, NULL, churn, &c), 0);
	for (int i = 0; i < 500; i++) {
		size_t n = 0;
		const struct dir_walk_visitor visitor = { .leaf = count_stable,
							  .ctx = &n };

		(void)dir_walk(c.dir->fd, ".", &visitor);
		assert_int_equal(n, 3);
	}
	atomic_store(&c.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(what_vanishes_or_changes_kind_is_an_error_of_its_name),
		DIR_TEST(a_file_that_becomes_a_link_is_told_as_one),
		DIR_TEST(names_of_a_removed_folder_are_errors),
		DIR_TEST(a_moved_folder_is_left_for_the_one_it_was_in),
		DIR_TEST(a_folder_whose_place_was_taken_is_not_mistaken),
		DIR_TEST(a_folder_that_is_lost_is_an_error_of_its_name),
		DIR_TEST(names_in_folders_removed_around_the_walk_are_errors),
		DIR_TEST(a_tree_that_changes_all_the_time_is_walked),
	};

	return cmocka_run_group_tests_name("dir_walk_changes", tests, NULL,
					   NULL);
}

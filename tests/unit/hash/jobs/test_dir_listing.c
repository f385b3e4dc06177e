/* test_dir_listing.c - what folders tell of their names. */
#include "hash/jobs/dir_listing.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "hash/read/filesystem.h"

struct folder {
	char path[64]; /* ends with '/' */
	size_t len;
	size_t n;
};

static void name_of(const struct folder *f, size_t i, char name[96])
{
	snprintf(name, 96, "%sfile-%zu", f->path, i);
}

static void folder_init(struct folder *f, size_t n)
{
	char name[96];

	strcpy(f->path, "/tmp/roar-listing-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->len = strlen(f->path);
	f->path[f->len++] = '/';
	f->path[f->len] = '\0';
	f->n = n;
	for (size_t i = 0; i < n; i++) {
		int fd;

		name_of(f, i, name);
		fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		(void)close(fd);
	}
}

static void folder_end(const struct folder *f)
{
	char name[96];

	for (size_t i = 0; i < f->n; i++) {
		name_of(f, i, name);
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(rmdir(f->path), 0);
}

/* Does the folder of the tests tell anything? */
static bool tells(const struct folder *f)
{
	struct statfs fs;

	assert_int_equal(statfs(f->path, &fs), 0);
	return filesystem_has_our_time((uint32_t)fs.f_type);
}

static size_t count_listed(const struct folder *f,
			   const struct dir_listing *listing)
{
	size_t n = 0;
	char name[96];

	for (size_t i = 0; i < f->n; i++) {
		name_of(f, i, name);
		n += dir_listing_has(listing, name + f->len);
	}
	return n;
}

static void regular_files_are_listed_and_nothing_else(void **state)
{
	static const char *const others[] = { "fifo", "folder", "link" };
	struct dir_listings all;
	struct dir_listing *listing;
	struct folder f;
	struct stat st;
	char name[96];

	(void)state;
	folder_init(&f, 3000);
	snprintf(name, sizeof(name), "%sfifo", f.path);
	assert_int_equal(mkfifo(name, 0600), 0);
	snprintf(name, sizeof(name), "%sfolder", f.path);
	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(name, sizeof(name), "%slink", f.path);
	assert_int_equal(symlink("file-1", name), 0);

	dir_listings_init(&all, f.n);
	listing = dir_listings_get(&all, f.path, f.len);
	assert_non_null(listing);
	assert_int_equal(count_listed(&f, listing), tells(&f) ? f.n : 0);
	for (size_t i = 0; i < 3; i++)
		assert_false(dir_listing_has(listing, others[i]));
	assert_false(dir_listing_has(listing, "file-3000"));
	assert_false(dir_listing_has(listing, "."));
	assert_int_equal(stat(f.path, &st), 0);
	if (tells(&f))
		assert_int_equal(dir_listing_dev(listing), st.st_dev);
	dir_listing_unref(listing);
	dir_listings_release(&all);

	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", f.path, others[i]);
		assert_int_equal(remove(name), 0);
	}
	folder_end(&f);
}

static void no_folder_is_read_further_than_it_can_save(void **state)
{
	struct dir_listings all;
	struct dir_listing *listing;
	struct folder f;

	(void)state;
	folder_init(&f, 500);
	dir_listings_init(&all, 10);
	listing = dir_listings_get(&all, f.path, f.len);
	assert_non_null(listing);
	assert_true(count_listed(&f, listing) <= 10 + 16);
	dir_listing_unref(listing);
	dir_listings_release(&all);
	folder_end(&f);
}

/* The first of two folders is read again, but not for ever. */
static void folders_by_turns_end_the_budget(void **state)
{
	struct dir_listings all;
	struct folder a, b;
	unsigned n_lists = 0;

	(void)state;
	folder_init(&a, 60);
	folder_init(&b, 60);
	dir_listings_init(&all, 120);
	for (int i = 0; i < 20; i++) {
		const struct folder *f = i % 2 ? &a : &b;
		struct dir_listing *listing = dir_listings_get(&all, f->path,
							       f->len);

		n_lists += listing != NULL;
		dir_listing_unref(listing);
	}
	/* Five are read, and the last of them is had every other time. */
	if (tells(&a))
		assert_in_range(n_lists, 5, 14);
	dir_listings_release(&all);
	folder_end(&a);
	folder_end(&b);
}

static void the_same_folder_is_read_once(void **state)
{
	struct dir_listings all;
	struct dir_listing *one, *two;
	struct folder f;

	(void)state;
	folder_init(&f, 5);
	dir_listings_init(&all, f.n);
	one = dir_listings_get(&all, f.path, f.len);
	two = dir_listings_get(&all, f.path, f.len);
	assert_ptr_equal(one, two);
	assert_false(dir_listing_is_old(one));
	dir_listing_unref(one);
	dir_listing_unref(two);
	dir_listings_release(&all);
	folder_end(&f);
}

static void without_a_folder_it_is_the_one_we_are_in(void **state)
{
	struct dir_listings all;
	struct dir_listing *listing;
	struct folder f;
	char before[4096];

	(void)state;
	folder_init(&f, 5);
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(f.path), 0);
	dir_listings_init(&all, f.n);
	listing = dir_listings_get(&all, "file-0", 0);
	assert_non_null(listing);
	assert_int_equal(count_listed(&f, listing), tells(&f) ? f.n : 0);
	dir_listing_unref(listing);
	dir_listings_release(&all);
	assert_int_equal(chdir(before), 0);
	folder_end(&f);
}

static void a_folder_that_is_not_there_lists_nothing(void **state)
{
	static const char path[] = "/nonexistent/folder/";
	struct dir_listings all;
	struct dir_listing *listing;

	(void)state;
	dir_listings_init(&all, 10);
	listing = dir_listings_get(&all, path, strlen(path));
	assert_non_null(listing);
	assert_false(dir_listing_has(listing, "a"));
	dir_listing_unref(listing);
	dir_listings_release(&all);
}

static void without_memory_there_is_nothing_or_less(void **state)
{
	struct folder f;

	(void)state;
	folder_init(&f, 40);
	for (int i = 0; i < 8; i++) {
		struct dir_listings all;
		struct dir_listing *listing;

		dir_listings_init(&all, f.n);
		alloc_fail_after(i);
		listing = dir_listings_get(&all, f.path, f.len);
		alloc_fail_never();
		if (listing)
			assert_true(count_listed(&f, listing) <= f.n);
		dir_listing_unref(listing);
		dir_listings_release(&all);
	}
	folder_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regular_files_are_listed_and_nothing_else),
		cmocka_unit_test(no_folder_is_read_further_than_it_can_save),
		cmocka_unit_test(folders_by_turns_end_the_budget),
		cmocka_unit_test(the_same_folder_is_read_once),
		cmocka_unit_test(without_a_folder_it_is_the_one_we_are_in),
		cmocka_unit_test(a_folder_that_is_not_there_lists_nothing),
		cmocka_unit_test(without_memory_there_is_nothing_or_less),
	};

	return cmocka_run_group_tests_name("listing", tests, NULL, NULL);
}

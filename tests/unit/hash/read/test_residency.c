/* test_residency.c - which pages of a file are in the page cache. */
#include "hash/read/residency.h"

#include <errno.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cached_file.h"

enum { PAGE = 4096, N_PAGES = 16, SIZE = N_PAGES * PAGE - 100 };

static int make(struct temp_dir *dir)
{
	int fd;

	if (residency_page() != PAGE)
		skip();
	skip_unless_on_disk(dir);
	write_pattern(dir, "f", SIZE, 0);
	fd = openat(dir->fd, "f", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	drop_cache(fd);
	return fd;
}

static void exact_means_tell_none_from_some_and_all(void **state)
{
	static const enum residency_means exact[] = { RESIDENCY_CACHESTAT,
						      RESIDENCY_MINCORE };

	for (size_t i = 0; i < 2; i++) {
		CLEANUP(closep) int fd = make(*state);

		if (residency_find_means(fd) > exact[i])
			continue; /* the kernel does not have it */
		assert_int_equal(residency_ask(fd, exact[i], 0, SIZE),
				 RESIDENCY_NONE);
		load_page(fd, 5);
		assert_int_equal(residency_ask(fd, exact[i], 0, SIZE),
				 RESIDENCY_PARTLY);
		assert_int_equal(residency_ask(fd, exact[i], 5 * PAGE, PAGE),
				 RESIDENCY_FULL);
		for (size_t k = 0; k < N_PAGES; k++)
			load_page(fd, k);
		assert_int_equal(residency_ask(fd, exact[i], 0, SIZE),
				 RESIDENCY_FULL);
	}
}

/* What a probe says when a page is dropped: one that another CPU has in its hands is not. */
static enum residency probe_without(int fd, off_t page)
{
	enum residency r = RESIDENCY_UNKNOWN;

	for (int i = 0; i < 1000 && r != RESIDENCY_PARTLY; i++) {
		if (i)
			usleep(1000);
		residency_drop(fd, page * PAGE, PAGE);
		r = residency_ask(fd, RESIDENCY_PROBE, 0, SIZE);
	}
	return r;
}

static void a_probe_goes_by_the_page_in_the_middle(void **state)
{
	CLEANUP(closep) int fd = make(*state);

	load_page(fd, 0);
	if (residency_ask(fd, RESIDENCY_PROBE, 0, SIZE) == RESIDENCY_UNKNOWN)
		skip(); /* the file system has no reads that do not wait */
	residency_end_probe(fd, 0, SIZE);
	assert_int_equal(probe_without(fd, 7), RESIDENCY_PARTLY);
	load_page(fd, 7);
	assert_int_equal(residency_ask(fd, RESIDENCY_PROBE, 0, SIZE),
			 RESIDENCY_FULL);
}

static void a_map_knows_each_page(void **state)
{
	CLEANUP(closep) int fd = make(*state);
	uint8_t pages[N_PAGES], expected[N_PAGES] = { [2] = 1, [15] = 1 };

	load_page(fd, 2);
	load_page(fd, 15);
	assert_int_equal(residency_map(fd, RESIDENCY_MINCORE, 0, SIZE, pages),
			 0);
	assert_memory_equal(pages, expected, N_PAGES);
	assert_int_equal(residency_map(-1, RESIDENCY_MINCORE, 0, SIZE, pages),
			 -EBADF);
}

static void after_a_probe_only_the_probed_page_is_ours(void **state)
{
	CLEANUP(closep) int fd = make(*state);
	uint8_t pages[N_PAGES], expected[N_PAGES];

	memset(expected, 1, N_PAGES);
	expected[7] = 0;
	assert_int_equal(residency_map(fd, RESIDENCY_PROBE, 0, SIZE, pages), 0);
	assert_memory_equal(pages, expected, N_PAGES);
}

static void what_was_there_is_not_dropped(void **state)
{
	CLEANUP(closep) int fd = make(*state);
	uint8_t before[N_PAGES] = { 1, [3] = 1, [4] = 1, [14] = 1 };
	uint8_t after[N_PAGES];

	for (size_t i = 0; i < N_PAGES; i++)
		load_page(fd, i);
	residency_drop_pages(fd, 0, SIZE, before);
	get_resident(fd, SIZE, after);
	assert_memory_equal(after, before, N_PAGES);
}

/* The child has the file open, as those have who may read it. */
static int means_of_nobody(int fd)
{
	if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
	    setresuid(65534, 65534, 65534) < 0)
		return -1;
	return (int)residency_find_means(fd);
}

static void who_may_not_write_a_file_is_not_lied_to(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(closep) int fd = -1;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	(void)close(make(dir));
	fd = openat(dir->fd, "f", O_RDONLY | O_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		int means = means_of_nobody(fd);

		_exit(means == RESIDENCY_PROBE ||
		      (means == RESIDENCY_CACHESTAT &&
		       residency_ask(fd, means, 0, SIZE) == RESIDENCY_NONE));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 1 << 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(exact_means_tell_none_from_some_and_all),
		DIR_TEST(a_probe_goes_by_the_page_in_the_middle),
		DIR_TEST(a_map_knows_each_page),
		DIR_TEST(after_a_probe_only_the_probed_page_is_ours),
		DIR_TEST(what_was_there_is_not_dropped),
		DIR_TEST(who_may_not_write_a_file_is_not_lied_to),
	};

	return cmocka_run_group_tests_name("residency", tests, NULL, NULL);
}

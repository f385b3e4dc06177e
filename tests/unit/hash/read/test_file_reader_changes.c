/* test_file_reader_changes.c - what happens to the file, or to the reader, meanwhile. */
#include "hash/read/file_reader.h"

#include <errno.h>

#include "caught_leaves.h"

/* Reads with an act of the sink in the middle; by all ways, in order and not. */
static void read_badly(struct temp_dir *dir, int (*act)(struct catch *c),
		       int expected)
{
	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(dir, BIG);
		struct file_reader_report report;
		struct file_reader_options options = options_for(
			ways[w / 2], w % 2, &report);
		struct catch c = { .size = BIG,
				   .in_order = options.in_order,
				   .act = act,
				   .act_at = 4,
				   .fd = fd };

		assert_int_equal(file_reader_read(fd, BIG, &options, take, &c),
				 expected);
		assert_int_equal(c.n_wrong, 0);
		/* Others may be at the door of the sink already. */
		if (expected != -ESTALE)
			assert_in_range(c.n_calls, 5, 5 + 2 * N_THREADS);
	}
}

static int truncate_half(struct catch *c)
{
	return ftruncate(c->fd, BIG / 2) < 0 ? -errno : 0;
}

static int truncate_by_one(struct catch *c)
{
	return ftruncate(c->fd, BIG - 1) < 0 ? -errno : 0;
}

static int grow(struct catch *c)
{
	return pwrite(c->fd, "x", 1, BIG) < 0 ? -errno : 0;
}

static int fail_oddly(struct catch *c)
{
	(void)c;
	return -EXFULL;
}

static int cancel(struct catch *c)
{
	c->is_cancelled = true;
	return 0;
}

/* Somebody closes descriptors that are not his, and another file of the same size
 * gets their numbers. */
static int swap_descriptors(struct catch *c)
{
	CLEANUP(closep) int other = memfd_create("other", MFD_CLOEXEC);
	struct stat ours, st;

	if (other < 0 || ftruncate(other, BIG) < 0 || fstat(c->fd, &ours) < 0)
		return -errno;
	for (int fd = 3; fd < 64; fd++)
		if (fd != c->fd && fstat(fd, &st) == 0 &&
		    st.st_ino == ours.st_ino && st.st_dev == ours.st_dev &&
		    dup2(other, fd) < 0)
			return -errno;
	return 0;
}

static void a_descriptor_that_became_another_file_is_stale(void **state)
{
	read_badly(*state, swap_descriptors, -ESTALE);
}

static void a_file_that_shrinks_is_stale(void **state)
{
	read_badly(*state, truncate_half, -ESTALE);
	read_badly(*state, truncate_by_one, -ESTALE);
}

/* Takes the file away from under the pages that it looks at. */
static int look_too_late(void *ctx, unsigned worker, uint64_t offset,
			 const uint8_t *data, size_t len)
{
	struct catch *c = ctx;
	uint8_t sum = 0;

	(void)worker;
	if (offset >= BIG / 2)
		(void)ftruncate(c->fd, BIG / 4);
	for (size_t i = 0; i < len; i++)
		sum ^= data[i];
	c->n_calls += sum ? 2 : 1;
	return 0;
}

static void pages_that_vanish_hurt_nobody(void **state)
{
	for (unsigned i = 0; i < 20; i++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		struct file_reader_report report;
		struct file_reader_options options = options_for(
			FILE_READER_MAPPED, i % 2, &report);
		struct catch c = { .size = BIG, .fd = fd };

		for (size_t page = 0; page < BIG / 4096 + 1; page++)
			load_page(fd, page);
		assert_int_equal(file_reader_read(fd, BIG, &options,
						  look_too_late, &c),
				 -ESTALE);
		assert_true(report.bytes_mapped > BIG / 4);
	}
}

static void a_file_that_grows_is_stale(void **state)
{
	read_badly(*state, grow, -ESTALE);
}

static void the_error_of_the_sink_ends_it(void **state)
{
	read_badly(*state, fail_oddly, -EXFULL);
}

static void a_cancelled_read_ends_soon(void **state)
{
	read_badly(*state, cancel, -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(a_descriptor_that_became_another_file_is_stale),
		DIR_TEST(a_file_that_shrinks_is_stale),
		DIR_TEST(a_file_that_grows_is_stale),
		DIR_TEST(the_error_of_the_sink_ends_it),
		DIR_TEST(a_cancelled_read_ends_soon),
		DIR_TEST(pages_that_vanish_hurt_nobody),
	};

	return cmocka_run_group_tests_name("file_reader_changes", tests, NULL,
					   NULL);
}

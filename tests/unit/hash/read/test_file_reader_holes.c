/* test_file_reader_holes.c - holes are zeros, and take no time. */
#include "hash/read/file_reader.h"

#include "caught_leaves.h"

static void a_terabyte_of_holes_takes_a_moment(void **state)
{
	enum { MIB = 1024 * 1024 };
	static const uint64_t size = (UINT64_C(1) << 40) + 12345;
	struct temp_dir *dir = *state;
	CLEANUP(closep)
	int fd = openat(dir->fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct file_reader_report report;
	struct file_reader_options options = { .report = &report };
	struct catch c = { .size = size };

	assert_true(fd >= 0);
	if (ftruncate(fd, (off_t)size) < 0)
		skip(); /* the file system has no files of this size */
	assert_int_equal(pwrite(fd, "x", 1, (off_t)(size / 2)), 1);
	assert_int_equal(file_reader_read(fd, size, &options, take, &c), 0);
	assert_int_equal(c.n_calls, size / MIB + 1);
	assert_int_equal(report.bytes_hole, size - MIB);
}

/* Data and holes that begin within leaves, at their ends and at that of the file. */
static void make_sparse(int fd, uint8_t *expected)
{
	static const struct {
		size_t offset, len;
	} data[] = {
		{ 2 * LEAF + 4096, 4096 },
		{ 5 * LEAF, LEAF },
		{ 9 * LEAF - 1, 2 },
		{ 20 * LEAF, 3 * LEAF + 1 },
	};

	memset(expected, 0, BIG);
	assert_int_equal(ftruncate(fd, BIG), 0);
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++) {
		memset(expected + data[i].offset, 'd', data[i].len);
		assert_int_equal(pwrite(fd, expected + data[i].offset,
					data[i].len, (off_t)data[i].offset),
				 data[i].len);
	}
}

static void holes_among_data_are_zeros(void **state)
{
	CLEANUP(freep) uint8_t *expected = malloc(BIG);
	CLEANUP(freep) uint8_t *data = malloc(BIG);
	struct temp_dir *dir = *state;

	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep)
		int fd = openat(dir->fd, "f",
				O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct catch c = { .data = data,
				   .size = BIG,
				   .in_order = w % 2 };
		struct file_reader_report report;
		struct file_reader_options options = options_for(
			ways[w / 2], w % 2, &report);

		make_sparse(fd, expected);
		drop_cache(fd);
		memset(data, 'x', BIG);
		assert_int_equal(file_reader_read(fd, BIG, &options, take, &c),
				 0);
		assert_int_equal(c.n_wrong, 0);
		assert_memory_equal(data, expected, BIG);
	}
}

static _Atomic unsigned n_holes;

static int count_holes(void *ctx, unsigned worker, uint64_t offset,
		       const uint8_t *data, size_t len)
{
	(void)ctx;
	(void)worker;
	(void)offset;
	n_holes += file_reader_is_hole(data) && len == LEAF;
	return 0;
}

static void a_sink_can_tell_a_hole(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(closep)
	int fd = openat(dir->fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct file_reader_options options = options_for(FILE_READER_AUTO,
							 false, NULL);

	options.cancelled = NULL;
	assert_int_equal(ftruncate(fd, 10 * LEAF), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	n_holes = 0;
	assert_int_equal(file_reader_read(fd, 10 * LEAF, &options, count_holes,
					  NULL),
			 0);
	if (n_holes == 0)
		skip(); /* this file system has no holes, or does not tell */
	assert_int_equal(n_holes, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(a_terabyte_of_holes_takes_a_moment),
		DIR_TEST(holes_among_data_are_zeros),
		DIR_TEST(a_sink_can_tell_a_hole),
	};

	return cmocka_run_group_tests_name("file_reader_holes", tests, NULL,
					   NULL);
}

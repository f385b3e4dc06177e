/* test_file_reader.c - every byte once, by every way. */
#include "hash/read/file_reader.h"

#include <errno.h>

#include "caught_leaves.h"

static void all_sizes_come_whole_by_all_ways(void **state)
{
	static const size_t sizes[] = { 0,
					1,
					511,
					512,
					513,
					4095,
					4096,
					4097,
					LEAF - 1,
					LEAF,
					LEAF + 1,
					3 * LEAF - 1,
					3 * LEAF,
					3 * LEAF + 1,
					5 * LEAF + 4096,
					33 * LEAF + 9 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (size_t w = 0; w < 2 * N_WAYS; w++) {
			CLEANUP(closep) int fd = make_cold(*state, sizes[i]);

			(void)read_well(fd, sizes[i],
					options_for(ways[w / 2], w % 2, NULL));
		}
	}
}

static void it_can_begin_behind_the_first_leaves(void **state)
{
	enum { SIZE = 20 * LEAF + 5, FROM = 7 * LEAF };
	CLEANUP(closep) int fd = make_cold(*state, SIZE);

	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(*ways); i++) {
		struct file_reader_options options = options_for(ways[i / 2],
								 i % 2, NULL);
		struct catch c = { .size = SIZE,
				   .expected = FROM,
				   .in_order = i % 2 };

		options.from = FROM;
		assert_int_equal(file_reader_read(fd, SIZE, &options, take, &c),
				 0);
		assert_int_equal(c.n_wrong, 0);
		assert_int_equal(c.n_calls, 14);
		assert_int_equal(c.n_bytes, SIZE - FROM);
	}
}

static void the_defaults_do(void **state)
{
	struct file_reader_options options = { 0 };
	CLEANUP(closep) int fd = make_cold(*state, 3 * FILE_READER_LEAF / 2);
	struct catch c = { .size = 3 * FILE_READER_LEAF / 2 };

	/* The catch expects other leaves; they are counted all the same. */
	assert_int_equal(file_reader_read(fd, c.size, &options, take, &c), 0);
	assert_int_equal(c.n_calls, 2);
}

static void a_cold_file_is_read_past_the_cache(void **state)
{
	CLEANUP(closep) int fd = -1;
	struct file_reader_report report;

	skip_unless_on_disk(*state);
	fd = make_cold(*state, BIG);
	report = read_well(fd, BIG,
			   options_for(FILE_READER_DIRECT, false, NULL));
	if (report.way != FILE_READER_DIRECT)
		skip(); /* this file system has no direct reads */
	assert_int_equal(report.bytes_direct, BIG & ~4095);
	report = read_well(fd, BIG, options_for(FILE_READER_AUTO, true, NULL));
	if (report.way == FILE_READER_URING)
		assert_int_equal(report.bytes_direct, BIG & ~4095);
	assert_int_equal(count_resident(fd, BIG), 0);
}

static void a_file_in_the_cache_is_read_from_there(void **state)
{
	CLEANUP(closep) int fd = -1;
	size_t n_resident;
	struct file_reader_report report;

	write_pattern(*state, "f", BIG, 0);
	fd = open_file(*state, O_RDONLY);
	n_resident = count_resident(fd, BIG);
	report = read_well(fd, BIG, options_for(FILE_READER_AUTO, false, NULL));
	assert_int_equal(report.way, FILE_READER_BUFFERED);
	report = read_well(fd, BIG,
			   options_for(FILE_READER_URING, false, NULL));
	assert_int_equal(report.bytes_direct, 0);
	assert_true(count_resident(fd, BIG) >= n_resident);
}

/* Leaves that are in the cache, are not, and are in part; the last page too. */
static void load_some(int fd, bool last)
{
	for (size_t i = 0; i < 8; i++)
		load_page(fd, i);
	for (size_t i = 11; i < 60; i += 5)
		load_page(fd, i);
	if (last)
		load_page(fd, BIG / 4096);
}

static void the_cache_is_afterwards_as_it_was(void **state)
{
	enum { N_PAGES = (BIG + 4095) / 4096 };

	skip_unless_on_disk(*state);
	for (size_t w = 0; w < 4 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		uint8_t before[N_PAGES], after[N_PAGES];

		load_some(fd, w % 2);
		get_resident(fd, BIG, before);
		(void)read_well(fd, BIG,
				options_for(ways[w / 4], w / 2 % 2, NULL));
		get_resident(fd, BIG, after);
		assert_memory_equal(before, after, N_PAGES);
	}
}

static void the_descriptor_keeps_its_position_and_flags(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	int flags = fcntl(fd, F_GETFL);

	assert_int_equal(lseek(fd, 77, SEEK_SET), 77);
	for (size_t w = 0; w < N_WAYS; w++) {
		(void)read_well(fd, BIG, options_for(ways[w], false, NULL));
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 77);
		assert_int_equal(fcntl(fd, F_GETFL), flags);
	}
}

static void a_file_without_a_name_is_read(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);

	assert_int_equal(unlinkat(((struct temp_dir *)*state)->fd, "f", 0), 0);
	for (size_t w = 0; w < N_WAYS; w++)
		(void)read_well(fd, BIG, options_for(ways[w], false, NULL));
}

static void only_who_may_maps(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct file_reader_options options = options_for(FILE_READER_MAPPED,
							 false, NULL);
	struct catch c = { .size = BIG };

	options.may_map = false;
	assert_int_equal(file_reader_read(fd, BIG, &options, take, &c),
			 -EINVAL);
	for (size_t page = 0; page < BIG / 4096 + 1; page++)
		load_page(fd, page);
	options.way = FILE_READER_AUTO;
	assert_int_equal(read_well(fd, BIG, options).bytes_mapped, 0);
}

static void another_size_is_stale_before_anything_is_read(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct file_reader_options options = options_for(FILE_READER_AUTO,
							 false, NULL);
	struct catch c = { .size = BIG };

	assert_int_equal(file_reader_read(fd, BIG - 1, &options, take, &c),
			 -ESTALE);
	assert_int_equal(file_reader_read(fd, BIG + 1, &options, take, &c),
			 -ESTALE);
	assert_int_equal(c.n_calls, 0);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct file_reader_options bad[] = {
		{ .leaf = 100 },
		{ .leaf = 3 * 4096 },
		{ .leaf = 2048 },
		{ .leaf = 2 * FILE_READER_LEAF_MAX },
		{ .way = FILE_READER_WAY_END },
		{ .n_threads = 100000 },
		{ .from = 1 },
		{ .from = FILE_READER_LEAF },
	};
	CLEANUP(closep) int fd = make_cold(*state, 10);
	struct file_reader_options good = { 0 };
	struct catch c = { .size = 10 };
	int dirfd = ((struct temp_dir *)*state)->fd;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(file_reader_read(fd, 10, &bad[i], take, &c),
				 -EINVAL);
	assert_int_equal(file_reader_read(dirfd, 10, &good, take, &c), -EINVAL);
	assert_int_equal(file_reader_read(-1, 10, &good, take, &c), -EBADF);
	assert_int_equal(c.n_calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(all_sizes_come_whole_by_all_ways),
		DIR_TEST(it_can_begin_behind_the_first_leaves),
		DIR_TEST(the_defaults_do),
		DIR_TEST(a_cold_file_is_read_past_the_cache),
		DIR_TEST(a_file_in_the_cache_is_read_from_there),
		DIR_TEST(the_cache_is_afterwards_as_it_was),
		DIR_TEST(the_descriptor_keeps_its_position_and_flags),
		DIR_TEST(a_file_without_a_name_is_read),
		DIR_TEST(another_size_is_stale_before_anything_is_read),
		DIR_TEST(what_makes_no_sense_is_refused),
		DIR_TEST(only_who_may_maps),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}

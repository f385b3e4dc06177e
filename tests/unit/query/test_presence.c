/* test_presence.c - does a file still hold the content that was recorded? */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash/file/file_hash.h"
#include "query/presence.h"
#include "sample.h"

static enum presence check(const struct store_file *row, uint64_t budget)
{
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = budget };

	return presence_check(&look, row);
}

static void touch(const char *name, long seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds },
					   { .tv_sec = seconds } };

	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void a_stamp_decides_without_reading(void **state)
{
	struct fixture *f = *state;
	struct store_file row;

	put(f, "x", "content");
	row = *file(f, "x", LINEAGE_OUTPUT);
	assert_int_equal(check(&row, 0), PRESENCE_PRESENT);
	put(f, "x", "longer content");
	assert_int_equal(check(&row, 0), PRESENCE_CHANGED);
	assert_int_equal(unlink("x"), 0);
	assert_int_equal(check(&row, 0), PRESENCE_MISSING);
}

static void a_touched_file_is_read_within_the_budget(void **state)
{
	struct fixture *f = *state;
	struct store_file row;

	put(f, "x", "content");
	row = *file(f, "x", LINEAGE_OUTPUT);
	touch("x", 1000);
	assert_int_equal(check(&row, 6), PRESENCE_UNVERIFIED);
	assert_int_equal(check(&row, 7), PRESENCE_PRESENT);
	put(f, "x", "CONTENT");
	touch("x", 1000);
	assert_int_equal(check(&row, 7), PRESENCE_CHANGED);
}

static int opened;

static int refuse_cache(struct digest_cache **ret)
{
	(void)ret;
	opened++;
	return -1;
}

static void the_cache_is_opened_once_and_only_when_needed(void **state)
{
	CLEANUP(presence_look_release)
	struct presence_look look = { .open_cache = refuse_cache };
	struct fixture *f = *state;
	struct store_file row;

	opened = 0;
	put(f, "x", "content");
	row = *file(f, "x", LINEAGE_OUTPUT);
	(void)presence_check(&look, &row);
	assert_int_equal(opened, 0);
	touch("x", 1000);
	assert_int_equal(presence_check(&look, &row), PRESENCE_UNVERIFIED);
	assert_int_equal(presence_check(&look, &row), PRESENCE_UNVERIFIED);
	assert_int_equal(opened, 1);
}

static void a_link_is_its_text(void **state)
{
	struct fixture *f = *state;
	struct store_file row;
	struct stat st;

	put(f, "a", "a");
	assert_int_equal(symlink("a", "l"), 0);
	row = *file(f, "l", LINEAGE_OUTPUT);
	row.ftype = EVENT_FTYPE_SYMLINK;
	assert_int_equal(digest_buffer("a", 1, DIGEST_SET_BLAKE3, &row.digests),
			 0);
	assert_int_equal(lstat("l", &st), 0);
	row.stamp = stamp_of(&st);
	assert_int_equal(check(&row, 0), PRESENCE_PRESENT);
	assert_int_equal(unlink("l"), 0);
	assert_int_equal(symlink("b", "l"), 0);
	assert_int_equal(check(&row, 0), PRESENCE_CHANGED);
	assert_int_equal(unlink("l"), 0);
	assert_int_equal(check(&row, 0), PRESENCE_MISSING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_stamp_decides_without_reading),
		FIXTURE_TEST(a_touched_file_is_read_within_the_budget),
		FIXTURE_TEST(the_cache_is_opened_once_and_only_when_needed),
		FIXTURE_TEST(a_link_is_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

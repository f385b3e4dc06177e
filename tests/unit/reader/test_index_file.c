/* test_index_file.c - indexes that are kept, believed, and not believed */
#include "shards.h"

#include <errno.h>

/* Opens it with an index in the folder "index". */
static struct reader *indexed(struct temp_dir *dir, const char *name,
			      bool want_kept)
{
	char where[128];
	struct reader_options o = { .index_dir = where };
	struct roar_error err;
	struct reader *r = NULL;

	(void)snprintf(where, sizeof(where), "%s/index", dir->path);
	if (reader_open(path_in(dir, name), &o, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(reader_index_was_kept(r), want_kept);
	return r;
}

/* A file whose last change is long enough ago for its index to be kept. */
static void write_settled(struct temp_dir *dir, const char *name,
			  const char *text)
{
	write_text(dir, name, text);
	(void)usleep(60 * 1000);
}

/* The only file in the folder "index", opened. */
static int open_index(struct temp_dir *dir)
{
	char command[256];
	FILE *found;
	char path[512] = "";
	int fd;

	(void)snprintf(command, sizeof(command), "ls %s/index/*.index",
		       dir->path);
	found = popen(command, "r");
	assert_non_null(fgets(path, sizeof(path), found));
	assert_int_equal(pclose(found), 0);
	path[strcspn(path, "\n")] = '\0';
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void an_index_is_made_once(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *first = NULL;
	CLEANUP(reader_closep) struct reader *second = NULL;

	assert_int_equal(mkdirat(dir->fd, "index", 0700), 0);
	write_settled(dir, "a.jsonl", "1\n22\n333");
	first = indexed(dir, "a.jsonl", false);
	second = indexed(dir, "a.jsonl", true);
	assert_int_equal(reader_count(second), 3);
	assert_sample(second, 1, "{=22}");
	assert_sample(second, 2, "{=333}");
}

static void the_index_of_a_tar_is_the_same_again(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *first = NULL;
	CLEANUP(reader_closep) struct reader *second = NULL;

	assert_int_equal(mkdirat(dir->fd, "index", 0700), 0);
	tar_add_file(&t, "a/1.jpg", "picture");
	tar_add_file(&t, "a/1.cls", "3");
	tar_add_file(&t, "a/2.jpg", "another");
	tar_add_end(&t);
	write_file(dir, "a.tar", t.data, t.len);
	(void)usleep(60 * 1000);
	first = indexed(dir, "a.tar", false);
	second = indexed(dir, "a.tar", true);
	assert_int_equal(reader_count(second), 2);
	assert_sample(second, 0, "a/1{jpg=picture,cls=3}");
	assert_sample(second, 1, "a/2{jpg=another}");
}

static void another_time_or_size_makes_a_new_one(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *first = NULL;
	CLEANUP(reader_closep) struct reader *second = NULL;
	CLEANUP(reader_closep) struct reader *third = NULL;

	assert_int_equal(mkdirat(dir->fd, "index", 0700), 0);
	write_settled(dir, "a.jsonl", "1\n22\n333");
	first = indexed(dir, "a.jsonl", false);
	write_settled(dir, "a.jsonl", "111\n2\n33"); /* as long as before */
	second = indexed(dir, "a.jsonl", false);
	assert_sample(second, 0, "{=111}");
	third = indexed(dir, "a.jsonl", true);
	assert_sample(third, 1, "{=2}");
}

static void a_file_that_changed_only_now_has_none(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *first = NULL;
	CLEANUP(reader_closep) struct reader *second = NULL;
	struct timespec ahead[2] = { { .tv_sec = 4000000000 },
				     { .tv_sec = 4000000000 } };

	assert_int_equal(mkdirat(dir->fd, "index", 0700), 0);
	write_text(dir, "a.jsonl", "1\n");
	assert_int_equal(utimensat(dir->fd, "a.jsonl", ahead, 0), 0);
	first = indexed(dir, "a.jsonl", false);
	second = indexed(dir, "a.jsonl", false);
}

static void a_damaged_index_is_as_good_as_none(void **state)
{
	struct temp_dir *dir = *state;
	char byte;

	assert_int_equal(mkdirat(dir->fd, "index", 0700), 0);
	write_settled(dir, "a.jsonl", "1\n22\n");
	reader_close(indexed(dir, "a.jsonl", false));
	for (off_t at = 0; at < 40 + 3 * 8 + 32; at += 7) {
		CLEANUP(closep) int fd = open_index(dir);
		CLEANUP(reader_closep) struct reader *r = NULL;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		r = indexed(dir, "a.jsonl", false); /* and makes a new one */
		assert_sample(r, 1, "{=22}");
	}
	reader_close(indexed(dir, "a.jsonl", true));
}

static void it_can_lie_beside_the_file(void **state)
{
	struct temp_dir *dir = *state;
	struct reader_options o = { .index = READER_INDEX_BESIDE };
	CLEANUP(reader_closep) struct reader *first = NULL;
	CLEANUP(reader_closep) struct reader *second = NULL;

	write_settled(dir, "a.jsonl", "1\n22\n");
	assert_int_equal(reader_open(path_in(dir, "a.jsonl"), &o, &first, NULL),
			 0);
	assert_int_equal(faccessat(dir->fd, "a.jsonl.roar-index", R_OK, 0), 0);
	assert_int_equal(
		reader_open(path_in(dir, "a.jsonl"), &o, &second, NULL), 0);
	assert_true(reader_index_was_kept(second));
}

static void without_a_place_it_is_read_all_the_same(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *first = NULL;
	CLEANUP(reader_closep) struct reader *second = NULL;

	write_settled(dir, "a.jsonl", "1\n22\n");
	first = indexed(dir, "a.jsonl", false); /* there is no such folder */
	second = indexed(dir, "a.jsonl", false);
	assert_sample(second, 1, "{=22}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(an_index_is_made_once),
		DIR_TEST(the_index_of_a_tar_is_the_same_again),
		DIR_TEST(another_time_or_size_makes_a_new_one),
		DIR_TEST(a_file_that_changed_only_now_has_none),
		DIR_TEST(a_damaged_index_is_as_good_as_none),
		DIR_TEST(it_can_lie_beside_the_file),
		DIR_TEST(without_a_place_it_is_read_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

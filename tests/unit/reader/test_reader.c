/* test_reader.c - kinds and their choice, files of folders, records, content */
#include "shards.h"

#include <errno.h>

#include "hash/file/file_hash.h"

static void the_kind_follows_from_the_name(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *folder = NULL;
	CLEANUP(reader_closep) struct reader *lines = NULL;
	CLEANUP(reader_closep) struct reader *raw = NULL;
	struct roar_error err;

	write_text(dir, "a.ndjson", "1\n2\n");
	lines = open_shard(dir, "a.ndjson", (struct reader_options){ 0 });
	assert_int_equal(reader_kind_of(lines), READER_JSONL);
	folder = open_shard(dir, "", (struct reader_options){ 0 });
	assert_int_equal(reader_kind_of(folder), READER_FILES);
	raw = open_shard(dir, "a.ndjson",
			 (struct reader_options){ .record_bytes = 2 });
	assert_int_equal(reader_kind_of(raw), READER_RAW);
	write_text(dir, "a.bin", "1\n2\n");
	assert_int_equal(open_error(dir, "a.bin", (struct reader_options){ 0 },
				    &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "name the kind"));
}

static void what_is_not_there_or_no_file_is_refused(void **state)
{
	struct temp_dir *dir = *state;
	struct roar_error err;
	struct reader_options tar = { .kind = READER_TAR };

	assert_int_equal(open_error(dir, "no.tar", tar, &err), -ENOENT);
	assert_int_equal(mkfifoat(dir->fd, "fifo.tar", 0600), 0);
	assert_int_equal(open_error(dir, "fifo.tar", tar, &err), -EINVAL);
	assert_int_equal(open_error(dir, "", tar, &err), -EISDIR);
}

/* ---- raw ---- */

static void records_lie_behind_the_header(void **state)
{
	CLEANUP(reader_closep) struct reader *r = NULL;

	write_text(*state, "a.bin", "HEADaabbcc");
	r = open_shard(*state, "a.bin",
		       (struct reader_options){ .kind = READER_RAW,
						.record_bytes = 2,
						.header_bytes = 4 });
	assert_int_equal(reader_count(r), 3);
	assert_sample(r, 0, "{=aa}");
	assert_sample(r, 2, "{=cc}");
}

static void records_that_do_not_come_out_even_are_refused(void **state)
{
	struct reader_options o = { .kind = READER_RAW, .record_bytes = 4 };
	struct roar_error err;

	write_text(*state, "a.bin", "aaaabbbbcc");
	assert_int_equal(open_error(*state, "a.bin", o, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not a multiple"));
	o.header_bytes = 11;
	assert_int_equal(open_error(*state, "a.bin", o, &err), -EBADMSG);
	o = (struct reader_options){ .kind = READER_RAW };
	assert_int_equal(open_error(*state, "a.bin", o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "record_bytes is 0"));
}

static void a_record_is_read_to_where_it_is_wanted(void **state)
{
	CLEANUP(reader_closep) struct reader *r = NULL;
	struct roar_error err;
	char to[8] = "";

	write_text(*state, "a.bin", "aaaabbbb");
	r = open_shard(*state, "a.bin",
		       (struct reader_options){ .record_bytes = 4 });
	assert_int_equal(reader_read_into(r, 1, to, 4, &err), 4);
	assert_string_equal(to, "bbbb");
	assert_int_equal(reader_read_into(r, 1, to, 3, &err), -ENOSPC);
	assert_int_equal(reader_read_into(r, 2, to, 4, &err), -ERANGE);
}

/* ---- files ---- */

static void files_of_a_folder_come_in_the_order_of_their_paths(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;

	assert_int_equal(mkdirat(dir->fd, "b", 0700), 0);
	assert_int_equal(mkdirat(dir->fd, "b/c", 0700), 0);
	assert_int_equal(mkdirat(dir->fd, ".git", 0700), 0);
	write_text(dir, "b/c/2.txt", "deep");
	write_text(dir, "b/1.txt", "one");
	write_text(dir, "b.txt", "dot");
	write_text(dir, "a", "");
	write_text(dir, ".hidden", "no");
	write_text(dir, ".git/x", "no");
	assert_int_equal(symlinkat("b/1.txt", dir->fd, "z"), 0);
	assert_int_equal(symlinkat(".", dir->fd, "loop"), 0);
	assert_int_equal(symlinkat("nowhere", dir->fd, "broken"), 0);
	assert_int_equal(mkfifoat(dir->fd, "fifo", 0600), 0);
	r = open_shard(dir, "", (struct reader_options){ 0 });
	assert_int_equal(reader_count(r), 5);
	assert_sample(r, 0, "a{=}");
	assert_sample(r, 1, "b.txt{=dot}");
	assert_sample(r, 2, "b/1.txt{=one}");
	assert_sample(r, 3, "b/c/2.txt{=deep}");
	assert_sample(r, 4, "z{=one}");
}

static void a_file_that_changed_since_the_listing_is_an_error(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
	const struct reader_sample *s;
	struct roar_error err;

	write_text(dir, "a", "1234");
	r = open_shard(dir, "", (struct reader_options){ 0 });
	write_text(dir, "a", "12");
	assert_int_equal(reader_read(r, 0, &b, &s, &err), -ESTALE);
	assert_non_null(strstr(err.text, "/a' changed after"));
	assert_int_equal(unlinkat(dir->fd, "a", 0), 0);
	assert_int_equal(reader_read(r, 0, &b, &s, &err), -ENOENT);
}

/* ---- content ---- */

static void content_is_compared_with_its_digest(void **state)
{
	CLEANUP(reader_closep) struct reader *r = NULL;
	struct reader_options o = { .record_bytes = 4 };
	struct digests d;
	struct roar_error err;

	assert_int_equal(digest_buffer("aaaabbbb", 8, DIGEST_SET_BLAKE3, &d),
			 0);
	o.blake3 = d.blake3;
	write_text(*state, "a.bin", "aaaabbbb");
	r = open_shard(*state, "a.bin", o);
	assert_sample(r, 1, "{=bbbb}");
	write_text(*state, "b.bin", "aaaabbbc");
	assert_int_equal(open_error(*state, "b.bin", o, &err), -ESTALE);
	assert_non_null(strstr(err.text, "b.bin' is not the expected"));
	o.record_bytes = 0;
	assert_int_equal(open_error(*state, "", o, &err), -EINVAL);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
	const struct reader_sample *s;
	struct roar_error err;
	char to[4];

	write_text(dir, "a.bin", "aaaabbbb");
	r = open_shard(dir, "a.bin",
		       (struct reader_options){ .record_bytes = 4 });
	assert_int_equal(truncate(path_in(dir, "a.bin"), 6), 0);
	assert_sample(r, 0, "{=aaaa}");
	assert_int_equal(reader_read(r, 1, &b, &s, &err), -ESTALE);
	assert_non_null(strstr(err.text, "became shorter"));
	assert_int_equal(reader_read_into(r, 1, to, 4, &err), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(the_kind_follows_from_the_name),
		DIR_TEST(what_is_not_there_or_no_file_is_refused),
		DIR_TEST(records_lie_behind_the_header),
		DIR_TEST(records_that_do_not_come_out_even_are_refused),
		DIR_TEST(a_record_is_read_to_where_it_is_wanted),
		DIR_TEST(files_of_a_folder_come_in_the_order_of_their_paths),
		DIR_TEST(a_file_that_changed_since_the_listing_is_an_error),
		DIR_TEST(content_is_compared_with_its_digest),
		DIR_TEST(a_file_that_shrinks_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

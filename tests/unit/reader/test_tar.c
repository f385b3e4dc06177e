/* test_tar.c - archives of all shapes, and those that are refused */
#include "shards.h"

#include <errno.h>

#include "reader/tar_header.h"
#include "reader/tar_table.h"

static const struct reader_options tar = { .kind = READER_TAR };

/* Writes the archive as "a.tar" and opens it. */
static struct reader *opened(struct temp_dir *dir, const struct str *archive)
{
	write_file(dir, "a.tar", archive->data, archive->len);
	return open_shard(dir, "a.tar", tar);
}

/* The archive is refused with a sentence that has these words. */
static void assert_refused(struct temp_dir *dir, const struct str *archive,
			   int error, const char *words)
{
	struct roar_error err;

	write_file(dir, "a.tar", archive->data, archive->len);
	assert_int_equal(open_error(dir, "a.tar", tar, &err), error);
	if (!strstr(err.text, words) || !strstr(err.text, "a.tar"))
		fail_msg("'%s' is not in: %s", words, err.text);
}

static void members_of_one_key_are_one_sample(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;

	tar_add_header(&t, "train/", '5', 0);
	tar_add_file(&t, "train/001.jpg", "picture");
	tar_add_file(&t, "train/001.seg.PNG", "mask");
	tar_add_file(&t, "train/002.cls", "7");
	tar_add_file(&t, "other/002.cls", "8");
	tar_add_file(&t, "./003.cls", "9");
	tar_add_file(&t, "003.cls", "10");
	tar_add_file(&t, "./plain", "no dot");
	tar_add_file(&t, "train/._001.jpg", "of a Mac");
	tar_add_file(&t, "__index__/001.txt", "of the archive");
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_int_equal(reader_count(r), 5);
	assert_sample(r, 0, "train/001{jpg=picture,seg.png=mask}");
	assert_sample(r, 1, "train/002{cls=7}");
	assert_sample(r, 2, "other/002{cls=8}");
	assert_sample(r, 3, "./003{cls=9}");
	assert_sample(r, 4, "003{cls=10}");
}

static void empty_files_and_an_empty_archive_are_fine(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_closep) struct reader *none = NULL;

	tar_add_file(&t, "a.txt", "");
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_sample(r, 0, "a{txt=}");
	str_clear(&t);
	tar_add_end(&t);
	none = opened(*state, &t);
	assert_int_equal(reader_count(none), 0);
}

static void long_names_of_gnu_and_pax_are_read(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	char name[300];
	char text[320];

	memset(name, 'n', sizeof(name));
	memcpy(name + sizeof(name) - 5, ".txt", 5);
	tar_add_header(&t, "././@LongLink", 'L', sizeof(name));
	tar_add_data(&t, name, sizeof(name));
	tar_add_file(&t, "cut", "gnu");
	tar_add_header(&t, "PaxHeaders/x", 'x', 30);
	tar_add_data(&t, "17 path=b/c.json\n13 mtime=1.5\n", 30);
	tar_add_file(&t, "cut", "pax");
	tar_add_file(&t, "after.txt", "own");
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_int_equal(reader_count(r), 3);
	(void)snprintf(text, sizeof(text), "%.295s{txt=gnu}", name);
	assert_sample(r, 0, text);
	assert_sample(r, 1, "b/c{json=pax}");
	assert_sample(r, 2, "after{txt=own}");
}

static void the_prefix_of_ustar_is_a_part_of_the_name(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;

	tar_add_file(&t, "x.txt", "1");
	memcpy(t.data + 345, "far/away", 8);
	tar_seal(&t, 0);
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_sample(r, 0, "far/away/x{txt=1}");
}

static void a_size_in_base_256_or_in_pax_is_read(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;

	tar_add_file(&t, "a.txt", "five!");
	memset(t.data + 124, 0, 12);
	t.data[124] = (char)0x80;
	t.data[135] = 5;
	tar_seal(&t, 0);
	tar_add_header(&t, "pax", 'x', 9);
	tar_add_data(&t, "9 size=4\n", 9);
	tar_add_header(&t, "b.txt", '0', 0);
	tar_add_data(&t, "four", 4);
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_sample(r, 0, "a{txt=five!}");
	assert_sample(r, 1, "b{txt=four}");
}

static void a_header_from_before_posix_is_read(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;

	tar_add_file(&t, "a.txt", "old");
	memset(t.data + 257, 0, 8);
	t.data[156] = '\0';
	tar_seal(&t, 0);
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_sample(r, 0, "a{txt=old}");
}

static void a_sum_of_signed_bytes_is_right_as_well(void **state)
{
	uint8_t block[TAR_BLOCK];
	CLEANUP(str_release) struct str t = STR_INIT;
	struct tar_header h;
	const char *why;
	int sum = ' ' * 8;

	(void)state;
	tar_add_header(&t, "\xe4.txt", '0', 0);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? 0 : (signed char)t.data[i];
	(void)snprintf(t.data + 148, 8, "%06o", (unsigned)sum);
	memcpy(block, t.data, sizeof(block));
	assert_int_equal(tar_header_read(block, &h, &why), 1);
	block[10] ^= 1;
	assert_int_equal(tar_header_read(block, &h, &why), -EBADMSG);
}

static void truncated_archives_are_refused(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "a.txt", "text");
	assert_refused(*state, &t, -EBADMSG, "truncated"); /* no end mark */
	tar_add_header(&t, "b.txt", '0', 5000);
	str_pad(&t, 'x', 100);
	assert_refused(*state, &t, -EBADMSG, "truncated"); /* in the data */
	t.len = 1024 + 300;
	assert_refused(*state, &t, -EBADMSG, "truncated"); /* in a header */
}

static void archives_that_go_on_behind_their_end_are_refused(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "a.txt", "text");
	tar_add_end(&t);
	str_pad(&t, '\0', 20000); /* as tar fills up its blocks */
	tar_add_file(&t, "b.txt", "text");
	tar_add_end(&t);
	assert_refused(*state, &t, -EBADMSG, "data after its end mark");
}

/* An archive with one member of that type and name. */
static void assert_member_refused(struct temp_dir *dir, char type,
				  const char *name, const char *words)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "good.txt", "text");
	tar_add_header(&t, name, type, 0);
	tar_add_end(&t);
	assert_refused(dir, &t, -EBADMSG, words);
}

static void links_devices_and_sparse_files_are_refused(void **state)
{
	assert_member_refused(*state, '1', "l.txt", "'l.txt' is a link");
	assert_member_refused(*state, '2', "l.txt", "'l.txt' is a link");
	assert_member_refused(*state, '3', "tty", "'tty' is a device");
	assert_member_refused(*state, '4', "sda", "is a device");
	assert_member_refused(*state, '6', "p", "is a device or a fifo");
	assert_member_refused(*state, 'S', "s.bin", "'s.bin' is a sparse");
	assert_member_refused(*state, 'Q', "q", "has a nonstandard type");
}

static void sparse_files_of_pax_are_refused(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_header(&t, "pax", 'x', 22);
	tar_add_data(&t, "22 GNU.sparse.major=1\n", 22);
	tar_add_file(&t, "s.bin", "map");
	tar_add_end(&t);
	assert_refused(*state, &t, -EBADMSG, "'s.bin' is a sparse file");
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	assert_member_refused(*state, '0', "../a.txt", "has '..' in its name");
	assert_member_refused(*state, '0', "a/../../b.txt", "has '..'");
	assert_member_refused(*state, '0', "/etc/passwd", "an absolute name");
}

static void members_without_a_name_are_refused(void **state)
{
	assert_member_refused(*state, '0', "", "has no valid file name");
	assert_member_refused(*state, '0', "./", "has no valid file name");
	assert_member_refused(*state, '0', "a/b/", "has no valid file name");
}

static void a_header_without_a_sum_is_none(void **state)
{
	uint8_t block[TAR_BLOCK] = { [150] = 0, [162] = 0x80, [243] = 0x80 };
	struct tar_header h;
	const char *why;

	/* Taken with signs, the bytes of this one add up to nothing. */
	(void)state;
	assert_int_equal(tar_header_read(block, &h, &why), -EBADMSG);
}

static void dots_that_lead_nowhere_are_fine(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;

	tar_add_file(&t, "a..b/c...txt", "x");
	tar_add_end(&t);
	r = opened(*state, &t);
	assert_sample(r, 0, "a..b/c{..txt=x}");
}

static void a_name_twice_in_a_sample_is_refused(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "a.txt", "1");
	tar_add_file(&t, "a.TXT", "2");
	tar_add_end(&t);
	assert_refused(*state, &t, -EBADMSG, "'a.TXT' occurs twice");
}

static void more_parts_than_a_sample_may_have_are_refused(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	char name[16];

	for (int i = 0; i <= READER_PARTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "a.%d", i);
		tar_add_file(&t, name, "");
	}
	tar_add_end(&t);
	assert_refused(*state, &t, -EBADMSG, "is the 257th file");
}

static void what_is_no_archive_says_so(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	str_pad(&t, '\0', 0);
	str_adds(&t, "");
	assert_refused(*state, &t, -EINVAL, "not a tar archive");
	str_pad(&t, 'x', 2000);
	assert_refused(*state, &t, -EINVAL, "not a tar archive");
	memcpy(t.data, "\x1f\x8b", 2);
	assert_refused(*state, &t, -EINVAL, "compressed with gzip");
}

static void damage_in_the_middle_is_told_with_its_place(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "a.txt", "1");
	tar_add_file(&t, "b.txt", "2");
	tar_add_end(&t);
	t.data[1024 + 3] ^= 0x40;
	assert_refused(*state, &t, -EBADMSG, "damaged at byte 1024");
}

static void extended_headers_that_lie_are_refused(void **state)
{
	static const char *const records[] = {
		"99 path=a\n", "8 path=a\n",  "path=a\n", "10 path=aX",
		"7 path\n",    "10 size=x\n", "0 \n",	  "8 path=\n",
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		CLEANUP(str_release) struct str t = STR_INIT;

		tar_add_header(&t, "pax", 'x', strlen(records[i]));
		tar_add_data(&t, records[i], strlen(records[i]));
		tar_add_file(&t, "a.txt", "1");
		tar_add_end(&t);
		assert_refused(*state, &t, -EBADMSG, "damaged");
	}
}

static void sizes_past_the_file_or_below_zero_are_refused(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "a.txt", "1");
	tar_add_end(&t);
	memset(t.data + 124, 0xff, 12); /* -1 in base 256 */
	tar_seal(&t, 0);
	assert_refused(*state, &t, -EINVAL, "not a tar archive");
	memset(t.data + 124, 0, 12);
	t.data[124] = (char)0x80;
	memset(t.data + 128, 0x7f, 8); /* about 2^63 */
	tar_seal(&t, 0);
	assert_refused(*state, &t, -EBADMSG, "truncated");
}

/* ---- the table as bytes ---- */

static void make_table(struct tar_table *t)
{
	assert_int_equal(tar_table_add(t, "a/1.jpg", 512, 100), 1);
	assert_int_equal(tar_table_add(t, "a/1.cls", 2048, 1), 1);
	assert_int_equal(tar_table_add(t, "a/2.jpg", 3072, 50), 1);
	assert_int_equal(tar_table_end(t), 0);
}

static void a_table_comes_back_from_its_bytes(void **state)
{
	CLEANUP(tar_table_release) struct tar_table t = TAR_TABLE_INIT;
	CLEANUP(tar_table_release) struct tar_table again = TAR_TABLE_INIT;
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	make_table(&t);
	tar_table_encode(&t, &bytes);
	assert_int_equal(tar_table_decode(bytes.data, bytes.len, 4096, &again),
			 0);
	assert_int_equal(again.n_samples, 2);
	assert_int_equal(again.n_parts, 3);
	assert_memory_equal(again.parts, t.parts, 3 * sizeof(*t.parts));
	assert_memory_equal(again.samples, t.samples, 3 * sizeof(*t.samples));
	assert_memory_equal(again.names, t.names, t.names_len);
}

static void bytes_that_lie_are_no_table(void **state)
{
	CLEANUP(tar_table_release) struct tar_table t = TAR_TABLE_INIT;
	CLEANUP(str_release) struct str good = STR_INIT;
	struct tar_table none = TAR_TABLE_INIT;

	(void)state;
	make_table(&t);
	tar_table_encode(&t, &good);
	/* The archive is shorter than the last part says. */
	assert_int_equal(tar_table_decode(good.data, good.len, 3100, &none),
			 -EBADMSG);
	for (size_t len = 0; len < good.len; len++)
		assert_int_equal(tar_table_decode(good.data, len, 4096, &none),
				 -EBADMSG);
	/* Each number of it, made huge. */
	for (size_t at = 0; at + 8 <= good.len - t.names_len; at += 8) {
		CLEANUP(str_release) struct str bad = STR_INIT;

		str_add(&bad, good.data, good.len);
		memset(bad.data + at, 0xff, 8);
		assert_int_equal(tar_table_decode(bad.data, bad.len, 4096,
						  &none),
				 -EBADMSG);
	}
}

/* An archive of samples with two files each. */
static void add_samples(struct str *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%04u.a", i);
		tar_add_file(t, name, "A");
		(void)snprintf(name, sizeof(name), "%04u.b", i);
		tar_add_file(t, name, "B");
	}
}

static void the_beginning_is_had_without_the_rest(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_closep) struct reader *whole = NULL;
	struct reader_options options = tar;

	add_samples(&t, 100);
	tar_add_end(&t);
	write_file(*state, "a.tar", t.data, t.len);
	options.beginning = true;
	r = open_shard(*state, "a.tar", options);
	assert_false(reader_is_whole(r));
	assert_int_equal(reader_count(r), READER_BEGINNING / 2 - 1);
	assert_sample(r, reader_count(r) - 1, "0030{a=A,b=B}");
	assert_int_equal(reader_open_whole(r, &whole, NULL), 0);
	assert_true(reader_is_whole(whole));
	assert_int_equal(reader_count(whole), 100);
	assert_sample(whole, 30, "0030{a=A,b=B}");
	assert_sample(whole, 99, "0099{a=A,b=B}");
}

static void a_short_archive_is_whole_and_checked_to_its_end(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	struct reader_options options = tar;
	struct roar_error err;

	options.beginning = true;
	add_samples(&t, 3);
	write_file(*state, "a.tar", t.data, t.len);
	assert_int_equal(open_error(*state, "a.tar", options, &err), -EBADMSG);
	tar_add_end(&t);
	write_file(*state, "a.tar", t.data, t.len);
	r = open_shard(*state, "a.tar", options);
	assert_true(reader_is_whole(r));
	assert_int_equal(reader_count(r), 3);
}

static void damage_behind_the_beginning_is_told_by_the_whole(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_closep) struct reader *whole = NULL;
	struct reader_options options = tar;
	struct roar_error err;

	options.beginning = true;
	add_samples(&t, 100);
	write_file(*state, "a.tar", t.data, t.len);
	r = open_shard(*state, "a.tar", options);
	assert_int_equal(reader_open_whole(r, &whole, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "truncated"));
	assert_null(whole);
}

static void a_file_that_changed_after_its_beginning_is_an_error(void **state)
{
	CLEANUP(str_release) struct str t = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_closep) struct reader *whole = NULL;
	struct reader_options options = tar;

	options.beginning = true;
	add_samples(&t, 100);
	tar_add_end(&t);
	write_file(*state, "a.tar", t.data, t.len);
	r = open_shard(*state, "a.tar", options);
	tar_add_end(&t);
	write_file(*state, "a.tar", t.data, t.len);
	assert_int_equal(reader_open_whole(r, &whole, NULL), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(members_of_one_key_are_one_sample),
		DIR_TEST(empty_files_and_an_empty_archive_are_fine),
		DIR_TEST(long_names_of_gnu_and_pax_are_read),
		DIR_TEST(the_prefix_of_ustar_is_a_part_of_the_name),
		DIR_TEST(a_size_in_base_256_or_in_pax_is_read),
		DIR_TEST(a_header_from_before_posix_is_read),
		cmocka_unit_test(a_sum_of_signed_bytes_is_right_as_well),
		DIR_TEST(truncated_archives_are_refused),
		DIR_TEST(archives_that_go_on_behind_their_end_are_refused),
		DIR_TEST(links_devices_and_sparse_files_are_refused),
		DIR_TEST(sparse_files_of_pax_are_refused),
		DIR_TEST(names_that_lead_elsewhere_are_refused),
		DIR_TEST(members_without_a_name_are_refused),
		cmocka_unit_test(a_header_without_a_sum_is_none),
		DIR_TEST(dots_that_lead_nowhere_are_fine),
		DIR_TEST(a_name_twice_in_a_sample_is_refused),
		DIR_TEST(more_parts_than_a_sample_may_have_are_refused),
		DIR_TEST(what_is_no_archive_says_so),
		DIR_TEST(damage_in_the_middle_is_told_with_its_place),
		DIR_TEST(extended_headers_that_lie_are_refused),
		DIR_TEST(sizes_past_the_file_or_below_zero_are_refused),
		DIR_TEST(the_beginning_is_had_without_the_rest),
		DIR_TEST(a_short_archive_is_whole_and_checked_to_its_end),
		DIR_TEST(damage_behind_the_beginning_is_told_by_the_whole),
		DIR_TEST(a_file_that_changed_after_its_beginning_is_an_error),
		cmocka_unit_test(a_table_comes_back_from_its_bytes),
		cmocka_unit_test(bytes_that_lie_are_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

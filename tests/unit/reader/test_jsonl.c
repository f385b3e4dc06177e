/* test_jsonl.c - lines of all shapes */
#include "shards.h"

#include <errno.h>

static const struct reader_options jsonl = { .kind = READER_JSONL };

static void lines_are_samples_without_their_ends(void **state)
{
	CLEANUP(reader_closep) struct reader *r = NULL;

	write_text(*state, "a.jsonl",
		   "{\"a\": 1}\n{\"b\": 2}\r\n\n  \t\r\n [3] \n\"\xc3\xa9\"");
	r = open_shard(*state, "a.jsonl", (struct reader_options){ 0 });
	assert_int_equal(reader_kind_of(r), READER_JSONL);
	assert_int_equal(reader_count(r), 4);
	assert_sample(r, 0, "{={\"a\": 1}}");
	assert_sample(r, 1, "{={\"b\": 2}}");
	assert_sample(r, 2, "{=[3]}");
	assert_sample(r, 3, "{=\"\xc3\xa9\"}");
}

static void files_without_lines_have_no_samples(void **state)
{
	static const char *const texts[] = { "", "\n", "\r\n \n",
					     "\xef\xbb\xbf", "\xef\xbb\xbf\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(reader_closep) struct reader *r = NULL;

		write_text(*state, "a.jsonl", texts[i]);
		r = open_shard(*state, "a.jsonl", jsonl);
		assert_int_equal(reader_count(r), 0);
	}
}

static void a_byte_order_mark_is_passed_over(void **state)
{
	CLEANUP(reader_closep) struct reader *r = NULL;

	write_text(*state, "a.jsonl", "\xef\xbb\xbf{}\n[]\n");
	r = open_shard(*state, "a.jsonl", jsonl);
	assert_int_equal(reader_count(r), 2);
	assert_sample(r, 0, "{={}}");
	assert_sample(r, 1, "{=[]}");
}

/* The sentence about sample `number`. */
static int read_error(const struct reader *r, uint64_t number,
		      struct roar_error *err)
{
	CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
	const struct reader_sample *s;

	return reader_read(r, number, &b, &s, err);
}

static void other_bytes_than_utf_8_are_told_with_their_line(void **state)
{
	static const char *const bad[] = { "\xff",	   "\xc3(",
					   "\xed\xa0\x80", "\xf4\x90\x80\x80",
					   "\xc0\x80",	   "1234567\xe4" };
	CLEANUP(str_release) struct str text = STR_INIT;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(reader_closep) struct reader *r = NULL;
		struct roar_error err;

		str_clear(&text);
		str_addf(&text, "{}\n\n{\"a\": \"%s\"}\n", bad[i]);
		write_text(*state, "a.jsonl", text.data);
		r = open_shard(*state, "a.jsonl", jsonl);
		assert_sample(r, 0, "{={}}");
		assert_int_equal(read_error(r, 1, &err), -EILSEQ);
		assert_non_null(strstr(err.text, "line 3 of '"));
	}
}

static void a_line_over_the_limit_costs_no_memory(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;
	struct roar_error err;

	/* More than the limit in one line, most of which is a hole. */
	write_text(dir, "a.jsonl", "{}\n\"");
	assert_int_equal(truncate(path_in(dir, "a.jsonl"),
				  READER_SAMPLE_MAX + (1 << 20)),
			 0);
	r = open_shard(dir, "a.jsonl", jsonl);
	assert_int_equal(reader_count(r), 2);
	assert_sample(r, 0, "{={}}");
	assert_int_equal(read_error(r, 1, &err), -EFBIG);
	assert_non_null(strstr(err.text, "max_sample"));
}

static void lines_over_the_seams_of_reads_are_whole(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(str_release) struct str want = STR_INIT;
	size_t n = 0;

	/* The index is made of reads of a MiB. */
	for (; text.len < (5 << 19); n++) {
		str_addf(&text, "[%zu, ", n);
		str_pad(&text, '1', n % 977);
		str_adds(&text, "]\n");
	}
	write_file(*state, "a.jsonl", text.data, text.len);
	r = open_shard(*state, "a.jsonl", jsonl);
	assert_int_equal(reader_count(r), n);
	for (size_t i = 0; i < n; i += i % 7 + 1) {
		str_clear(&want);
		str_addf(&want, "{=[%zu, ", i);
		str_pad(&want, '1', i % 977);
		str_adds(&want, "]}");
		assert_sample(r, i, want.data);
	}
}

static void the_first_lines_are_had_without_the_rest(void **state)
{
	enum { LINES = READER_BEGINNING_BYTES / 8 * 2 };
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_closep) struct reader *whole = NULL;
	CLEANUP(str_release) struct str t = STR_INIT;
	struct reader_options options = jsonl;

	for (unsigned i = 0; i < LINES; i++)
		str_addf(&t, "%07u\n", i);
	write_file(*state, "a.jsonl", t.data, t.len);
	options.beginning = true;
	r = open_shard(*state, "a.jsonl", options);
	assert_false(reader_is_whole(r));
	assert_int_equal(reader_count(r), LINES / 2 - 1);
	assert_sample(r, LINES / 2 - 2, "{=0131070}");
	assert_int_equal(reader_open_whole(r, &whole, NULL), 0);
	assert_true(reader_is_whole(whole));
	assert_int_equal(reader_count(whole), LINES);
	assert_sample(whole, LINES / 2 - 2, "{=0131070}");
	assert_sample(whole, LINES - 1, "{=0262143}");
}

/* Blanks as far as we look, or one line. */
static void a_beginning_may_have_no_line(void **state)
{
	static const char fill[] = { ' ', '1' };
	static char text[READER_BEGINNING_BYTES + 9];

	for (size_t i = 0; i < sizeof(fill); i++) {
		CLEANUP(reader_closep) struct reader *r = NULL;
		CLEANUP(reader_closep) struct reader *whole = NULL;
		CLEANUP(str_release) struct str t = STR_INIT;
		struct reader_options options = jsonl;

		memset(text, fill[i], sizeof(text));
		str_add(&t, text, sizeof(text));
		str_adds(&t, "\n2\n");
		write_file(*state, "a.jsonl", t.data, t.len);
		options.beginning = true;
		r = open_shard(*state, "a.jsonl", options);
		assert_false(reader_is_whole(r));
		assert_int_equal(reader_count(r), 0);
		assert_int_equal(reader_open_whole(r, &whole, NULL), 0);
		assert_int_equal(reader_count(whole), i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(lines_are_samples_without_their_ends),
		DIR_TEST(files_without_lines_have_no_samples),
		DIR_TEST(a_byte_order_mark_is_passed_over),
		DIR_TEST(other_bytes_than_utf_8_are_told_with_their_line),
		DIR_TEST(a_line_over_the_limit_costs_no_memory),
		DIR_TEST(lines_over_the_seams_of_reads_are_whole),
		DIR_TEST(the_first_lines_are_had_without_the_rest),
		DIR_TEST(a_beginning_may_have_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_sample_stream.c - many samples in an order, read ahead */
#include "shards.h"

#include <errno.h>
#include <sys/wait.h>

#include "reader/sample_block.h"

enum { RECORD = 8, N = 300000 }; /* several blocks */

static struct reader *numbered(struct temp_dir *dir)
{
	CLEANUP(freep) uint64_t *all = calloc(N, sizeof(*all));

	for (uint64_t i = 0; i < N; i++)
		all[i] = i * 0x9e3779b97f4a7c15;
	write_file(dir, "a.bin", all, N * sizeof(*all));
	return open_shard(dir, "a.bin",
			  (struct reader_options){ .record_bytes = RECORD });
}

static void assert_is(const struct reader_sample *s, uint64_t number)
{
	uint64_t value;

	assert_int_equal(s->number, number);
	assert_int_equal(s->parts[0].len, RECORD);
	memcpy(&value, s->parts[0].data, RECORD);
	assert_int_equal(value, number * 0x9e3779b97f4a7c15);
}

static struct reader_stream *begun(const struct reader *r,
				   struct reader_plan plan)
{
	struct reader_stream *s = NULL;
	struct roar_error err;

	plan.always_ahead = true;
	plan.readers = &r;
	plan.n_readers = 1;
	if (reader_stream_open(&plan, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void all_come_in_order_with_any_number_of_threads(void **state)
{
	CLEANUP(reader_closep) struct reader *r = numbered(*state);

	for (unsigned threads = 0; threads < 4; threads++) {
		CLEANUP(reader_stream_closep)
		struct reader_stream *s = begun(
			r,
			(struct reader_plan){ .n = N, .n_threads = threads });
		const struct reader_sample *sample;

		for (uint64_t i = 0; i < N; i++) {
			assert_int_equal(reader_stream_next(s, &sample, NULL),
					 1);
			assert_is(sample, i);
		}
		assert_int_equal(reader_stream_next(s, &sample, NULL), 0);
		assert_int_equal(reader_stream_next(s, &sample, NULL), 0);
	}
}

static void they_come_in_the_order_that_was_asked_for(void **state)
{
	CLEANUP(reader_closep) struct reader *r = numbered(*state);
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader_sample *sample;
	uint64_t numbers[5000];
	size_t n = sizeof(numbers) / sizeof(numbers[0]);

	for (size_t i = 0; i < n; i++)
		numbers[i] = i * 7919 % N / (i % 3 + 1);
	s = begun(r, (struct reader_plan){ .numbers = numbers,
					   .n = n,
					   .n_threads = 2 });
	memset(numbers, 0xff, sizeof(numbers)); /* it has its own */
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
		assert_is(sample, i * 7919 % N / (i % 3 + 1));
	}
	assert_int_equal(reader_stream_next(s, &sample, NULL), 0);
}

static void a_part_of_the_shard_can_be_asked_for(void **state)
{
	CLEANUP(reader_closep) struct reader *r = numbered(*state);
	CLEANUP(reader_stream_closep)
	struct reader_stream *s = begun(r, (struct reader_plan){ .first = N - 2,
								 .n = 2 });
	struct reader_stream *none = NULL;
	const struct reader *all = r;
	struct reader_plan wrong = { .readers = &all,
				     .n_readers = 1,
				     .first = N - 2,
				     .n = 3 };
	const struct reader_sample *sample;
	uint64_t number = N;

	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_is(sample, N - 2);
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_int_equal(reader_stream_next(s, &sample, NULL), 0);
	assert_int_equal(reader_stream_open(&wrong, &none, NULL), -ERANGE);
	wrong.numbers = &number;
	wrong.n = 1;
	assert_int_equal(reader_stream_open(&wrong, &none, NULL), -ERANGE);
}

static void samples_of_several_shards_come_in_one_order(void **state)
{
	CLEANUP(reader_closep) struct reader *a = NULL;
	CLEANUP(reader_closep) struct reader *b = NULL;
	const uint64_t numbers[] = { 0, 1, 0, 1, 1 };
	uint32_t which[] = { 0, 0, 1, 1, 0 };
	static const char *const wanted[] = { "a0", "a1", "b0", "b1", "a1" };
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader_sample *sample;
	struct reader_stream *none = NULL;

	write_text(*state, "a.bin", "a0a1");
	write_text(*state, "b.bin", "b0b1");
	a = open_shard(*state, "a.bin",
		       (struct reader_options){ .record_bytes = 2 });
	b = open_shard(*state, "b.bin",
		       (struct reader_options){ .record_bytes = 2 });

	const struct reader *both[] = { a, b };
	struct reader_plan plan = { .readers = both,
				    .n_readers = 2,
				    .n = 5,
				    .numbers = numbers,
				    .which = which };
	assert_int_equal(reader_stream_open(&plan, &s, NULL), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
		assert_memory_equal(sample->parts[0].data, wanted[i], 2);
		assert_ptr_equal(reader_stream_reader(s), both[which[i]]);
	}
	assert_int_equal(reader_stream_next(s, &sample, NULL), 0);
	which[3] = 2;
	assert_int_equal(reader_stream_open(&plan, &none, NULL), -ERANGE);
}

static void who_holds_a_block_keeps_its_bytes(void **state)
{
	CLEANUP(reader_closep) struct reader *r = numbered(*state);
	struct reader_stream *s = begun(r, (struct reader_plan){ .n = N });
	CLEANUP(reader_block_dropp) struct reader_block *held = NULL;
	const struct reader_sample *sample;
	const uint8_t *first;
	uint64_t value;

	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	held = reader_block_hold(reader_stream_block(s));
	first = sample->parts[0].data;
	for (uint64_t i = 2; i < N; i++)
		assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	reader_stream_close(s);
	memcpy(&value, first, sizeof(value));
	assert_int_equal(value, 0x9e3779b97f4a7c15);
}

static void memory_is_used_again_also_for_large_samples(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const uint64_t record = 4 * BLOCK_BYTES;
	const struct reader_sample *sample;
	const uint8_t *first;

	write_text(dir, "a.bin", "");
	assert_int_equal(truncate(path_in(dir, "a.bin"), (off_t)(3 * record)),
			 0);
	r = open_shard(dir, "a.bin",
		       (struct reader_options){ .record_bytes = record });
	s = begun(r, (struct reader_plan){ .n = 3 });
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	first = sample->parts[0].data;
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_ptr_equal(sample->parts[0].data, first);
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_ptr_equal(sample->parts[0].data, first);
}

/* A tar with a small sample, two large ones of two parts, and a small one. */
static struct reader *with_large(struct temp_dir *dir, const char *large)
{
	CLEANUP(str_release) struct str t = STR_INIT;

	tar_add_file(&t, "0.txt", "small");
	for (int i = 1; i < 3; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d.bin", i);
		tar_add_file(&t, name, large);
		(void)snprintf(name, sizeof(name), "%d.cls", i);
		tar_add_file(&t, name, i == 1 ? "one" : "two");
	}
	tar_add_file(&t, "3.txt", "small");
	tar_add_end(&t);
	write_file(dir, "a.tar", t.data, t.len);
	return open_shard(dir, "a.tar", (struct reader_options){ 0 });
}

static void assert_direct(const struct reader *r, uint64_t number,
			  const char *large, const char *label)
{
	struct reader_part parts[READER_PARTS_MAX];
	CLEANUP(freep) char *first = malloc(strlen(large));
	struct reader_sample sample;
	char second[3] = "";
	void *to[] = { first, second };

	reader_outline(r, number, &sample, parts);
	assert_int_equal(sample.n_parts, 2);
	assert_int_equal(parts[0].len, strlen(large));
	assert_memory_equal(parts[1].name, "cls", 3);
	assert_int_equal(reader_read_parts(r, number, to, NULL), 0);
	assert_memory_equal(first, large, strlen(large));
	assert_memory_equal(second, label, 3);
}

static void large_samples_are_offered_once_and_in_their_turn(void **state)
{
	CLEANUP(str_release) struct str large = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader_sample *sample;
	const struct reader *of;
	uint64_t number;

	str_pad(&large, 'x', BLOCK_DIRECT);
	str_pad(&large, 'y', 3 * BLOCK_BYTES);
	r = with_large(*state, large.data);
	assert_direct(r, 1, large.data, "one");
	assert_direct(r, 2, large.data, "two");
	const struct reader *all = r;
	struct reader_plan plan = { .readers = &all, .n_readers = 1, .n = 4 };
	assert_int_equal(reader_stream_open(&plan, &s, NULL), 0);
	assert_false(reader_stream_offer(s, &of, &number)); /* a small one */
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_int_equal(sample->number, 0);
	/* Where the file system does not tell what is cached, nothing is offered. */
	for (uint64_t want = 1; want < 3; want++) {
		if (reader_stream_offer(s, &of, &number)) {
			assert_ptr_equal(of, r);
			assert_int_equal(number, want);
			continue;
		}
		assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
		assert_int_equal(sample->number, want);
	}
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	assert_int_equal(sample->number, 3);
	assert_int_equal(reader_stream_next(s, &sample, NULL), 0);
}

static void parts_of_a_file_that_shrank_are_an_error(void **state)
{
	CLEANUP(str_release) struct str large = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(freep) char *first = malloc(BLOCK_DIRECT);
	struct roar_error err;
	char second[3];
	void *to[] = { first, second };

	str_pad(&large, 'x', BLOCK_DIRECT);
	r = with_large(*state, large.data);
	assert_int_equal(truncate(path_in(*state, "a.tar"), 3000), 0);
	assert_int_equal(reader_read_parts(r, 1, to, &err), -ESTALE);
	assert_non_null(strstr(err.text, "became shorter"));
}

/* What is read ahead stays within its bound: the file is cut behind it, and only what was
 * read before still comes. */
static void no_more_is_read_ahead_than_allowed(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader_sample *sample;
	const uint64_t record = BLOCK_BYTES / 2;
	uint64_t n = 0;
	int more;

	write_text(dir, "a.bin", "");
	assert_int_equal(truncate(path_in(dir, "a.bin"), (off_t)(64 * record)),
			 0);
	r = open_shard(dir, "a.bin",
		       (struct reader_options){ .record_bytes = record });
	s = begun(r, (struct reader_plan){ .n = 64,
					   .prefetch = 2 * BLOCK_BYTES,
					   .n_threads = 1 });
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
	(void)usleep(200 * 1000); /* enough to read it all, were it allowed */
	assert_int_equal(truncate(path_in(dir, "a.bin"), 0), 0);
	while ((more = reader_stream_next(s, &sample, NULL)) > 0)
		n++;
	assert_int_equal(more, -ESTALE);
	assert_true(n <= 2 + 4 + 2); /* this block, the bound, and one more */
}

static void samples_before_the_damage_still_come(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader_sample *sample;
	struct roar_error err;

	str_adds(&text, "1\n2\n\"");
	str_pad(&text, 'x', 1000);
	str_adds(&text, "\"\n4\n");
	write_text(*state, "a.jsonl", text.data);
	r = open_shard(*state, "a.jsonl",
		       (struct reader_options){ .max_sample = 100 });
	s = begun(r, (struct reader_plan){ .n = 4, .n_threads = 1 });
	assert_int_equal(reader_stream_next(s, &sample, &err), 1);
	assert_int_equal(reader_stream_next(s, &sample, &err), 1);
	assert_int_equal(reader_stream_next(s, &sample, &err), -EFBIG);
	assert_non_null(strstr(err.text, "sample 2 of"));
	assert_int_equal(reader_stream_next(s, &sample, &err), -EFBIG);
	assert_non_null(strstr(err.text, "has failed before"));
}

static void a_change_that_keeps_the_size_is_told_at_the_end(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(reader_closep) struct reader *r = NULL;
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader_sample *sample;
	struct roar_error err;

	write_text(dir, "a.bin", "aaaabbbb");
	r = open_shard(dir, "a.bin",
		       (struct reader_options){ .record_bytes = 4 });
	s = begun(r, (struct reader_plan){ .n = 2 });
	assert_int_equal(reader_stream_next(s, &sample, &err), 1);
	(void)usleep(60 * 1000); /* for another time of modification */
	write_text(dir, "a.bin", "ccccdddd");
	assert_int_equal(reader_stream_next(s, &sample, &err), 1);
	assert_int_equal(reader_stream_next(s, &sample, &err), -ESTALE);
	assert_non_null(strstr(err.text, "changed while it was read"));
}

static void a_stream_is_of_no_use_after_fork(void **state)
{
	CLEANUP(reader_closep) struct reader *r = numbered(*state);
	CLEANUP(reader_stream_closep)
	struct reader_stream *s = begun(
		r, (struct reader_plan){ .n = N, .n_threads = 2 });
	const struct reader_sample *sample;
	int status;
	pid_t child = fork();

	if (!child) {
		int first = reader_stream_next(s, &sample, NULL);
		CLEANUP(reader_block_dropp) struct reader_block *b = NULL;
		int own = reader_read(r, 5, &b, &sample, NULL);

		reader_stream_close(s);
		_exit(first == -EPERM && own == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(reader_stream_next(s, &sample, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(all_come_in_order_with_any_number_of_threads),
		DIR_TEST(they_come_in_the_order_that_was_asked_for),
		DIR_TEST(a_part_of_the_shard_can_be_asked_for),
		DIR_TEST(samples_of_several_shards_come_in_one_order),
		DIR_TEST(who_holds_a_block_keeps_its_bytes),
		DIR_TEST(memory_is_used_again_also_for_large_samples),
		DIR_TEST(large_samples_are_offered_once_and_in_their_turn),
		DIR_TEST(parts_of_a_file_that_shrank_are_an_error),
		DIR_TEST(no_more_is_read_ahead_than_allowed),
		DIR_TEST(samples_before_the_damage_still_come),
		DIR_TEST(a_change_that_keeps_the_size_is_told_at_the_end),
		DIR_TEST(a_stream_is_of_no_use_after_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_sample_source.c - sources of a scheme: who is asked for what, and when */
#include "shards.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "hash/file/file_hash.h"
#include "reader/sample_source.h"

enum { RECORD = 1000, N = 2000 };

/* An object in memory, which counts what is asked of it. */
static struct {
	char *data;
	size_t len;
	int64_t version;
	atomic_int n_refs;
	atomic_uint_fast64_t expected; /* bytes announced */
	atomic_uint_fast64_t taken; /* bytes read */
	uint64_t most; /* bytes announced and not read */
	atomic_bool stalls;
} object;

static int fake_open(const char *url, struct stamp *ret_stamp, void **ret_data,
		     struct roar_error *err)
{
	if (!strstr(url, "there"))
		return error_set(err, -ENOENT, "no '%s'", url);
	atomic_fetch_add(&object.n_refs, 1);
	*ret_stamp = (struct stamp){ .ino = 1,
				     .size = object.len,
				     .mtime_ns = object.version };
	*ret_data = &object;
	return 0;
}

static void *fake_hold(void *data)
{
	atomic_fetch_add(&object.n_refs, 1);
	return data;
}

static void fake_close(void *data)
{
	(void)data;
	atomic_fetch_sub(&object.n_refs, 1);
}

static int fake_read(void *data, uint64_t offset, void *to, size_t len,
		     struct roar_error *err)
{
	(void)data;
	while (atomic_load(&object.stalls)) {
		if (source_is_interrupted())
			return error_set(err, -EINTR, "interrupted");
		usleep(1000);
	}
	assert_true(offset + len <= object.len);
	memcpy(to, object.data + offset, len);
	atomic_fetch_add(&object.taken, len);
	return 0;
}

static void fake_expect(void *data, uint64_t offset, size_t len)
{
	uint64_t ahead = atomic_fetch_add(&object.expected, len) + len -
			 atomic_load(&object.taken);

	(void)data;
	(void)offset;
	if (ahead > object.most && ahead < object.len)
		object.most = ahead;
}

static bool fake_is_cached(void *data, uint64_t offset)
{
	(void)data;
	(void)offset;
	return false;
}

static const struct source_ops ops = { .open = fake_open,
				       .hold = fake_hold,
				       .close = fake_close,
				       .read = fake_read,
				       .expect = fake_expect,
				       .is_cached = fake_is_cached };

static int set_up(void **state)
{
	object.len = (size_t)RECORD * N;
	object.data = malloc(object.len);
	for (size_t i = 0; i < object.len; i++)
		object.data[i] = (char)(i / RECORD * 7 + i % RECORD);
	source_register("s3", &ops);
	return temp_dir_make(state);
}

static int tear_down(void **state)
{
	free(object.data);
	memset(&object, 0, sizeof(object));
	return temp_dir_remove(state);
}

static struct reader *open_url(const char *url, struct reader_options options)
{
	struct reader *r = NULL;
	struct roar_error err = { "" };

	if (reader_open(url, &options, &r, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

static const struct reader_options records = { .record_bytes = RECORD };

static void a_scheme_is_read_by_who_registered_for_it(void **state)
{
	CLEANUP(reader_closep)
	struct reader *r = open_url("s3://there/a", records);
	struct reader_options options = records;
	struct reader *none = NULL;
	struct roar_error err;
	char to[RECORD];

	(void)state;
	assert_int_equal(reader_count(r), N);
	assert_int_equal(reader_read_into(r, 1999, to, RECORD, &err), RECORD);
	assert_memory_equal(to, object.data + 1999 * RECORD, RECORD);
	assert_int_equal(reader_open("s3://no/a", &options, &none, &err),
			 -ENOENT);
	assert_int_equal(reader_open("gs://there/a", &options, &none, &err),
			 -ENOTSUP);
	assert_non_null(strstr(err.text, "object storage"));
	/* Others are paths. */
	assert_int_equal(reader_open("xs3://there/a", &options, &none, &err),
			 -ENOENT);
	options.index = READER_INDEX_BESIDE;
	assert_int_equal(reader_open("s3://there/a", &options, &none, &err),
			 -EINVAL);
	options = (struct reader_options){ .kind = READER_FILES };
	assert_int_equal(reader_open("s3://there/a", &options, &none, &err),
			 -EINVAL);
}

static void every_reference_is_dropped(void **state)
{
	struct reader *whole = NULL;
	struct reader *r;

	(void)state;
	memset(object.data, 'x', object.len);
	for (size_t i = 99; i < object.len; i += 100)
		object.data[i] = '\n';
	r = open_url("s3://there/a.jsonl",
		     (struct reader_options){ .beginning = true,
					      .index = READER_INDEX_NONE });
	assert_false(reader_is_whole(r));
	assert_int_equal(reader_open_whole(r, &whole, NULL), 0);
	assert_int_equal(atomic_load(&object.n_refs), 2);
	reader_close(r);
	assert_int_equal(reader_count(whole), object.len / 100);
	reader_close(whole);
	assert_int_equal(atomic_load(&object.n_refs), 0);
}

/* Samples in any order are announced within the bound. */
static void a_stream_announces_what_it_will_read(void **state)
{
	CLEANUP(reader_closep)
	struct reader *r = open_url("s3://there/a", records);
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader *readers[] = { r };
	const struct reader_sample *sample;
	uint64_t numbers[N];
	struct reader_plan plan = { .readers = readers,
				    .n_readers = 1,
				    .n = N,
				    .numbers = numbers,
				    .prefetch = 100 * RECORD,
				    .n_threads = 2 };
	uint64_t n = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		numbers[i] = i * 37 % N; /* none joins the next */
	assert_int_equal(reader_stream_open(&plan, &s, NULL), 0);
	while (reader_stream_next(s, &sample, NULL) > 0) {
		assert_int_equal(sample->number, numbers[n]);
		assert_memory_equal(sample->parts[0].data,
				    object.data + numbers[n] * RECORD, RECORD);
		n++;
	}
	assert_int_equal(n, N);
	assert_int_equal(atomic_load(&object.taken), N * RECORD);
	assert_int_equal(atomic_load(&object.expected), N * RECORD);
	assert_true(object.most > 50 * RECORD);
}

static bool yes(void)
{
	return true;
}

static void a_wait_ends_when_it_is_interrupted(void **state)
{
	CLEANUP(reader_closep)
	struct reader *r = open_url("s3://there/a", records);
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	const struct reader *readers[] = { r };
	const struct reader_sample *sample;
	struct reader_plan plan = { .readers = readers,
				    .n_readers = 1,
				    .n = N,
				    .n_threads = 1,
				    .always_ahead = true };
	struct roar_error err;

	(void)state;
	atomic_store(&object.stalls, true);
	assert_int_equal(reader_stream_open(&plan, &s, NULL), 0);
	source_set_interrupt(yes);
	assert_int_equal(reader_stream_next(s, &sample, &err), -EINTR);
	source_set_interrupt(NULL);
	/* Its thread still waits; the end of the stream ends that, too. */
}

static void content_is_compared_with_its_digest(void **state)
{
	struct reader_options options = records;
	struct reader *r = NULL;
	struct roar_error err;
	struct digests d;

	(void)state;
	assert_int_equal(digest_buffer(object.data, object.len,
				       DIGEST_SET_BLAKE3, &d),
			 0);
	options.blake3 = d.blake3;
	reader_close(open_url("s3://there/a", options));
	object.data[object.len - 1]++;
	assert_int_equal(reader_open("s3://there/a", &options, &r, &err),
			 -ESTALE);
	assert_int_equal(atomic_load(&object.n_refs), 0);
}

static void an_index_is_kept_for_one_version(void **state)
{
	const struct temp_dir *dir = *state;
	struct reader_options options = { .index_dir = path_in(dir, "") };
	struct reader *r;

	memset(object.data, 'x', object.len);
	for (int i = 0; i < 3; i++) {
		object.version = i == 2 ? -5 : -4;
		r = open_url("s3://there/a.jsonl", options);
		assert_int_equal(reader_index_was_kept(r), i == 1);
		reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_scheme_is_read_by_who_registered_for_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(every_reference_is_dropped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_stream_announces_what_it_will_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_wait_ends_when_it_is_interrupted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			content_is_compared_with_its_digest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_index_is_kept_for_one_version, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

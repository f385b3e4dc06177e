/* test_chunk.c - records in chunks, and back. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/chunk.h"

/* What was read: lengths, and whether the bytes were right. */
struct seen {
	size_t lengths[64];
	size_t n;
	bool is_wrong;
};

static char pattern(size_t len, size_t at)
{
	return (char)(len * 31 + at);
}

static int see(void *to, const void *record, size_t len)
{
	struct seen *s = to;
	const char *bytes = record;

	for (size_t i = 0; i < len; i += 1 + len / 1000)
		s->is_wrong |= bytes[i] != pattern(len, i);
	s->lengths[s->n++] = len;
	return 0;
}

static void add(struct chunk_queue *q, size_t len, uint64_t number)
{
	char *bytes = malloc(len);

	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = pattern(len, i);
	assert_int_equal(chunk_add(q, bytes, len, number), 0);
	free(bytes);
}

/* Reads the queue to its end; returns how many chunks it had. */
static size_t drain(struct chunk_queue *q, struct chunk_reader *r,
		    struct seen *s)
{
	const struct chunk *c;
	size_t n = 0;

	for (; (c = chunk_first(q)); chunk_drop_first(q), n++) {
		assert_true(c->bytes.len <= CHUNK_SIZE);
		assert_int_equal(
			chunk_read(r, c->bytes.data, c->bytes.len, see, s), 0);
	}
	assert_int_equal(q->n, 0);
	assert_int_equal(q->n_bytes, 0);
	return n;
}

static void records_that_come_together_share_a_chunk(void **state)
{
	struct chunk_queue q = { 0 };
	struct chunk_reader r = { 0 };
	struct seen s = { 0 };

	(void)state;
	for (size_t i = 1; i <= 20; i++)
		add(&q, i * 100, i);
	assert_int_equal(chunk_first(&q)->last, 20);
	assert_int_equal(drain(&q, &r, &s), 1);
	assert_int_equal(s.n, 20);
	assert_int_equal(s.lengths[19], 2000);
	assert_false(s.is_wrong);
}

static void long_ones_are_spread(void **state)
{
	static const size_t sizes[] = { 5,
					CHUNK_SIZE - 14,
					CHUNK_SIZE - 13,
					CHUNK_SIZE - 12,
					3 * CHUNK_SIZE,
					7 };
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);
	struct chunk_queue q = { 0 };
	struct chunk_reader r = { 0 };
	struct seen s = { 0 };

	(void)state;
	for (size_t i = 0; i < n; i++)
		add(&q, sizes[i], i + 1);
	assert_int_equal(q.last->last, n);
	(void)drain(&q, &r, &s);
	assert_int_equal(s.n, n);
	assert_memory_equal(s.lengths, sizes, sizeof(sizes));
	assert_false(s.is_wrong);
	chunk_reader_release(&r);
}

static void a_chunk_on_its_way_takes_no_more(void **state)
{
	struct chunk_queue q = { 0 };

	(void)state;
	add(&q, 10, 1);
	(void)chunk_first(&q);
	add(&q, 10, 2);
	assert_int_equal(q.n, 2);
	chunk_close(&q);
	add(&q, 10, 3);
	assert_int_equal(q.n, 3);
	assert_int_equal(chunk_first(&q)->last, 1);
	chunk_queue_release(&q);
}

static void what_has_no_end_is_dropped(void **state)
{
	struct chunk_queue q = { 0 };
	struct chunk_reader r = { 0 };
	struct seen s = { 0 };

	(void)state;
	add(&q, 2 * CHUNK_SIZE, 1);
	assert_int_equal(chunk_read(&r, chunk_first(&q)->bytes.data,
				    q.first->bytes.len, see, &s),
			 0);
	chunk_queue_release(&q);
	add(&q, 10, 1);
	assert_int_equal(drain(&q, &r, &s), 1);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.lengths[0], 10);
}

static void lengths_have_bounds(void **state)
{
	struct chunk_queue q = { 0 };

	(void)state;
	assert_int_equal(chunk_add(&q, "", 0, 1), -EMSGSIZE);
	assert_int_equal(chunk_add(&q, "", CHUNK_MAX_RECORD + 1, 1), -EMSGSIZE);
	assert_int_equal(q.n, 0);
}

static void every_changed_byte_is_noticed(void **state)
{
	struct chunk_queue q = { 0 };
	struct chunk_reader r = { 0 };
	struct seen s = { 0 };
	const struct chunk *c;

	(void)state;
	add(&q, 40, 1);
	c = chunk_first(&q);
	for (size_t i = 0; i < c->bytes.len; i++) {
		c->bytes.data[i] ^= 1;
		assert_int_equal(chunk_read(&r, c->bytes.data, c->bytes.len,
					    see, &s),
				 -EBADMSG);
		assert_int_equal(chunk_read(&r, c->bytes.data, i, see, &s),
				 -EBADMSG);
		c->bytes.data[i] ^= 1;
	}
	assert_int_equal(s.n, 0);
	chunk_queue_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_that_come_together_share_a_chunk),
		cmocka_unit_test(long_ones_are_spread),
		cmocka_unit_test(a_chunk_on_its_way_takes_no_more),
		cmocka_unit_test(what_has_no_end_is_dropped),
		cmocka_unit_test(lengths_have_bounds),
		cmocka_unit_test(every_changed_byte_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_log_read.c - the reader of the shared log trusts nobody */
#include "trace/preload/log_read.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 256, KEY = 0x1234567 };

struct fixture {
	struct log_header *header;
	struct log_reader reader;
	struct log_view view;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->header = aligned_alloc(4096, LOG_RING_AT + CELLS * LOG_CELL);
	memset(f->header, 0, LOG_RING_AT + CELLS * LOG_CELL);
	f->header->key = KEY;
	log_reader_init(&f->reader, f->header, CELLS, KEY);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	free(f->header);
	free(f);
	return 0;
}

static struct log_record *at(struct fixture *f, uint64_t cell)
{
	return (void *)((char *)f->header + LOG_RING_AT +
			(cell % CELLS) * LOG_CELL);
}

/* Takes cells as a producer does; returns the first. */
static uint64_t take(struct fixture *f, unsigned n)
{
	return atomic_fetch_add(&f->header->head, n);
}

static void commit(struct fixture *f, uint64_t cell)
{
	atomic_store(&at(f, cell)->commit, log_commit(f->header, cell));
}

static void fill(struct fixture *f, uint64_t cell, unsigned n, const char *path)
{
	struct log_record *r = at(f, cell);

	r->n_cells = (uint16_t)n;
	r->kind = LOG_OPEN;
	r->process = 7;
	r->path_len = (uint16_t)strlen(path);
	r->path2_len = 0;
	memcpy(r->paths, path, strlen(path) + 1);
	r->paths[strlen(path) + 1] = '\0';
}

static uint64_t tell(struct fixture *f, const char *path)
{
	size_t size = offsetof(struct log_record, paths) + strlen(path) + 2;
	unsigned n = (unsigned)((size + LOG_CELL - 1) / LOG_CELL);
	uint64_t cell = take(f, n);

	fill(f, cell, n, path);
	commit(f, cell);
	return cell;
}

static void an_empty_ring_has_nothing(void **state)
{
	struct fixture *f = *state;

	assert_true(log_is_empty(&f->reader));
	assert_int_equal(log_read(&f->reader, &f->view), 0);
	assert_false(log_is_stuck(&f->reader));
}

static void a_result_is_found_before_it_is_read(void **state)
{
	struct fixture *f = *state;
	uint64_t cell;

	(void)tell(f, "/a");
	(void)take(f, 1); /* not committed */
	cell = tell(f, "/b");
	assert_false(log_has_result(&f->reader, 11));
	at(f, cell)->kind = LOG_RESULT_ASKED;
	at(f, cell)->tid = 11;
	assert_true(log_has_result(&f->reader, 11));
	assert_false(log_has_result(&f->reader, 12));
	assert_int_equal(f->reader.tail, 0);
	atomic_store(&f->header->head, UINT64_MAX);
	assert_false(log_has_result(&f->reader, 11));
}

static void records_come_in_order(void **state)
{
	struct fixture *f = *state;

	(void)tell(f, "/a");
	(void)tell(f, "/a/much/longer/path/that/needs/more/than/one/cell");
	assert_int_equal(log_read(&f->reader, &f->view), 1);
	assert_string_equal(f->view.path, "/a");
	assert_int_equal(f->view.process, 7);
	assert_int_equal(log_read(&f->reader, &f->view), 1);
	assert_int_equal(f->view.path_len, 49);
	assert_int_equal(log_read(&f->reader, &f->view), 0);
	assert_int_equal(atomic_load(&f->header->tail),
			 atomic_load(&f->header->head));
}

static void a_record_is_read_once_however_often_the_ring_turns(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3 * CELLS; i++) {
		(void)tell(f, "/a");
		assert_int_equal(log_read(&f->reader, &f->view), 1);
		assert_int_equal(log_read(&f->reader, &f->view), 0);
	}
	/* What is left of the round before is no record of this one. */
	(void)take(f, 1);
	assert_int_equal(log_read(&f->reader, &f->view), 0);
	assert_true(log_is_stuck(&f->reader));
}

static void what_is_not_committed_is_waited_for(void **state)
{
	struct fixture *f = *state;
	uint64_t cell = take(f, 2);

	(void)tell(f, "/later");
	assert_int_equal(log_read(&f->reader, &f->view), 0);
	assert_true(log_is_stuck(&f->reader));
	fill(f, cell, 2, "/first");
	commit(f, cell);
	assert_int_equal(log_read(&f->reader, &f->view), 1);
	assert_string_equal(f->view.path, "/first");
}

static void a_skipped_record_is_refused_to_its_producer(void **state)
{
	struct fixture *f = *state;
	uint64_t cell = take(f, 3);
	uint64_t expected = 0;

	(void)tell(f, "/later");
	log_skip(&f->reader);
	assert_int_equal(log_read(&f->reader, &f->view), 1);
	assert_string_equal(f->view.path, "/later");
	assert_false(atomic_compare_exchange_strong(
		&at(f, cell)->commit, &expected, log_commit(f->header, cell)));
	assert_true(expected == log_skipped(f->header, cell));
}

static void a_skipped_cell_is_usable_in_the_next_round(void **state)
{
	struct fixture *f = *state;

	(void)take(f, 1);
	log_skip(&f->reader);
	assert_true(log_is_empty(&f->reader));
	for (int i = 0; i < CELLS; i++) {
		(void)tell(f, "/a");
		assert_int_equal(log_read(&f->reader, &f->view), 1);
	}
}

static void padding_leads_to_the_start(void **state)
{
	struct fixture *f = *state;
	uint64_t cell;

	while ((atomic_load(&f->header->head) & (CELLS - 1)) != CELLS - 1) {
		(void)tell(f, "/a");
		assert_int_equal(log_read(&f->reader, &f->view), 1);
	}
	cell = take(f, 1);
	at(f, cell)->n_cells = 1;
	at(f, cell)->kind = LOG_PAD;
	commit(f, cell);
	(void)tell(f, "/b");
	assert_int_equal(log_read(&f->reader, &f->view), 1);
	assert_string_equal(f->view.path, "/b");
}

static void an_impossible_head_ends_the_log(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->header->head, CELLS + 1);
	assert_int_equal(log_read(&f->reader, &f->view), -EPROTO);
	atomic_store(&f->header->head, UINT64_MAX);
	assert_int_equal(log_read(&f->reader, &f->view), -EPROTO);
	log_skip(&f->reader);
}

static void an_impossible_size_ends_the_log(void **state)
{
	static const uint16_t sizes[] = { 0, 3, 200, 65535 };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t cell = take(f, 2);

		fill(f, cell, 2, "/a");
		at(f, cell)->n_cells = sizes[i];
		commit(f, cell);
		assert_int_equal(log_read(&f->reader, &f->view), -EPROTO);
		at(f, cell)->n_cells = 2;
		assert_int_equal(log_read(&f->reader, &f->view), 1);
	}
}

static void unsound_records_are_left_out(void **state)
{
	struct fixture *f = *state;
	uint64_t cell;

	cell = tell(f, "/a");
	at(f, cell)->kind = LOG_KIND_END;
	cell = tell(f, "/a");
	at(f, cell)->call = LOG_CALL_END;
	cell = tell(f, "/a");
	at(f, cell)->path_len = 500;
	cell = tell(f, "/a");
	at(f, cell)->path2_len = 65535;
	cell = tell(f, "/a");
	at(f, cell)->path2_len = 500; /* that would be others' cells */
	cell = tell(f, "/a");
	at(f, cell)->paths[1] = '\0';
	for (int i = 0; i < 6; i++)
		assert_int_equal(log_read(&f->reader, &f->view), -EBADMSG);
	(void)tell(f, "/good");
	assert_int_equal(log_read(&f->reader, &f->view), 1);
	assert_string_equal(f->view.path, "/good");
}

static void the_key_in_the_header_is_not_believed(void **state)
{
	struct fixture *f = *state;

	f->header->key = KEY + 2;
	f->header->n_cells = 1 << 30;
	(void)tell(f, "/a");
	assert_int_equal(log_read(&f->reader, &f->view), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_ring_has_nothing),
		TEST(a_result_is_found_before_it_is_read),
		TEST(records_come_in_order),
		TEST(a_record_is_read_once_however_often_the_ring_turns),
		TEST(what_is_not_committed_is_waited_for),
		TEST(a_skipped_record_is_refused_to_its_producer),
		TEST(a_skipped_cell_is_usable_in_the_next_round),
		TEST(padding_leads_to_the_start),
		TEST(an_impossible_head_ends_the_log),
		TEST(an_impossible_size_ends_the_log),
		TEST(unsound_records_are_left_out),
		TEST(the_key_in_the_header_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

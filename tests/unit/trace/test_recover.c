/* test_recover.c - what a killed tracer has left in the log */
#include "trace/hybrid/hybrid.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/event.h"
#include "trace/preload/log.h"
#include "trace/preload/log_file.h"

#define RUN "0123abcd"

struct seen {
	unsigned n_opens;
	unsigned n_gaps;
	char last[4096];
};

static struct log_file file;
static struct seen seen;

static void sink(void *ctx, const struct event *ev)
{
	struct seen *s = ctx;

	s->n_opens += ev->kind == EVENT_OPEN;
	s->n_gaps += ev->kind == EVENT_GAP;
	if (ev->kind == EVENT_OPEN)
		(void)snprintf(s->last, sizeof(s->last), "%s", event_path(ev));
}

static int set_up(void **state)
{
	(void)state;
	seen = (struct seen){ 0 };
	return log_file_new(&file, RUN, 0, "library", 0);
}

static int tear_down(void **state)
{
	(void)state;
	log_file_release(&file);
	hybrid_forget(RUN);
	return 0;
}

/* The producer's side, for one process. */
static void tell(enum log_kind kind, const char *path, int32_t value)
{
	struct log_header *h = file.header;
	size_t size = offsetof(struct log_record, paths) + strlen(path) + 2;
	unsigned n = (unsigned)((size + LOG_CELL - 1) / LOG_CELL);
	uint64_t cell = atomic_fetch_add(&h->head, n);
	struct log_record *r = (void *)((char *)h + LOG_RING_AT +
					(cell & (file.n_cells - 1)) * LOG_CELL);

	r->n_cells = (uint16_t)n;
	r->kind = (uint8_t)kind;
	r->process = 1;
	r->tid = getpid();
	r->value = value;
	r->dirfd = kind == LOG_HELLO ? getppid() : AT_FDCWD;
	r->time_ns = (int64_t)time(NULL) * 1000000000;
	r->path_len = (uint16_t)strlen(path);
	memcpy(r->paths, path, strlen(path) + 1);
	atomic_store(&r->commit, log_commit(h, cell));
}

static void read_all(void)
{
	atomic_store(&file.header->tail, atomic_load(&file.header->head));
}

static void nothing_left_is_said(void **state)
{
	(void)state;
	assert_int_equal(hybrid_recover("none", 0, sink, &seen), -ENOENT);
}

static void what_was_not_read_is_told(void **state)
{
	(void)state;
	tell(LOG_HELLO, "/usr", getpid());
	tell(LOG_OPEN, "bin/env", 3);
	assert_int_equal(hybrid_recover(RUN, getpid(), sink, &seen), 0);
	assert_int_equal(seen.n_opens, 1);
	assert_string_equal(seen.last, "/usr/bin/env");
}

/* Who speaks, and where that is, stands before the tail. */
static void what_was_read_explains_the_rest_and_is_not_told(void **state)
{
	(void)state;
	tell(LOG_HELLO, "/etc", getpid());
	tell(LOG_OPEN, "passwd", 3);
	tell(LOG_CWD, "/usr", 0);
	read_all();
	tell(LOG_OPEN, "bin/env", 3);
	assert_int_equal(hybrid_recover(RUN, getpid(), sink, &seen), 0);
	assert_int_equal(seen.n_opens, 1);
	assert_string_equal(seen.last, "/usr/bin/env");
}

static void a_ring_that_has_come_round_is_read_from_its_middle(void **state)
{
	(void)state;
	tell(LOG_HELLO, "/etc", getpid());
	for (unsigned i = 0; i < 2 * LOG_CELLS_DEFAULT; i++) {
		tell(LOG_OPEN, "/usr", 3); /* one cell */
		read_all();
	}
	tell(LOG_HELLO, "/usr", getpid());
	read_all();
	tell(LOG_OPEN, "bin/env", 3);
	assert_int_equal(hybrid_recover(RUN, getpid(), sink, &seen), 0);
	assert_int_equal(seen.n_opens, 1);
	assert_string_equal(seen.last, "/usr/bin/env");
}

static void it_is_there_until_it_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), 0);
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), 0);
	hybrid_forget(RUN);
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), -ENOENT);
}

static void a_log_in_use_is_not_swept_away(void **state)
{
	(void)state;
	log_file_sweep();
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), 0);
}

static void garbage_is_a_gap_at_most(void **state)
{
	struct log_header *h = file.header;

	(void)state;
	srand(1);
	for (int round = 0; round < 40; round++) {
		tell(LOG_HELLO, "/usr", getpid());
		tell(LOG_OPEN, "bin/env", 3);
		for (int i = 0; i < 200; i++)
			((char *)h)[LOG_RING_AT + rand() % 512] = (char)rand();
		for (unsigned at = offsetof(struct log_header, head);
		     round % 4 == 0 && at < sizeof(*h); at++)
			((char *)h)[at] = (char)rand();
		(void)hybrid_recover(RUN, getpid(), sink, &seen);
	}
}

static void what_is_no_log_is_refused(void **state)
{
	(void)state;
	file.header->magic = 0;
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), -EBADMSG);
	file.header->magic = LOG_MAGIC;
	file.header->n_cells = 1 << 30;
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), -EBADMSG);
	assert_int_equal(truncate(file.path, 4096), 0);
	assert_int_equal(hybrid_recover(RUN, 0, sink, &seen), -ENOENT);
	(void)unlink(file.path);
}

#define with_log(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_log(nothing_left_is_said),
		with_log(what_was_not_read_is_told),
		with_log(what_was_read_explains_the_rest_and_is_not_told),
		with_log(a_ring_that_has_come_round_is_read_from_its_middle),
		with_log(it_is_there_until_it_is_forgotten),
		with_log(a_log_in_use_is_not_swept_away),
		with_log(garbage_is_a_gap_at_most),
		with_log(what_is_no_log_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

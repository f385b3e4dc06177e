/* test_log.c - records in an etcd that loses answers, refuses, is full or hangs. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/etcd_log.h"
#include "fake_etcd.h"

struct fixture {
	struct loop *loop;
	struct fake_etcd fake, second;
	struct etcd *etcd;
	struct record_log *log;
	struct str read; /* records, each with a comma behind it */
	bool is_loaded;
	int failed; /* -errno */
	char sentence[256];
	int snapshots; /* that ended well */
};

/* ---- events ---- */

static int on_record(void *data, const void *record, size_t len)
{
	struct fixture *x = data;

	str_add(&x->read, record, len);
	str_addc(&x->read, ',');
	return 0;
}

static void on_loaded(void *data)
{
	((struct fixture *)data)->is_loaded = true;
}

static void on_written(void *data)
{
	(void)data;
}

static void on_synced(void *data, int64_t took_us)
{
	(void)data, (void)took_us;
}

static void on_snapshot_ended(void *data, int error, const char *sentence)
{
	struct fixture *x = data;

	(void)sentence;
	x->snapshots += error == 0;
}

static void on_failed(void *data, int error, const char *sentence)
{
	struct fixture *x = data;

	x->failed = error;
	(void)snprintf(x->sentence, sizeof(x->sentence), "%s", sentence);
}

static const struct record_log_events events = {
	.record = on_record,
	.loaded = on_loaded,
	.written = on_written,
	.synced = on_synced,
	.snapshot_ended = on_snapshot_ended,
	.failed = on_failed,
};

/* ---- a log ---- */

/* Rounds until it is so, for a minute at most. */
#define AWAIT(x, condition)                                             \
	do {                                                            \
		int64_t by_ = loop_now_ms((x)->loop) + 60000;           \
		while (!(condition) && loop_now_ms((x)->loop) < by_)    \
			assert_int_equal(loop_round((x)->loop, 20), 0); \
		assert_true(condition);                                 \
	} while (0)

static int64_t token(const struct fixture *x)
{
	return fake_etcd_find(&x->fake, "/roar/c/leader")->create_revision;
}

static void open_log(struct fixture *x, int64_t with_token, bool is_full)
{
	x->is_loaded = false;
	x->failed = 0;
	str_clear(&x->read);
	assert_int_equal(etcd_log_open(x->loop, x->etcd, "c", with_token,
				       is_full, &events, x, &x->log),
			 0);
	AWAIT(x, x->is_loaded || x->failed);
}

static void reopen(struct fixture *x)
{
	x->log->kind->close(x->log);
	open_log(x, token(x), false);
}

static uint64_t add(struct fixture *x, const char *record)
{
	uint64_t number = 0;

	assert_int_equal(x->log->kind->append(x->log, record, strlen(record),
					      &number),
			 0);
	x->log->kind->commit(x->log);
	return number;
}

static void add_and_wait(struct fixture *x, const char *record)
{
	uint64_t number = add(x, record);

	AWAIT(x, x->log->kind->durable(x->log) >= number);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct roar_error err;

	assert_int_equal(loop_new(&x->loop), 0);
	fake_etcd_start(&x->fake, x->loop);
	fake_etcd_put(&x->fake, "/roar/c/leader", "us");
	assert_int_equal(
		etcd_new(x->loop,
			 &(struct etcd_access){ .addresses = x->fake.url },
			 NULL, NULL, &x->etcd, &err),
		0);
	open_log(x, token(x), false);
	AWAIT(x, x->fake.n_txns == 1); /* it has swept */
	x->fake.n_txns = 0;
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	x->log->kind->close(x->log);
	etcd_free(x->etcd);
	fake_etcd_stop(&x->fake);
	str_release(&x->read);
	loop_free(x->loop);
	free(x);
	return 0;
}

static void what_is_durable_is_read_again(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(x->log->kind->durable(x->log), 0);
	add_and_wait(x, "one");
	(void)add(x, "two");
	add_and_wait(x, "three");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "one,two,three,");
	add_and_wait(x, "four");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "one,two,three,four,");
}

static void what_comes_meanwhile_shares_a_transaction(void **state)
{
	struct fixture *x = *state;

	(void)add(x, "first");
	for (int i = 0; i < 100; i++)
		(void)add(x, "more");
	add_and_wait(x, "last");
	assert_int_equal(x->fake.n_txns, 2);
}

static void a_lost_answer_is_asked_for_again_and_counts_once(void **state)
{
	struct fixture *x = *state;

	x->fake.n_lose = 2;
	add_and_wait(x, "one");
	assert_int_equal(x->fake.n_txns, 3);
	add_and_wait(x, "two");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "one,two,");
}

static void what_was_not_done_is_done_later(void **state)
{
	struct fixture *x = *state;

	x->fake.n_refuse = 3;
	add_and_wait(x, "one");
	assert_int_equal(x->fake.n_txns, 4);
}

static void with_another_token_nothing_is_written(void **state)
{
	struct fixture *x = *state;
	int64_t old = token(x);

	add_and_wait(x, "one");
	fake_etcd_remove(&x->fake, 0, "/roar/c/leader");
	fake_etcd_put(&x->fake, "/roar/c/leader", "them");
	(void)add(x, "late");
	AWAIT(x, x->failed);
	assert_int_equal(x->failed, -ESTALE);
	assert_int_equal(x->log->kind->durable(x->log), 1);
	x->log->kind->close(x->log);
	open_log(x, old, false);
	assert_string_equal(str_cstr(&x->read), "one,");
}

static void a_full_etcd_is_told_and_looked_at_again(void **state)
{
	struct fixture *x = *state;
	uint64_t number = 0;

	x->fake.is_full = true;
	(void)add(x, "one");
	AWAIT(x, x->failed);
	assert_int_equal(x->failed, -ENOSPC);
	x->log->kind->close(x->log);
	open_log(x, token(x), true);
	assert_int_equal(x->log->kind->append(x->log, "two", 3, &number),
			 -ENOSPC);
	x->fake.is_full = false;
	AWAIT(x,
	      number || x->log->kind->append(x->log, "two", 3, &number) == 0);
	x->log->kind->commit(x->log);
	AWAIT(x, x->log->kind->durable(x->log) == 1);
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "two,");
}

static void what_etcd_never_takes_is_told(void **state)
{
	struct fixture *x = *state;

	x->fake.is_strict = true;
	(void)add(x, "one");
	AWAIT(x, x->failed);
	assert_int_equal(x->failed, -EIO);
	assert_non_null(strstr(x->sentence, "too large"));
}

/* It is known by silence alone. */
static void a_member_that_hangs_is_left_for_the_next(void **state)
{
	struct fixture *x = *state;
	struct roar_error err;
	char urls[160];

	x->log->kind->close(x->log);
	etcd_free(x->etcd);
	fake_etcd_start(&x->second, x->loop);
	x->second.is_mute = true;
	(void)snprintf(urls, sizeof(urls), "%s,%s", x->second.url, x->fake.url);
	assert_int_equal(etcd_new(x->loop,
				  &(struct etcd_access){ .addresses = urls },
				  NULL, NULL, &x->etcd, &err),
			 0);
	open_log(x, token(x), false);
	add_and_wait(x, "one");
	fake_etcd_stop(&x->second);
}

static int walk(void *data,
		int (*each)(void *to, const void *record, size_t len), void *to)
{
	(void)data;
	return each(to, "all", 3);
}

static void a_snapshot_stands_for_all_before_it(void **state)
{
	struct fixture *x = *state;

	add_and_wait(x, "one");
	(void)add(x, "two");
	assert_int_equal(x->log->kind->snapshot(x->log, walk, x, NULL), 0);
	(void)add(x, "three");
	AWAIT(x, x->snapshots == 1);
	assert_int_equal(x->fake.n_compactions, 1);
	assert_true(x->fake.compacted > 0);
	assert_null(fake_etcd_find(&x->fake, "/roar/c/log/0000000000000001"));
	add_and_wait(x, "four");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "all,three,four,");
}

static void a_snapshot_that_was_not_finished_is_none(void **state)
{
	struct fixture *x = *state;

	add_and_wait(x, "one");
	fake_etcd_put(&x->fake, "/roar/c/snap/0000000000000002/00000000", "?");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "one,");
}

static bool is_kept(const struct fixture *x, const char *name)
{
	return fake_etcd_find(&x->fake, name) != NULL;
}

static void what_is_left_of_snapshots_is_removed_by_the_next_leader(void **state)
{
	struct fixture *x = *state;

	add_and_wait(x, "one");
	assert_int_equal(x->log->kind->snapshot(x->log, walk, x, NULL), 0);
	AWAIT(x, x->snapshots == 1);
	fake_etcd_put(&x->fake, "/roar/c/snap/0000000000000001/00000000", "?");
	fake_etcd_put(&x->fake, "/roar/c/snap/0000000000000004/00000000", "?");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "all,");
	AWAIT(x, !is_kept(x, "/roar/c/snap/0000000000000001/00000000") &&
			 !is_kept(x, "/roar/c/snap/0000000000000004/00000000"));
	assert_true(is_kept(x, "/roar/c/snap/0000000000000002/00000000"));
}

static int walk_far(void *data,
		    int (*each)(void *to, const void *record, size_t len),
		    void *to)
{
	static char large[3 << 20];

	(void)data;
	return each(to, large, sizeof(large));
}

static void a_snapshot_that_fails_leaves_nothing(void **state)
{
	struct fixture *x = *state;

	add_and_wait(x, "one");
	assert_int_equal(x->log->kind->snapshot(x->log, walk_far, x, NULL), 0);
	AWAIT(x, is_kept(x, "/roar/c/snap/0000000000000002/00000000"));
	x->fake.is_full = true;
	AWAIT(x, !is_kept(x, "/roar/c/snap/0000000000000002/00000000"));
	assert_int_equal(x->snapshots, 0);
	x->fake.is_full = false;
	add_and_wait(x, "two");
	reopen(x);
	assert_string_equal(str_cstr(&x->read), "one,two,");
}

/* Left by a leader that came as far, with more parts. */
static void a_snapshot_is_not_mixed_with_one_of_the_same_number(void **state)
{
	struct fixture *x = *state;

	add_and_wait(x, "one");
	fake_etcd_put(&x->fake, "/roar/c/snap/0000000000000002/00000001", "?");
	assert_int_equal(x->log->kind->snapshot(x->log, walk, x, NULL), 0);
	AWAIT(x, x->snapshots == 1);
	reopen(x);
	assert_int_equal(x->failed, 0);
	assert_string_equal(str_cstr(&x->read), "all,");
}

/* What comes while a snapshot is written is in the log behind it. */
static void the_log_is_as_long_as_the_next_leader_finds_it(void **state)
{
	struct fixture *x = *state;
	struct record_log_counts before, after;

	add_and_wait(x, "one");
	assert_int_equal(x->log->kind->snapshot(x->log, walk_far, x, NULL), 0);
	add_and_wait(x, "two");
	AWAIT(x, x->snapshots == 1);
	x->log->kind->count(x->log, &before);
	assert_true(before.bytes > 0);
	reopen(x);
	x->log->kind->count(x->log, &after);
	assert_int_equal(before.bytes, after.bytes);
}

static void keys_that_are_missing_are_named(void **state)
{
	struct fixture *x = *state;

	add_and_wait(x, "one");
	add_and_wait(x, "two");
	fake_etcd_remove(&x->fake, 0, "/roar/c/log/0000000000000001");
	reopen(x);
	assert_int_equal(x->failed, -EBADMSG);
	assert_non_null(strstr(x->sentence, "log/0000000000000001"));
}

static void lengths_have_bounds(void **state)
{
	struct fixture *x = *state;
	uint64_t number;

	assert_int_equal(x->log->kind->append(x->log, "", 0, &number),
			 -EMSGSIZE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_durable_is_read_again),
		TEST(what_comes_meanwhile_shares_a_transaction),
		TEST(a_lost_answer_is_asked_for_again_and_counts_once),
		TEST(what_was_not_done_is_done_later),
		TEST(with_another_token_nothing_is_written),
		TEST(a_full_etcd_is_told_and_looked_at_again),
		TEST(what_etcd_never_takes_is_told),
		TEST(a_member_that_hangs_is_left_for_the_next),
		TEST(a_snapshot_stands_for_all_before_it),
		TEST(a_snapshot_that_was_not_finished_is_none),
		TEST(what_is_left_of_snapshots_is_removed_by_the_next_leader),
		TEST(a_snapshot_that_fails_leaves_nothing),
		TEST(a_snapshot_is_not_mixed_with_one_of_the_same_number),
		TEST(the_log_is_as_long_as_the_next_leader_finds_it),
		TEST(keys_that_are_missing_are_named),
		TEST(lengths_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

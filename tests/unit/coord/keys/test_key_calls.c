/* test_key_calls.c - keys: set, waited for, compared, counted, listed, gone in time. */
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coord/keys/key_requests.h"

static uint64_t ask_set(struct host *h, const char *key, const char *value,
			int64_t ttl_ms)
{
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;

	m.key = (char *)key;
	m.value.data = (uint8_t *)value;
	m.value.len = strlen(value);
	m.ttl_ms = ttl_ms;
	return ask(h, 1, "KvSet", &m);
}

static const Roar__KvEntry *set(struct host *h, const char *key,
				const char *value)
{
	return MESSAGE(expect(h, ask_set(h, key, value, 0), COORD_OK),
		       Roar__KvReply)
		->entry;
}

static uint64_t ask_get(struct host *h, const char *key, bool wait,
			uint64_t after)
{
	Roar__KvGetRequest m = ROAR__KV_GET_REQUEST__INIT;

	m.key = (char *)key;
	m.wait = wait;
	m.after_version = after;
	return ask(h, 2, "KvGet", &m);
}

static const Roar__KvEntry *got(struct host *h, uint64_t call)
{
	return MESSAGE(expect(h, call, COORD_OK), Roar__KvReply)->entry;
}

static void has_value(const Roar__KvEntry *e, const char *value)
{
	assert_int_equal(e->value.len, strlen(value));
	assert_memory_equal(e->value.data, value, strlen(value));
}

static const Roar__KvReply *delete (struct host *h, const char *key)
{
	Roar__KvDeleteRequest m = ROAR__KV_DELETE_REQUEST__INIT;

	m.key = (char *)key;
	return MESSAGE(expect(h, ask(h, 1, "KvDelete", &m), COORD_OK),
		       Roar__KvReply);
}

/* As a client does, which says the same again when the answer was lost. */
static uint64_t ask_numbered(struct host *h, const char *key, const char *value,
			     uint64_t request)
{
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;

	m.key = (char *)key;
	m.value.data = (uint8_t *)value;
	m.value.len = strlen(value);
	m.request = request;
	return ask(h, 1, "KvSet", &m);
}

static const Roar__KvEntry *set_numbered(struct host *h, const char *key,
					 const char *value, uint64_t request)
{
	return got(h, ask_numbered(h, key, value, request));
}

static const Roar__KvReply *delete_numbered(struct host *h, const char *key,
					    uint64_t request)
{
	Roar__KvDeleteRequest m = ROAR__KV_DELETE_REQUEST__INIT;

	m.key = (char *)key;
	m.request = request;
	return MESSAGE(expect(h, ask(h, 1, "KvDelete", &m), COORD_OK),
		       Roar__KvReply);
}

static const Roar__KvReply *compare_set(struct host *h, uint64_t version,
					bool by_value, const char *expected,
					const char *value)
{
	Roar__KvCompareSetRequest m = ROAR__KV_COMPARE_SET_REQUEST__INIT;

	m.key = "k";
	m.version = version;
	m.by_value = by_value;
	m.expected.data = (uint8_t *)expected;
	m.expected.len = strlen(expected);
	m.value.data = (uint8_t *)value;
	m.value.len = strlen(value);
	return MESSAGE(expect(h, ask(h, 1, "KvCompareSet", &m), COORD_OK),
		       Roar__KvReply);
}

static void what_is_set_is_there(void **state)
{
	struct host *h = *state;

	assert_int_equal(set(h, "a/b:c", "one")->version, 1);
	has_value(got(h, ask_get(h, "a/b:c", false, 0)), "one");
	assert_int_equal(set(h, "a/b:c", "")->version, 2);
	has_value(got(h, ask_get(h, "a/b:c", false, 0)), "");
	expect(h, ask_get(h, "other", false, 0), COORD_NOT_FOUND);
	host_restart(h);
	assert_int_equal(got(h, ask_get(h, "a/b:c", false, 0))->version, 2);
}

static void what_was_set_is_not_sent_back(void **state)
{
	struct host *h = *state;

	has_value(set(h, "k", "one"), "");
	has_value(compare_set(h, 1, false, "", "two")->entry, "");
	has_value(compare_set(h, 1, false, "", "three")->entry, "two");
}

static void versions_grow_over_deletion_and_restart(void **state)
{
	struct host *h = *state;

	set(h, "k", "1");
	assert_true(delete (h, "k")->done);
	assert_false(delete (h, "k")->done);
	expect(h, ask_get(h, "k", false, 0), COORD_NOT_FOUND);
	host_restart(h);
	assert_int_equal(set(h, "k", "2")->version, 3);
}

static void a_wait_ends_with_the_key(void **state)
{
	struct host *h = *state;
	uint64_t one = ask_get(h, "k", true, 0);
	uint64_t two = ask_get(h, "k", true, 1);
	uint64_t other = ask_get(h, "l", true, 0);

	expect_waiting(h, one);
	set(h, "k", "1");
	has_value(got(h, one), "1");
	expect_waiting(h, two);
	delete (h, "k");
	expect_waiting(h, two);
	set(h, "k", "2");
	has_value(got(h, two), "2");
	expect_waiting(h, other);
	has_value(got(h, ask_get(h, "k", true, 2)), "2");
}

static void a_wait_has_an_end(void **state)
{
	struct host *h = *state;
	uint64_t late, cancelled, left;
	struct coord_counts n;

	h->timeout_ms = 500;
	late = ask_get(h, "k", true, 0);
	h->timeout_ms = 0;
	cancelled = ask_get(h, "k", true, 0);
	left = ask_get(h, "k", true, 0);
	pass_ms(h, 500);
	expect_says(expect(h, late, COORD_DEADLINE_EXCEEDED), "key 'k'");
	coord_cancel(h->c, h->now, cancelled);
	gone(h, 2);
	set(h, "k", "1");
	expect_waiting(h, cancelled);
	expect_waiting(h, left);
	coord_count(h->c, &n);
	assert_int_equal(n.n_waiting, 0);
}

static void keys_are_gone_when_their_time_is_over(void **state)
{
	struct host *h = *state;

	expect(h, ask_set(h, "k", "1", 1000), COORD_OK);
	expect(h, ask_set(h, "l", "1", 5000), COORD_OK);
	pass_ms(h, 400);
	assert_int_equal(got(h, ask_get(h, "k", false, 0))->expires_in_ms, 600);
	/* Over, whether time was noticed or not. */
	h->now.wall_ms += 600;
	h->now.mono_ms += 600;
	expect(h, ask_get(h, "k", false, 0), COORD_NOT_FOUND);
	pass_ms(h, 0);
	host_restart(h);
	expect(h, ask_get(h, "k", false, 0), COORD_NOT_FOUND);
	pass_ms(h, 5000);
	expect(h, ask_get(h, "l", false, 0), COORD_NOT_FOUND);
	assert_int_equal(set(h, "l", "2")->version, 5);
	assert_int_equal(got(h, ask_get(h, "l", false, 0))->expires_in_ms, 0);
}

static int64_t left_ms(struct host *h, const char *key)
{
	return got(h, ask_get(h, key, false, 0))->expires_in_ms;
}

static const int64_t day_ms = 86400000;

static void setting_the_wall_clock_ends_no_key(void **state)
{
	struct host *h = *state;

	expect(h, ask_set(h, "k", "1", 5000), COORD_OK);
	h->now.wall_ms += day_ms;
	pass_ms(h, 1000);
	assert_int_equal(left_ms(h, "k"), 4000);
	h->now.wall_ms -= 3 * day_ms;
	pass_ms(h, 1000);
	assert_int_equal(left_ms(h, "k"), 3000);
	pass_ms(h, 3000);
	expect(h, ask_get(h, "k", false, 0), COORD_NOT_FOUND);
}

static void time_stands_still_while_no_coordinator_runs(void **state)
{
	struct host *h = *state;

	expect(h, ask_set(h, "k", "1", 60000), COORD_OK);
	pass_ms(h, 35000); /* of these, 30000 are on record */
	assert_int_equal(left_ms(h, "k"), 25000);
	h->now.wall_ms += day_ms;
	host_restart(h);
	assert_int_equal(left_ms(h, "k"), 30000);
	h->now.wall_ms -= 3 * day_ms;
	host_restore(h);
	assert_int_equal(left_ms(h, "k"), 30000);
	pass_ms(h, 30000);
	expect(h, ask_get(h, "k", false, 0), COORD_NOT_FOUND);
}

static void a_pause_of_the_coordinator_ends_no_key(void **state)
{
	struct host *h = *state;

	expect(h, ask_set(h, "k", "1", 60000), COORD_OK);
	h->now.mono_ms += day_ms; /* it should have run after 10000 */
	assert_int_equal(left_ms(h, "k"), 50000);
}

static void time_is_recorded_while_keys_have_a_ttl(void **state)
{
	struct host *h = *state;
	size_t n;

	set(h, "for ever", "1");
	n = h->n_records;
	pass_ms(h, day_ms);
	assert_int_equal(h->n_records, n);
	expect(h, ask_set(h, "k", "1", 60000), COORD_OK);
	h->record_error = -ENOSPC;
	pass_ms(h, 10500);
	assert_int_equal(h->n_records, n + 1);
	h->record_error = 0;
	pass_ms(h, 500);
	assert_int_equal(h->n_records, n + 2);
	delete (h, "k");
	pass_ms(h, day_ms);
	assert_int_equal(h->n_records, n + 3);
}

/* As they were written before service time: the wall clock goes on in its place, once. */
static void a_log_without_times_is_read_by_the_wall_clock(void **state)
{
	struct host *h = *state;
	Roar__Record__Record *record;
	struct kept *last;

	expect(h, ask_set(h, "k", "1", 5000), COORD_OK);
	last = &h->records[h->n_records - 1];
	record = roar__record__record__unpack(NULL, last->len, last->data);
	assert_int_equal(record->key->time_ms, h->now.wall_ms);
	record->key->time_ms = 0;
	last->len = roar__record__record__pack(record, last->data);
	roar__record__record__free_unpacked(record, NULL);

	h->now.wall_ms += 2000;
	host_restart(h);
	assert_int_equal(left_ms(h, "k"), 3000);
	pass_ms(h, 0);
	h->now.wall_ms += day_ms;
	host_restart(h);
	assert_int_equal(left_ms(h, "k"), 3000);
}

static void an_expiry_that_cannot_be_recorded_hides_the_key(void **state)
{
	struct host *h = *state;

	expect(h, ask_set(h, "k", "1", 1000), COORD_OK);
	h->record_error = -28;
	pass_ms(h, 3000);
	expect(h, ask_get(h, "k", false, 0), COORD_NOT_FOUND);
	h->record_error = 0;
	pass_ms(h, 1000);
	assert_int_equal(set(h, "k", "2")->version, 3);
}

static uint64_t ask_add(struct host *h, const char *key, int64_t delta)
{
	Roar__KvAddRequest m = ROAR__KV_ADD_REQUEST__INIT;

	m.key = (char *)key;
	m.delta = delta;
	return ask(h, 1, "KvAdd", &m);
}

static void numbers_are_added(void **state)
{
	struct host *h = *state;

	has_value(got(h, ask_add(h, "n", 5)), "5");
	has_value(got(h, ask_add(h, "n", -7)), "-2");
	set(h, "n", "9223372036854775807");
	expect(h, ask_add(h, "n", 1), COORD_OUT_OF_RANGE);
	has_value(got(h, ask_add(h, "n", INT64_MIN)), "-1");
	set(h, "n", "-9223372036854775808");
	expect(h, ask_add(h, "n", -1), COORD_OUT_OF_RANGE);
	set(h, "n", "1x");
	expect(h, ask_add(h, "n", 1), COORD_FAILED_PRECONDITION);
	set(h, "n", "");
	expect(h, ask_add(h, "n", 1), COORD_FAILED_PRECONDITION);
	set(h, "n", "99999999999999999999999");
	expect(h, ask_add(h, "n", 1), COORD_FAILED_PRECONDITION);
}

static void only_what_is_as_expected_is_set(void **state)
{
	struct host *h = *state;
	const Roar__KvReply *m;

	m = compare_set(h, 7, false, "", "x");
	assert_false(m->done);
	assert_int_equal(m->entry->version, 0);
	assert_true(compare_set(h, 0, false, "", "x")->done);
	m = compare_set(h, 0, false, "", "y");
	assert_false(m->done);
	has_value(m->entry, "x");
	assert_true(compare_set(h, 1, false, "", "y")->done);
	assert_false(compare_set(h, 0, true, "x", "z")->done);
	assert_true(compare_set(h, 0, true, "y", "z")->done);
	delete (h, "k");
	assert_false(compare_set(h, 0, true, "z", "a")->done);
	assert_true(compare_set(h, 0, true, "", "a")->done);
}

static const Roar__KvListReply *list(struct host *h, const char *prefix,
				     const char *after, int32_t limit)
{
	Roar__KvListRequest m = ROAR__KV_LIST_REQUEST__INIT;

	m.prefix = (char *)prefix;
	m.after = (char *)after;
	m.limit = limit;
	return MESSAGE(expect(h, ask(h, 1, "KvList", &m), COORD_OK),
		       Roar__KvListReply);
}

static void keys_are_listed_in_order_by_pages(void **state)
{
	struct host *h = *state;
	static const char *const names[] = {
		"b", "a/2", "a/10", "a/1", "c", "a"
	};
	const Roar__KvListReply *m;

	for (size_t i = 0; i < 6; i++)
		set(h, names[i], "v");
	m = list(h, "a/", "", 0);
	assert_int_equal(m->n_entries, 3);
	assert_string_equal(m->entries[0]->key, "a/1");
	assert_string_equal(m->entries[2]->key, "a/2");
	assert_false(m->more);
	m = list(h, "", "", 2);
	assert_int_equal(m->n_entries, 2);
	assert_true(m->more);
	m = list(h, "", m->entries[1]->key, 2);
	assert_string_equal(m->entries[0]->key, "a/10");
	m = list(h, "", "bb", 2);
	assert_int_equal(m->n_entries, 1);
	assert_string_equal(m->entries[0]->key, "c");
	assert_int_equal(list(h, "a/", "a/2", 0)->n_entries, 0);
}

static void keys_and_values_are_bounded(void **state)
{
	struct coord_limits limits = { .max_keys = 2, .max_key_bytes = 20 };
	struct host *h = host_new(&limits);
	static char big[(1 << 20) + 2];
	char name[514];

	(void)state;
	memset(big, 'v', sizeof(big) - 1);
	memset(name, 'k', sizeof(name) - 1);
	name[513] = '\0';
	expect(h, ask_set(h, "k", big, 0), COORD_INVALID_ARGUMENT);
	expect(h, ask_set(h, name, "v", 0), COORD_INVALID_ARGUMENT);
	expect(h, ask_set(h, "", "v", 0), COORD_INVALID_ARGUMENT);
	expect(h, ask_set(h, "a\nb", "v", 0), COORD_INVALID_ARGUMENT);
	expect(h, ask_set(h, "k", "v", -1), COORD_INVALID_ARGUMENT);
	expect(h, ask_set(h, "k", "v", INT64_MAX), COORD_INVALID_ARGUMENT);
	set(h, "k", "123456789");
	expect(h, ask_set(h, "l", "1234567890", 0), COORD_RESOURCE_EXHAUSTED);
	set(h, "l", "123456789");
	expect(h, ask_set(h, "m", "", 0), COORD_RESOURCE_EXHAUSTED);
	set(h, "k", "1234567");
	host_check_replay(h);
	host_free(h);
}

static void a_set_that_is_repeated_undoes_nothing(void **state)
{
	struct host *h = *state;
	uint64_t version = set_numbered(h, "k", "mine", 7)->version;

	set_numbered(h, "k", "another's", 8);
	assert_int_equal(set_numbered(h, "k", "mine", 7)->version, version);
	has_value(got(h, ask_get(h, "k", false, 0)), "another's");
	host_restart(h);
	assert_int_equal(set_numbered(h, "k", "mine", 7)->version, version);
	host_restore(h);
	assert_int_equal(set_numbered(h, "k", "mine", 7)->version, version);
	has_value(got(h, ask_get(h, "k", false, 0)), "another's");
	host_check_replay(h);
}

static void a_delete_that_is_repeated_takes_nothing_else(void **state)
{
	struct host *h = *state;

	set(h, "lock", "mine");
	assert_true(delete_numbered(h, "lock", 7)->done);
	set(h, "lock", "another's");
	host_restore(h);
	assert_true(delete_numbered(h, "lock", 7)->done);
	assert_int_equal(delete_numbered(h, "lock", 7)->entry->version, 0);
	has_value(got(h, ask_get(h, "lock", false, 0)), "another's");
	host_check_replay(h);
}

/* What found nothing has done nothing: the second may. */
static void what_was_not_done_is_not_remembered(void **state)
{
	struct host *h = *state;

	set(h, "other", "");
	assert_false(delete_numbered(h, "k", 7)->done);
	set(h, "k", "");
	assert_true(delete_numbered(h, "k", 7)->done);
	h->record_error = -ENOSPC;
	(void)expect(h, ask_numbered(h, "k", "v", 8), COORD_RESOURCE_EXHAUSTED);
	h->record_error = 0;
	set_numbered(h, "k", "v", 8);
	has_value(got(h, ask_get(h, "k", false, 0)), "v");
}

static void the_last_of_many_are_remembered(void **state)
{
	struct host *h = *state;
	uint64_t first = set_numbered(h, "k", "", 1)->version;

	for (uint64_t i = 2; i <= KEY_REQUESTS_MAX; i++)
		set_numbered(h, "k", "", i);
	assert_int_equal(set_numbered(h, "k", "", 1)->version, first);
	set_numbered(h, "k", "", KEY_REQUESTS_MAX + 1);
	assert_int_equal(set_numbered(h, "k", "", 2)->version, first + 1);
	assert_true(set_numbered(h, "k", "", 1)->version > KEY_REQUESTS_MAX);
	host_restore(h);
	assert_int_equal(set_numbered(h, "k", "", 3)->version, first + 2);
	host_check_replay(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_set_is_there),
		TEST(what_was_set_is_not_sent_back),
		TEST(versions_grow_over_deletion_and_restart),
		TEST(a_wait_ends_with_the_key),
		TEST(a_wait_has_an_end),
		TEST(keys_are_gone_when_their_time_is_over),
		TEST(setting_the_wall_clock_ends_no_key),
		TEST(time_stands_still_while_no_coordinator_runs),
		TEST(a_pause_of_the_coordinator_ends_no_key),
		TEST(time_is_recorded_while_keys_have_a_ttl),
		TEST(a_log_without_times_is_read_by_the_wall_clock),
		TEST(an_expiry_that_cannot_be_recorded_hides_the_key),
		TEST(numbers_are_added),
		TEST(only_what_is_as_expected_is_set),
		TEST(keys_are_listed_in_order_by_pages),
		TEST(a_set_that_is_repeated_undoes_nothing),
		TEST(a_delete_that_is_repeated_takes_nothing_else),
		TEST(what_was_not_done_is_not_remembered),
		TEST(the_last_of_many_are_remembered),
		cmocka_unit_test(keys_and_values_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

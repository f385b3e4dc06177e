/* test_cache.c - the digest cache. */
#include "fixture.h"

static const int64_t long_after = INT64_C(9000000000);

static struct stamp a_stamp(uint64_t ino)
{
	return (struct stamp){ .dev = 3,
			       .ino = ino,
			       .size = 10,
			       .mtime_ns = 1000000001,
			       .ctime_ns = 1000000002 };
}

static struct digests some_digests(uint8_t byte, digest_set have)
{
	struct digests d = { .have = have };

	memset(d.blake3, byte, sizeof(d.blake3));
	memset(d.sha256, byte + 1, sizeof(d.sha256));
	memset(d.sha512, byte + 2, sizeof(d.sha512));
	memset(d.md5, byte + 3, sizeof(d.md5));
	return d;
}

static void put(struct fixture *f, struct stamp stamp, struct digests d)
{
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_cache_put(f->s, &stamp, long_after, &d, &f->err));
	ok(f, store_commit(f->s, &f->err));
}

static bool get(struct fixture *f, struct stamp stamp, digest_set want,
		struct digests *ret)
{
	return store_cache_get(f->s, &stamp, want, ret);
}

static void digests_come_back_for_the_same_stamp(void **state)
{
	struct fixture *f = *state;
	struct digests d;

	assert_false(get(f, a_stamp(1), 1, &d));
	put(f, a_stamp(1), some_digests(5, 1 | 1 << DIGEST_MD5));
	assert_true(get(f, a_stamp(1), 1, &d));
	assert_int_equal(d.have, 1 | 1 << DIGEST_MD5);
	assert_int_equal(d.blake3[31], 5);
	assert_int_equal(d.md5[15], 8);
	assert_true(get(f, a_stamp(1), 0, &d));
}

static void huge_device_and_inode_numbers_are_kept(void **state)
{
	struct fixture *f = *state;
	struct stamp stamp = a_stamp(UINT64_MAX);
	struct digests d;

	stamp.dev = UINT64_MAX - 1;
	put(f, stamp, some_digests(5, 1));
	assert_true(get(f, stamp, 1, &d));
	stamp.dev--;
	assert_false(get(f, stamp, 1, &d));
}

static void any_other_stamp_is_a_miss(void **state)
{
	struct fixture *f = *state;
	struct stamp stamps[5];
	struct digests d;

	for (int i = 0; i < 5; i++)
		stamps[i] = a_stamp(1);
	stamps[0].dev++;
	stamps[1].ino++;
	stamps[2].size++;
	stamps[3].mtime_ns++;
	stamps[4].ctime_ns++;
	put(f, a_stamp(1), some_digests(5, 1));
	for (int i = 0; i < 5; i++)
		assert_false(get(f, stamps[i], 1, &d));
}

static void missing_digest_is_a_miss(void **state)
{
	struct fixture *f = *state;
	struct digests d = { .have = 99 };

	put(f, a_stamp(1), some_digests(5, 1));
	assert_false(get(f, a_stamp(1), 1 | 1 << DIGEST_SHA256, &d));
	assert_int_equal(d.have, 99);
}

static void digests_add_up_for_the_same_stamp(void **state)
{
	struct fixture *f = *state;
	struct digests d;

	put(f, a_stamp(1), some_digests(5, 1));
	put(f, a_stamp(1), some_digests(5, 1 << DIGEST_SHA256));
	assert_true(get(f, a_stamp(1), 1 | 1 << DIGEST_SHA256, &d));
	assert_int_equal(d.blake3[0], 5);
	assert_int_equal(d.sha256[0], 6);
}

static void changed_file_replaces_its_entry(void **state)
{
	struct fixture *f = *state;
	struct stamp changed = a_stamp(1);
	struct digests d;

	changed.mtime_ns++;
	put(f, a_stamp(1), some_digests(5, 1 | 1 << DIGEST_SHA256));
	put(f, changed, some_digests(50, 1));
	assert_false(get(f, a_stamp(1), 1, &d));
	assert_true(get(f, changed, 1, &d));
	assert_int_equal(d.have, 1);
	assert_int_equal(d.blake3[0], 50);
	assert_int_equal(count(f, "SELECT count(*) FROM digest_cache"), 1);
}

static void racy_and_empty_stamps_are_left_out(void **state)
{
	struct fixture *f = *state;
	struct stamp stamp = a_stamp(1);
	struct digests d = some_digests(5, 1);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_cache_put(f->s, &stamp, stamp.ctime_ns + 1, &d, &f->err));
	stamp.ino = 0;
	ok(f, store_cache_put(f->s, &stamp, long_after, &d, &f->err));
	stamp.ino = 2;
	d.have = 0;
	ok(f, store_cache_put(f->s, &stamp, long_after, &d, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM digest_cache"), 0);
}

static void put_outside_a_transaction_is_refused(void **state)
{
	struct fixture *f = *state;
	struct stamp stamp = a_stamp(1);
	struct digests d = some_digests(5, 1);

	fails(f, store_cache_put(f->s, &stamp, long_after, &d, &f->err), EINVAL,
	      "nothing was written");
}

static void oldest_entries_are_dropped_beyond_the_bound(void **state)
{
	struct fixture *f = *state;
	struct digests d;

	f->s->cache_max = 10;
	for (uint64_t i = 1; i <= 10; i++)
		put(f, a_stamp(i), some_digests((uint8_t)i, 1));
	put(f, a_stamp(1), some_digests(1, 1)); /* young again */
	put(f, a_stamp(11), some_digests(11, 1));
	assert_int_equal(count(f, "SELECT count(*) FROM digest_cache"), 10);
	assert_true(get(f, a_stamp(1), 1, &d));
	assert_false(get(f, a_stamp(2), 1, &d));
	assert_true(get(f, a_stamp(3), 1, &d));
	assert_true(get(f, a_stamp(11), 1, &d));
}

static void a_large_bound_is_kept_with_some_slack(void **state)
{
	struct fixture *f = *state;
	struct digests d;
	int64_t most = 0;

	f->s->cache_max = 80;
	for (uint64_t i = 1; i <= 400; i++) {
		int64_t n;

		put(f, a_stamp(i), some_digests(1, 1));
		n = count(f, "SELECT count(*) FROM digest_cache");
		most = n > most ? n : most;
		assert_true(i < 80 ? n == (int64_t)i : n >= 80);
		assert_true(get(f, a_stamp(i), 1, &d));
	}
	assert_int_equal(most, 89);
}

static void ages_go_on_after_a_rollback_and_a_restart(void **state)
{
	struct fixture *f = *state;
	struct stamp stamp = a_stamp(9);
	struct digests d = some_digests(1, 1);

	put(f, a_stamp(1), d);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_cache_put(f->s, &stamp, long_after, &d, &f->err));
	store_rollback(f->s);
	reopen(f, 0);
	put(f, a_stamp(2), d);
	put(f, a_stamp(1), d);
	assert_int_equal(count(f, "SELECT age FROM digest_cache WHERE ino = 2"),
			 2);
	assert_int_equal(count(f, "SELECT age FROM digest_cache WHERE ino = 1"),
			 3);
}

static void rewriting_one_file_forever_does_not_grow_the_cache(void **state)
{
	struct fixture *f = *state;
	struct stamp stamp = a_stamp(1);
	struct digests d = some_digests(5, 1);

	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 1000; i++) {
		stamp.mtime_ns++;
		ok(f, store_cache_put(f->s, &stamp, long_after, &d, &f->err));
	}
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(count(f, "SELECT count(*) FROM digest_cache"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(digests_come_back_for_the_same_stamp),
		STORE_TEST(huge_device_and_inode_numbers_are_kept),
		STORE_TEST(any_other_stamp_is_a_miss),
		STORE_TEST(missing_digest_is_a_miss),
		STORE_TEST(digests_add_up_for_the_same_stamp),
		STORE_TEST(changed_file_replaces_its_entry),
		STORE_TEST(racy_and_empty_stamps_are_left_out),
		STORE_TEST(put_outside_a_transaction_is_refused),
		STORE_TEST(oldest_entries_are_dropped_beyond_the_bound),
		STORE_TEST(a_large_bound_is_kept_with_some_slack),
		STORE_TEST(ages_go_on_after_a_rollback_and_a_restart),
		STORE_TEST(rewriting_one_file_forever_does_not_grow_the_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

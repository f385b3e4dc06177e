/* test_target.c - which job or artifact a word means.  roar_read/test_target.c has
 * the sentences. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "query/query.h"
#include "query/target.h"
#include "sample.h"

static int resolve(struct fixture *f, const char *word, enum target_want want,
		   struct target *ret)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct roar_error err = { 0 };
	int r = target_resolve(&q, f->dir, word, want, ret, &err);

	assert_int_equal(r < 0, err.text[0] != '\0');
	query_release(&q);
	return r;
}

static void expect_job(struct fixture *f, const char *word, const char *uid)
{
	struct target t;

	assert_int_equal(resolve(f, word, TARGET_ANY, &t), 0);
	assert_int_equal(t.kind, TARGET_JOB);
	assert_string_equal(t.job.uid, uid);
}

static void steps_and_uids_are_jobs(void **state)
{
	struct fixture *f = *state;
	struct target t;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	expect_job(f, "@2", "bbbb0002");
	expect_job(f, "@1", "dddd0004");
	expect_job(f, "@1.1", "aaaa0001");
	expect_job(f, "CCCC", "cccc0003");
	assert_int_equal(resolve(f, "@9", TARGET_ANY, &t), -ENOENT);
	assert_int_equal(resolve(f, "@x", TARGET_ANY, &t), -EINVAL);
	assert_int_equal(resolve(f, "", TARGET_ANY, &t), -EINVAL);
	assert_int_equal(resolve(f, "abc", TARGET_WANT_JOB, &t), -EINVAL);
}

static void paths_and_hashes_are_artifacts(void **state)
{
	struct fixture *f = *state;
	char hex[2 * BLAKE3_LEN + 1];
	struct target by_path;
	struct target by_hash;

	record_pipeline(f);
	assert_int_equal(resolve(f, "model.pt", TARGET_ANY, &by_path), 0);
	assert_int_equal(by_path.kind, TARGET_ARTIFACT);
	assert_string_equal(by_path.path + strlen(f->dir), "/model.pt");
	digest_hex(hex, by_path.artifact.digests.blake3, BLAKE3_LEN);
	hex[12] = '\0';
	assert_int_equal(resolve(f, hex, TARGET_ANY, &by_hash), 0);
	assert_int_equal(by_hash.artifact.id, by_path.artifact.id);
	assert_null(by_hash.path);
	assert_int_equal(resolve(f, hex, TARGET_WANT_PATH, &by_hash), -ENOENT);
}

static void a_path_may_lead_through_a_link(void **state)
{
	struct fixture *f = *state;
	struct target t;

	record_pipeline(f);
	assert_int_equal(symlink("model.pt", "latest.pt"), 0);
	assert_int_equal(resolve(f, "latest.pt", TARGET_ANY, &t), 0);
	assert_string_equal(t.path + strlen(f->dir), "/model.pt");
}

static void content_that_was_never_identified_is_no_data(void **state)
{
	struct fixture *f = *state;
	struct target t;

	put(f, "x", "x");
	job(f, "aaaa0001", "cat x");
	file(f, "x", LINEAGE_INPUT)->digests.have = 0;
	record(f);
	assert_int_equal(resolve(f, "x", TARGET_ANY, &t), -ENODATA);
}

/* The hash of the active session, as digits. */
static void session_hex(struct fixture *f, char hex[2 * BLAKE3_LEN + 1])
{
	uint8_t hash[BLAKE3_LEN];

	assert_int_equal(
		store_session_hash(f->store, f->session.id, hash, NULL), 0);
	digest_hex(hex, hash, BLAKE3_LEN);
}

static void sessions_are_found_by_uid_and_hash_closed_or_not(void **state)
{
	struct fixture *f = *state;
	struct store_session old;
	struct store_session new;
	char hex[2 * BLAKE3_LEN + 1];
	struct target t;

	record_pipeline(f);
	session_hex(f, hex);
	for (int closed = 0; closed < 2; closed++) {
		assert_int_equal(resolve(f, hex, TARGET_ANY_OR_SESSION, &t), 0);
		assert_int_equal(t.kind, TARGET_SESSION);
		assert_int_equal(t.session.id, f->session.id);
		hex[8] = '\0';
		assert_int_equal(resolve(f, hex, TARGET_WANT_SESSION, &t), 0);
		assert_int_equal(t.session.id, f->session.id);
		assert_int_equal(resolve(f, hex, TARGET_ANY, &t), -EINVAL);
		assert_int_equal(resolve(f, f->session.uid,
					 TARGET_ANY_OR_SESSION, &t),
				 0);
		assert_int_equal(t.session.id, f->session.id);
		assert_int_equal(store_begin(f->store, NULL), 0);
		assert_int_equal(
			store_session_reset(f->store, &old, &new, NULL), 0);
		assert_int_equal(store_commit(f->store, NULL), 0);
	}
	assert_int_equal(resolve(f, "ffffffff", TARGET_WANT_SESSION, &t),
			 -ENOENT);
	assert_int_equal(resolve(f, "x", TARGET_WANT_SESSION, &t), -EINVAL);
}

/* Eight digits: a job before a session, a session before content. */
static void a_job_comes_before_a_session_with_the_same_digits(void **state)
{
	struct fixture *f = *state;
	char hex[2 * BLAKE3_LEN + 1];
	struct target t;

	record_pipeline(f);
	session_hex(f, hex);
	hex[8] = '\0';
	record_prepare(f, hex, "features"); /* changes the hash */
	assert_int_equal(resolve(f, hex, TARGET_ANY_OR_SESSION, &t), 0);
	assert_int_equal(t.kind, TARGET_JOB);
}

/* Sessions without jobs all have one hash. */
static void of_sessions_with_the_same_hash_the_newest_is_meant(void **state)
{
	struct fixture *f = *state;
	struct store_session old;
	struct store_session new;
	char hex[2 * BLAKE3_LEN + 1];
	struct target t;

	session_hex(f, hex);
	assert_int_equal(store_begin(f->store, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			store_session_reset(f->store, &old, &new, NULL), 0);
	assert_int_equal(store_commit(f->store, NULL), 0);
	assert_int_equal(resolve(f, hex, TARGET_WANT_SESSION, &t), 0);
	assert_int_equal(t.session.id, old.id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(steps_and_uids_are_jobs),
		FIXTURE_TEST(paths_and_hashes_are_artifacts),
		FIXTURE_TEST(a_path_may_lead_through_a_link),
		FIXTURE_TEST(content_that_was_never_identified_is_no_data),
		FIXTURE_TEST(sessions_are_found_by_uid_and_hash_closed_or_not),
		FIXTURE_TEST(a_job_comes_before_a_session_with_the_same_digits),
		FIXTURE_TEST(of_sessions_with_the_same_hash_the_newest_is_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

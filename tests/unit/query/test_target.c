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

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(steps_and_uids_are_jobs),
		FIXTURE_TEST(paths_and_hashes_are_artifacts),
		FIXTURE_TEST(a_path_may_lead_through_a_link),
		FIXTURE_TEST(content_that_was_never_identified_is_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_session.c - sessions and their canonical hash. */
#include "fixture.h"

#include "base/str.h"
#include "hash/file/file_hash.h"

static void without_a_session_there_is_none(void **state)
{
	struct fixture *f = *state;
	struct store_session session;
	struct store_session *all;
	size_t n = 9;

	fails(f, store_session_active(f->s, false, &session, &f->err), ENOENT,
	      "has no active session");
	ok(f, store_sessions(f->s, &f->pool, &all, &n, &f->err));
	assert_int_equal(n, 0);
}

static void session_is_created_once(void **state)
{
	struct fixture *f = *state;
	struct store_session a;
	struct store_session b;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_active(f->s, true, &a, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_session_active(f->s, false, &b, &f->err));
	assert_int_equal(a.id, b.id);
	assert_string_equal(a.uid, b.uid);
	assert_int_equal(strspn(a.uid, "0123456789abcdef"), 16);
	assert_true(b.created_ns > 0);
	assert_int_equal(b.closed_ns, 0);
	assert_int_equal(b.n_jobs, 0);
}

static void reset_closes_the_old_one_and_starts_another(void **state)
{
	struct fixture *f = *state;
	struct store_session none;
	struct store_session first;
	struct store_session old;
	struct store_session new;
	struct store_session *all;
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_reset(f->s, &none, &first, &f->err));
	assert_int_equal(none.id, 0);
	ok(f, store_commit(f->s, &f->err));
	(void)add_job(f, "aaaa", "true", 1, 0);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_reset(f->s, &old, &new, &f->err));
	ok(f, store_commit(f->s, &f->err));
	assert_int_equal(old.id, first.id);
	assert_int_equal(old.n_jobs, 1);
	assert_true(old.closed_ns > 0);
	assert_string_not_equal(old.uid, new.uid);

	ok(f, store_sessions(f->s, &f->pool, &all, &n, &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(all[0].id, old.id);
	assert_int_equal(all[0].closed_ns, old.closed_ns);
	assert_int_equal(all[1].id, new.id);
	assert_int_equal(all[1].closed_ns, 0);
}

static void reset_outside_a_transaction_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct store_session old;
	struct store_session new;

	(void)add_job(f, "aaaa", "true", 1, 0);
	fails(f, store_session_reset(f->s, &old, &new, &f->err), EINVAL,
	      "nothing was written");
	assert_int_equal(count(f, "SELECT count(*) FROM sessions"), 1);
}

static void session_counts_jobs_and_steps_by_kind(void **state)
{
	struct fixture *f = *state;
	struct store_session session;
	struct store_job job;

	(void)add_job(f, "aaaa", "true", 1, 0);
	(void)add_job(f, "bbbb", "true", 1, 0);
	(void)add_job(f, "cccc", "false", 2, 0);
	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "dddd", "make", 3, 0);
	job.kind = "build";
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));

	ok(f, store_session_active(f->s, false, &session, &f->err));
	assert_int_equal(session.n_jobs, 4);
	assert_int_equal(session.n_steps, 2);
	assert_int_equal(session.n_build_steps, 1);
}

static void session_counts_the_kept_files_of_its_jobs(void **state)
{
	struct fixture *f = *state;
	struct store_session session;
	struct store_job jobs[2];

	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 2; i++) {
		jobs[i] = a_job(f, i ? "bbbb" : "aaaa", "true", 1, 0);
		jobs[i].n_inputs = 3;
		jobs[i].n_outputs = 4;
		jobs[i].n_filtered = 100;
		ok(f, store_job_add(f->s, &jobs[i], &f->err));
	}
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_session_active(f->s, false, &session, &f->err));
	assert_int_equal(session.n_files, 14);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, jobs[1].id, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_session_active(f->s, false, &session, &f->err));
	assert_int_equal(session.n_files, 7);
}

/* ---- the hash ---- */

/* The description in store_session_hash.c, written down once more. */
static void chain(uint8_t state[BLAKE3_LEN], const void *record, size_t len)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	struct digests d;

	str_add(&bytes, state, BLAKE3_LEN);
	str_add(&bytes, record, len);
	assert_int_equal(
		digest_buffer(bytes.data, bytes.len, DIGEST_SET_BLAKE3, &d), 0);
	memcpy(state, d.blake3, BLAKE3_LEN);
}

static void chain_content(uint8_t state[BLAKE3_LEN], const char *tag, int byte)
{
	char record[64] = { 0 };
	size_t at = strlen(tag) + 1;

	memcpy(record, tag, at);
	memset(record + at, byte, BLAKE3_LEN);
	chain(state, record, at + BLAKE3_LEN);
}

static void chain_start(uint8_t state[BLAKE3_LEN])
{
	struct digests d;

	assert_int_equal(digest_buffer("roar session 1\n", 15,
				       DIGEST_SET_BLAKE3, &d),
			 0);
	memcpy(state, d.blake3, BLAKE3_LEN);
}

static void session_hash(struct fixture *f, uint8_t hash[BLAKE3_LEN])
{
	struct store_session session;

	ok(f, store_session_active(f->s, false, &session, &f->err));
	ok(f, store_session_hash(f->s, session.id, hash, &f->err));
}

/* A file, and the count of it in its job. */
static void add(struct fixture *f, int64_t job_id, const char *path,
		uint8_t role, uint8_t content, uint8_t filter)
{
	struct store_file file = a_file(job_id, path, role, content);
	char sql[96];

	file.filter = filter;
	add_file(f, &file);
	if (filter || !(role & (LINEAGE_INPUT | LINEAGE_OUTPUT)))
		return;
	(void)snprintf(sql, sizeof(sql),
		       "UPDATE jobs SET %s = %s + 1 WHERE id = %lld",
		       role == LINEAGE_INPUT ? "n_inputs" : "n_outputs",
		       role == LINEAGE_INPUT ? "n_inputs" : "n_outputs",
		       (long long)job_id);
	ok(f, store_exec(f->s, sql, &f->err));
}

static void hash_is_the_documented_chain(void **state)
{
	struct fixture *f = *state;
	struct store_job job;
	uint8_t expected[BLAKE3_LEN];
	uint8_t hash[BLAKE3_LEN];
	int64_t id = add_job(f, "aaaa", "python train.py", 1, 0);

	add(f, id, "/p/model", LINEAGE_OUTPUT, 9, 0);
	add(f, id, "/p/late", LINEAGE_INPUT, 200, 0);
	add(f, id, "/p/early", LINEAGE_INPUT, 3, 0);
	add(f, id, "/p/again", LINEAGE_INPUT, 3, 0);
	add(f, id, "/p/unknown", LINEAGE_INPUT, 0, 0);
	add(f, id, "/usr/lib/x", LINEAGE_INPUT, 4, 5);
	add(f, id, "/p/scratch", LINEAGE_TEMPORARY, 5, 0);
	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "bbbb", "make", 2, 0);
	job.kind = "build";
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));

	chain_start(expected);
	chain(expected, "step\0build\0001\0make\0", 18);
	chain(expected, "step\0run\0001\0python train.py\0", 27);
	chain_content(expected, "input", 3);
	chain_content(expected, "input", 200);
	chain_content(expected, "output", 9);
	session_hash(f, hash);
	assert_memory_equal(hash, expected, BLAKE3_LEN);
}

static void empty_session_has_the_hash_of_the_start(void **state)
{
	struct fixture *f = *state;
	struct store_session session;
	uint8_t expected[BLAKE3_LEN];
	uint8_t hash[BLAKE3_LEN];

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_active(f->s, true, &session, &f->err));
	ok(f, store_commit(f->s, &f->err));
	chain_start(expected);
	session_hash(f, hash);
	assert_memory_equal(hash, expected, BLAKE3_LEN);
}

static void hash_ignores_time_place_and_order(void **state)
{
	struct fixture *f = *state;
	struct store_session old;
	struct store_session new;
	struct store_job job;
	uint8_t first[BLAKE3_LEN];
	uint8_t second[BLAKE3_LEN];
	int64_t id = add_job(f, "aaaa", "train", 1, 0);

	add(f, id, "/p/a", LINEAGE_INPUT, 1, 0);
	add(f, id, "/p/b", LINEAGE_INPUT, 2, 0);
	session_hash(f, first);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_session_reset(f->s, &old, &new, &f->err));
	job = a_job(f, "bbbb", "train", 7, 0);
	job.cwd = "/elsewhere";
	job.host = "other";
	job.started_ns = 77;
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	add(f, job.id, "/elsewhere/b", LINEAGE_INPUT, 2, 0);
	add(f, job.id, "/elsewhere/a", LINEAGE_INPUT, 1, 0);
	session_hash(f, second);
	assert_memory_equal(first, second, BLAKE3_LEN);
}

static void hash_knows_only_the_latest_execution(void **state)
{
	struct fixture *f = *state;
	uint8_t first[BLAKE3_LEN];
	uint8_t other[BLAKE3_LEN];
	uint8_t again[BLAKE3_LEN];

	add(f, add_job(f, "aaaa", "train", 1, 0), "/o", LINEAGE_OUTPUT, 1, 0);
	session_hash(f, first);
	add(f, add_job(f, "bbbb", "train", 1, 0), "/o", LINEAGE_OUTPUT, 2, 0);
	session_hash(f, other);
	assert_memory_not_equal(first, other, BLAKE3_LEN);
	add(f, add_job(f, "cccc", "train", 1, 0), "/o", LINEAGE_OUTPUT, 1, 0);
	session_hash(f, again);
	assert_memory_equal(first, again, BLAKE3_LEN);
}

static void hash_of_an_unknown_session_is_refused(void **state)
{
	struct fixture *f = *state;
	uint8_t hash[BLAKE3_LEN];

	fails(f, store_session_hash(f->s, 5, hash, &f->err), ENOENT,
	      "has no session 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(without_a_session_there_is_none),
		STORE_TEST(session_is_created_once),
		STORE_TEST(reset_closes_the_old_one_and_starts_another),
		STORE_TEST(reset_outside_a_transaction_changes_nothing),
		STORE_TEST(session_counts_jobs_and_steps_by_kind),
		STORE_TEST(session_counts_the_kept_files_of_its_jobs),
		STORE_TEST(hash_is_the_documented_chain),
		STORE_TEST(empty_session_has_the_hash_of_the_start),
		STORE_TEST(hash_ignores_time_place_and_order),
		STORE_TEST(hash_knows_only_the_latest_execution),
		STORE_TEST(hash_of_an_unknown_session_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_failure.c - result codes as sentences, and memory that runs out. */
#include "fixture.h"

#include "alloc_fail.h"

static void every_code_has_an_errno_and_a_sentence(void **state)
{
	static const struct {
		int code;
		int sys;
		int error;
		const char *text;
	} cases[] = {
		{ SQLITE_FULL, 0, ENOSPC,
		  "no space left on the device that holds '/d/roar.db': free "
		  "some and try again" },
		{ SQLITE_IOERR, ENOSPC, ENOSPC,
		  "no space left on the device that holds '/d/roar.db': free "
		  "some and try again" },
		{ SQLITE_IOERR, EDQUOT, EDQUOT,
		  "the disk quota leaves no space for '/d/roar.db': free some "
		  "and try again" },
		{ SQLITE_IOERR, EFBIG, EFBIG,
		  "the file size limit leaves no space for '/d/roar.db': raise "
		  "it with 'ulimit -f' and try again" },
		{ SQLITE_IOERR, EIO, EIO,
		  "cannot read or write '/d/roar.db' (Input/output error): "
		  "check the disk and try again" },
		{ SQLITE_CORRUPT, 0, EUCLEAN,
		  "'/d/roar.db' is damaged (words): restore a copy or move it "
		  "away and run 'roar init'" },
		{ SQLITE_CORRUPT_VTAB, 0, EUCLEAN,
		  "'/d/roar.db' is damaged (words): restore a copy or move it "
		  "away and run 'roar init'" },
		{ SQLITE_BUSY, 0, EBUSY,
		  "'/d/roar.db' has been locked by another program for 30 s: "
		  "wait for it to end and try again" },
		{ SQLITE_NOMEM, 0, ENOMEM,
		  "out of memory while using '/d/roar.db': end other programs "
		  "and try again" },
		{ SQLITE_CANTOPEN, EMFILE, EACCES,
		  "cannot open '/d/roar.db' (Too many open files): check the "
		  "permissions of it and of its directory" },
		{ SQLITE_MISUSE, 0, EIO,
		  "cannot read or write '/d/roar.db' (words): check the disk "
		  "and try again" },
	};
	struct roar_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(store_failure("/d/roar.db", cases[i].code,
					       cases[i].sys, "words", &err),
				 -cases[i].error);
		assert_string_equal(err.text, cases[i].text);
	}
	assert_int_equal(store_failure("/d", SQLITE_FULL, 0, "", NULL),
			 -ENOSPC);
}

static void path_cannot_drive_the_terminal(void **state)
{
	struct roar_error err;

	(void)state;
	(void)store_failure("/d\n\x1b[2J", SQLITE_FULL, 0, "", &err);
	assert_null(strchr(err.text, '\n'));
	assert_null(strchr(err.text, '\x1b'));
}

/* One recorded run from opening to closing; the first failure ends it. */
static int whole_run(const struct fixture *f, struct pool *pool, int round)
{
	CLEANUP(store_closep) struct store *s = NULL;
	struct store_job_query query = { .search = "train" };
	struct store_job job = { .kind = "run", .command = "train" };
	struct store_file file = { .path = "/p", .role = LINEAGE_INPUT };
	struct store_session session;
	struct store_job *jobs;
	struct store_file *files;
	struct store_stats stats;
	uint8_t hash[BLAKE3_LEN];
	size_t n;
	int r = store_open(f->dir, STORE_CREATE, &s, NULL);

	if (r < 0)
		return r;
	(void)snprintf(job.uid, sizeof(job.uid), "%08x", round);
	file.digests.have = DIGEST_SET_BLAKE3;
	if ((r = store_begin(s, NULL)) < 0 ||
	    (r = store_session_active(s, true, &session, NULL)) < 0)
		return r;
	job.session_id = session.id;
	if ((r = store_job_add(s, &job, NULL)) < 0)
		return r;
	file.job_id = job.id;
	if ((r = store_file_add(s, &file, NULL)) < 0 ||
	    (r = store_commit(s, NULL)) < 0 ||
	    (r = store_jobs(s, pool, &query, &jobs, &n, NULL)) < 0 ||
	    (r = store_files(s, pool, job.id, true, &files, &n, NULL)) < 0 ||
	    (r = store_session_hash(s, session.id, hash, NULL)) < 0)
		return r;
	return store_stats(s, &stats, NULL);
}

/* Whichever allocation is the first to fail, the result says so, and what was
 * committed before is still there. */
static void failing_allocation_is_enomem_and_harms_nothing(void **state)
{
	struct fixture *f = *state;
	int n_failed = 0;
	int r = -ENOMEM;

	for (int i = 0; r < 0; i += i < 40 ? 1 : 7) {
		CLEANUP(pool_release) struct pool pool = POOL_INIT;

		alloc_fail_after(i);
		r = whole_run(f, &pool, i);
		alloc_fail_never();
		if (r < 0 && r != -ENOMEM)
			fail_msg("allocation %d: %s", i, strerror(-r));
		n_failed += r < 0;
	}
	assert_true(n_failed > 3);
	open_store(f, 0);
	ok(f, store_check(f->s, &f->err));
	assert_true(count(f, "SELECT count(*) FROM jobs") > 0);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"),
			 count(f, "SELECT count(*) FROM job_files"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_an_errno_and_a_sentence),
		cmocka_unit_test(path_cannot_drive_the_terminal),
		EMPTY_TEST(failing_allocation_is_enomem_and_harms_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

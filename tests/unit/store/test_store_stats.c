/* test_stats.c - facts, check and compaction of the whole database. */
#include "fixture.h"

#include <fcntl.h>
#include <unistd.h>

static struct store_stats stats_of(struct fixture *f)
{
	struct store_stats stats;

	ok(f, store_stats(f->s, &stats, &f->err));
	return stats;
}

static void empty_store_has_nothing_but_a_version(void **state)
{
	struct store_stats stats = stats_of(*state);

	assert_int_equal(stats.schema_version, store_n_steps);
	assert_true(stats.size_bytes > 4096);
	assert_int_equal(stats.n_sessions, 0);
	assert_int_equal(stats.n_jobs, 0);
	assert_int_equal(stats.artifact_bytes, 0);
	assert_int_equal(stats.oldest_ns, 0);
	assert_int_equal(stats.newest_ns, 0);
}

static void everything_is_counted(void **state)
{
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	struct store_file file = a_file(id, "/a", LINEAGE_INPUT, 10);
	struct store_stats stats;

	add_file(f, &file);
	file = a_file(id, "/b", LINEAGE_OUTPUT, 30);
	add_file(f, &file);
	file = a_file(id, "/b", LINEAGE_INPUT, 0);
	add_file(f, &file);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_process_add(f->s, id, &(struct store_process){ .pid = 1 },
				&f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_exec(f->s,
			 "INSERT INTO artifacts (blake3, size, first_seen_ns) "
			 "VALUES (x'00', 2, 0)",
			 &f->err));

	stats = stats_of(f);
	assert_int_equal(stats.n_sessions, 1);
	assert_int_equal(stats.n_jobs, 1);
	assert_int_equal(stats.n_artifacts, 3);
	assert_int_equal(stats.n_paths, 2);
	assert_int_equal(stats.n_files, 3);
	assert_int_equal(stats.n_processes, 1);
	assert_int_equal(stats.artifact_bytes, 42);
	assert_int_equal(stats.oldest_ns, 1000);
	assert_int_equal(stats.newest_ns, 1000);
	assert_int_equal(stats.n_unreferenced, 1);
}

static void sizes_that_overflow_are_no_failure(void **state)
{
	struct fixture *f = *state;

	ok(f, store_exec(f->s,
			 "INSERT INTO artifacts (blake3, size, first_seen_ns) "
			 "VALUES (x'00', 0x7fffffffffffffff, 0), "
			 "(x'01', 0x7fffffffffffffff, 0)",
			 &f->err));
	assert_true(stats_of(f).artifact_bytes > 0);
}

static void sound_database_passes_the_check(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "a1", "x", 1, 0);
	ok(f, store_check(f->s, &f->err));
}

static void damaged_page_fails_the_check(void **state)
{
	struct fixture *f = *state;
	char garbage[4096];
	int64_t id = add_job(f, "a1", "x", 1, 0);
	int64_t page;
	int fd;

	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 500; i++) {
		char path[64];
		struct store_file file;

		(void)snprintf(path, sizeof(path), "/a/longer/path/%d", i);
		file = a_file(id, path, LINEAGE_INPUT, 0);
		ok(f, store_file_add(f->s, &file, &f->err));
	}
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_compact(f->s, &f->err));
	page = count(f, "SELECT rootpage FROM sqlite_schema "
			"WHERE name = 'job_files'");
	store_close(TAKE_PTR(f->s));

	memset(garbage, 0x5a, sizeof(garbage));
	fd = open(f->db, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, garbage, sizeof(garbage), (page - 1) * 4096),
			 sizeof(garbage));
	(void)close(fd);
	open_store(f, 0);
	fails(f, store_check(f->s, &f->err), EUCLEAN, "is damaged (");
	assert_non_null(strstr(f->err.text, "restore a copy or move it away"));
}

static void dangling_reference_fails_the_check(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "a1", "x", 1, 0);
	ok(f,
	   store_exec(f->s, "PRAGMA foreign_keys = OFF; DELETE FROM sessions",
		      &f->err));
	fails(f, store_check(f->s, &f->err), EUCLEAN,
	      "is damaged (a row of jobs points to a missing row of sessions)");
}

static void file_without_its_path_or_content_fails_the_check(void **state)
{
	struct fixture *f = *state;
	struct store_file file = a_file(add_job(f, "a1", "x", 1, 0), "/p",
					LINEAGE_OUTPUT, 1);

	file.origin = "/origin";
	add_file(f, &file);
	ok(f, store_check(f->s, &f->err));
	for (int i = 0; i < 3; i++) {
		static const char *const tables[] = { "artifacts", "paths",
						      "paths" };
		static const char *const losses[] = {
			"DELETE FROM artifacts",
			"DELETE FROM paths WHERE path = '/p'",
			"DELETE FROM paths WHERE path = '/origin'",
		};
		char words[96];

		(void)snprintf(words, sizeof(words),
			       "a row of job_files points to a missing row of "
			       "%s",
			       tables[i]);
		ok(f, store_begin(f->s, &f->err));
		ok(f, store_exec(f->s, losses[i], &f->err));
		fails(f, store_check(f->s, &f->err), EUCLEAN, words);
		store_rollback(f->s);
	}
	ok(f, store_check(f->s, &f->err));
}

static void compaction_drops_what_nothing_mentions(void **state)
{
	struct fixture *f = *state;
	int64_t kept = add_job(f, "a1", "x", 1, 0);
	int64_t gone = add_job(f, "a2", "y", 2, 0);
	struct store_file file = a_file(kept, "/kept", LINEAGE_OUTPUT, 1);
	struct store_file *out;
	int64_t before;
	size_t n;

	file.origin = "/origin";
	add_file(f, &file);
	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 2000; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/gone/%d", i);
		file = a_file(gone, path, LINEAGE_INPUT, 2);
		memcpy(file.digests.blake3, &i, sizeof(i));
		ok(f, store_file_add(f->s, &file, &f->err));
	}
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, gone, &f->err));
	ok(f, store_commit(f->s, &f->err));
	before = stats_of(f).size_bytes;
	assert_int_equal(stats_of(f).n_paths, 2002);

	ok(f, store_compact(f->s, &f->err));
	assert_int_equal(stats_of(f).n_paths, 2);
	assert_int_equal(stats_of(f).n_artifacts, 1);
	assert_true(stats_of(f).size_bytes < before / 2);
	ok(f, store_check(f->s, &f->err));
	ok(f, store_files(f->s, &f->pool, kept, true, &out, &n, &f->err));
	assert_int_equal(n, 1);
	assert_string_equal(out->origin, "/origin");
	(void)add_job(f, "a3", "z", 3, 0);
}

static void compaction_needs_to_write(void **state)
{
	struct fixture *f = *state;

	ok(f, store_begin(f->s, &f->err));
	fails(f, store_compact(f->s, &f->err), EINVAL, "under way");
	store_rollback(f->s);
	reopen(f, STORE_READONLY);
	fails(f, store_compact(f->s, &f->err), EROFS, "cannot be written");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(empty_store_has_nothing_but_a_version),
		STORE_TEST(everything_is_counted),
		STORE_TEST(sizes_that_overflow_are_no_failure),
		STORE_TEST(sound_database_passes_the_check),
		STORE_TEST(damaged_page_fails_the_check),
		STORE_TEST(dangling_reference_fails_the_check),
		STORE_TEST(file_without_its_path_or_content_fails_the_check),
		STORE_TEST(compaction_drops_what_nothing_mentions),
		STORE_TEST(compaction_needs_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* store_stats.c - facts about the whole database, its check and its compaction. */
#include "store/store_internal.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "base/pool.h"
#include "base/str.h"

static const struct stat_column {
	size_t offset; /* of an int64_t in struct store_stats */
	const char *sql;
} stat_columns[] = {
#define STAT(name, sql)                                 \
	{                                               \
		offsetof(struct store_stats, name), sql \
	}
	STAT(n_sessions, "SELECT count(*) FROM sessions"),
	STAT(n_jobs, "SELECT count(*) FROM jobs"),
	STAT(n_artifacts, "SELECT count(*) FROM artifacts"),
	STAT(n_paths, "SELECT count(*) FROM paths"),
	STAT(n_files, "SELECT count(*) FROM job_files"),
	STAT(n_processes, "SELECT count(*) FROM processes"),
	STAT(artifact_bytes,
	     "SELECT CAST(total(size) AS INTEGER) FROM artifacts"),
	STAT(oldest_ns, "SELECT min(started_ns) FROM jobs"),
	STAT(newest_ns, "SELECT max(started_ns) FROM jobs"),
	STAT(n_unreferenced,
	     "SELECT count(*) FROM artifacts a WHERE NOT EXISTS "
	     "(SELECT 1 FROM job_files f WHERE f.artifact_id = a.id) "
	     "AND " STORE_NO_COLLECTION),
#undef STAT
};

static int64_t file_bytes(const char *path, const char *suffix)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct stat st;

	str_addf(&name, "%s%s", path, suffix);
	if (str_error(&name) < 0 || stat(str_cstr(&name), &st) < 0)
		return 0;
	return st.st_size;
}

static int read_stat(struct store *s, const struct stat_column *c,
		     struct store_stats *stats, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_prepare(s, c->sql, &q, err);

	if (r < 0)
		return r;
	return statement_one(&q, 0, (int64_t *)((char *)stats + c->offset),
			     err);
}

int store_stats(struct store *s, struct store_stats *ret,
		struct roar_error *err)
{
	struct store_stats stats = { 0 };
	int r = store_version(s, &stats.schema_version, err);

	for (size_t i = 0; i < ARRAY_SIZE(stat_columns); i++) {
		if (r == 0)
			r = read_stat(s, &stat_columns[i], &stats, err);
	}
	if (r < 0)
		return r;
	stats.size_bytes = file_bytes(s->path, "") +
			   file_bytes(s->path, "-wal");
	*ret = stats;
	return 0;
}

/* SQLite returns "ok", or the error. */
static int check_structure(struct store *s, struct pool *pool,
			   struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	const char *verdict;
	int r = statement_prepare(s, "PRAGMA integrity_check(1)", &q, err);

	if (r == 0)
		r = statement_next(&q, err);
	if (r <= 0)
		return r;
	verdict = column_text(&q, pool);
	if (verdict[0] == 'o' && verdict[1] == 'k' && !verdict[2])
		return 0;
	return store_failure(s->path, SQLITE_CORRUPT, 0, verdict, err);
}

/* The declared references, then those of schema.sql that are not. */
#define DANGLING                                                          \
	"SELECT 'a row of ' || \"table\" || "                             \
	"' points to a missing row of ' || parent "                       \
	"FROM pragma_foreign_key_check UNION ALL "                        \
	"SELECT 'a row of job_files points to a missing row of paths' "   \
	"FROM job_files f WHERE NOT EXISTS (SELECT 1 FROM paths p "       \
	"WHERE p.id = f.path_id) OR (f.origin_id IS NOT NULL AND "        \
	"NOT EXISTS (SELECT 1 FROM paths p WHERE p.id = f.origin_id)) "   \
	"UNION ALL SELECT 'a row of job_edges points to a missing row "   \
	"of processes or job_files' FROM job_edges e WHERE NOT EXISTS "   \
	"(SELECT 1 FROM processes p WHERE p.job_id = e.job_id "           \
	"AND p.n = e.process) OR NOT EXISTS (SELECT 1 FROM job_files f "  \
	"WHERE f.job_id = e.job_id AND f.n = e.file) "                    \
	"UNION ALL SELECT 'a row of job_files points to a missing row "   \
	"of artifacts' FROM job_files f WHERE f.artifact_id IS NOT NULL " \
	"AND NOT EXISTS (SELECT 1 FROM artifacts a "                      \
	"WHERE a.id = f.artifact_id) "                                    \
	"UNION ALL SELECT 'a collection points to a missing row of '"     \
	" || 'artifacts' FROM collections c WHERE NOT EXISTS "            \
	"(SELECT 1 FROM artifacts a WHERE a.id = c.id) "                  \
	"UNION ALL SELECT 'a use points to a missing collection' "        \
	"FROM job_collections u WHERE NOT EXISTS (SELECT 1 FROM "         \
	"collections c WHERE c.id = u.collection_id) OR NOT EXISTS "      \
	"(SELECT 1 FROM paths p WHERE p.id = u.path_id) "                 \
	"UNION ALL SELECT 'a name points to a missing path' "             \
	"FROM collection_names n WHERE NOT EXISTS (SELECT 1 FROM paths "  \
	"p WHERE p.id = n.path_id) "                                      \
	"UNION ALL SELECT 'a member of a collection points to a "         \
	"missing path or artifact' FROM collection_members m "            \
	"WHERE NOT EXISTS (SELECT 1 FROM paths p WHERE p.id = m.path_id)" \
	" OR NOT EXISTS (SELECT 1 FROM artifacts a "                      \
	"WHERE a.id = m.artifact_id) LIMIT 1"

static int check_references(struct store *s, struct pool *pool,
			    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	const char *detail;
	int r = statement_prepare(s, DANGLING, &q, err);

	if (r == 0)
		r = statement_next(&q, err);
	if (r <= 0)
		return r;
	detail = column_text(&q, pool);
	return store_failure(s->path, SQLITE_CORRUPT, 0, detail, err);
}

int store_check(struct store *s, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	int r = check_structure(s, &pool, err);

	return r < 0 ? r : check_references(s, &pool, err);
}

static int remove_surplus(struct store *s, struct roar_error *err)
{
	return store_exec(
		s,
		"DELETE FROM collections AS a WHERE " STORE_NO_COLLECTION ";"
		"DELETE FROM artifacts AS a WHERE NOT EXISTS (SELECT 1 FROM "
		"job_files f WHERE f.artifact_id = a.id) "
		"AND " STORE_NO_COLLECTION ";"
		"DELETE FROM paths WHERE NOT EXISTS (SELECT 1 FROM "
		"job_files f WHERE f.path_id = paths.id) AND id NOT IN "
		"(SELECT origin_id FROM job_files WHERE origin_id IS NOT NULL "
		"UNION ALL SELECT path_id FROM job_collections "
		"UNION ALL SELECT path_id FROM collection_names "
		"UNION ALL SELECT path_id FROM collection_members);"
		"DELETE FROM situations WHERE NOT EXISTS (SELECT 1 FROM "
		"job_situations j WHERE j.situation_id = situations.id);"
		"INSERT INTO jobs_text (jobs_text) VALUES ('optimize')",
		err);
}

int store_compact(struct store *s, struct roar_error *err)
{
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	r = remove_surplus(s, err);
	if (r == 0)
		r = store_commit(s, err);
	if (r < 0) {
		store_rollback(s);
		return r;
	}

	/* The new copy is as large as the database: not in memory. */
	r = store_exec(s,
		       "PRAGMA temp_store = FILE; VACUUM;"
		       "PRAGMA wal_checkpoint(TRUNCATE)",
		       err);
	(void)store_exec(s, "PRAGMA temp_store = MEMORY", NULL);
	if (r == 0)
		s->wal_pages = 0;
	return r;
}

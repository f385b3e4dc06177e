/* store_statement.c - every fixed statement of the store, and how they are used. */
#include "store/store_internal.h"

#include <assert.h>
#include <string.h>

#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"

#define SESSION_COLUMNS                                            \
	"SELECT id, uid, created_ns, closed_ns, n_jobs, n_steps, " \
	"n_build_steps, n_files, hash, imported_ns FROM sessions "

/* CROSS JOIN keeps SQLite from starting at the paths.  The ETag is looked for where
 * there is an object (ftype 32) only. */
#define FILE_VALUES                                                        \
	"SELECT f.job_id, f.n, p.path, f.role, f.intermediate, f.filter, " \
	"f.ftype, f.seen, f.artifact_id, f.dev, f.ino, f.size, "           \
	"f.mtime_ns, f.ctime_ns, f.read_order, f.write_order, "            \
	"f.reader, f.writer, f.bytes_read, f.bytes_written, "              \
	"a.blake3, o.path, CASE f.ftype WHEN 32 THEN (SELECT x.etag "      \
	"FROM objects x WHERE x.job_id = f.job_id AND x.n = f.n) END "
#define FILE_TABLES                                                \
	"FROM job_files f CROSS JOIN paths p ON p.id = f.path_id " \
	"LEFT JOIN artifacts a ON a.id = f.artifact_id "           \
	"LEFT JOIN paths o ON o.id = f.origin_id "
#define FILE_COLUMNS FILE_VALUES FILE_TABLES

#define FILE_INSERT                                                     \
	"INSERT INTO job_files (job_id, n, path_id, role, "             \
	"intermediate, filter, ftype, seen, dev, ino, size, mtime_ns, " \
	"ctime_ns, read_order, write_order, reader, writer, "           \
	"artifact_id, origin_id, bytes_read, bytes_written) VALUES "
#define FILE_ROW \
	"(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define FILE_ROWS_4 FILE_ROW ", " FILE_ROW ", " FILE_ROW ", " FILE_ROW

/* Where a collection was last: used by a job, else named. */
#define COLLECTION_COLUMNS                                                 \
	"SELECT c.id, c.kind, c.n_members, a.size, a.first_seen_ns, "      \
	"a.blake3, coalesce((SELECT group_concat(n.name, ' ') "            \
	"FROM collection_names n WHERE n.collection_id = c.id "            \
	"AND n.id = (SELECT max(x.id) FROM collection_names x "            \
	"WHERE x.name = n.name)), ''), "                                   \
	"coalesce((SELECT p.path FROM job_collections j CROSS JOIN paths " \
	"p ON p.id = j.path_id WHERE j.collection_id = c.id "              \
	"ORDER BY j.job_id DESC LIMIT 1), (SELECT p.path FROM "            \
	"collection_names n CROSS JOIN paths p ON p.id = n.path_id "       \
	"WHERE n.collection_id = c.id ORDER BY n.id DESC LIMIT 1), '') "
#define COLLECTION_USES                                             \
	COLLECTION_COLUMNS ", u.job_id, u.role, w.path "            \
			   "FROM job_collections u "                \
			   "CROSS JOIN collections c "              \
			   "ON c.id = u.collection_id "             \
			   "CROSS JOIN artifacts a ON a.id = c.id " \
			   "CROSS JOIN paths w ON w.id = u.path_id "
#define EDGE_INSERT                                               \
	"INSERT INTO job_edges (job_id, n, process, file, kind, " \
	"event) VALUES "
#define EDGE_ROW "(?, ?, ?, ?, ?, ?)"
#define EDGE_ROWS_4 EDGE_ROW ", " EDGE_ROW ", " EDGE_ROW ", " EDGE_ROW

/* The artifacts of one digest in the range from ?1 up to ?2. */
#define ARTIFACTS_IN_RANGE(digest)                               \
	"SELECT id FROM (SELECT id FROM artifacts WHERE " digest \
	" >= ?1 AND " digest " < ?2 ORDER BY " digest " LIMIT ?3)"

/* ?1 is a JSON array of jobs that are parts of one. */
#define PARTS "(SELECT value FROM json_each(?1))"
#define JOIN_FILES                                                       \
	"FROM job_files f WHERE f.job_id IN " PARTS " AND f.filter = 0 " \
	"AND f.role IN (1, 2) AND NOT (f.role = 1 "                      \
	"AND f.artifact_id IS NOT NULL AND EXISTS (SELECT 1 "            \
	"FROM job_files w WHERE w.artifact_id = f.artifact_id "          \
	"AND w.path_id = f.path_id AND w.role = 2 AND w.filter = 0 "     \
	"AND w.job_id <> f.job_id AND w.job_id IN " PARTS ")) "          \
	"GROUP BY f.role, f.path_id, f.artifact_id"

/* Labels of one kind of entity, which has the column `id`. */
/* clang-format off */
#define LABEL_ADD(id)                                              \
	"INSERT INTO labels (" id ", version, created_ns, origin, " \
	"document) VALUES (?1, ?2, ?3, ?4, ?5)"
#define LABEL_COLUMNS(id) \
	"SELECT " id ", version, created_ns, origin, document FROM labels "
#define LABEL_HISTORY(id) \
	LABEL_COLUMNS(id) "WHERE " id " = ?1 ORDER BY version DESC LIMIT ?2"
#define LABELS_CURRENT(id)                                             \
	LABEL_COLUMNS(id) "l WHERE " id " IS NOT NULL AND version = "   \
	"(SELECT max(version) FROM labels x WHERE x." id " = l." id ") " \
	"ORDER BY " id
/* clang-format on */

/* The statements name the columns of digests one by one, in this order. */
_Static_assert(EVENT_FTYPE_OBJECT == 32, "the statements have the number");
_Static_assert(DIGEST_ALGO_END == DIGEST_GIT_BLOB + 1, "each has a column");

static const char *const texts[SQL_ENUM_END] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",

	[SQL_SESSION_ACTIVE] = SESSION_COLUMNS "WHERE closed_ns = 0",
	[SQL_SESSION_BY_ID] = SESSION_COLUMNS "WHERE id = ?1",
	[SQL_SESSIONS] = SESSION_COLUMNS "ORDER BY id",
	[SQL_SESSION_ADD] =
		"INSERT INTO sessions (uid, created_ns) VALUES (?1, ?2)",
	[SQL_SESSION_CLOSE] = "UPDATE sessions SET closed_ns = ?2, hash = ?3 "
			      "WHERE id = ?1",
	[SQL_SESSION_COUNT] =
		"UPDATE sessions SET n_jobs = n_jobs + ?2, "
		"n_steps = n_steps + ?3, n_build_steps = n_build_steps + ?4, "
		"n_files = n_files + ?5 "
		"WHERE id = ?1",
	[SQL_SESSION_STEPS] =
		"SELECT id, kind, step FROM jobs INDEXED BY jobs_step "
		"WHERE session_id = ?1 ORDER BY kind, step, attempt DESC",
	[SQL_SESSION_STEP] =
		"SELECT n_inputs + n_outputs, command FROM jobs WHERE id = ?1",
	[SQL_SESSION_CONTENT] =
		"SELECT f.role, a.blake3 FROM job_files f "
		"CROSS JOIN artifacts a ON a.id = f.artifact_id "
		"WHERE f.job_id = ?1 AND (f.role = ?2 OR f.role = ?3) "
		"AND f.filter = 0",

	[SQL_SESSION_BY_UID] = SESSION_COLUMNS "WHERE uid = ?1",
	[SQL_SESSION_IMPORT] =
		"INSERT INTO sessions (uid, created_ns, closed_ns, imported_ns) "
		"VALUES (?1, ?2, ?3, ?4)",

	[SQL_JOB_BY_UID] = "SELECT id FROM jobs WHERE uid = ?1",
	[SQL_JOB_PLACE] = "SELECT session_id, kind, step, n_inputs, n_outputs "
			  "FROM jobs WHERE id = ?1",
	[SQL_JOB_DELETE] = "DELETE FROM jobs WHERE id = ?1",
	[SQL_JOB_INDEX] =
		"INSERT INTO jobs_text (rowid, command, script, name) "
		"SELECT id, command, script, name FROM jobs WHERE id = ?1",
	[SQL_JOB_UNINDEX] =
		"INSERT INTO jobs_text (jobs_text, rowid, command, script, "
		"name) SELECT 'delete', id, command, script, name FROM jobs "
		"WHERE id = ?1",
	[SQL_STEP_OF_JOB] = "SELECT step FROM jobs WHERE id = ?1 "
			    "AND session_id = ?2 AND kind = ?3",
	[SQL_STEP_BY_COMMAND] =
		"SELECT step FROM jobs INDEXED BY jobs_command "
		"WHERE session_id = ?1 AND kind = ?2 AND command_id = ?3 "
		"ORDER BY id DESC LIMIT 1",
	[SQL_STEP_BY_OUTPUT] =
		"SELECT step FROM jobs INDEXED BY jobs_output "
		"WHERE session_id = ?1 AND kind = ?2 AND output_id = ?3 "
		"ORDER BY id DESC LIMIT 1",
	[SQL_STEP_NEXT] = "SELECT coalesce(max(step), 0) + 1 FROM jobs "
			  "WHERE session_id = ?1 AND kind = ?2",
	[SQL_ATTEMPT_NEXT] = "SELECT coalesce(max(attempt), 0) + 1 FROM jobs "
			     "WHERE session_id = ?1 AND kind = ?2 AND step = ?3",

	[SQL_PROCESS_ADD] =
		"INSERT INTO processes (job_id, n, pid, parent, start_ns, "
		"end_ns, status, n_execs, command) VALUES (?1, "
		"(SELECT coalesce(max(n), 0) + 1 FROM processes "
		"WHERE job_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SQL_PROCESSES] = "SELECT pid, parent, start_ns, end_ns, status, "
			  "n_execs, command "
			  "FROM processes WHERE job_id = ?1 ORDER BY n",
	[SQL_PROCESS_PIDS] = "SELECT n, pid FROM processes WHERE job_id = ?1",

	[SQL_EDGE_ADD] = EDGE_INSERT EDGE_ROW,
	[SQL_EDGE_ADD_MANY] = EDGE_INSERT EDGE_ROWS_4
	", " EDGE_ROWS_4 ", " EDGE_ROWS_4 ", " EDGE_ROWS_4,
	[SQL_EDGES] = "SELECT process, file, kind, event FROM job_edges "
		      "WHERE job_id = ?1",
	[SQL_EDGES_OF_FILES] =
		"SELECT n, role, filter, seen, reader, read_order, writer, "
		"write_order FROM job_files WHERE job_id = ?1",
	[SQL_RANK_ADD] = "INSERT INTO process_ranks (job_id, process, rank, "
			 "local_rank, world_size, launcher, group_id) "
			 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_RANKS] = "SELECT process, rank, local_rank, world_size, launcher, "
		      "group_id FROM process_ranks WHERE job_id = ?1 "
		      "ORDER BY process",

	[SQL_GAP_ADD] = "INSERT INTO gaps (job_id, n, code, count, detail) VALUES "
			"(?1, (SELECT coalesce(max(n), 0) + 1 FROM gaps "
			"WHERE job_id = ?1), ?2, ?3, ?4)",
	[SQL_GAPS] = "SELECT code, count, detail FROM gaps "
		     "WHERE job_id = ?1 ORDER BY n",

	[SQL_LEFT_OUT_ADD] =
		"INSERT INTO left_out (job_id, n, reason, path) VALUES "
		"(?1, (SELECT coalesce(max(n), 0) + 1 FROM left_out "
		"WHERE job_id = ?1), ?2, ?3)",
	[SQL_LEFT_OUT] = "SELECT reason, path FROM left_out "
			 "WHERE job_id = ?1 ORDER BY n",

	[SQL_SHARD_ADD] =
		"INSERT INTO shards (job_id, n, pid, rank, epoch, n_samples, "
		"dataset, path) VALUES (?1, (SELECT coalesce(max(n), 0) + 1 "
		"FROM shards WHERE job_id = ?1), ?2, nullif(?3, -1), ?4, ?5, "
		"?6, ?7)",
	[SQL_SHARDS] = "SELECT pid, coalesce(rank, -1), epoch, n_samples, "
		       "dataset, path FROM shards WHERE job_id = ?1 "
		       "ORDER BY n",

	[SQL_CHECKPOINT_ADD] =
		"INSERT INTO checkpoints (job_id, n, pid, step, world_size, "
		"committed_ns, n_shards, n_samples, manifest, parent, path) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[SQL_CHECKPOINT_SHARD_ADD] =
		"INSERT INTO checkpoint_shards (job_id, n, checkpoint, rank, "
		"epoch, n_samples, dataset, path) VALUES (?1, (SELECT "
		"coalesce(max(n), 0) + 1 FROM checkpoint_shards "
		"WHERE job_id = ?1), ?2, nullif(?3, -1), ?4, ?5, ?6, ?7)",
	[SQL_CHECKPOINTS_OF_PATH] =
		"SELECT job_id, n, pid, step, world_size, committed_ns, "
		"n_shards, n_samples, manifest, parent, path FROM checkpoints "
		"WHERE path = ?1 ORDER BY job_id DESC, n DESC",
	[SQL_CHECKPOINTS_OF_JOB] =
		"SELECT job_id, n, pid, step, world_size, committed_ns, "
		"n_shards, n_samples, manifest, parent, path FROM checkpoints "
		"WHERE job_id = ?1 ORDER BY n",
	[SQL_CHECKPOINT_SHARD_ROWS] =
		"SELECT coalesce(rank, -1), epoch, n_samples, dataset, path "
		"FROM checkpoint_shards WHERE job_id = ?1 AND checkpoint = ?2 "
		"ORDER BY n",
	[SQL_CHECKPOINT_SHARDS] =
		"SELECT coalesce(rank, -1), epoch, max(n_samples), dataset, "
		"path FROM checkpoint_shards "
		"WHERE job_id = ?1 AND checkpoint <= ?2 "
		"GROUP BY rank, epoch, dataset, path "
		"ORDER BY rank, epoch, dataset, path",

	[SQL_OBJECT_ADD] =
		"INSERT INTO objects (job_id, n, pid, n_requests, n_parts, op, "
		"endpoint, version, etag, ranges, copy_source) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	/* The newest record is the most likely one to have it. */
	[SQL_OBJECT_CONTENT] =
		"SELECT f.artifact_id FROM job_files f CROSS JOIN objects o "
		"ON o.job_id = f.job_id AND o.n = f.n "
		"WHERE f.path_id = ?1 AND f.artifact_id IS NOT NULL "
		"AND o.endpoint = ?2 AND o.etag = ?3 "
		"ORDER BY f.job_id DESC LIMIT 1",
	[SQL_OBJECTS] = "SELECT n, pid, n_requests, n_parts, op, endpoint, "
			"version, etag, ranges, copy_source FROM objects "
			"WHERE job_id = ?1 ORDER BY n",

	[SQL_SITUATION_FIND] =
		"SELECT id FROM situations WHERE kind = ?1 AND digest = ?2",
	[SQL_SITUATION_ADD] = "INSERT INTO situations (kind, digest, document) "
			      "VALUES (?1, ?2, ?3)",
	[SQL_JOB_SITUATION_ADD] =
		"INSERT OR REPLACE INTO job_situations (job_id, kind, "
		"situation_id) VALUES (?1, ?2, ?3)",
	[SQL_JOB_SITUATION] = "SELECT s.document FROM job_situations j "
			      "CROSS JOIN situations s ON s.id = j.situation_id "
			      "WHERE j.job_id = ?1 AND j.kind = ?2",

	[SQL_COLLECTION_ADD] = "INSERT INTO collections (id, kind, n_members) "
			       "VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
	[SQL_COLLECTION_USE_ADD] =
		"INSERT INTO job_collections (job_id, n, collection_id, role, "
		"path_id) VALUES (?1, (SELECT coalesce(max(n), 0) + 1 "
		"FROM job_collections WHERE job_id = ?1), ?2, ?3, ?4)",
	[SQL_COLLECTION_NAME_ADD] =
		"INSERT INTO collection_names (collection_id, created_ns, "
		"path_id, name) VALUES (?1, ?2, ?3, ?4)",
	[SQL_COLLECTION_NAMED] =
		"SELECT collection_id FROM collection_names WHERE name = ?1 "
		"ORDER BY id DESC LIMIT 1",
	[SQL_COLLECTION_GET] = COLLECTION_COLUMNS
	"FROM collections c CROSS JOIN artifacts a ON a.id = c.id "
	"WHERE c.id = ?1",
	[SQL_COLLECTION_AT] =
		"SELECT coalesce((SELECT collection_id FROM job_collections "
		"WHERE path_id = ?1 ORDER BY job_id DESC, role DESC LIMIT 1), "
		"(SELECT collection_id FROM collection_names "
		"WHERE path_id = ?1 ORDER BY id DESC LIMIT 1), 0)",
	[SQL_COLLECTIONS] = COLLECTION_COLUMNS
	"FROM collections c CROSS JOIN artifacts a ON a.id = c.id "
	"ORDER BY a.first_seen_ns, c.id",
	[SQL_COLLECTION_USES] = COLLECTION_USES
	"WHERE u.collection_id = ?1 ORDER BY u.job_id DESC, u.n",
	[SQL_JOB_COLLECTIONS] = COLLECTION_USES
	"WHERE u.job_id = ?1 ORDER BY u.n",
	[SQL_COLLECTION_DELETE_UNUSED] =
		"DELETE FROM collections AS a WHERE " STORE_NO_COLLECTION,
	[SQL_MEMBERS_BEGIN] = "UPDATE collections SET prefix = ?2 "
			      "WHERE id = ?1 AND prefix IS NULL",
	[SQL_MEMBER_ADD] =
		"INSERT INTO collection_members (collection_id, n, path_id, "
		"artifact_id) VALUES (?1, ?2, ?3, ?4)",
	[SQL_MEMBERS_PREFIX] =
		"SELECT coalesce(prefix, -1) FROM collections WHERE id = ?1",
	[SQL_MEMBERS_SOURCE] =
		"SELECT u.job_id, u.role, p.path FROM job_collections u "
		"CROSS JOIN paths p ON p.id = u.path_id "
		"WHERE u.collection_id = ?1 ORDER BY u.job_id DESC LIMIT 1",
	[SQL_GROUP_ADD] = "INSERT INTO job_groups (job_id, node, n_nodes, "
			  "group_id) VALUES (?1, ?2, ?3, ?4)",
	[SQL_GROUP] = "SELECT node, n_nodes, group_id FROM job_groups "
		      "WHERE job_id = ?1 UNION ALL SELECT NULL, NULL, "
		      "group_id FROM process_ranks WHERE job_id = ?1 "
		      "AND group_id <> '' LIMIT 1",
	[SQL_GROUP_PARTS] =
		"SELECT id FROM jobs j WHERE (id IN (SELECT job_id "
		"FROM job_groups WHERE group_id = ?1) OR id IN (SELECT job_id "
		"FROM process_ranks WHERE group_id = ?1)) AND NOT EXISTS "
		"(SELECT 1 FROM job_parts p WHERE p.job_id = j.id) ORDER BY id",
	[SQL_PARTS] = "SELECT part_id FROM job_parts WHERE job_id = ?1 "
		      "ORDER BY n",
	[SQL_PART_ADD] = "INSERT INTO job_parts (job_id, n, part_id) VALUES "
			 "(?1, (SELECT coalesce(max(n), 0) + 1 FROM job_parts "
			 "WHERE job_id = ?1), ?2)",
	[SQL_JOIN_COUNT] = "SELECT coalesce(sum(role = 1), 0), "
			   "coalesce(sum(role = 2), 0) "
			   "FROM (SELECT f.role AS role " JOIN_FILES ")",
	/* Pids and orders of one machine mean nothing beside those of another. */
	[SQL_JOIN_FILES] =
		"INSERT INTO job_files (job_id, n, path_id, role, "
		"intermediate, filter, ftype, seen, artifact_id, dev, ino, "
		"size, mtime_ns, ctime_ns, read_order, write_order, reader, "
		"writer, origin_id, bytes_read, bytes_written) SELECT ?2, "
		"row_number() OVER (ORDER BY f.role, min(f.job_id), "
		"min(f.n)), f.path_id, f.role, max(f.intermediate), 0, "
		"f.ftype, f.seen, f.artifact_id, f.dev, f.ino, f.size, "
		"f.mtime_ns, f.ctime_ns, 0, 0, 0, 0, f.origin_id, "
		"sum(f.bytes_read), sum(f.bytes_written) " JOIN_FILES,
	[SQL_JOIN_SHARDS] =
		"INSERT INTO shards (job_id, n, pid, rank, epoch, n_samples, "
		"dataset, path) SELECT ?2, row_number() OVER (ORDER BY job_id, "
		"n), pid, rank, epoch, n_samples, dataset, path FROM shards "
		"WHERE job_id IN " PARTS,

	[SQL_LABEL_SESSION_ADD] = LABEL_ADD("session_id"),
	[SQL_LABEL_SESSION_HISTORY] = LABEL_HISTORY("session_id"),
	[SQL_LABEL_SESSIONS] = LABELS_CURRENT("session_id"),
	[SQL_LABEL_JOB_ADD] = LABEL_ADD("job_id"),
	[SQL_LABEL_JOB_HISTORY] = LABEL_HISTORY("job_id"),
	[SQL_LABEL_JOBS] = LABELS_CURRENT("job_id"),
	[SQL_LABEL_ARTIFACT_ADD] = LABEL_ADD("artifact_id"),
	[SQL_LABEL_ARTIFACT_HISTORY] = LABEL_HISTORY("artifact_id"),
	[SQL_LABEL_ARTIFACTS] = LABELS_CURRENT("artifact_id"),

	[SQL_TAG_ADD] =
		"INSERT INTO job_tags (job_id, action, kind, value, origin) "
		"VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
	/* Without a value, all of the kind. */
	[SQL_TAG_REMOVE] = "DELETE FROM job_tags WHERE job_id = ?1 "
			   "AND action = ?2 AND kind = ?3 "
			   "AND (?4 = '' OR value = ?4) "
			   "RETURNING job_id, action, kind, value, origin",
	[SQL_TAG_HISTORY_ADD] =
		"INSERT INTO tag_history (job_id, n, created_ns, removed, "
		"action, kind, value, origin) VALUES (?1, "
		"(SELECT coalesce(max(n), 0) + 1 FROM tag_history "
		"WHERE job_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_TAG_HISTORY] = "SELECT created_ns, removed, job_id, action, kind, "
			    "value, origin FROM tag_history "
			    "WHERE job_id = ?1 ORDER BY n",
	[SQL_TAGS_OF_JOB] = "SELECT job_id, action, kind, value, origin "
			    "FROM job_tags WHERE job_id = ?1 "
			    "ORDER BY action, kind, value",
	/* There are few tags and many jobs: each tag looks for its job. */
	[SQL_TAGS_OF_SESSION] =
		"SELECT t.job_id, t.action, t.kind, t.value, t.origin "
		"FROM job_tags t CROSS JOIN jobs j ON j.id = t.job_id "
		"WHERE j.session_id = ?1 "
		"ORDER BY t.job_id, t.action, t.kind, t.value",

	[SQL_PATH_FIND] = "SELECT id FROM paths WHERE path = ?1",
	[SQL_PATH_ADD] = "INSERT INTO paths (path) VALUES (?1) "
			 "ON CONFLICT DO NOTHING",

	[SQL_ARTIFACT_FIND] = "SELECT id FROM artifacts WHERE blake3 = ?1",
	[SQL_ARTIFACT_ADD] =
		"INSERT INTO artifacts (size, first_seen_ns, blake3, sha256, "
		"sha512, md5, crc64nvme, git_blob) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
		"ON CONFLICT DO NOTHING",
	[SQL_ARTIFACT_COMPLETE] =
		"UPDATE artifacts SET sha256 = coalesce(sha256, ?2), "
		"sha512 = coalesce(sha512, ?3), md5 = coalesce(md5, ?4), "
		"crc64nvme = coalesce(crc64nvme, ?5), "
		"git_blob = coalesce(git_blob, ?6) "
		"WHERE id = ?1",
	[SQL_ARTIFACT_GET] =
		"SELECT id, size, first_seen_ns, (SELECT p.path "
		"FROM job_files f CROSS JOIN paths p ON p.id = f.path_id "
		"WHERE f.artifact_id = ?1 ORDER BY f.job_id, f.n LIMIT 1), "
		"blake3, sha256, sha512, md5, crc64nvme, git_blob "
		"FROM artifacts WHERE id = ?1",
	/* clang-format off */
	[SQL_ARTIFACT_PREFIX] =
		ARTIFACTS_IN_RANGE("blake3") " UNION "
		ARTIFACTS_IN_RANGE("sha256") " UNION "
		ARTIFACTS_IN_RANGE("sha512") " UNION "
		ARTIFACTS_IN_RANGE("md5") " UNION "
		ARTIFACTS_IN_RANGE("crc64nvme") " UNION "
		ARTIFACTS_IN_RANGE("git_blob") " ORDER BY id LIMIT ?3",
	/* clang-format on */
	[SQL_ARTIFACT_DELETE_OF_JOB] =
		"DELETE FROM artifacts AS a WHERE id IN (SELECT artifact_id "
		"FROM job_files WHERE job_id = ?1 UNION ALL "
		"SELECT collection_id FROM job_collections WHERE job_id = ?1) "
		"AND NOT EXISTS (SELECT 1 FROM job_files f "
		"WHERE f.artifact_id = a.id AND f.job_id <> ?1) "
		"AND NOT EXISTS (SELECT 1 FROM job_collections u "
		"WHERE u.collection_id = a.id AND u.job_id <> ?1) "
		"AND " STORE_NOT_NAMED,

	[SQL_FILE_LAST] = "SELECT (SELECT max(n) FROM job_files "
			  "WHERE job_id = ?1) FROM jobs WHERE id = ?1",
	[SQL_FILE_ADD] = FILE_INSERT FILE_ROW,
	[SQL_FILE_ADD_MANY] = FILE_INSERT FILE_ROWS_4
	", " FILE_ROWS_4 ", " FILE_ROWS_4 ", " FILE_ROWS_4,
	[SQL_FILE_COUNT] = "SELECT count(*) FROM job_files WHERE job_id = ?1",
	[SQL_SESSION_FILE_COUNT] =
		"SELECT coalesce(sum(n_inputs + n_outputs), 0) FROM jobs "
		"WHERE session_id = ?1",
	/* Inputs (role 1) in the order they were read, all else as written. */
	[SQL_FILES_OF_JOB] = FILE_COLUMNS
	"WHERE f.job_id = ?1 AND (f.filter = 0 OR ?2) ORDER BY f.role, "
	"CASE f.role WHEN 1 THEN f.read_order ELSE f.write_order END, "
	"f.n",
	/* With all digests but BLAKE3, in the order in which they were added. */
	[SQL_FILES_WALK] = FILE_VALUES
	", a.sha256, a.sha512, a.md5, a.crc64nvme, a.git_blob " FILE_TABLES
	"WHERE f.job_id = ?1 ORDER BY f.n",
	[SQL_SOURCES_OF_JOB] = FILE_COLUMNS
	"WHERE f.job_id = ?1 AND f.filter = 0 AND (f.role = 1 OR "
	"(f.role = 2 AND f.origin_id IS NOT NULL)) ORDER BY f.role, "
	"CASE f.role WHEN 1 THEN f.read_order ELSE f.write_order END, "
	"f.n",
	[SQL_FILES_OF_SESSION] = FILE_COLUMNS
	"WHERE f.job_id IN (SELECT id FROM jobs WHERE session_id = ?1) "
	"AND f.filter = 0 AND f.role IN (?2, ?3) "
	"ORDER BY f.job_id, f.n",
	[SQL_FILES_OF_ARTIFACT] = FILE_COLUMNS
	"WHERE f.artifact_id = ?1 ORDER BY f.job_id, f.n",
	[SQL_FILES_OF_PATH] = FILE_COLUMNS
	"WHERE f.path_id = ?1 "
	/* The newest first: what a job wrote (2) is newer than what it read. */
	"ORDER BY f.job_id DESC, f.role & 2 DESC, f.n",
	[SQL_FILTER_COUNTS] =
		"SELECT filter, sum(role = ?2), sum(role <> ?2) FROM job_files "
		"WHERE job_id = ?1 AND filter <> 0 GROUP BY filter "
		"ORDER BY filter",
};

/* Statements that do not flush the buffered rows of files: they do not read those rows,
 * and run between two of them. */
static bool may_wait(enum store_sql id)
{
	switch (id) {
	case SQL_PATH_FIND:
	case SQL_PATH_ADD:
	case SQL_ARTIFACT_FIND:
	case SQL_ARTIFACT_ADD:
	case SQL_ARTIFACT_COMPLETE:
	case SQL_ROLLBACK:
		return true;
	default:
		return false;
	}
}

int statement_open(struct store *s, enum store_sql id, struct statement *q,
		   struct roar_error *err)
{
	sqlite3_stmt **stmt = &s->stmts[id];
	int r;

	assert(id < SQL_ENUM_END);
	r = s->n_files && !may_wait(id) ? store_files_flush(s, err) : 0;
	if (r < 0)
		return r;
	if (!*stmt &&
	    sqlite3_prepare_v3(s->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT,
			       stmt, NULL) != SQLITE_OK)
		return store_fail(s, err);
	*q = (struct statement){ .s = s, .stmt = *stmt };
	return 0;
}

int statement_prepare(struct store *s, const char *sql, struct statement *q,
		      struct roar_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = s->n_files ? store_files_flush(s, err) : 0;

	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return store_fail(s, err);
	*q = (struct statement){ .s = s, .stmt = stmt, .owned = true };
	return 0;
}

void statement_close(struct statement *q)
{
	if (!q->stmt)
		return;
	if (q->owned)
		(void)sqlite3_finalize(q->stmt);
	else
		(void)sqlite3_reset(q->stmt); /* repeats the known failure */
	q->stmt = NULL;
}

static void note(struct statement *q, int code)
{
	if (q->code == SQLITE_OK)
		q->code = code;
}

void statement_int(struct statement *q, int64_t value)
{
	note(q, sqlite3_bind_int64(q->stmt, ++q->bound, value));
}

void statement_id(struct statement *q, int64_t id)
{
	if (id)
		statement_int(q, id);
	else
		note(q, sqlite3_bind_null(q->stmt, ++q->bound));
}

void statement_count(struct statement *q, int64_t n)
{
	if (n >= 0)
		statement_int(q, n);
	else
		note(q, sqlite3_bind_null(q->stmt, ++q->bound));
}

void statement_text(struct statement *q, const char *text)
{
	const char *bound = text ? text : "";

	note(q, sqlite3_bind_text64(q->stmt, ++q->bound, bound, strlen(bound),
				    SQLITE_STATIC, SQLITE_UTF8));
}

void statement_blob(struct statement *q, const void *data, size_t len)
{
	note(q, sqlite3_bind_blob64(q->stmt, ++q->bound, data, len,
				    SQLITE_STATIC));
}

void statement_digests(struct statement *q, bool blake3,
		       const struct digests *d)
{
	int first = blake3 ? DIGEST_BLAKE3 : DIGEST_SHA256;

	for (int i = first; i < DIGEST_ALGO_END; i++)
		statement_blob(q, digests_get(d, i), digest_algo_len(i));
}

int statement_next(struct statement *q, struct roar_error *err)
{
	int code = q->code;

	if (code != SQLITE_OK)
		return store_failure(q->s->path, code, 0, sqlite3_errstr(code),
				     err);
	q->column = 0;
	code = sqlite3_step(q->stmt);
	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : store_fail(q->s, err);
}

int statement_run(struct statement *q, struct roar_error *err)
{
	int r = statement_next(q, err);

	statement_close(q);
	return r < 0 ? r : 0;
}

int statement_one(struct statement *q, int64_t missing, int64_t *ret,
		  struct roar_error *err)
{
	int r = statement_next(q, err);

	if (r >= 0)
		*ret = r ? column_int(q) : missing;
	statement_close(q);
	return r < 0 ? r : 0;
}

int64_t column_int(struct statement *q)
{
	return sqlite3_column_int64(q->stmt, q->column++);
}

int64_t column_count(struct statement *q)
{
	bool null = sqlite3_column_type(q->stmt, q->column) == SQLITE_NULL;
	int64_t n = column_int(q);

	return null ? -1 : n;
}

/* The bytes of the next column; a failing conversion reads as empty. */
static const void *bytes_of(struct statement *q, size_t *ret_len)
{
	const void *bytes = sqlite3_column_blob(q->stmt, q->column);

	*ret_len = (size_t)sqlite3_column_bytes(q->stmt, q->column);
	q->column++;
	return bytes;
}

const char *column_text(struct statement *q, struct pool *pool)
{
	size_t len;
	const void *bytes = bytes_of(q, &len);
	const char *copy;

	if (!bytes || !len)
		return "";
	copy = pool_dup(pool, bytes, len);
	if (copy)
		return copy;
	note(q, SQLITE_NOMEM);
	return "";
}

void column_str(struct statement *q, struct str *out)
{
	size_t len;
	const void *bytes = bytes_of(q, &len);

	if (bytes)
		str_add(out, bytes, len);
}

void column_chars(struct statement *q, char *chars, size_t size)
{
	size_t len;
	const void *bytes = bytes_of(q, &len);

	assert(size > 0);
	if (len >= size)
		len = size - 1;
	if (bytes)
		memcpy(chars, bytes, len);
	chars[bytes ? len : 0] = '\0';
}

bool column_blob(struct statement *q, void *data, size_t len)
{
	size_t has;
	const void *bytes = bytes_of(q, &has);

	if (!bytes || has != len)
		return false;
	memcpy(data, bytes, len);
	return true;
}

void column_digests(struct statement *q, bool blake3, struct digests *ret)
{
	int first = blake3 ? DIGEST_BLAKE3 : DIGEST_SHA256;

	for (int i = first; i < DIGEST_ALGO_END; i++)
		if (column_blob(q, digests_slot(ret, i), digest_algo_len(i)))
			ret->have |= (digest_set)1 << i;
}

void *rows_push(struct rows *rows)
{
	assert(rows->pool && rows->size);
	if (rows->n == rows->cap) {
		size_t cap = rows->cap ? rows->cap * 2 : 8;
		char *grown;

		if (cap > SIZE_MAX / rows->size)
			return NULL;
		grown = pool_alloc(rows->pool, cap * rows->size);
		if (!grown)
			return NULL;
		if (rows->n)
			memcpy(grown, rows->data, rows->n * rows->size);
		rows->data = grown;
		rows->cap = cap;
	}
	return memset(rows->data + rows->size * rows->n++, 0, rows->size);
}

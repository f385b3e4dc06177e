/* store.h - the lineage record of a project, in SQLite.
 *
 * One database, .roar/roar.db, in WAL mode with foreign keys, mode 0600.  A connection
 * belongs to one thread at a time; it has no lock of its own.  Writers wait for each
 * other (up to 30 s), readers never wait.  What a call of store_commit() acknowledged
 * survives kill -9 and power loss.
 *
 * The schema has a version (PRAGMA user_version).  An older database is migrated in one
 * transaction when it is opened.  A newer one is refused with a message and stays
 * unchanged.  A corrupted one is reported, never repaired.
 *
 * Rows are plain structs.  Results of reading functions live in the pool that was
 * passed; strings are never NULL unless stated.  Paths are bytes. */
#ifndef ROAR_STORE_STORE_H
#define ROAR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/stamp.h"
#include "base/tri.h"
#include "hash/digest/digest.h"

struct job_tag;
struct pool;
struct store;
struct tag;

enum store_flags {
	STORE_CREATE = 1 << 0, /* make the database when it is missing */
	STORE_READONLY = 1 << 1, /* never write, not even a migration */
};

/* Opens DIR/roar.db.  Messages for: missing, no permission, full disk, not a database,
 * corrupted, newer version. */
int store_open(const char *dir, unsigned flags, struct store **ret_store,
	       struct roar_error *err);
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close)

/* Transactions.  Everything that writes belongs in one.  A failed commit, and
 * store_close(), roll back. */
int store_begin(struct store *s, struct roar_error *err);
int store_commit(struct store *s, struct roar_error *err);
void store_rollback(struct store *s);

/* From here to store_snapshot_end() all readings see one state of the database, and thousands
 * of them need no lock each.  1; 0: a transaction is under way already, do not end it. */
int store_snapshot_begin(struct store *s, struct roar_error *err);
void store_snapshot_end(struct store *s);

/* ---- sessions: everything since the last reset ---- */

struct store_session {
	int64_t id;
	char uid[17]; /* 16 hex digits, random */
	int64_t created_ns;
	int64_t closed_ns; /* 0: this is the active one */
	int64_t n_jobs;
	int64_t n_steps; /* distinct steps of kind run */
	int64_t n_build_steps;
	int64_t n_files; /* kept inputs and outputs, as counted by its jobs */
	bool has_hash; /* it was closed, by a version of roar that keeps the hash */
	uint8_t hash[BLAKE3_LEN]; /* store_session_hash() when it was closed */
	int64_t imported_ns; /* it came from another record then; 0: from here */
};

/* The active session, created when there is none (inside a transaction). */
int store_session_active(struct store *s, bool create,
			 struct store_session *ret, struct roar_error *err);

/* Closes the active session, keeps its hash, and starts a new one. */
int store_session_reset(struct store *s, struct store_session *ret_old,
			struct store_session *ret_new, struct roar_error *err);

int store_sessions(struct store *s, struct pool *pool,
		   struct store_session **ret, size_t *ret_n,
		   struct roar_error *err);

/* The session with that UID: 1, or 0. */
int store_session_by_uid(struct store *s, const char *uid,
			 struct store_session *ret, struct roar_error *err);

/* Adds a closed session of another record, by its UID and times; it has jobs only when
 * they are added.  Inside a transaction.  Afterwards store_session_seal() computes its
 * hash. */
int store_session_import(struct store *s, struct store_session *session,
			 struct roar_error *err);
int store_session_seal(struct store *s, const struct store_session *session,
		       struct roar_error *err);

/* Canonical hash of a session: BLAKE3 over its jobs' steps, commands and
 * content hashes; the same content gives the same hash on every machine.  Of
 * each step the latest execution counts; store_session_hash.c has the format. */
int store_session_hash(struct store *s, int64_t session_id,
		       uint8_t ret_hash[BLAKE3_LEN], struct roar_error *err);

/* ---- jobs ---- */

enum store_status {
	STORE_DONE = 0, /* ran to its own end */
	STORE_INTERRUPTED = 1, /* ended by the user or recovered after a kill */
};

struct store_job {
	int64_t id; /* 0 when adding */
	char uid[9]; /* 8 hex digits, unique */
	int64_t session_id;
	int64_t step; /* assigned by store_job_place() or store_job_add() */
	int64_t attempt; /* 1, 2, ... executions of that step; assigned */
	const char *kind; /* "run" or "build" */
	const char *name; /* --name, "" when none */
	const char *command; /* as typed, shell-quoted, secrets redacted */
	const char *argv; /* the same as a JSON array, for `run @N` */
	const char *script; /* "" when none */
	const char *cwd;
	int64_t started_ns;
	int64_t duration_ns;
	int status; /* enum store_status */
	int exit_code; /* the exit status of roar: code or 128 + signal */
	bool complete; /* the verdict; reasons are gaps */
	const char *tracer; /* "ptrace", "none" */
	const char *filters; /* in force, by name: "system packages" */
	int64_t attach_ns; /* from the start of the tracer to the start of the
			    * command; 0: unknown */
	int64_t n_escaped; /* processes that the tracer could not follow */
	int64_t n_lost; /* events that were lost */
	int64_t n_rings; /* io_uring instances that were set up */
	int64_t n_sums_lost; /* lost counts of bytes read and written */
	int64_t n_namespaces; /* files seen in another mount namespace */
	int64_t n_edges_left_out; /* not kept: see store_edge.h */
	const char *environment; /* names of variables that roar set; "" */
	const char *version; /* of roar */
	const char *host;
	const char *user;
	/* git, "" when not in a repository */
	const char *git_root;
	const char *git_commit;
	const char *git_branch;
	const char *git_remote;
	const char *git_snapshot; /* commit under refs/roar/, "" when none */
	const char *git_note; /* git facts that could not be read; "" when none */
	enum tri git_dirty;
	int64_t git_n_left_out; /* uncommitted files not in the snapshot */
	/* Counts for lists, so that `log` reads one table.  For a job whose counts of
	 * inputs and outputs are 0, no file rows are read. */
	int64_t n_inputs;
	int64_t n_outputs;
	int64_t n_filtered;
	int64_t n_processes;
	int64_t cpu_user_ns, cpu_system_ns, max_rss_kib;
	int64_t rerun_of; /* when adding: id of the job that this one reruns; 0:
			   * none */
	uint8_t command_id[16]; /* step.h */
	uint8_t output_id[16];
};

/* Assigns a step to a job that is not added yet: that of the job it reruns, if that is
 * in the session; else that of the latest job in the session and kind with the same
 * command_id; else with the same (non-zero) output_id; else the next number.  The step
 * is valid until the end of the transaction.  -EEXIST when the uid is known (a journal
 * that was already recorded). */
int store_job_place(struct store *s, struct store_job *job,
		    struct roar_error *err);

/* Adds a job to a session; one without a step is placed first. */
int store_job_add(struct store *s, struct store_job *job,
		  struct roar_error *err);

/* Adds a job of another record, with its UID, step and attempt.  -EEXIST when the
 * session has that execution of the step, or the record that UID. */
int store_job_import(struct store *s, struct store_job *job,
		     struct roar_error *err);

struct store_process {
	int32_t pid, parent;
	const char *command;
	int64_t start_ns, end_ns;
	int status; /* wait status */
	int64_t n_execs; /* programs it executed; 0: it only forked; -1: not
			  * known */
};
int store_process_add(struct store *s, int64_t job_id,
		      const struct store_process *p, struct roar_error *err);

struct store_gap {
	int code; /* enum event_gap */
	const char *detail;
	int64_t count;
};
int store_gap_add(struct store *s, int64_t job_id, const struct store_gap *gap,
		  struct roar_error *err);

/* An uncommitted file that is not in the job's snapshot. */
struct store_left_out {
	const char *path; /* from git_root; a directory ends in "/" */
	const char *reason; /* "credentials", "too large", ... */
};
int store_left_out_add(struct store *s, int64_t job_id,
		       const struct store_left_out *row,
		       struct roar_error *err);

/* A shard of a dataset, with the samples that a process of the job reported as
 * consumed. */
struct store_shard {
	int32_t pid;
	int64_t rank; /* -1: it has none */
	int64_t epoch;
	int64_t n_samples;
	const char *dataset;
	const char *path;
};
int store_shard_add(struct store *s, int64_t job_id,
		    const struct store_shard *row, struct roar_error *err);

/* A checkpoint that a process of the job committed. */
struct store_checkpoint {
	int64_t job_id; /* when reading */
	int64_t n; /* 1, 2, ... in the order of the commits */
	int32_t pid;
	int64_t step; /* of the training */
	int64_t world_size;
	int64_t committed_ns;
	int64_t n_shards, n_samples; /* that the job had consumed until then */
	uint8_t manifest[BLAKE3_LEN];
	const char *parent; /* "step-..."; "" none */
	const char *path; /* its directory, or URL */
};
int store_checkpoint_add(struct store *s, int64_t job_id,
			 const struct store_checkpoint *row,
			 struct roar_error *err);

/* What the job had consumed of a shard, up to that checkpoint.  A count that has not
 * changed since the checkpoint before need not be added.  `pid` is ignored. */
int store_checkpoint_shard_add(struct store *s, int64_t job_id,
			       int64_t checkpoint,
			       const struct store_shard *row,
			       struct roar_error *err);

/* Adds a tag of the job's outputs (lineage/tag.h); idempotent.  Returns 1 if
 * it is new, 0 if the job had it.  See store_tag.h. */
int store_tag_add(struct store *s, int64_t job_id, const struct tag *tag,
		  struct roar_error *err);

/* ---- files of a job and their artifacts ---- */

/* One row: one role of one name in one job.  A file that is input and output
 * has two rows with two contents. */
struct store_file {
	int64_t job_id;
	int64_t n; /* its number in the job; ignored when adding */
	const char *path; /* of an object: s3://BUCKET/KEY */
	uint8_t role; /* one bit of enum lineage_role: input, output, temporary,
		       * touched */
	bool intermediate; /* output or temporary that the run read again */
	uint8_t filter; /* enum filter_id; 0: kept */
	uint8_t ftype; /* enum event_ftype */
	uint32_t seen; /* enum lineage_seen */
	int64_t artifact_id; /* 0: content not identified */
	struct stamp stamp; /* dev, ino, size, mtime of the content */
	int64_t read_order, write_order; /* 0 never */
	int32_t reader, writer; /* pids */
	int64_t bytes_read, bytes_written; /* of this file by the run; negative:
					    * not counted */
	struct digests digests; /* when adding; when reading: blake3 if known */
	const char *origin; /* renamed from; "" */
	const char *etag; /* when reading: of an object; "" */
};

/* Adds a row; finds or creates the artifact by its BLAKE3 digest (any other
 * digests are added to it).  The hot path: a few microseconds.  Rows go in by
 * groups, so a failure may be that of an earlier row, and the commit may fail for
 * the last ones. */
int store_file_add(struct store *s, const struct store_file *file,
		   struct roar_error *err);

/* What is known of a place in an object store, beside its row of files.  Strings may be
 * NULL when adding: "". */
struct store_object {
	int64_t n; /* of its file; when reading */
	const char *op; /* "get", "put", "copy", "complete-upload", ... */
	const char *endpoint; /* URL of the store */
	const char *version; /* version id; "" */
	const char *etag; /* without quotes; "" */
	const char *ranges; /* bytes that were read: "whole", "0-99,200-299" with
			     * the last one included, which ends in ",..." when
			     * there are more; "": none */
	const char *copy_source; /* "bucket/key"; "" */
	int64_t n_parts; /* of an upload; 0: in one piece */
	int64_t n_requests;
	int32_t pid; /* that used it first; 0: not known */
};

/* Adds `file` as store_file_add() does, as an object, and what is known of the object.
 * Without a digest, it is the artifact that had the same ETag at this place in an
 * earlier record. */
int store_object_add(struct store *s, const struct store_file *file,
		     const struct store_object *object, struct roar_error *err);

/* Which jobs to read. */
struct store_job_query {
	int64_t session_id; /* 0: all sessions */
	int64_t job_id; /* 0: any */
	const char *uid_prefix; /* NULL: any */
	const char *kind; /* NULL: any */
	int64_t step; /* 0: any */
	int64_t attempt; /* 0: any */
	bool latest_only; /* only the newest execution of each step */
	const char *search; /* words, each a prefix of one in command, script or
			     * name; NULL or blank: any */
	int64_t limit; /* 0: all; else the newest ones */
};

/* Oldest first. */
int store_jobs(struct store *s, struct pool *pool,
	       const struct store_job_query *query, struct store_job **ret,
	       size_t *ret_n, struct roar_error *err);

/* The jobs of a session that matter to the graph, without their texts: the latest
 * execution of each step, and all that read or wrote a kept file.  Oldest
 * first. */
struct store_outline {
	int64_t id;
	bool is_build;
	int64_t step;
	int64_t started_ns;
	int64_t n_files; /* kept inputs and outputs */
	bool is_joined; /* from the records of several machines */
};
int store_session_outline(struct store *s, struct pool *pool,
			  int64_t session_id, struct store_outline **ret,
			  size_t *ret_n, struct roar_error *err);

/* Files of a job ordered by role, then read/write order.  `filtered`: also the
 * filtered ones. */
int store_files(struct store *s, struct pool *pool, int64_t job_id,
		bool filtered, struct store_file **ret, size_t *ret_n,
		struct roar_error *err);

/* Calls `visit` for each file of a job, filtered ones included, in the order in which they
 * were added, with all digests of its content.  The row is valid during the call.  Ends
 * with the first negative result. */
typedef int store_file_visit(void *data, const struct store_file *file,
			     struct roar_error *err);
int store_files_walk(struct store *s, int64_t job_id, store_file_visit *visit,
		     void *data, struct roar_error *err);

/* What a job was made from: its kept inputs, then the kept outputs that it renamed or
 * linked; each in the order of store_files(). */
int store_sources(struct store *s, struct pool *pool, int64_t job_id,
		  struct store_file **ret, size_t *ret_n,
		  struct roar_error *err);

/* Files (kept ones, with their jobs) of all jobs of a session, for the graph:
 * inputs and outputs only, ordered by job id. */
int store_session_files(struct store *s, struct pool *pool, int64_t session_id,
			struct store_file **ret, size_t *ret_n,
			struct roar_error *err);

struct store_filter_count {
	uint8_t filter;
	int64_t n_read, n_written; /* written: any role but input */
};
int store_filter_counts(struct store *s, struct pool *pool, int64_t job_id,
			struct store_filter_count **ret, size_t *ret_n,
			struct roar_error *err);

int store_processes(struct store *s, struct pool *pool, int64_t job_id,
		    struct store_process **ret, size_t *ret_n,
		    struct roar_error *err);
int store_gaps(struct store *s, struct pool *pool, int64_t job_id,
	       struct store_gap **ret, size_t *ret_n, struct roar_error *err);

/* The first ones only; git_n_left_out counts all. */
int store_left_out(struct store *s, struct pool *pool, int64_t job_id,
		   struct store_left_out **ret, size_t *ret_n,
		   struct roar_error *err);

int store_shards(struct store *s, struct pool *pool, int64_t job_id,
		 struct store_shard **ret, size_t *ret_n,
		 struct roar_error *err);

/* The commits of a checkpoint at exactly that path, newest first. */
int store_checkpoints_of_path(struct store *s, struct pool *pool,
			      const char *path, struct store_checkpoint **ret,
			      size_t *ret_n, struct roar_error *err);

/* Those of a job, in the order of the commits. */
int store_checkpoints(struct store *s, struct pool *pool, int64_t job_id,
		      struct store_checkpoint **ret, size_t *ret_n,
		      struct roar_error *err);

/* Only the counts that were added with the checkpoint. */
int store_checkpoint_shard_rows(struct store *s, struct pool *pool,
				const struct store_checkpoint *checkpoint,
				struct store_shard **ret, size_t *ret_n,
				struct roar_error *err);

/* What its job had consumed when it was committed, by rank, epoch and shard. */
int store_checkpoint_shards(struct store *s, struct pool *pool,
			    const struct store_checkpoint *checkpoint,
			    struct store_shard **ret, size_t *ret_n,
			    struct roar_error *err);

/* The objects of a job, and among them that of the file with number `file_n`; NULL:
 * it is not an object. */
int store_objects(struct store *s, struct pool *pool, int64_t job_id,
		  struct store_object **ret, size_t *ret_n,
		  struct roar_error *err);
const struct store_object *store_object_of(const struct store_object *objects,
					   size_t n, int64_t file_n);

/* Tags of a job, and of all jobs of a session: first the added, then the blocked ones,
 * by kind and value. */
int store_tags(struct store *s, struct pool *pool, int64_t job_id,
	       struct job_tag **ret, size_t *ret_n, struct roar_error *err);
int store_session_tags(struct store *s, struct pool *pool, int64_t session_id,
		       struct job_tag **ret, size_t *ret_n,
		       struct roar_error *err);

struct store_artifact {
	int64_t id;
	int64_t size;
	struct digests digests;
	int64_t first_seen_ns;
	const char *first_path; /* in the oldest job on record; "" when none */
};

/* Artifacts whose digest (any algorithm) starts with these hex digits; at most
 * `limit`. */
int store_artifacts_by_prefix(struct store *s, struct pool *pool,
			      const char *hex, size_t limit,
			      struct store_artifact **ret, size_t *ret_n,
			      struct roar_error *err);
/* Is there an artifact with that digest? */
int store_artifact_known(struct store *s, const uint8_t blake3[BLAKE3_LEN],
			 bool *ret, struct roar_error *err);
int store_artifact(struct store *s, struct pool *pool, int64_t id,
		   struct store_artifact *ret, struct roar_error *err);

/* Rows of job files that mention an artifact (any role), oldest job first. */
int store_artifact_uses(struct store *s, struct pool *pool, int64_t artifact_id,
			struct store_file **ret, size_t *ret_n,
			struct roar_error *err);

/* Rows of job files with exactly that path, newest job first. */
int store_path_uses(struct store *s, struct pool *pool, const char *path,
		    struct store_file **ret, size_t *ret_n,
		    struct roar_error *err);

/* Removes a job with its rows, and the artifacts that no other row mentions. */
int store_job_remove(struct store *s, int64_t job_id, struct roar_error *err);

/* ---- whole-database facts for `roar db` ---- */

struct store_stats {
	int schema_version;
	int64_t size_bytes; /* database and WAL */
	int64_t n_sessions, n_jobs, n_artifacts, n_paths, n_files, n_processes;
	int64_t artifact_bytes; /* sum of distinct content */
	int64_t oldest_ns, newest_ns; /* of jobs; 0 when none */
	int64_t n_unreferenced; /* artifacts that no job mentions */
};
int store_stats(struct store *s, struct store_stats *ret,
		struct roar_error *err);

/* PRAGMA integrity_check; 0 when intact, -EUCLEAN with the first error. */
int store_check(struct store *s, struct roar_error *err);

/* Removes unreferenced artifacts and paths, then compacts the file. */
int store_compact(struct store *s, struct roar_error *err);

#endif

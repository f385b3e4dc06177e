-- schema.sql - version 1 of the lineage record.
--
-- Times are nanoseconds since 1970.  Digests are BLOBs, paths and command lines
-- are TEXT that may hold any bytes but NUL.  A path is interned: `paths` has
-- each name once.  An artifact is content: `artifacts` has each BLAKE3 digest
-- once, with the other digests that were ever taken of it.
--
-- Rows that belong to a job are clustered by (job_id, n), so that adding them
-- appends, reading them is one range, and removing the job is another.
--
-- Short columns come first: a reader that wants a count does not have to walk
-- through a command line of two megabytes.

CREATE TABLE sessions (
	id INTEGER PRIMARY KEY,
	uid TEXT NOT NULL UNIQUE,
	created_ns INTEGER NOT NULL,
	closed_ns INTEGER NOT NULL DEFAULT 0,		-- 0: active
	n_jobs INTEGER NOT NULL DEFAULT 0,		-- counted here, so that
	n_steps INTEGER NOT NULL DEFAULT 0,		-- `status` does not read
	n_build_steps INTEGER NOT NULL DEFAULT 0,	-- all jobs
	n_files INTEGER NOT NULL DEFAULT 0		-- kept inputs, outputs
) STRICT;

-- At most one session is active, and it is found at once.
CREATE UNIQUE INDEX sessions_active ON sessions (closed_ns)
	WHERE closed_ns = 0;

CREATE TABLE jobs (
	id INTEGER PRIMARY KEY,
	session_id INTEGER NOT NULL REFERENCES sessions (id),
	kind TEXT NOT NULL,
	step INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	uid TEXT NOT NULL UNIQUE,
	started_ns INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	status INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	complete INTEGER NOT NULL,
	git_dirty INTEGER,				-- NULL: not known
	git_n_left_out INTEGER NOT NULL DEFAULT 0,	-- of the snapshot
	n_inputs INTEGER NOT NULL,
	n_outputs INTEGER NOT NULL,
	n_filtered INTEGER NOT NULL,
	n_processes INTEGER NOT NULL,
	cpu_user_ns INTEGER NOT NULL,
	cpu_system_ns INTEGER NOT NULL,
	max_rss_kib INTEGER NOT NULL,
	attach_ns INTEGER NOT NULL DEFAULT 0,		-- 0: not known
	n_escaped INTEGER NOT NULL DEFAULT 0,		-- processes not seen
	n_lost INTEGER NOT NULL DEFAULT 0,		-- events
	n_rings INTEGER NOT NULL DEFAULT 0,		-- of io_uring
	n_namespaces INTEGER NOT NULL DEFAULT 0,	-- files in foreign ones
	command_id BLOB NOT NULL,
	output_id BLOB,					-- NULL: no outputs
	name TEXT NOT NULL,
	tracer TEXT NOT NULL,
	filters TEXT NOT NULL DEFAULT '',		-- in force, by name
	version TEXT NOT NULL,
	host TEXT NOT NULL,
	user TEXT NOT NULL,
	git_commit TEXT NOT NULL,
	git_branch TEXT NOT NULL,
	git_snapshot TEXT NOT NULL,
	git_remote TEXT NOT NULL,
	git_root TEXT NOT NULL,
	git_note TEXT NOT NULL DEFAULT '',		-- what git did not tell
	cwd TEXT NOT NULL,
	script TEXT NOT NULL,
	command TEXT NOT NULL,
	argv TEXT NOT NULL
) STRICT;

-- Of each step the latest execution comes first: who walks this index takes the
-- first entry of every step.
CREATE UNIQUE INDEX jobs_step ON jobs (session_id, kind, step, attempt DESC);
CREATE INDEX jobs_command ON jobs (session_id, command_id);
CREATE INDEX jobs_output ON jobs (session_id, output_id)
	WHERE output_id IS NOT NULL;

CREATE TABLE processes (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,				-- 1, 2, ... as added
	pid INTEGER NOT NULL,
	parent INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	status INTEGER NOT NULL,
	command TEXT NOT NULL,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE gaps (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	code INTEGER NOT NULL,
	count INTEGER NOT NULL,
	detail TEXT NOT NULL,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

-- What was said of a job's outputs; what they inherit is computed (tag.h).
CREATE TABLE job_tags (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	action INTEGER NOT NULL,			-- enum tag_action
	kind TEXT NOT NULL,
	value TEXT NOT NULL,				-- '' blocks all values
	origin INTEGER NOT NULL,			-- enum tag_origin
	PRIMARY KEY (job_id, action, kind, value)
) STRICT, WITHOUT ROWID;

-- Uncommitted files that are not in the job's snapshot: the first ones.
CREATE TABLE left_out (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	reason TEXT NOT NULL,
	path TEXT NOT NULL,				-- from git_root
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE paths (
	id INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE artifacts (
	id INTEGER PRIMARY KEY,
	blake3 BLOB NOT NULL UNIQUE,
	size INTEGER NOT NULL,
	first_seen_ns INTEGER NOT NULL,
	sha256 BLOB,
	sha512 BLOB,
	md5 BLOB
) STRICT;

-- These cost nothing for artifacts that have only a BLAKE3 digest.
CREATE INDEX artifacts_sha256 ON artifacts (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX artifacts_sha512 ON artifacts (sha512) WHERE sha512 IS NOT NULL;
CREATE INDEX artifacts_md5 ON artifacts (md5) WHERE md5 IS NOT NULL;

-- One role of one name in one job.  Paths and artifacts are not declared as
-- references: their numbers come from the same transaction, and looking them up
-- again would cost a run that writes thousands of files a microsecond for each.
-- The check of the database looks them up (store_stats.c).
CREATE TABLE job_files (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	path_id INTEGER NOT NULL,			-- of paths
	role INTEGER NOT NULL,				-- enum lineage_role
	intermediate INTEGER NOT NULL,
	filter INTEGER NOT NULL,			-- enum filter_id
	ftype INTEGER NOT NULL,				-- enum event_ftype
	seen INTEGER NOT NULL,				-- enum lineage_seen
	artifact_id INTEGER,				-- NULL: not identified
	dev INTEGER NOT NULL,				-- stamp of the content
	ino INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	ctime_ns INTEGER NOT NULL,
	read_order INTEGER NOT NULL,
	write_order INTEGER NOT NULL,
	reader INTEGER NOT NULL,
	writer INTEGER NOT NULL,
	origin_id INTEGER,				-- of paths; NULL: not renamed
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_files_path ON job_files (path_id);
CREATE INDEX job_files_artifact ON job_files (artifact_id)
	WHERE artifact_id IS NOT NULL;

-- One row per file, in one tree: a run that writes many files adds as many rows.
-- `age` counts writes; without an index on it, old rows are looked for rarely.
CREATE TABLE digest_cache (
	dev INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	age INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	ctime_ns INTEGER NOT NULL,
	blake3 BLOB,
	sha256 BLOB,
	sha512 BLOB,
	md5 BLOB,
	PRIMARY KEY (dev, ino)
) STRICT, WITHOUT ROWID;

-- Numbers that outlive the rows they count: 'digest_cache' is its highest age.
CREATE TABLE counters (
	name TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The words of commands.  The text itself stays in `jobs`.  job.c keeps this in
-- step: triggers are switched off, since a database may come from a stranger.
CREATE VIRTUAL TABLE jobs_text USING fts5 (
	command, script, name,
	content = 'jobs', content_rowid = 'id', columnsize = 0
);

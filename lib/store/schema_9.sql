-- schema_9.sql - version 9 of the lineage record, made of version 8.
--
-- Labels, the history of tags, and the hashes of closed sessions.

-- A label document is JSON.  A change adds a version; rows are never changed.  Each row
-- belongs to a session, a job or an artifact, and goes when that is removed.
CREATE TABLE labels (
	id INTEGER PRIMARY KEY,
	session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
	job_id INTEGER REFERENCES jobs (id) ON DELETE CASCADE,
	artifact_id INTEGER REFERENCES artifacts (id) ON DELETE CASCADE,
	version INTEGER NOT NULL,			-- 1, 2, ...
	created_ns INTEGER NOT NULL,
	origin INTEGER NOT NULL,			-- enum label_origin
	document TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX labels_session ON labels (session_id, version)
	WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX labels_job ON labels (job_id, version)
	WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX labels_artifact ON labels (artifact_id, version)
	WHERE artifact_id IS NOT NULL;

-- Each change of job_tags; rows are never changed.
CREATE TABLE tag_history (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,				-- 1, 2, ...
	created_ns INTEGER NOT NULL,
	removed INTEGER NOT NULL,			-- 0: added
	action INTEGER NOT NULL,			-- as in job_tags
	kind TEXT NOT NULL,
	value TEXT NOT NULL,
	origin INTEGER NOT NULL,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

-- Tags recorded by earlier versions were given when their job was recorded.
INSERT INTO tag_history (job_id, n, created_ns, removed, action, kind, value, origin)
	SELECT t.job_id,
		row_number() OVER (PARTITION BY t.job_id
			ORDER BY t.action, t.kind, t.value),
		j.started_ns + j.duration_ns, 0, t.action, t.kind, t.value,
		t.origin
	FROM job_tags t CROSS JOIN jobs j ON j.id = t.job_id;

-- The canonical hash, kept when the session is closed (store_session_hash.c).
-- NULL: active, or closed by an earlier version.
ALTER TABLE sessions ADD COLUMN hash BLOB;

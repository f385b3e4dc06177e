-- schema_7.sql - version 7 of the lineage record, made of version 6.
--
-- What the machine, the environment and the packages of a job were.  A document is JSON;
-- jobs that ran in the same situation share its row.

CREATE TABLE situations (
	id INTEGER PRIMARY KEY,
	kind INTEGER NOT NULL,				-- enum situation_kind
	digest BLOB NOT NULL,				-- BLAKE3 of the document
	document TEXT NOT NULL,
	UNIQUE (kind, digest)
) STRICT;

CREATE TABLE job_situations (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	kind INTEGER NOT NULL,
	situation_id INTEGER NOT NULL REFERENCES situations (id),
	PRIMARY KEY (job_id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_situations_situation ON job_situations (situation_id);

-- schema_11.sql - version 11 of the lineage record, made of version 10.
--
-- Jobs that ran on several machines, and sessions of other machines.

-- When the session came from another record; 0: it was recorded here.
ALTER TABLE sessions ADD COLUMN imported_ns INTEGER NOT NULL DEFAULT 0;

-- A job that is a part of a larger one, or was joined from its parts.
CREATE TABLE job_groups (
	job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
	node INTEGER,					-- from 0; NULL: not known
	n_nodes INTEGER,
	group_id TEXT NOT NULL
) STRICT;

CREATE INDEX job_groups_group ON job_groups (group_id);

-- The records of single nodes that a job was joined from.
CREATE TABLE job_parts (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	part_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_parts_part ON job_parts (part_id);

-- schema_4.sql - version 4 of the lineage record, made of version 3.
--
-- Shards that processes of a job say they have consumed, and how much of each.

CREATE TABLE shards (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	pid INTEGER NOT NULL,				-- who said it
	rank INTEGER,					-- NULL: it has none
	epoch INTEGER NOT NULL,
	n_samples INTEGER NOT NULL,			-- of the shard, consumed
	dataset TEXT NOT NULL,
	path TEXT NOT NULL,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

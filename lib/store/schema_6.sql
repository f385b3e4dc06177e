-- schema_6.sql - version 6 of the lineage record, made of version 5.
--
-- Checkpoints that processes of a job committed, in the order of the commits.

CREATE TABLE checkpoints (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,				-- 1, 2, ... as committed
	pid INTEGER NOT NULL,				-- that committed it
	step INTEGER NOT NULL,				-- of the training
	world_size INTEGER NOT NULL,
	committed_ns INTEGER NOT NULL,
	n_shards INTEGER NOT NULL,			-- consumed until then
	n_samples INTEGER NOT NULL,
	manifest BLOB NOT NULL,				-- its BLAKE3
	parent TEXT NOT NULL,				-- 'step-...'; '' none
	path TEXT NOT NULL,				-- directory or URL
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX checkpoints_path ON checkpoints (path);

-- What had been consumed of a shard when a checkpoint was committed.  Only counts that
-- changed since the one before have a row: the largest up to a checkpoint is the count.
CREATE TABLE checkpoint_shards (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,			-- n of checkpoints
	rank INTEGER,					-- NULL: it has none
	epoch INTEGER NOT NULL,
	n_samples INTEGER NOT NULL,			-- from the start of the job
	dataset TEXT NOT NULL,
	path TEXT NOT NULL,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

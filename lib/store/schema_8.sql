-- schema_8.sql - version 8 of the lineage record, made of version 7.
--
-- Which process read and wrote which file, and the ranks of processes.

-- Programs that a process executed; 0: it only forked, -1: not known.
ALTER TABLE processes ADD COLUMN n_execs INTEGER NOT NULL DEFAULT -1;

-- Edges that were not kept, because there were too many.
ALTER TABLE jobs ADD COLUMN n_edges_left_out INTEGER NOT NULL DEFAULT 0;

-- What `reader` and `writer` of job_files do not say.  Neither the process nor the file is
-- declared as a reference, as in job_files: the check of the database looks them up.
CREATE TABLE job_edges (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	process INTEGER NOT NULL,			-- n of processes
	file INTEGER NOT NULL,				-- n of job_files
	kind INTEGER NOT NULL,				-- enum lineage_edge_kind
	event INTEGER NOT NULL,				-- as read_order, write_order
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE process_ranks (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	process INTEGER NOT NULL,			-- n of processes
	rank INTEGER,					-- NULL: not known
	local_rank INTEGER,
	world_size INTEGER,
	launcher TEXT NOT NULL,				-- 'torchrun', 'srun', ...
	group_id TEXT NOT NULL,				-- '' none
	PRIMARY KEY (job_id, process)
) STRICT, WITHOUT ROWID;

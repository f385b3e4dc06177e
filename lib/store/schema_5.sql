-- schema_5.sql - version 5 of the lineage record, made of version 4.
--
-- A place of an object store.  Its row of job_files has the same (job_id, n), the path
-- 's3://BUCKET/KEY' and the ftype of objects; here is what files do not have.

CREATE TABLE objects (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,				-- of job_files
	pid INTEGER NOT NULL,				-- 0: not known
	n_requests INTEGER NOT NULL,
	n_parts INTEGER NOT NULL,			-- uploaded; 0: in one piece
	op TEXT NOT NULL,				-- 'get', 'put', ...
	endpoint TEXT NOT NULL,
	version TEXT NOT NULL,
	etag TEXT NOT NULL,
	ranges TEXT NOT NULL,				-- bytes that were read
	copy_source TEXT NOT NULL,
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

-- Variables that roar set in the environment of the command.
ALTER TABLE jobs ADD COLUMN environment TEXT NOT NULL DEFAULT '';

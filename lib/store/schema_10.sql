-- schema_10.sql - version 10 of the lineage record, made of version 9.
--
-- Collections: directories and sets of files that are one artifact.  The artifact of a
-- collection has the hash of its tree (lib/hash/dir/dir_hash.h) and the sum of its sizes.

CREATE TABLE collections (
	id INTEGER PRIMARY KEY,				-- of artifacts
	kind INTEGER NOT NULL,				-- enum collection_kind
	n_members INTEGER NOT NULL,
	prefix INTEGER					-- see collection_members
) STRICT;

-- What a job read or wrote as a whole.  Its members are the rows of job_files with that
-- job and role, below that path: nothing is stored twice.
CREATE TABLE job_collections (
	job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	collection_id INTEGER NOT NULL,			-- of collections
	role INTEGER NOT NULL,				-- enum lineage_role
	path_id INTEGER NOT NULL,			-- of paths
	PRIMARY KEY (job_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_collections_collection ON job_collections (collection_id);
CREATE INDEX job_collections_path ON job_collections (path_id);

-- What the user named.  The newest row of a name is what the name means.
CREATE TABLE collection_names (
	id INTEGER PRIMARY KEY,
	collection_id INTEGER NOT NULL REFERENCES collections (id),
	created_ns INTEGER NOT NULL,
	path_id INTEGER NOT NULL,			-- of paths: where it was
	name TEXT NOT NULL
) STRICT;

CREATE INDEX collection_names_name ON collection_names (name);
CREATE INDEX collection_names_collection ON collection_names (collection_id);

-- The members of a named collection in the order of their names.  The name is the path
-- without its first bytes, of which `prefix` of the collection is the number.  A member
-- may be a collection itself.
CREATE TABLE collection_members (
	collection_id INTEGER NOT NULL
		REFERENCES collections (id) ON DELETE CASCADE,
	n INTEGER NOT NULL,
	path_id INTEGER NOT NULL,			-- of paths
	artifact_id INTEGER NOT NULL,			-- of artifacts
	PRIMARY KEY (collection_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX collection_members_artifact ON collection_members (artifact_id);

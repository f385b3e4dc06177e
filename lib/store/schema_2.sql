-- schema_2.sql - version 2 of the lineage record, made of version 1.
--
-- What the files of a user were is remembered for all projects together, in a
-- cache of its own (hash/digest/digest_cache.h).

DROP TABLE digest_cache;
DROP TABLE counters;

-- Two more digests, asked for by few.
ALTER TABLE artifacts ADD COLUMN crc64nvme BLOB;
ALTER TABLE artifacts ADD COLUMN git_blob BLOB;

CREATE INDEX artifacts_crc64nvme ON artifacts (crc64nvme)
	WHERE crc64nvme IS NOT NULL;
CREATE INDEX artifacts_git_blob ON artifacts (git_blob)
	WHERE git_blob IS NOT NULL;

-- schema_3.sql - version 3 of the lineage record, made of version 2.
--
-- Evidence: what the run has read from a file and written to it by system calls.
-- NULL: the tracer does not count, or nothing went through such a call.

ALTER TABLE job_files ADD COLUMN bytes_read INTEGER;
ALTER TABLE job_files ADD COLUMN bytes_written INTEGER;

-- How often such numbers were lost.
ALTER TABLE jobs ADD COLUMN n_sums_lost INTEGER NOT NULL DEFAULT 0;

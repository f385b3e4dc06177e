-- schema_8.sql - version 8 of the lineage record, made of version 7.
--
-- Which process read and wrote which file, and the ranks of processes.

SELECT 8;

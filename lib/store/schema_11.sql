-- schema_11.sql - version 11 of the lineage record, made of version 10.
--
-- Jobs that ran on several machines.

SELECT 11;

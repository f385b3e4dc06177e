-- schema_10.sql - version 10 of the lineage record, made of version 9.
--
-- Collections: directories and sets of files that are one artifact.

SELECT 10;

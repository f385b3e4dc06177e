-- schema_9.sql - version 9 of the lineage record, made of version 8.
--
-- Labels, the history of tags, and the hashes of closed sessions.

SELECT 9;

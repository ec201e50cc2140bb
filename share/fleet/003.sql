-- 003: chains that have something for the tree, without an index that every append changes; machines that were retired.

-- A partial index over head would be written at each append, and with it all other keys of the row.  This column changes only when a chain has
-- something new for the tree, and when it has nothing more.
ALTER TABLE chain ADD COLUMN is_new bool GENERATED ALWAYS AS (head > sequenced) STORED;
DROP INDEX chain_new;
CREATE INDEX chain_new ON chain (tenant_id, chain_id) WHERE is_new;

-- By order of the centre: what it sent stays, it is expected no more, and nothing more of it is taken.
ALTER TABLE node ADD COLUMN retired_at timestamptz, ADD COLUMN retired_seq int8;
GRANT UPDATE (retired_at, retired_seq) ON node TO helm_console;

-- 003: chains that have something for the tree, without an index that every append changes; machines that were retired.

-- A partial index over head would be written at each append, and with it all other keys of the row.  This column changes only when a chain has
-- something new for the tree, and when it has nothing more.
ALTER TABLE chain ADD COLUMN is_new bool GENERATED ALWAYS AS (head > sequenced) STORED;
DROP INDEX chain_new;
CREATE INDEX chain_new ON chain (tenant_id, chain_id) WHERE is_new;

-- By order of the centre: what it sent stays, it is expected no more, and nothing more of it is taken.
ALTER TABLE node ADD COLUMN retired_at timestamptz, ADD COLUMN retired_seq int8;
GRANT UPDATE (retired_at, retired_seq) ON node TO helm_console;
GRANT UPDATE (retired_at, retired_seq) ON node TO helm_ingest;  -- it joins again with a token
-- Another root key takes the place of the one before, which has signed that.
GRANT UPDATE (root_key) ON tenant TO helm_console;

-- A question waits here for 30 days at most, whatever end it names: one that is dated far ahead would never be removed.
ALTER TABLE asked NO FORCE ROW LEVEL SECURITY;
UPDATE asked SET expires_at = seen_at + interval '30 days' WHERE expires_at > seen_at + interval '30 days';
ALTER TABLE asked FORCE ROW LEVEL SECURITY;

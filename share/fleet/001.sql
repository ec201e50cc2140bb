-- 001: the fleet ledger (docs/formats/fleet-database.md).  PostgreSQL 13 and newer; what others by the same wire may lack is marked PG.
-- No triggers, no advisory locks, no LISTEN as truth, no serial that orders anything: order is the clock of a chain and the index of a leaf.
-- Run as helm_owner, with search_path fleet, in one transaction.

CREATE TABLE tenant(
  tenant_id int4 PRIMARY KEY,
  name text NOT NULL UNIQUE,
  origin text NOT NULL UNIQUE,              -- of its log (C2SP): host/name
  log_vkey text NOT NULL,
  control_vkey text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now());

-- A line of keys: a user on a machine.  Host and user are what it says of itself; the key is who it is.
CREATE TABLE node(
  tenant_id int4 NOT NULL, node_id int8 NOT NULL,
  host text NOT NULL, owner text NOT NULL,
  enrolled_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz, skew_ms int8 NOT NULL DEFAULT 0,
  order_seen int8 NOT NULL DEFAULT 0,       -- the newest order it has acknowledged
  beat bytea,                               -- the last heartbeat, as received
  PRIMARY KEY (tenant_id, node_id));
-- Its key history, link by link, as received.
CREATE TABLE node_key(
  tenant_id int4 NOT NULL, node_id int8 NOT NULL, sequence int4 NOT NULL,
  key bytea NOT NULL CHECK (length(key) = 32), link bytea NOT NULL,
  PRIMARY KEY (tenant_id, node_id, sequence));
CREATE INDEX node_key_key ON node_key (tenant_id, key);
-- Keys that the centre no longer believes.
CREATE TABLE revoked_key(
  tenant_id int4 NOT NULL, key bytea NOT NULL, since timestamptz NOT NULL, seq int8 NOT NULL,
  PRIMARY KEY (tenant_id, key));
CREATE TABLE join_token(
  tenant_id int4 NOT NULL, token_sha256 bytea NOT NULL, uses_left int4 NOT NULL, expires_at timestamptz NOT NULL,
  made_by text NOT NULL, made_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, token_sha256));

CREATE TABLE chain(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, node_id int8 NOT NULL,
  session_id text NOT NULL,                 -- of this node: another one that uses the name takes nothing from it
  epoch int4 NOT NULL DEFAULT 1,            -- the same place after a fork that a person settled
  head int8 NOT NULL DEFAULT 0, head_hash bytea NOT NULL DEFAULT '', key_order int4 NOT NULL DEFAULT 0,
  sequenced int8 NOT NULL DEFAULT 0, local_head int8 NOT NULL DEFAULT 0,
  detached int8 NOT NULL DEFAULT 0,         -- receipts up to here were detached when they were old
  state int2 NOT NULL DEFAULT 1,            -- 1 growing, 2 forked, 3 rolled back, 4 ended
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chain_id), UNIQUE (tenant_id, node_id, session_id, epoch)) WITH (fillfactor = 50);
CREATE INDEX chain_new ON chain (tenant_id, chain_id) WHERE head > sequenced;

-- What was received, as it was received: canonical lines, one zstd frame for each batch.
CREATE TABLE bundle(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, first int8 NOT NULL, n int4 NOT NULL, received_at timestamptz NOT NULL,
  raw int4 NOT NULL, data bytea NOT NULL,
  PRIMARY KEY (chain_id, first, received_at)) PARTITION BY RANGE (received_at);  -- PG
ALTER TABLE bundle ALTER data SET STORAGE EXTERNAL;
-- What is asked for: a projection of the bundles, which can be made again from them.
CREATE TABLE receipt(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, lamport int8 NOT NULL, received_at timestamptz NOT NULL, at timestamptz NOT NULL,
  chain_hash bytea NOT NULL, verdict int2 NOT NULL,             -- 0 none, 1 ALLOW, 2 DENY, 3 ESCALATE
  rtype text NOT NULL, reason text NOT NULL, rule text NOT NULL, tool text NOT NULL,
  principal text NOT NULL, decision_id text NOT NULL,
  caption text,                             -- the redacted preview, if its digest is in the receipt
  PRIMARY KEY (chain_id, lamport, received_at)) PARTITION BY RANGE (received_at);  -- PG
CREATE INDEX receipt_stopped ON receipt (tenant_id, received_at DESC) WHERE verdict > 1;
CREATE INDEX receipt_order ON receipt (tenant_id, rule) WHERE rule LIKE 'order:%';
CREATE INDEX receipt_decision ON receipt (tenant_id, decision_id);

CREATE TABLE log(tenant_id int4 PRIMARY KEY, tree_size int8 NOT NULL, root bytea NOT NULL);
-- Which leaves are which receipts: one row for each chain and tick.
CREATE TABLE span(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, lamport_first int8 NOT NULL, n int8 NOT NULL, leaf_first int8 NOT NULL,
  PRIMARY KEY (chain_id, lamport_first), UNIQUE (tenant_id, leaf_first));
CREATE TABLE tile(
  tenant_id int4 NOT NULL, level int2 NOT NULL, idx int8 NOT NULL, width int2 NOT NULL, data bytea NOT NULL,  -- level -1: entries
  PRIMARY KEY (tenant_id, level, idx));
ALTER TABLE tile ALTER data SET STORAGE EXTERNAL;
CREATE TABLE checkpoint(
  tenant_id int4 NOT NULL, tree_size int8 NOT NULL, root bytea NOT NULL, note text NOT NULL, cosigned int2 NOT NULL DEFAULT 0,
  signed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, tree_size));

-- Orders back: a chain of its own.
CREATE TABLE directive(
  tenant_id int4 NOT NULL, seq int8 NOT NULL, kind text NOT NULL, body bytea NOT NULL, hash bytea NOT NULL,
  made_by text NOT NULL, made_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, seq));
-- Two signed receipts for one place of one chain: `theirs` was refused, and proves by itself what happened.
CREATE TABLE fork(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, lamport int8 NOT NULL, ours bytea NOT NULL, theirs bytea NOT NULL,
  receipt bytea NOT NULL, is_repair bool NOT NULL, seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chain_id, lamport, theirs));

DO $$ DECLARE t text; BEGIN
  FOREACH t IN ARRAY ARRAY['node','node_key','revoked_key','join_token','chain','bundle','receipt','log','span','tile','checkpoint',
                           'directive','fork'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY own ON %I USING (tenant_id = nullif(current_setting('helm.tenant', true), '')::int4)$p$, t);
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA fleet TO helm_ingest, helm_seq, helm_read, helm_console;
GRANT SELECT ON ALL TABLES IN SCHEMA fleet TO helm_read, helm_console, helm_seq;
GRANT SELECT ON schema_version, tenant, node, node_key, revoked_key, join_token, chain, bundle, receipt, checkpoint, directive, fork TO helm_ingest;
-- Nobody has UPDATE or DELETE on what was received.
GRANT INSERT ON bundle, receipt, chain, node, node_key, fork TO helm_ingest;
GRANT UPDATE (head, head_hash, key_order, local_head, seen_at, state) ON chain TO helm_ingest;
GRANT UPDATE (seen_at, skew_ms, order_seen, beat) ON node TO helm_ingest;
GRANT UPDATE (uses_left) ON join_token TO helm_ingest;
GRANT INSERT, UPDATE ON log, tile, checkpoint TO helm_seq;
GRANT INSERT ON span TO helm_seq;
GRANT UPDATE (sequenced) ON chain TO helm_seq;
GRANT INSERT ON tenant, log, directive, join_token, revoked_key TO helm_console;

-- 002: questions of machines and who may answer them; readers by token.

-- Whose signature says who may answer from the centre; NULL: nobody.  Machines pin it when they join.
ALTER TABLE tenant ADD COLUMN root_key bytea CHECK (root_key IS NULL OR length(root_key) = 32);

-- What machines have asked a person, where they ship it: the request as it is, its digest stands in the receipt at that clock.
CREATE TABLE asked(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, approval_id text NOT NULL, lamport int8 NOT NULL,
  request bytea NOT NULL, expires_at timestamptz NOT NULL, seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chain_id, approval_id));
CREATE INDEX asked_open ON asked (tenant_id, expires_at);
-- That it was answered says the receipt of the answer, wherever that was given.
CREATE TABLE settled(
  tenant_id int4 NOT NULL, chain_id int8 NOT NULL, approval_id text NOT NULL, lamport int8 NOT NULL,
  PRIMARY KEY (chain_id, approval_id));
-- Who may search and look over HTTP: a token, as its digest.
CREATE TABLE reader(
  tenant_id int4 NOT NULL, token_sha256 bytea NOT NULL, name text NOT NULL, expires_at timestamptz NOT NULL,
  revoked_at timestamptz, made_by text NOT NULL, made_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, token_sha256), UNIQUE (tenant_id, name));

DO $$ DECLARE t text; BEGIN
  FOREACH t IN ARRAY ARRAY['asked','settled','reader'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY own ON %I USING (tenant_id = nullif(current_setting('helm.tenant', true), '')::int4)$p$, t);
  END LOOP;
END $$;

GRANT SELECT ON asked, settled TO helm_read, helm_console, helm_ingest;
GRANT SELECT ON reader TO helm_read, helm_console;
GRANT INSERT ON asked, settled TO helm_ingest;
GRANT INSERT ON reader TO helm_console;
GRANT UPDATE (revoked_at) ON reader TO helm_console;

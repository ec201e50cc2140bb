-- 004: people who look, by a passkey; engineers, who see what their own machines sent.

-- Who may come in by a browser.  An invitation, as its digest, is used up by the key that it lets in; another one ends that key.
CREATE TABLE person(
  tenant_id int4 NOT NULL, name text NOT NULL,
  machines int8[],                          -- an engineer's; NULL: all machines of the tenant
  invite_sha256 bytea, invite_until timestamptz,
  passkey text,                             -- {algorithm, credential_id, origin, public_key_hex, rp_id}
  credential_id text, counter int8 NOT NULL DEFAULT 0, key_at timestamptz,
  made_by text NOT NULL, made_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz,
  PRIMARY KEY (tenant_id, name), UNIQUE (tenant_id, credential_id));
-- A session is there as long as it is good: whatever ends it deletes its row.  Digests of what the browser has.
CREATE TABLE session(
  tenant_id int4 NOT NULL, cookie_sha256 bytea NOT NULL, page_sha256 bytea NOT NULL,
  name text NOT NULL, credential_id text NOT NULL, until timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, cookie_sha256));
-- Challenges that were answered: each counts once, at whichever front end.
CREATE TABLE used_challenge(challenge bytea PRIMARY KEY, until timestamptz NOT NULL);
-- By which every front end knows a challenge that any of them gave.
CREATE TABLE door(secret bytea NOT NULL CHECK (length(secret) = 32));
INSERT INTO door SELECT sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

DO $$ DECLARE t text; BEGIN
  FOREACH t IN ARRAY ARRAY['person','session'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY own ON %I USING (tenant_id = nullif(current_setting('helm.tenant', true), '')::int4)$p$, t);
  END LOOP;
END $$;
GRANT SELECT ON person, session TO helm_read, helm_console;
GRANT INSERT, UPDATE ON person TO helm_console;
GRANT INSERT, DELETE ON session TO helm_console;
GRANT SELECT, INSERT, DELETE ON used_challenge TO helm_console;
GRANT SELECT ON door TO helm_console;

-- An engineer's question runs as helm_engineer.  It reads only what is granted here, and of what machines sent only the rows of those in helm.machines: a table
-- that is made later and forgets this is not read at all.  Without the setting a question fails.
GRANT USAGE ON SCHEMA fleet TO helm_engineer;
GRANT SELECT ON tenant, log, tile, checkpoint TO helm_engineer;  -- of the tenant as a whole: what anybody reads of its log
DO $$ DECLARE t text; BEGIN
  FOREACH t IN ARRAY ARRAY['node','node_key','chain'] LOOP
    EXECUTE format('GRANT SELECT ON %I TO helm_engineer', t);
    EXECUTE format($p$CREATE POLICY theirs ON %I AS RESTRICTIVE FOR SELECT TO helm_engineer
      USING (node_id = ANY ((SELECT current_setting('helm.machines'))::int8[]))$p$, t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['bundle','receipt','span','asked','settled','fork'] LOOP
    EXECUTE format('GRANT SELECT ON %I TO helm_engineer', t);
    EXECUTE format($p$CREATE POLICY theirs ON %I AS RESTRICTIVE FOR SELECT TO helm_engineer USING (chain_id = ANY (ARRAY(SELECT c.chain_id FROM chain c)))$p$, t);
  END LOOP;
END $$;
GRANT SELECT ON revoked_key, directive TO helm_engineer;
CREATE POLICY theirs ON revoked_key AS RESTRICTIVE FOR SELECT TO helm_engineer USING (key IN (SELECT k.key FROM node_key k));
-- Orders for all machines, and those that name one of theirs.
CREATE POLICY theirs ON directive AS RESTRICTIVE FOR SELECT TO helm_engineer
  USING (coalesce(jsonb_array_length(convert_from(body, 'UTF8')::jsonb -> 'nodes'), 0) = 0
    OR (convert_from(body, 'UTF8')::jsonb -> 'nodes') ?| (SELECT current_setting('helm.machines'))::text[]);

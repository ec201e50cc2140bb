-- Groups that nobody logs in as: a server's own role is a member of them and takes one on for each kind of work.
-- Run by `helm serve fleet migrate` when one is missing; it takes CREATEROLE.
DO $$ DECLARE r text; BEGIN
  FOREACH r IN ARRAY ARRAY['helm_owner', 'helm_ingest', 'helm_seq', 'helm_read', 'helm_console', 'helm_engineer'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT', r);
    END IF;
  END LOOP;
END $$;
-- Whoever may read everything may read a part: no login has to be granted anything anew.
GRANT helm_engineer TO helm_read;

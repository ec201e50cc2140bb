-- Groups that nobody logs in as: a server's own role is a member of them and takes one on for each kind of work.
-- Run by `helm serve fleet migrate` when one is missing; it takes CREATEROLE.
DO $$ DECLARE r text; BEGIN
  FOREACH r IN ARRAY ARRAY['helm_owner', 'helm_ingest', 'helm_seq', 'helm_read', 'helm_console'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT', r);
    END IF;
  END LOOP;
END $$;

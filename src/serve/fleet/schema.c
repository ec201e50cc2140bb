/* schema.c — the tables of the ledger: numbered migrations inside the program, forward only, and what a database must be to be worked with.
 *
 * A migration is share/fleet/NNN.sql, in one transaction with its number and digest in schema_version, run by `helm serve fleet migrate` as
 * helm_owner and never by a server that runs.  Partitions are for months; they are made ahead by every call of migrate, and what falls behind
 * the last of them has one of its own, so that nothing is refused because nobody came. */
#include "base/embed.h"
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/parts.h"

#include <stdio.h>
#include <string.h>

enum { VERSIONS_MOST = 999, MONTHS_AHEAD = 24 };

static bool migration_at(int version, struct bytes *ret)
{
	char name[32];

	snprintf(name, sizeof(name), "share/fleet/%03d.sql", version);
	return version >= 1 && version <= VERSIONS_MOST && embed_find(name, ret);
}

static int newest_known(void)
{
	struct bytes text;
	int v = 0;

	while (migration_at(v + 1, &text))
		v++;
	return v;
}

/* ---- migrate ---- */

static int apply(struct db *d, struct arena *a, int version, struct err *e)
{
	uint8_t digest[SHA256_SIZE];
	struct bytes text;

	(void)migration_at(version, &text);
	sha256(text.p, text.n, digest);
	int rc = pg_begin(d, 0, e);
	if (rc == OK)
		rc = pg_script(d, (const char *)text.p, e);
	if (rc == OK)
		rc = pg_do(d, "INSERT INTO schema_version(v, sha256) VALUES ($1, $2)",
			(struct pg_value[]){
				pg_i(a, version), pg_b((struct bytes){ digest, sizeof(digest) }) },
			2, NULL, e);
	if (rc == OK)
		rc = pg_commit(d, e);
	if (rc)
		pg_rollback(d);
	return rc ? err_wrap(e, "migration %03d", version) : OK;
}

/* A month's own partition of both tables, and one for what has none. */
static int make_partitions(struct db *d, struct err *e)
{
	char sql[2048];

	snprintf(sql, sizeof(sql),
		"DO $$ DECLARE t text; m timestamptz; p text; BEGIN\n"
		"FOREACH t IN ARRAY ARRAY['bundle', 'receipt'] LOOP\n"
		" FOR i IN 0..%d LOOP\n"
		"  m := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i)) AT TIME ZONE 'UTC';\n"
		"  p := t || '_' || to_char(m AT TIME ZONE 'UTC', 'YYYY_MM');\n"
		"  IF to_regclass('fleet.' || p) IS NULL THEN\n"
		"   EXECUTE format('CREATE TABLE fleet.%%I PARTITION OF fleet.%%I FOR VALUES FROM (%%L) TO (%%L)', p, t, m,\n"
		"    ((m AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');\n"
		"  END IF;\n"
		" END LOOP;\n"
		" IF to_regclass('fleet.' || t || '_later') IS NULL THEN\n"
		"  EXECUTE format('CREATE TABLE fleet.%%I PARTITION OF fleet.%%I DEFAULT', t || '_later', t);\n"
		" END IF;\n"
		"END LOOP; END $$",
		MONTHS_AHEAD);
	return pg_script(d, sql, e);
}

/* Who runs it may make roles only when some are missing. */
static int prepare(struct db *d, struct arena *a, struct err *e)
{
	struct bytes roles;
	const char *n;
	int rc = pg_one(d, a,
		"SELECT count(*) FROM pg_roles WHERE rolname IN ('helm_owner','helm_ingest','helm_seq','helm_read','helm_console','helm_engineer')",
		&n, e);

	if (rc == OK && !text_eq(n, "6") && embed_find("share/fleet/roles.sql", &roles))
		rc = pg_script(d, (const char *)roles.p, e);
	if (rc == OK)
		rc = pg_script(d,
			"CREATE SCHEMA IF NOT EXISTS fleet AUTHORIZATION helm_owner; SET ROLE helm_owner; "
			"CREATE TABLE IF NOT EXISTS schema_version(v int4 PRIMARY KEY, sha256 bytea NOT NULL, "
			"applied_at timestamptz NOT NULL DEFAULT now())",
			e);
	return rc
		? err_wrap(e,
			  "the roles and the schema of the ledger cannot be made; run this as the database's owner")
		: OK;
}

/* The role a server logs in as: a member of the groups, with no right of its own. */
static int make_login(struct db *d, const char *login, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };

	if (!text_is_id(login))
		return err_set(e, E_USAGE, "USAGE", "'%s' is no name for a role", login);
	int rc = pg_ask(d, "SELECT 1 FROM pg_roles WHERE rolname = $1", (struct pg_value[]){ pg_t(login) }, 1,
		&rows, e);
	if (rc == OK && !rows.n)
		rc = pg_script(d,
			arena_printf(&a, "CREATE ROLE \"%s\" LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS", login),
			e);
	return rc ? rc
		  : pg_script(d,
			    arena_printf(&a, "GRANT helm_ingest, helm_seq, helm_read, helm_console TO \"%s\"",
				    login),
			    e);
}

int schema_migrate(struct sys *s, struct arena *a, const char *conninfo, int patience_s, const char *login,
	struct json *report, struct err *e)
{
	AUTO(pg_close) struct db *d = NULL;
	const char *at;
	int64_t from = 0;
	int rc = pg_open_patient(conninfo, NULL, s, patience_s, &d, e), known = newest_known();

	if (rc == OK)
		rc = prepare(d, a, e);
	if (rc == OK)
		rc = pg_one(d, a, "SELECT coalesce(max(v), 0) FROM schema_version", &at, e);
	if (rc == OK && (!text_int(at, &from) || from > known))
		return err_set(e, E_INPUT, "FLEET_SCHEMA",
			"the database is at version %s, and this program knows %d: use a newer helm", at,
			known);
	for (int64_t v = from + 1; rc == OK && v <= known; v++)
		rc = apply(d, a, (int)v, e);
	if (rc == OK)
		rc = make_partitions(d, e);
	if (rc == OK && login)
		rc = pg_script(d, "RESET ROLE", e);
	if (rc == OK && login)
		rc = make_login(d, login, e);
	json_seti(a, report, "from", from);
	json_seti(a, report, "to", known);
	return rc;
}

/* ---- may a server work with it? ---- */

static int check_setting(
	struct db *d, struct arena *a, const char *name, const char *const *good, struct err *e)
{
	const char *value;
	int rc = pg_one(d, a, arena_printf(a, "SHOW %s", name), &value, e);

	if (rc)
		return rc;
	for (; *good; good++)
		if (text_eq(value, *good))
			return OK;
	return err_set(e, E_DENIED, "FLEET_UNSAFE",
		"the database has %s = %s: what it acknowledged could be lost; set it to on", name, value);
}

static int check_versions(struct db *d, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int known = newest_known();
	int rc = pg_ask(d, "SELECT v, sha256 FROM schema_version ORDER BY v", NULL, 0, &rows, e);

	if (rc)
		return err_wrap(
			e, "there is no ledger in this database; 'helm serve fleet migrate' makes it");
	for (int i = 0; i < rows.n; i++) {
		uint8_t digest[SHA256_SIZE];
		struct bytes text;
		if (pg_int(&rows, i, 0) > known || !migration_at((int)pg_int(&rows, i, 0), &text))
			continue;
		sha256(text.p, text.n, digest);
		if (!bytes_eq(pg_bytes(&rows, i, 1), (struct bytes){ digest, sizeof(digest) }))
			return err_set(e, E_CORRUPT, "FLEET_SCHEMA",
				"migration %lld was another one when it was run: this is not a ledger of this helm",
				(long long)pg_int(&rows, i, 0));
	}
	int64_t at = rows.n ? pg_int(&rows, rows.n - 1, 0) : 0;
	if (at < known)
		return err_set(e, E_INPUT, "FLEET_SCHEMA",
			"the database is at version %lld of %d; run: helm serve fleet migrate", (long long)at,
			known);
	return at > known + 1
		? err_set(e, E_INPUT, "FLEET_SCHEMA",
			  "the database is at version %lld, this program knows %d: use a newer helm",
			  (long long)at, known)
		: OK;
}

int ledger_check(struct sys *s, struct arena *a, const char *conninfo, int patience_s, struct err *e)
{
	static const char *const on[] = { "on", NULL }, *const durable[] = { "on", "remote_apply", NULL };
	AUTO(pg_close) struct db *d = NULL;
	const char *strong;
	int rc = pg_open_patient(conninfo, NULL, s, patience_s, &d, e);

	if (rc == OK)
		rc = check_setting(d, a, "fsync", on, e);
	if (rc == OK)
		rc = check_setting(d, a, "full_page_writes", on, e);
	if (rc == OK)
		rc = check_setting(d, a, "synchronous_commit", durable, e);
	if (rc == OK)
		rc = pg_one(d, a,
			"SELECT bool_or(rolsuper OR rolbypassrls)::int::text FROM pg_roles WHERE rolname IN (session_user, current_user) "
			"OR pg_has_role(session_user, oid, 'MEMBER') AND rolname LIKE 'helm_%'",
			&strong, e);
	if (rc)
		return rc;
	if (!text_eq(strong, "0"))
		return err_set(e, E_DENIED, "FLEET_UNSAFE",
			"this role is a superuser, or passes over row-level security: tenants would not be kept apart; "
			"log in as the role of 'helm serve fleet migrate --login'");
	pg_close(&d);
	/* As the groups that it works as. */
	rc = pg_open_patient(conninfo, ROLE_READ, s, patience_s, &d, e);
	return rc ? err_wrap(e,
			    "this role is no member of " ROLE_READ
			    "; 'helm serve fleet migrate --login' grants it")
		  : check_versions(d, e);
}

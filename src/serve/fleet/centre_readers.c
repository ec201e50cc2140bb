/* centre_readers.c — who may look over HTTP: programs by a token, people by a passkey that an invitation lets them register.
 *
 * A person sees all machines of the tenant, or those that are named here.  Whatever changes what somebody may see, or with which key, ends their sessions in the
 * same transaction, and so at every front end. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/centre.h"

#include <string.h>

enum { SECRET_BYTES = 24, MACHINES_MOST = 1000 };

static int new_word(
	struct centre *c, const char *prefix, const char **ret, uint8_t digest[SHA256_SIZE], struct err *e)
{
	uint8_t bytes[SECRET_BYTES];
	char hex[2 * SECRET_BYTES + 1];

	if (c->sys->random(c->sys, bytes, sizeof(bytes)))
		return err_sys(e, "FLEET_RANDOM", "cannot draw a token");
	hex_encode(bytes, sizeof(bytes), hex);
	*ret = arena_printf(c->a, "%s%s.%s", prefix, c->tenant.name, hex);
	sha256(*ret, strlen(*ret), digest);
	return OK;
}

static int check_asked(struct centre *c, const char *name, int64_t seconds, struct err *e)
{
	return text_is_id(name) && seconds > 0 && seconds < INT32_MAX
		? centre_open(c, ROLE_CONSOLE, e)
		: err_set(e, E_USAGE, "USAGE", "a reader has a name of letters and digits, and some time");
}

/* ---- programs ---- */

int centre_reader_add(struct centre *c, struct json **ret, struct err *e)
{
	const char *name = json_get_text(c->q, "name", ""), *token = "";
	int64_t seconds = json_get_int(c->q, "seconds", 0), changed = 0;
	uint8_t digest[SHA256_SIZE];
	int rc = check_asked(c, name, seconds, e);

	if (rc == OK)
		rc = new_word(c, READER_WORD, &token, digest, e);
	if (rc)
		return rc;
	rc = pg_do(c->d,
		"INSERT INTO reader(tenant_id, token_sha256, name, expires_at, made_by) SELECT $1::int4, $2::bytea, $3::text, now() + make_interval(secs => $4::int4), $5::text"
		" WHERE NOT EXISTS (SELECT FROM person WHERE name = $3::text) ON CONFLICT DO NOTHING",
		(struct pg_value[]){ pg_i(c->a, c->tenant.id), pg_b((struct bytes){ digest, sizeof(digest) }),
			pg_t(name), pg_i(c->a, seconds), pg_t(json_get_text(c->q, "by", "")) },
		5, &changed, e);
	if (rc == OK && !changed)
		rc = err_set(e, E_INPUT, "FLEET_READER", "there is, or was, a reader '%s'; take another name",
			name);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, *ret, "token", token);
	json_sets(c->a, *ret, "name", name);
	json_sets(c->a, *ret, "tenant", c->tenant.name);
	json_sets(c->a, *ret, "log_vkey", c->tenant.log_vkey);
	return OK;
}

/* ---- people ---- */

/* The numbers of what was named, by number, host or user@host, as they are now: "{1,2}".  *ret NULL: all machines. */
static int read_machines(struct centre *c, const char **ret, struct err *e)
{
	const struct json *given = json_get(c->q, "machines");
	struct buf text;
	int n = 0;

	*ret = NULL;
	if (!json_is(given, JSON_ARRAY))
		return OK;
	buf_init(&text, c->a);
	buf_addc(&text, '{');
	json_each (one, given) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		int rc = pg_ask(c->d,
			"SELECT node_id FROM node WHERE node_id::text = $1 OR host = $1 OR owner || '@' || host = $1 ORDER BY node_id",
			(struct pg_value[]){ pg_t(json_text(one) ? json_text(one) : "") }, 1, &rows, e);
		if (rc)
			return rc;
		if (!rows.n)
			return err_set(e, E_MISSING, "FLEET_NODE",
				"there is no machine '%s'; 'helm fleet nodes' shows number, host and user of each",
				json_text(one) ? json_text(one) : "");
		for (int i = 0; i < rows.n; i++)
			buf_addf(&text, "%s%lld", n++ ? "," : "", (long long)pg_int(&rows, i, 0));
	}
	buf_addc(&text, '}');
	*ret = text.p;
	return n <= MACHINES_MOST
		? OK
		: err_set(e, E_LIMIT, "FLEET_READER",
			  "these are %d machines; at most %d can be named, or all", n, MACHINES_MOST);
}

/* What somebody is, read anew: {name, tenant, role, machines}. */
static int say_person(struct centre *c, const char *name, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(c->d,
		"SELECT p.machines IS NULL, n.node_id, n.host, n.owner FROM person p LEFT JOIN node n ON n.node_id = ANY (p.machines) WHERE p.name = $1 ORDER BY n.node_id",
		(struct pg_value[]){ pg_t(name) }, 1, &rows, e);

	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, *ret, "name", name);
	json_sets(c->a, *ret, "tenant", c->tenant.name);
	json_sets(c->a, *ret, "role", rows.n && pg_int(&rows, 0, 0) ? "auditor" : "engineer");
	for (int i = 0; i < rows.n && !pg_null(&rows, i, 1); i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, one, "node", arena_printf(c->a, "%lld", (long long)pg_int(&rows, i, 1)));
		json_sets(c->a, one, "host", pg_text(&rows, c->a, i, 2));
		json_sets(c->a, one, "user", pg_text(&rows, c->a, i, 3));
		json_push(c->a, list, one);
	}
	json_set(c->a, *ret, "machines", list);
	return OK;
}

static int end_sessions(struct centre *c, const char *name, struct err *e)
{
	return pg_do(
		c->d, "DELETE FROM session WHERE name = $1", (struct pg_value[]){ pg_t(name) }, 1, NULL, e);
}

int centre_reader_invite(struct centre *c, struct json **ret, struct err *e)
{
	const char *name = json_get_text(c->q, "name", ""), *word = "", *machines = NULL;
	int64_t seconds = json_get_int(c->q, "seconds", 0), changed = 0;
	bool says_which = json_get(c->q, "machines") != NULL;
	uint8_t digest[SHA256_SIZE];
	int rc = check_asked(c, name, seconds, e);

	if (rc == OK)
		rc = read_machines(c, &machines, e);
	if (rc == OK)
		rc = new_word(c, INVITE_WORD, &word, digest, e);
	if (rc == OK) /* whoever was there keeps what they may see, unless it is said; their key goes */
		rc = pg_do(c->d,
			"INSERT INTO person(tenant_id, name, machines, invite_sha256, invite_until, made_by)"
			" SELECT $1::int4, $2::text, $3::int8[], $4::bytea, now() + make_interval(secs => $5::int4), $6::text WHERE NOT EXISTS (SELECT FROM reader WHERE name = $2::text)"
			" ON CONFLICT (tenant_id, name) DO UPDATE SET machines = CASE WHEN $7::int4 = 1 THEN EXCLUDED.machines ELSE person.machines END,"
			" invite_sha256 = EXCLUDED.invite_sha256, invite_until = EXCLUDED.invite_until, passkey = NULL, credential_id = NULL, counter = 0,"
			" key_at = NULL, ended_at = NULL, made_by = EXCLUDED.made_by",
			(struct pg_value[]){ pg_i(c->a, c->tenant.id), pg_t(name), pg_t(machines),
				pg_b((struct bytes){ digest, sizeof(digest) }), pg_i(c->a, seconds),
				pg_t(json_get_text(c->q, "by", "")), pg_i(c->a, says_which) },
			7, &changed, e);
	if (rc == OK && !changed)
		rc = err_set(e, E_INPUT, "FLEET_READER",
			"'%s' is, or was, a program with a token; a person has another name", name);
	if (rc == OK)
		rc = end_sessions(c, name, e);
	if (rc == OK)
		rc = say_person(c, name, ret, e);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	if (rc)
		return rc;
	json_sets(c->a, *ret, "invite", word);
	json_sets(c->a, *ret, "log_vkey", c->tenant.log_vkey);
	return OK;
}

int centre_reader_set(struct centre *c, struct json **ret, struct err *e)
{
	const char *name = json_get_text(c->q, "name", ""), *machines = NULL;
	int64_t changed = 0;
	int rc = json_get(c->q, "machines")
		? centre_open(c, ROLE_CONSOLE, e)
		: err_set(e, E_USAGE, "USAGE", "say what they may see: --machines LIST, or --machines all");

	if (rc == OK)
		rc = read_machines(c, &machines, e);
	if (rc == OK)
		rc = pg_do(c->d,
			"UPDATE person SET machines = $2::int8[] WHERE name = $1 AND ended_at IS NULL",
			(struct pg_value[]){ pg_t(name), pg_t(machines) }, 2, &changed, e);
	if (rc == OK && !changed)
		rc = err_set(e, E_MISSING, "FLEET_READER", "nobody is invited as '%s'", name);
	if (rc == OK)
		rc = end_sessions(c, name, e);
	if (rc == OK)
		rc = say_person(c, name, ret, e);
	return rc ? rc : pg_commit(c->d, e);
}

/* ---- both ---- */

int centre_readers(struct centre *c, struct json **ret, struct err *e)
{
	static const char *const names[] = { "name", "by", "sees", "made_at", "expires_at", "revoked_at",
		"made_by" };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = centre_open(c, ROLE_CONSOLE, e);

	if (rc == OK)
		rc = pg_ask(c->d,
			"SELECT name, 'token', 'all', made_at::text, expires_at::text, coalesce(revoked_at::text, ''), made_by, made_at AS t FROM reader UNION ALL"
			" SELECT name, CASE WHEN credential_id IS NOT NULL THEN 'passkey' WHEN ended_at IS NULL THEN 'invited' ELSE '' END,"
			" coalesce(array_to_string(machines, ','), 'all'), made_at::text, CASE WHEN credential_id IS NULL THEN coalesce(invite_until::text, '') ELSE '' END,"
			" coalesce(ended_at::text, ''), made_by, made_at FROM person ORDER BY t",
			NULL, 0, &rows, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			json_sets(c->a, one, names[k], pg_text(&rows, c->a, i, (int)k));
		json_push(c->a, *ret, one);
	}
	return OK;
}

int centre_reader_revoke(struct centre *c, struct json **ret, struct err *e)
{
	const char *name = json_get_text(c->q, "name", "");
	int64_t tokens = 0, people = 0;
	int rc = centre_open(c, ROLE_CONSOLE, e);

	if (rc == OK)
		rc = pg_do(c->d,
			"UPDATE reader SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL",
			(struct pg_value[]){ pg_t(name) }, 1, &tokens, e);
	if (rc == OK)
		rc = pg_do(c->d,
			"UPDATE person SET ended_at = now(), passkey = NULL, credential_id = NULL, invite_sha256 = NULL, invite_until = NULL WHERE name = $1 AND ended_at IS NULL",
			(struct pg_value[]){ pg_t(name) }, 1, &people, e);
	if (rc == OK)
		rc = end_sessions(c, name, e);
	if (rc == OK && !tokens && !people)
		rc = err_set(e, E_MISSING, "FLEET_READER",
			"there is no reader '%s' whose token or key opens anything", name);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, *ret, "name", name);
	json_setb(c->a, *ret, "revoked", true);
	return OK;
}

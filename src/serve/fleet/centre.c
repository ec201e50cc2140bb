/* centre.c — tenants, tokens and machines, for a person who has the database. */
#include "serve/fleet/centre.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

enum { TOKEN_BYTES = 24, LOG_OLD_S = 3600 };

static int find_tenant(struct centre *c, struct err *e)
{
	const char *name = json_get_text(c->q, "tenant", NULL);
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };

	if (name)
		return tenant_find(c->d, c->a, name, NULL, &c->tenant, e);
	int rc = pg_ask(c->d, "SELECT name FROM tenant ORDER BY tenant_id LIMIT 2", NULL, 0, &rows, e);
	if (rc == OK && rows.n != 1)
		return err_set(e, E_INPUT, "FLEET_TENANT",
			rows.n ? "there are several tenants: say which one with --tenant"
			       : "there is no tenant yet: helm fleet tenant add NAME --origin HOST/NAME");
	return rc ? rc : tenant_find(c->d, c->a, pg_text(&rows, c->a, 0, 0), NULL, &c->tenant, e);
}

int centre_connect(struct centre *c, const char *role, struct err *e)
{
	return pg_open_patient(c->database, role, c->sys, c->patience_s, &c->d, e);
}

int centre_open(struct centre *c, const char *role, struct err *e)
{
	if (c->d) /* somebody else has opened it for us, as that role */
		return OK;
	int rc = centre_connect(c, role, e);

	if (rc == OK)
		rc = pg_begin(c->d, 0, e);
	if (rc == OK)
		rc = find_tenant(c, e);
	if (rc)
		return rc;
	pg_rollback(c->d);
	return pg_begin(c->d, c->tenant.id, e);
}

/* ---- tenants ---- */

int centre_signer(struct centre *c, struct err *e)
{
	return log_line_open(c->sys, json_get_text(c->q, "signer", ""), NULL, &c->signer, e);
}

static int insert_tenant(struct centre *c, const char *log_vkey, const char *control_vkey, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct hash empty = merkle_root(NULL, 0);
	const char *name = json_get_text(c->q, "name", ""), *origin = c->tenant.origin,
		   *root = json_get_text(c->q, "root", NULL);
	int rc = pg_ask(c->d,
		"INSERT INTO tenant(tenant_id, name, origin, log_vkey, control_vkey, root_key) "
		"SELECT coalesce(max(tenant_id), 0) + 1, $1, $2, $3, $4, decode($5, 'hex') FROM tenant RETURNING tenant_id",
		(struct pg_value[]){
			pg_t(name), pg_t(origin), pg_t(log_vkey), pg_t(control_vkey), pg_t(root) },
		5, &rows, e);

	if (rc)
		return rc;
	c->tenant = (struct tenant){ .id = (int32_t)pg_int(&rows, 0, 0), .name = name, .origin = origin };
	rc = pg_script(c->d, arena_printf(c->a, "SET LOCAL helm.tenant = '%d'", c->tenant.id), e);
	return rc ? rc
		  : pg_do(c->d, "INSERT INTO log(tenant_id, tree_size, root) VALUES ($1, 0, $2)",
			    (struct pg_value[]){ pg_i(c->a, c->tenant.id),
				    pg_b((struct bytes){ empty.b, sizeof(empty.b) }) },
			    2, NULL, e);
}

int centre_tenant_add(struct centre *c, struct json **ret, struct err *e)
{
	const char *name = json_get_text(c->q, "name", ""), *log_vkey, *control_vkey;
	struct log_facts facts;

	uint8_t root[KEY_SIZE];

	if (!text_is_id(name))
		return err_set(e, E_USAGE, "USAGE", "a tenant has a name of letters and digits");
	if (json_get_text(c->q, "root", NULL) && !trust_parse_key(json_get_text(c->q, "root", ""), root))
		return err_set(e, E_USAGE, "USAGE",
			"--root takes the 64 hex digits of a public key: keys/root.pub where 'helm key create' made it");
	int rc = centre_signer(c, e);
	if (rc == OK)
		rc = log_ask_facts(c->signer, c->a, name, &facts, e);
	if (rc == E_MISSING)
		return err_set(e, E_MISSING, "FLEET_TENANT",
			"the signer has no log '%s'; its user makes one: helm signer log-key %s HOST/NAME",
			name, name);
	if (rc)
		return rc;
	log_vkey = note_key_text(c->a, &facts.log);
	control_vkey = note_key_text(c->a, &facts.control);
	c->tenant.origin = facts.log.name;
	rc = centre_connect(c, ROLE_CONSOLE, e);
	if (rc == OK)
		rc = pg_begin(c->d, 0, e);
	if (rc == OK)
		rc = insert_tenant(c, log_vkey, control_vkey, e);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, *ret, "tenant", name);
	json_sets(c->a, *ret, "origin", facts.log.name);
	json_sets(c->a, *ret, "log_vkey", log_vkey);
	json_sets(c->a, *ret, "control_vkey", control_vkey);
	return OK;
}

int centre_tenants(struct centre *c, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = centre_connect(c, ROLE_READ, e);

	if (rc == OK)
		rc = pg_begin(c->d, 0, e);
	if (rc == OK)
		rc = pg_ask(c->d, "SELECT name, origin, log_vkey FROM tenant ORDER BY tenant_id", NULL, 0,
			&rows, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, one, "tenant", pg_text(&rows, c->a, i, 0));
		json_sets(c->a, one, "origin", pg_text(&rows, c->a, i, 1));
		json_sets(c->a, one, "log_vkey", pg_text(&rows, c->a, i, 2));
		json_push(c->a, *ret, one);
	}
	return OK;
}

/* ---- tokens ---- */

/* What a machine pins comes with the token: whose log and whose orders these are, by keys. */
static int spell_token(struct centre *c, const char **ret_secret, const char **ret_token, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	uint8_t bytes[TOKEN_BYTES];
	char *hex = arena_text(c->a, 2 * TOKEN_BYTES + 1);
	struct buf text;

	if (c->sys->random(c->sys, bytes, sizeof(bytes)))
		return err_sys(e, "FLEET_RANDOM", "cannot draw a token");
	hex_encode(bytes, sizeof(bytes), hex);
	json_sets(c->a, doc, "version", "helm-fleet-token/1");
	json_sets(c->a, doc, "origin", c->tenant.origin);
	json_sets(c->a, doc, "log_vkey", c->tenant.log_vkey);
	json_sets(c->a, doc, "control_vkey", c->tenant.control_vkey);
	if (c->tenant.root_key)
		json_sets(c->a, doc, "root_key", c->tenant.root_key);
	json_sets(c->a, doc, "secret", hex);
	buf_init(&text, c->a);
	json_canonical(&text, doc);
	*ret_secret = hex;
	*ret_token = arena_printf(
		c->a, "hft_%s", base64_encode(c->a, (const uint8_t *)text.p, text.n, BASE64_URL, false));
	return OK;
}

int centre_token(struct centre *c, struct json **ret, struct err *e)
{
	const char *secret = "", *token = "";
	uint8_t digest[SHA256_SIZE];
	int64_t uses = json_get_int(c->q, "uses", 1), seconds = json_get_int(c->q, "seconds", 86400);
	int rc = centre_open(c, ROLE_CONSOLE, e);

	if (rc == OK && (uses < 1 || uses > 1000000 || seconds < 1))
		rc = err_set(e, E_USAGE, "USAGE", "a token has 1 to 1000000 uses, and some time");
	if (rc == OK)
		rc = spell_token(c, &secret, &token, e);
	sha256(secret, strlen(secret), digest);
	if (rc == OK)
		rc = pg_do(c->d,
			"INSERT INTO join_token(tenant_id, token_sha256, uses_left, expires_at, made_by) "
			"VALUES ($1, $2, $3, now() + make_interval(secs => $4::int4), $5)",
			(struct pg_value[]){ pg_i(c->a, c->tenant.id),
				pg_b((struct bytes){ digest, sizeof(digest) }), pg_i(c->a, uses),
				pg_i(c->a, seconds), pg_t(json_get_text(c->q, "by", "")) },
			5, NULL, e);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, *ret, "token", token);
	json_sets(c->a, *ret, "tenant", c->tenant.name);
	json_seti(c->a, *ret, "uses", uses);
	json_seti(c->a, *ret, "seconds", seconds);
	return OK;
}

/* ---- machines ---- */

/* What was retired is expected no more.  Green, yellow after three heartbeats were missed, red after ten minutes; what is wrong with its chains, its record or its guard is worse than silence. */
static const char *standing_of(
	int64_t silent_s, int64_t bad_chains, bool has_bad_record, bool is_armed, bool is_retired)
{
	if (is_retired)
		return "retired";
	if (bad_chains || has_bad_record)
		return "red";
	if (silent_s > 600 || silent_s < 0)
		return "dark";
	return silent_s > 3 * BEAT_S ? "yellow" : is_armed ? "green" : "unarmed";
}

/* *ret NULL: it said nothing.  True when one guard is active and none that was put in is less than that, or when the machine says that no agent is
 * expected there. */
static bool is_guarded(struct arena *a, struct bytes beat, const struct json **ret)
{
	struct json *doc = NULL;
	bool is_one = false;

	*ret = beat.n && json_parse(a, beat, "beat", NULL, &doc, NULL) == OK ? doc : NULL;
	const struct json *guard = json_get(doc, "guard");
	is_one = json_get_bool(guard, "active", false) || !json_get_bool(guard, "expected", true);
	json_each (one, json_get(doc, "armed")) {
		const char *state = json_get_text(one, "state", "");
		if (text_eq(state, "armed"))
			is_one = true;
		else
			return false;
	}
	return is_one;
}

/* {standing, at?, from?, to?, age_s?, why?}: what the machine last said of the log, by its own clock from one end to the other.  Whatever stands in a heartbeat is its
 * word, and may be anything. */
static struct json *log_check_of(struct arena *a, const struct json *beat, int64_t silent_s)
{
	const struct json *said = json_get(beat, "checked");
	const char *at = json_get_text(said, "at", ""), *then = json_get_text(beat, "at", ""),
		   *result = json_get_text(said, "result", "");
	struct json *doc = json_new(a, JSON_OBJECT);
	int64_t at_us, then_us;

	if (!text_parse_time(at, strlen(at), &at_us) || !text_parse_time(then, strlen(then), &then_us) ||
		silent_s < 0) {
		json_sets(a, doc, "standing", "never");
		return doc;
	}
	int64_t age_s = then_us > at_us ? (then_us - at_us) / 1000000 + silent_s : silent_s;
	json_sets(a, doc, "standing",
		!text_eq(result, "good")    ? "failed"
			: age_s > LOG_OLD_S ? "old"
					    : "good");
	json_sets(a, doc, "at", text_time_z(a, at_us));
	json_seti(a, doc, "age_s", age_s);
	json_seti(a, doc, "from", json_get_int(said, "from", 0));
	json_seti(a, doc, "to", json_get_int(said, "to", 0));
	if (!text_eq(result, "good"))
		json_sets(a, doc, "why", json_get_text(said, "why", "it does not say why"));
	return doc;
}

/* {standing: "sound", "not sound", "unchecked" or "never", why?}: what the machine last said of its own records, the worst of them. */
static struct json *record_of(struct arena *a, const struct json *beat)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	const char *standing = "never", *why = NULL;

	json_each (head, json_get(beat, "heads")) {
		const struct json *said = json_get(head, "record");
		const char *checked = json_get_text(said, "checked", "");
		bool is_sound = json_get_bool(said, "sound", false);
		if (!said)
			continue;
		if (!is_sound && !text_eq(checked, "no")) {
			standing = "not sound";
			why = json_get_text(said, "why", "it does not say why");
			break;
		}
		if (!is_sound || text_eq(checked, "in part"))
			standing = "unchecked";
		else if (text_eq(standing, "never"))
			standing = "sound";
	}
	json_sets(a, doc, "standing", standing);
	if (why)
		json_sets(a, doc, "why", why);
	return doc;
}

static const char nodes_sql[] =
	"SELECT node.node_id, node.host, node.owner, coalesce(extract(epoch FROM now() - node.seen_at)::int8, -1), node.skew_ms, node.order_seen, node.beat,"
	" (SELECT count(*) FROM chain c WHERE c.node_id = node.node_id), (SELECT coalesce(sum(c.head), 0)::int8 FROM chain c WHERE c.node_id = node.node_id),"
	" (SELECT coalesce(sum(greatest(c.local_head - c.head, 0)), 0)::int8 FROM chain c WHERE c.node_id = node.node_id AND c.state = 1),"
	" (SELECT count(*) FROM chain c WHERE c.node_id = node.node_id AND c.state IN (2, 3)"
	"  AND NOT EXISTS (SELECT FROM chain x WHERE x.node_id = c.node_id AND x.session_id = c.session_id AND x.epoch > c.epoch)),"
	" (SELECT coalesce(string_agg(c.session_id || ' ' || c.state, ',' ORDER BY c.session_id), '') FROM chain c WHERE c.node_id = node.node_id AND c.state IN (2, 3)), " RETIRED
	", coalesce(node.retired_at::text, '')"
	" FROM node ORDER BY node.host, node.owner, node.node_id";

int centre_nodes(struct centre *c, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = centre_open(c, ROLE_READ, e);

	if (rc == OK)
		rc = pg_ask(c->d, nodes_sql, NULL, 0, &rows, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		const struct json *beat;
		bool armed = is_guarded(c->a, pg_bytes(&rows, i, 6), &beat);
		json_sets(c->a, one, "node", arena_printf(c->a, "%lld", (long long)pg_int(&rows, i, 0)));
		json_sets(c->a, one, "host", pg_text(&rows, c->a, i, 1));
		json_sets(c->a, one, "user", pg_text(&rows, c->a, i, 2));
		struct json *record = record_of(c->a, beat);
		json_sets(c->a, one, "standing",
			standing_of(pg_int(&rows, i, 3), pg_int(&rows, i, 10),
				text_eq(json_get_text(record, "standing", ""), "not sound"), armed,
				pg_int(&rows, i, 12)));
		json_set(c->a, one, "record", record);
		json_seti(c->a, one, "silent_s", pg_int(&rows, i, 3));
		json_seti(c->a, one, "skew_ms", pg_int(&rows, i, 4));
		json_seti(c->a, one, "order", pg_int(&rows, i, 5));
		json_seti(c->a, one, "chains", pg_int(&rows, i, 7));
		json_seti(c->a, one, "receipts", pg_int(&rows, i, 8));
		if (beat) /* before it has said how long its chains are nobody knows */
			json_seti(c->a, one, "backlog", pg_int(&rows, i, 9));
		json_sets(c->a, one, "wrong", pg_text(&rows, c->a, i, 11));
		if (pg_int(&rows, i, 12))
			json_sets(c->a, one, "retired_at", pg_text(&rows, c->a, i, 13));
		if (beat && json_get(beat, "armed"))
			json_set(c->a, one, "armed", json_get(beat, "armed"));
		if (json_is(json_get(beat, "guard"), JSON_OBJECT))
			json_set(c->a, one, "guard", json_get(beat, "guard"));
		if (json_is(json_get(beat, "attention"), JSON_NUMBER))
			json_set(c->a, one, "attention", json_get(beat, "attention"));
		if (beat && json_get(beat, "frozen"))
			json_set(c->a, one, "frozen", json_get(beat, "frozen"));
		json_set(c->a, one, "log", log_check_of(c->a, beat, pg_int(&rows, i, 3)));
		json_push(c->a, *ret, one);
	}
	return OK;
}

/* ---- which of them ---- */

static int migrate(struct centre *c, struct json **ret, struct err *e)
{
	*ret = json_new(c->a, JSON_OBJECT);
	return schema_migrate(
		c->sys, c->a, c->database, c->patience_s, json_get_text(c->q, "login", NULL), *ret, e);
}

/* What a statement may take: of a question or an order, and of what looks at everything. */
enum { SOON = 60, WHOLE = 540 };

/* Whose patience it was, and how to have more of it. */
static int say_slow(int rc, int patience_s, struct err *e)
{
	if (!text_eq(e->code, "DB_SLOW") && !text_eq(e->code, "DB_STALLED"))
		return rc;
	return err_set(e, rc, "FLEET_SLOW",
		"the database has not done it within %d s, and it was given up; look what came of it before you do it again. HELM_FLEET_PATIENCE=SECONDS gives it longer",
		patience_s);
}

int fleet_do(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e)
{
	static const struct {
		const char *name;
		centre_verb *fn;
		int patience_s;
	} verbs[] = { { "migrate", migrate, WHOLE }, { "tenant add", centre_tenant_add, SOON },
		{ "tenants", centre_tenants, SOON }, { "token", centre_token, SOON },
		{ "nodes", centre_nodes, SOON }, { "order", centre_order, SOON },
		{ "orders", centre_orders, SOON }, { "search", centre_search, SOON },
		{ "audit", centre_audit, WHOLE }, { "rebuild", centre_rebuild, WHOLE },
		{ "retain", centre_retain, WHOLE }, { "tiles", centre_tiles, WHOLE },
		{ "export", centre_export, WHOLE }, { "questions", centre_questions, SOON },
		{ "taken", centre_taken, SOON }, { "reader add", centre_reader_add, SOON },
		{ "reader invite", centre_reader_invite, SOON }, { "reader set", centre_reader_set, SOON },
		{ "readers", centre_readers, SOON }, { "reader revoke", centre_reader_revoke, SOON } };
	struct centre c = { .sys = s, .a = a, .q = q, .database = json_get_text(q, "database", "") };
	const char *name = json_get_text(q, "do", "");

	if (json_get_text(q, "url", NULL))
		return view_ask(a, q, ret, e);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (text_eq(verbs[i].name, name)) {
			c.patience_s = (int)json_get_int(q, "patience_s", verbs[i].patience_s);
			int rc = verbs[i].fn(&c, ret, e);
			pg_close(&c.d);
			log_line_close(&c.signer);
			return rc ? say_slow(rc, c.patience_s, e) : OK;
		}
	return err_set(e, E_USAGE, "USAGE", "'%s' is nothing that a ledger does", name);
}

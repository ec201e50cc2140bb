/* apikey.c — keys of callers: made, rotated, revoked by a person; matched by the server.
 *
 * A key is 256 random bits, so its plain SHA-256 tells nothing about it.  The act is on record before the store changes: a key whose
 * making is not in the chain opens nothing. */
#include "kernel/apikey.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sealed.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/operator_files.h"

#include <fcntl.h>
#include <string.h>

static const struct doc KEYS = { .file = APIKEYS,
	.lock = APIKEYS ".lock",
	.type = JSON_OBJECT,
	.max_bytes = 8 << 20,
	.code = "APIKEYS",
	.newest = 1 };
static const char token_mark[] = "helm_";
enum { ID_BYTES = 6, SECRET_BYTES = 32, NAME_MOST = 200 };

static const struct {
	const char *name;
	enum apikey_scope scope;
} scope_names[] = { { "evaluate", SCOPE_EVALUATE }, { "read", SCOPE_READ }, { "approve", SCOPE_APPROVE },
	{ "admin", SCOPE_ADMIN }, { "service", SCOPE_SERVICE } };

static unsigned scope_of(struct bytes word)
{
	for (size_t i = 0; i < ARRAY_SIZE(scope_names); i++)
		if (bytes_is(word, scope_names[i].name))
			return scope_names[i].scope;
	return 0;
}

unsigned apikey_scopes(const char *words)
{
	struct bytes rest = bytes_of(words);
	unsigned all = 0;

	while (rest.p) {
		unsigned one = scope_of(text_cut(&rest, ','));
		if (!one)
			return 0;
		all |= one;
	}
	return all;
}

struct json *apikey_scopes_json(struct arena *a, unsigned scopes)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(scope_names); i++)
		if (scopes & scope_names[i].scope)
			json_pushs(a, list, scope_names[i].name);
	return list;
}

const char *apikeys_path(struct arena *a, const struct workspace *ws)
{
	const char *dir = workspace_beside(a, ws);

	return dir ? arena_printf(a, "%s/" APIKEYS, dir) : NULL;
}

int apikeys_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct err why = { 0 };
	int rc = workspace_open_beside(s, a, ws, false, &fd, &why);

	if (rc == E_MISSING) {
		*ret = json_new(a, JSON_OBJECT);
		return OK;
	}
	return rc ? err_set(e, rc, why.code, "%s", why.text)
		  : sealed_load(s, a, fd, &KEYS, APIKEYS_NAME, ret, e);
}

/* ---- matching ---- */

/* Takes as long for any two digests of this length. */
static bool is_same(const char *x, const char *y)
{
	unsigned char differ = 0;

	if (strlen(x) != SHA256_HEX - 1 || strlen(y) != SHA256_HEX - 1)
		return false;
	for (size_t i = 0; i < SHA256_HEX - 1; i++)
		differ |= (unsigned char)(x[i] ^ y[i]);
	return !differ;
}

static int64_t time_of(const struct json *row, const char *name)
{
	const char *text = json_get_text(row, name, "");
	int64_t us = 0;

	return *text && !text_parse_time(text, strlen(text), &us) ? 1
								  : us; /* what cannot be read is long past */
}

unsigned apikey_row_scopes(const struct json *row)
{
	unsigned all = 0;

	json_each (one, json_get(row, "scopes"))
		all |= json_text(one) ? scope_of(bytes_of(json_text(one))) : 0;
	return all;
}

const char *apikey_over(const struct json *row, int64_t now_us)
{
	int64_t end = time_of(row, "expires_at");

	return json_get_text(row, "revoked_at", NULL) ? "revoked" : end && now_us >= end ? "expired" : NULL;
}

static bool is_open(
	const char *id, const struct json *row, int64_t now_us, struct apikey *ret, const char **ret_why)
{
	*ret = (struct apikey){ .id = id,
		.principal = json_get_text(row, "principal", NULL),
		.tenant = json_get_text(row, "tenant", NULL),
		.scopes = apikey_row_scopes(row),
		.expires_us = time_of(row, "expires_at") };
	*ret_why = apikey_over(row, now_us);
	return !*ret_why && ret->principal && ret->tenant;
}

bool apikey_match(struct arena *a, const struct json *keys, const char *token, int64_t now_us,
	struct apikey *ret, const char **ret_why)
{
	*ret_why = NULL;
	if (!text_starts(token, token_mark))
		return false;
	const char *id = token + strlen(token_mark), *end = strchr(id, '_');
	if (!end || end - id > NAME_MOST)
		return false;
	const char *name = arena_strndup(a, id, (size_t)(end - id));
	const struct json *row = json_get(json_get(keys, "keys"), name);
	if (!is_same(sha256_hex(a, token, strlen(token)), json_get_text(row, "sha256", "")))
		return false;
	return is_open(name, row, now_us, ret, ret_why);
}

/* The row that opens something; where there is none, the last that did. */
static const char *certificate_row(const struct json *keys, const char *name, int64_t now_us)
{
	const char *found = NULL;

	json_each_member (m, json_get(keys, "keys")) {
		if (!text_eq(json_get_text(m->value, "certificate", ""), name))
			continue;
		found = m->name;
		if (!apikey_over(m->value, now_us))
			break;
	}
	return found;
}

bool apikey_match_certificate(struct arena *a, const struct json *keys, const char *name, int64_t now_us,
	struct apikey *ret, const char **ret_why)
{
	const char *id = *name ? certificate_row(keys, name, now_us) : NULL;

	*ret_why = NULL;
	return id && is_open(arena_strdup(a, id), json_get(json_get(keys, "keys"), id), now_us, ret, ret_why);
}

/* ---- acts ---- */

static int record_act(struct kernel *k, struct arena *a, const char *effect, const char *id,
	const struct json *row, const char *reason, const struct person *who, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *what = json_new(a, JSON_OBJECT), *receipt;
	static const char *const told[] = { "principal", "tenant", "scopes", "expires_at", "replaces",
		"certificate" };

	json_sets(a, what, "key_id", id);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (json_get(row, told[i]))
			json_set(a, what, told[i], json_get(row, told[i]));
	if (reason)
		json_sets(a, what, "reason", reason);
	json_set(a, about, "serve_key", what);
	json_sets(a, about, "tenant", json_get_text(row, "tenant", ""));
	act_sign(a, who, what, about);
	return act_record(k, a,
		&(struct act){ .effect_id = effect,
			.type = "setting",
			.output_hash = json_sha256(a, what),
			.executor_id = who->name,
			.about = about },
		&receipt, e);
}

static int make_token(struct sys *s, struct arena *a, char **ret_id, char **ret_token, struct err *e)
{
	uint8_t id[ID_BYTES], secret[SECRET_BYTES];
	char hex[2 * ID_BYTES + 1];

	if (s->random(s, id, sizeof(id)) || s->random(s, secret, sizeof(secret)))
		return err_sys(e, "APIKEY_RANDOM", "no random bytes for a key");
	hex_encode(id, sizeof(id), hex);
	*ret_id = arena_strdup(a, hex);
	*ret_token = arena_printf(
		a, "%s%s_%s", token_mark, hex, base64_encode(a, secret, sizeof(secret), BASE64_URL, false));
	return OK;
}

static bool is_name(const char *s)
{
	size_t n = strlen(s);

	return n && n <= NAME_MOST &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/+-") == n;
}

static struct json *new_row(struct sys *s, struct arena *a, const struct apikey *wish, const char *token)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "principal", wish->principal);
	json_sets(a, row, "tenant", wish->tenant);
	json_set(a, row, "scopes", apikey_scopes_json(a, wish->scopes));
	if (wish->certificate)
		json_sets(a, row, "certificate", wish->certificate);
	else
		json_sets(a, row, "sha256", sha256_hex(a, token, strlen(token)));
	json_sets(a, row, "created_at", text_time_z(a, s->now_us(s)));
	if (wish->expires_us)
		json_sets(a, row, "expires_at", text_time_z(a, wish->expires_us));
	return row;
}

/* The store, open for a change. */
struct store {
	int fd, lock;
	struct json *doc, *keys;
};

static void store_close(struct store *st)
{
	close_fd(&st->lock);
	close_fd(&st->fd);
}

static int store_open(struct kernel *k, struct arena *a, struct store *st, struct err *e)
{
	int rc = workspace_open_beside(k->sys, a, k->ws, true, &st->fd, e);

	if (rc == OK)
		rc = doc_lock(k->sys, st->fd, &KEYS, &st->lock, e);
	if (rc == OK)
		rc = sealed_load(k->sys, a, st->fd, &KEYS, APIKEYS_NAME, &st->doc, e);
	if (rc)
		return rc;
	json_seti(a, st->doc, "version", 1);
	st->keys = doc_part(a, st->doc, "keys");
	return OK;
}

/* As it stands in a certificate, and nobody else's. */
static int check_certificate(struct kernel *k, const struct store *st, const char *name, struct err *e)
{
	size_t n = strlen(name);
	bool is_plain = n && n <= NAME_MOST;

	for (size_t i = 0; i < n; i++)
		is_plain &= name[i] > 0x20 && name[i] < 0x7f;
	if (!is_plain)
		return err_set(e, E_USAGE, "APIKEY_NAME",
			"--certificate takes the URI in the caller's certificate, or its common name: at most %d printable characters, no blanks",
			NAME_MOST);
	const char *taken = certificate_row(st->doc, name, k->sys->now_us(k->sys));
	if (taken && !apikey_over(json_get(st->keys, taken), k->sys->now_us(k->sys)))
		return err_set(e, E_INPUT, "APIKEY_TAKEN",
			"the certificate '%s' is key '%s' already; revoke that one first", name, taken);
	return OK;
}

int apikey_add(struct kernel *k, struct arena *a, const struct apikey *wish, const struct person *who,
	char **ret_token, struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { -1, -1, NULL, NULL };
	char *id, *token;

	if (!is_name(wish->principal) || !is_name(wish->tenant))
		return err_set(e, E_USAGE, "APIKEY_NAME",
			"a principal or tenant is made of letters, digits and . _ : @ / + -, at most %d of them",
			NAME_MOST);
	if (!wish->scopes)
		return err_set(e, E_USAGE, "APIKEY_SCOPE",
			"scopes are evaluate, read, approve, admin and service, with commas between them");
	int rc = store_open(k, a, &st, e);
	if (rc == OK && wish->certificate)
		rc = check_certificate(k, &st, wish->certificate, e);
	if (rc == OK)
		rc = make_token(k->sys, a, &id, &token, e);
	if (rc)
		return rc;
	struct json *row = new_row(k->sys, a, wish, token);
	rc = record_act(k, a, "helm.serve/key-add", id, row, NULL, who, e);
	if (rc)
		return rc;
	json_set(a, st.keys, id, row);
	rc = sealed_replace(k->sys, a, st.fd, &KEYS, st.doc, e);
	if (rc)
		return rc;
	json_sets(a, row, "key_id", id);
	*ret_token = wish->certificate ? NULL : token;
	*ret_row = row;
	return OK;
}

static int find_live(
	struct kernel *k, const struct store *st, const char *id, struct json **ret, struct err *e)
{
	struct json *row = json_get(st->keys, id);

	if (!row)
		return err_set(e, E_MISSING, "APIKEY_UNKNOWN",
			"there is no key '%s'; 'helm serve key list' shows them", id);
	if (apikey_over(row, k->sys->now_us(k->sys)))
		return err_set(
			e, E_INPUT, "APIKEY_OVER", "key '%s' opens nothing any more; make a new one", id);
	*ret = row;
	return OK;
}

int apikey_rotate(struct kernel *k, struct arena *a, const char *id, int64_t overlap_us,
	const struct person *who, char **ret_token, struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { -1, -1, NULL, NULL };
	struct json *old;
	char *new_id, *token;
	int rc = store_open(k, a, &st, e);

	if (rc == OK)
		rc = find_live(k, &st, id, &old, e);
	if (rc == OK)
		rc = make_token(k->sys, a, &new_id, &token, e);
	if (rc)
		return rc;
	if (json_get(old, "certificate"))
		return err_set(e, E_INPUT, "APIKEY_CERTIFICATE",
			"key '%s' is a certificate, which its authority renews; nothing has to be rotated here",
			id);
	/* It ends early because another one took its place: that one is the caller's. */
	if (json_get_text(old, "replaced_by", NULL))
		return err_set(e, E_INPUT, "APIKEY_OVER", "key '%s' was rotated already; rotate '%s'", id,
			json_get_text(old, "replaced_by", ""));
	const struct apikey wish = { .principal = json_get_text(old, "principal", ""),
		.tenant = json_get_text(old, "tenant", ""),
		.scopes = apikey_row_scopes(old),
		.expires_us = time_of(old, "expires_at") };
	struct json *row = new_row(k->sys, a, &wish, token);
	json_sets(a, row, "replaces", id);
	rc = record_act(k, a, "helm.serve/key-rotate", new_id, row, NULL, who, e);
	if (rc)
		return rc;
	int64_t end = k->sys->now_us(k->sys) + overlap_us;
	if (!wish.expires_us || end < wish.expires_us)
		json_sets(a, old, "expires_at", text_time_z(a, end));
	json_sets(a, old, "replaced_by", new_id);
	json_set(a, st.keys, new_id, row);
	rc = sealed_replace(k->sys, a, st.fd, &KEYS, st.doc, e);
	if (rc)
		return rc;
	json_sets(a, row, "key_id", new_id);
	*ret_token = token;
	*ret_row = row;
	return OK;
}

int apikey_revoke(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { -1, -1, NULL, NULL };
	struct json *row;
	int rc = store_open(k, a, &st, e);

	if (rc == OK)
		rc = find_live(k, &st, id, &row, e);
	if (rc == OK)
		rc = record_act(k, a, "helm.serve/key-revoke", id, row, reason, who, e);
	if (rc)
		return rc;
	json_sets(a, row, "revoked_at", text_time_z(a, k->sys->now_us(k->sys)));
	if (reason)
		json_sets(a, row, "revoked_because", reason);
	rc = sealed_replace(k->sys, a, st.fd, &KEYS, st.doc, e);
	if (rc == OK)
		json_sets(a, row, "key_id", id);
	*ret_row = row;
	return rc;
}

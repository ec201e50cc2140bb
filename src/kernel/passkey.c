/* passkey.c — passkeys: who they belong to, how they come in, what they have signed.
 *
 * Their rows stand in <helm home>/trust/approvers.json beside other approvers' keys; how far each has counted stands in passkeys.json beside it, and is
 * written before what was signed takes effect. */
#include "kernel/passkey.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/sealed.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/operator_files.h"
#include "proof/sign.h"

#include <fcntl.h>
#include <string.h>

#define INVITES "console-invites.json"
enum { WORD_BYTES = 32, LABEL_MOST = 64 };
static const struct doc approvers = {
	.file = APPROVERS, .lock = "lock", .type = JSON_OBJECT, .code = "TRUST_FILE"
};
static const struct doc counters = {
	.file = PASSKEY_COUNTERS, .lock = "lock", .type = JSON_OBJECT, .code = "TRUST_FILE"
};
static const struct doc invites = {
	.file = INVITES, .lock = INVITES ".lock", .type = JSON_OBJECT, .code = "CONSOLE_INVITES"
};

static int open_trust(struct sys *s, struct arena *a, bool will_write, int *ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc)
		return rc;
	const char *dir = arena_printf(a, "%s/trust", home);
	if (will_write)
		rc = file_mkdirs(s, AT_FDCWD, dir, 0700, e);
	return rc ? rc : file_open_dir(s, AT_FDCWD, dir, ret, e);
}

/* The rows that are passkeys; none where nothing was ever registered. */
static int load_rows(struct sys *s, struct arena *a, const struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct json *doc;
	struct err why = { 0 };
	int rc = open_trust(s, a, false, &fd, &why);

	*ret = NULL;
	if (rc == E_MISSING)
		return OK;
	rc = rc ? err_set(e, rc, why.code, "%s", why.text)
		: sealed_load(s, a, fd, &approvers, APPROVERS_NAME, &doc, e);
	if (rc == OK)
		*ret = json_get(doc, "keys");
	return rc;
}

/* `p`: a row's `passkey`, or a proof; both name the key alike. */
static bool key_of(const struct json *p, struct webauthn_key *ret)
{
	const char *algorithm = json_get_text(p, "algorithm", ""),
		   *hex = json_get_text(p, "public_key_hex", "");
	uint8_t both[64];

	*ret = (struct webauthn_key){ 0 };
	if (text_eq(algorithm, "ed25519")) {
		ret->algorithm = WEBAUTHN_ED25519;
		return hex_decode(hex, strlen(hex), ret->x, sizeof(ret->x), true);
	}
	if (!text_eq(algorithm, "es256") || !hex_decode(hex, strlen(hex), both, sizeof(both), true))
		return false;
	ret->algorithm = WEBAUTHN_ES256;
	memcpy(ret->x, both, 32);
	memcpy(ret->y, both + 32, 32);
	return true;
}

static bool key_of_row(const struct json *row, struct webauthn_key *ret)
{
	return key_of(json_get(row, "passkey"), ret);
}

bool passkey_is_key(const struct json *row)
{
	struct webauthn_key key;

	return key_of_row(row, &key);
}

int passkey_is_registered(struct sys *s, struct arena *a, const char *key_id, const char *public_key_hex,
	bool *ret, struct err *e)
{
	const struct json *rows;
	int rc = load_rows(s, a, &rows, e);

	*ret = false;
	json_each (row, rc ? NULL : rows)
		if (text_eq(json_get_text(row, "key_id", ""), key_id) &&
			text_eq(json_get_text(json_get(row, "passkey"), "public_key_hex", ""),
				public_key_hex))
			*ret = true;
	return rc;
}

int passkey_credentials(struct sys *s, struct arena *a, const char *rp_id, struct json **ret, struct err *e)
{
	const struct json *rows;
	int rc = load_rows(s, a, &rows, e);

	*ret = json_new(a, JSON_ARRAY);
	json_each (row, rc ? NULL : rows) {
		const struct json *p = json_get(row, "passkey");
		if (p && text_eq(json_get_text(p, "rp_id", ""), rp_id))
			json_pushs(a, *ret, json_get_text(p, "credential_id", ""));
	}
	return rc;
}

/* ---- what was signed ---- */

struct bytes passkey_message(struct arena *a, const struct json *act)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, PASSKEY_ACT_DOMAIN);
	json_canonical(&text, act);
	return buf_bytes(&text);
}

static bool decoded(struct arena *a, const struct json *doc, const char *name, struct bytes *ret)
{
	const char *text = json_get_text(doc, name, "");

	return *text && strlen(text) <= 2 * (size_t)WEBAUTHN_LIMIT &&
		base64_decode(a, text, strlen(text), BASE64_URL, false, ret);
}

/* An authenticator that counts never counts back: a copy of it would. */
static int check_counter(struct sys *s, struct arena *a, const char *key_id, uint32_t counter, struct err *e)
{
	AUTO(close_fd) int fd = -1, lock = -1;
	struct json *doc;
	int rc = open_trust(s, a, true, &fd, e);

	if (rc == OK)
		rc = doc_lock(s, fd, &counters, &lock, e);
	if (rc == OK)
		rc = sealed_load(s, a, fd, &counters, PASSKEY_COUNTERS_NAME, &doc, e);
	if (rc)
		return rc;
	struct json *seen = doc_part(a, doc, "counters");
	int64_t last = json_get_int(seen, key_id, 0);
	if (!counter && !last)
		return OK;
	if ((int64_t)counter <= last)
		return err_set(e, E_DENIED, "WEBAUTHN_COUNTER",
			"this key has signed more often than it says: this answer was shown before, or there are two of it");
	json_seti(a, seen, key_id, counter);
	return sealed_replace(s, a, fd, &counters, doc, e);
}

static const struct json *find_row(const struct json *rows, const char *id, const char *rp_id)
{
	json_each (row, rows) {
		const struct json *p = json_get(row, "passkey");
		if (p && text_eq(json_get_text(p, "credential_id", ""), id) &&
			text_eq(json_get_text(p, "rp_id", ""), rp_id))
			return row;
	}
	return NULL;
}

static bool read_given(struct arena *a, const struct json *from, struct webauthn_signed *ret)
{
	return decoded(a, from, "authenticator_data", &ret->authenticator_data) &&
		decoded(a, from, "client_data_json", &ret->client_data) &&
		decoded(a, from, "signature", &ret->signature);
}

bool passkey_proof_holds(
	struct arena *a, const struct json *row, const struct json *proof, struct bytes message)
{
	struct webauthn_wanted w = { .origin = json_get_text(proof, "origin", ""),
		.rp_id = json_get_text(json_get(row, "passkey"), "rp_id", "") };
	struct webauthn_signed given;
	struct webauthn_key key;
	uint32_t counter;

	sha256(message.p, message.n, w.challenge);
	return key_of_row(row, &key) && read_given(a, proof, &given) &&
		webauthn_check(a, &w, &key, &given, NULL, &counter, NULL) == OK;
}

bool passkey_proof_is_signed(
	struct arena *a, const struct json *proof, struct bytes message, webauthn_es256 *es256)
{
	struct webauthn_wanted w = { .origin = json_get_text(proof, "origin", ""),
		.rp_id = json_get_text(proof, "rp_id", "") };
	struct webauthn_signed given;
	struct webauthn_key key;
	uint32_t counter;

	sha256(message.p, message.n, w.challenge);
	return key_of(proof, &key) && read_given(a, proof, &given) &&
		webauthn_check(a, &w, &key, &given, es256, &counter, NULL) == OK;
}

static int check(struct sys *s, struct arena *a, const uint8_t challenge[SHA256_SIZE],
	const struct passkey_given *g, const struct json **ret_row, struct err *e)
{
	struct webauthn_wanted w = { .origin = g->origin, .rp_id = g->rp_id };
	struct webauthn_signed given;
	struct webauthn_key key;
	const struct json *rows;
	uint32_t counter;
	int rc = load_rows(s, a, &rows, e);

	if (rc)
		return rc;
	const struct json *row = find_row(rows, json_get_text(g->assertion, "id", ""), g->rp_id);
	if (!row || !key_of_row(row, &key))
		return err_set(e, E_DENIED, "APPROVER_UNKNOWN",
			"this key is not registered here; a person invites its owner: helm serve invite --name NAME");
	if (!read_given(a, g->assertion, &given))
		return err_set(e, E_INPUT, "WEBAUTHN_FORMAT", "a part of what was signed is missing");
	memcpy(w.challenge, challenge, sizeof(w.challenge));
	rc = webauthn_check(a, &w, &key, &given, g->es256, &counter, e);
	if (rc == OK)
		rc = check_counter(s, a, json_get_text(row, "key_id", ""), counter, e);
	*ret_row = row;
	return rc;
}

int passkey_login(struct sys *s, struct arena *a, const uint8_t challenge[SHA256_SIZE],
	const struct passkey_given *g, const char **ret_key_id, const char **ret_label, struct err *e)
{
	const struct json *row;
	int rc = check(s, a, challenge, g, &row, e);

	if (rc)
		return rc;
	*ret_key_id = json_get_text(row, "key_id", "");
	*ret_label = json_get_text(row, "label", "");
	return OK;
}

/* All that is needed to verify it again, but for the message. */
static struct json *proof_of(struct arena *a, const struct json *row, const struct passkey_given *g)
{
	static const char *const parts[] = { "authenticator_data", "client_data_json", "signature" };
	const struct json *p = json_get(row, "passkey");
	struct json *proof = json_new(a, JSON_OBJECT);

	json_sets(a, proof, "key_id", json_get_text(row, "key_id", ""));
	json_sets(a, proof, "algorithm", json_get_text(p, "algorithm", ""));
	json_sets(a, proof, "public_key_hex", json_get_text(p, "public_key_hex", ""));
	json_sets(a, proof, "origin", g->origin);
	json_sets(a, proof, "rp_id", g->rp_id);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_sets(a, proof, parts[i], json_get_text(g->assertion, parts[i], ""));
	return proof;
}

int person_open_passkey(struct sys *s, struct arena *a, struct bytes message, const struct passkey_given *g,
	struct person *ret, const char **ret_label, struct err *e)
{
	uint8_t challenge[SHA256_SIZE];
	const struct json *row;

	sha256(message.p, message.n, challenge);
	int rc = check(s, a, challenge, g, &row, e);
	if (rc)
		return rc;
	const char *label = json_get_text(row, "label", "");
	*ret = (struct person){ .name = arena_printf(a, "key %s%s%s%s", json_get_text(row, "key_id", ""),
					*label ? " (" : "", label, *label ? ")" : ""),
		.proof = proof_of(a, row, g),
		.es256 = g->es256 };
	if (ret_label)
		*ret_label = label;
	return OK;
}

/* ---- rows that somebody else keeps ---- */

bool passkey_is_row(struct arena *a, const struct json *row)
{
	const struct json *p = json_get(row, "passkey");
	const char *id = json_get_text(p, "credential_id", ""), *rp_id = json_get_text(p, "rp_id", ""),
		   *origin = json_get_text(p, "origin", ""), *host = strstr(origin, "://");
	struct webauthn_key key;
	struct bytes raw;

	return json_is(p, JSON_OBJECT) && p->n == 5 && *rp_id && host &&
		strncmp(host + strlen("://"), rp_id, strlen(rp_id)) == 0 &&
		strchr(":", host[strlen("://") + strlen(rp_id)]) && key_of(p, &key) &&
		(key.algorithm != WEBAUTHN_ED25519 || sign_public_ok(key.x)) &&
		base64_decode(a, id, strlen(id), BASE64_URL, false, &raw) && raw.n &&
		raw.n <= CREDENTIAL_LIMIT;
}

const char *passkey_row_id(struct arena *a, const struct json *row)
{
	const char *id = json_get_text(json_get(row, "passkey"), "credential_id", "");
	struct bytes raw;

	return base64_decode(a, id, strlen(id), BASE64_URL, false, &raw) && raw.n
		? arena_printf(a, "webauthn:%.32s", sha256_hex(a, raw.p, raw.n))
		: NULL;
}

int passkey_read_word(struct arena *a, const char *word, struct json **ret, struct err *e)
{
	struct json *row = json_new(a, JSON_OBJECT), *p;
	struct bytes text;

	if (!text_starts(word, PASSKEY_WORD) ||
		!base64_decode(a, word + strlen(PASSKEY_WORD), strlen(word) - strlen(PASSKEY_WORD),
			BASE64_URL, false, &text) ||
		json_parse(a, text, "passkey", NULL, &p, NULL))
		return err_set(e, E_INPUT, "PASSKEY_WORD",
			"this is no passkey as the console of a fleet shows it: " PASSKEY_WORD "...");
	json_set(a, row, "passkey", p);
	if (!passkey_is_row(a, row))
		return err_set(e, E_INPUT, "PASSKEY_WORD",
			"this passkey has no key, no credential or no origin that could be used");
	*ret = p;
	return OK;
}

int passkey_in_rows(struct arena *a, const struct json *rows, struct bytes message,
	const struct json *assertion, webauthn_es256 *es256, struct person *ret, struct err *e)
{
	const char *id = json_get_text(assertion, "id", "");

	json_each (row, rows) {
		const struct json *p = json_get(row, "passkey");
		struct webauthn_wanted w = { .origin = json_get_text(p, "origin", ""),
			.rp_id = json_get_text(p, "rp_id", "") };
		const struct passkey_given g = { w.origin, w.rp_id, es256, assertion };
		struct webauthn_signed given;
		struct webauthn_key key;
		struct bytes raw;
		uint32_t counter;
		if (!p || !text_eq(json_get_text(p, "credential_id", ""), id) || !key_of(p, &key) ||
			!base64_decode(a, id, strlen(id), BASE64_URL, false, &raw))
			continue;
		if (!read_given(a, assertion, &given))
			return err_set(e, E_INPUT, "WEBAUTHN_FORMAT", "a part of what was signed is missing");
		sha256(message.p, message.n, w.challenge);
		int rc = webauthn_check(a, &w, &key, &given, es256, &counter, e);
		if (rc)
			return rc;
		struct json *proof = proof_of(a, row, &g);
		const char *key_id = passkey_row_id(a, row);
		json_sets(a, proof, "key_id", key_id);
		json_sets(a, proof, "label", json_get_text(row, "label", ""));
		*ret = (struct person){
			.name = arena_printf(a, "key %s of the fleet", key_id), .proof = proof, .es256 = es256
		};
		return OK;
	}
	return err_set(e, E_DENIED, "APPROVER_UNKNOWN", "the fleet's root key names no such passkey");
}

int passkey_signed(struct arena *a, const struct json *row, const uint8_t challenge[SHA256_SIZE],
	const struct passkey_given *g, uint32_t *ret_counter, struct err *e)
{
	struct webauthn_wanted w = { .origin = g->origin, .rp_id = g->rp_id };
	const struct json *p = json_get(row, "passkey");
	struct webauthn_signed given;
	struct webauthn_key key;

	if (!passkey_is_row(a, row) || !key_of(p, &key))
		return err_set(e, E_CORRUPT, "PASSKEY_ROW", "what is kept of this key cannot be read");
	if (!text_eq(json_get_text(p, "rp_id", ""), g->rp_id))
		return err_set(e, E_DENIED, "WEBAUTHN_RP", "this key was made for another name");
	if (!read_given(a, g->assertion, &given))
		return err_set(e, E_INPUT, "WEBAUTHN_FORMAT", "a part of what was signed is missing");
	memcpy(w.challenge, challenge, sizeof(w.challenge));
	return webauthn_check(a, &w, &key, &given, g->es256, ret_counter, e);
}

/* ---- invitations ---- */

static bool is_label(const char *text)
{
	return text_is_id(text) && strlen(text) <= LABEL_MOST;
}

static int change_invites(struct sys *s, struct arena *a, const struct workspace *ws, int *ret_fd,
	int *ret_lock, struct json **ret_doc, struct err *e)
{
	int rc = workspace_open_beside(s, a, ws, true, ret_fd, e);

	if (rc == OK)
		rc = doc_lock(s, *ret_fd, &invites, ret_lock, e);
	return rc ? rc : doc_load(s, a, *ret_fd, &invites, ret_doc, e);
}

int passkey_invite(struct kernel *k, struct arena *a, const char *label, int64_t expires_us,
	const struct person *who, const char **ret_word, struct err *e)
{
	AUTO(close_fd) int fd = -1, lock = -1;
	struct json *doc, *about = json_new(a, JSON_OBJECT), *row = json_new(a, JSON_OBJECT), *receipt;
	uint8_t bytes[WORD_BYTES];

	if (!is_label(label))
		return err_set(e, E_USAGE, "PASSKEY_LABEL",
			"a name has letters, digits, dots and dashes, at most %d", LABEL_MOST);
	if (k->sys->random(k->sys, bytes, sizeof(bytes)))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	const char *word = base64_encode(a, bytes, sizeof(bytes), BASE64_URL, false);
	json_sets(a, about, "label", label);
	json_sets(a, about, "expires_at", text_time_z(a, expires_us));
	int rc = act_record(k, a,
		&(struct act){ .effect_id = "helm.console/invite",
			.type = "setting",
			.executor_id = who->name,
			.about = about },
		&receipt, e);
	if (rc == OK)
		rc = change_invites(k->sys, a, k->ws, &fd, &lock, &doc, e);
	if (rc)
		return rc;
	json_sets(a, row, "label", label);
	json_sets(a, row, "expires_at", text_time_z(a, expires_us));
	json_set(a, doc_part(a, doc, "invites"), sha256_hex(a, word, strlen(word)), row);
	*ret_word = word;
	return doc_replace(k->sys, a, fd, &invites, doc, e);
}

int passkey_invited(struct sys *s, struct arena *a, const struct workspace *ws, const char *word, bool take,
	const char **ret_label, struct err *e)
{
	AUTO(close_fd) int fd = -1, lock = -1;
	struct json *doc;
	int64_t until = 0;
	int rc = change_invites(s, a, ws, &fd, &lock, &doc, e);

	if (rc)
		return rc;
	struct json *all = doc_part(a, doc, "invites");
	const char *name = sha256_hex(a, word, strlen(word));
	const struct json *row = json_get(all, name);
	const char *end = json_get_text(row, "expires_at", "");
	if (!row || !text_parse_time(end, strlen(end), &until) || s->now_us(s) >= until)
		return err_set(e, E_DENIED, "PASSKEY_INVITE",
			"this invitation was used, or its time is over; a person makes another one: helm serve invite --name NAME");
	*ret_label = arena_strdup(a, json_get_text(row, "label", ""));
	if (!take)
		return OK;
	(void)json_remove(all, name);
	return doc_replace(s, a, fd, &invites, doc, e);
}

/* ---- registering ---- */

/* {algorithm, credential_id, public_key_hex, rp_id}. */
static struct json *key_json(struct arena *a, const struct webauthn_made *made, const char *rp_id)
{
	struct json *p = json_new(a, JSON_OBJECT);
	bool is_ed = made->key.algorithm == WEBAUTHN_ED25519;
	char hex[2 * 64 + 1];

	hex_encode(made->key.x, 32, hex);
	if (!is_ed)
		hex_encode(made->key.y, 32, hex + 64);
	json_sets(a, p, "algorithm", is_ed ? "ed25519" : "es256");
	json_sets(a, p, "public_key_hex", hex);
	json_sets(a, p, "credential_id",
		base64_encode(a, made->credential_id.p, made->credential_id.n, BASE64_URL, false));
	json_sets(a, p, "rp_id", rp_id);
	return p;
}

static int read_made(struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, struct webauthn_made *ret, struct err *e)
{
	int rc = webauthn_register(a, w, client_data, attestation_object, ret, e);

	if (rc == OK && ret->key.algorithm == WEBAUTHN_ED25519 && !sign_public_ok(ret->key.x))
		return err_set(e, E_DENIED, "KEY_WEAK", "this key proves nothing: it is a weak one");
	return rc;
}

int passkey_made(struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, struct json **ret, uint32_t *ret_counter, struct err *e)
{
	struct webauthn_made made;
	int rc = read_made(a, w, client_data, attestation_object, &made, e);

	if (rc)
		return rc;
	*ret = key_json(a, &made, w->rp_id);
	json_sets(a, *ret, "origin", w->origin);
	*ret_counter = made.counter;
	return OK;
}

static struct json *row_of(struct sys *s, struct arena *a, const struct webauthn_made *made,
	const char *rp_id, const char *label)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "key_id",
		arena_printf(
			a, "webauthn:%.32s", sha256_hex(a, made->credential_id.p, made->credential_id.n)));
	json_set(a, row, "passkey", key_json(a, made, rp_id));
	json_sets(a, row, "label", label);
	json_sets(a, row, "added_at", text_time_z(a, s->now_us(s)));
	return row;
}

static int put_row(struct kernel *k, struct arena *a, struct json *row, const char *by, struct err *e)
{
	AUTO(close_fd) int fd = -1, lock = -1;
	struct json *doc, *receipt, *about = json_copy(a, row);
	int rc = open_trust(k->sys, a, true, &fd, e);

	if (rc == OK)
		rc = doc_lock(k->sys, fd, &approvers, &lock, e);
	if (rc == OK)
		rc = sealed_load(k->sys, a, fd, &approvers, APPROVERS_NAME, &doc, e);
	if (rc)
		return rc;
	struct json *keys = json_get(doc, "keys");
	if (!keys)
		json_set(a, doc, "keys", keys = json_new(a, JSON_ARRAY));
	if (!json_is(keys, JSON_ARRAY))
		return err_set(e, E_CORRUPT, "TRUST_FILE", "trust/" APPROVERS " is not a trust file");
	json_each (one, keys)
		if (text_eq(json_get_text(one, "key_id", ""), json_get_text(row, "key_id", "-")))
			return err_set(e, E_INPUT, "TRUST_EXISTS", "this key is registered already");
	rc = act_record(k, a,
		&(struct act){ .effect_id = "helm.approver/add",
			.type = "setting",
			.executor_id = by,
			.about = about },
		&receipt, e);
	if (rc)
		return rc;
	json_push(a, keys, row);
	return sealed_replace(k->sys, a, fd, &approvers, doc, e);
}

int passkey_add(struct kernel *k, struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, const char *label, const char *by, const char **ret_key_id,
	struct err *e)
{
	struct webauthn_made made;
	int rc = read_made(a, w, client_data, attestation_object, &made, e);

	if (rc)
		return rc;
	if (!is_label(label))
		return err_set(e, E_INPUT, "PASSKEY_LABEL", "the name of its owner cannot be used");
	struct json *row = row_of(k->sys, a, &made, w->rp_id, label);
	*ret_key_id = json_get_text(row, "key_id", "");
	return put_row(k, a, row, by, e);
}

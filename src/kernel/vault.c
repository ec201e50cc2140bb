/* vault.c — scopes of tokens, sealed and opened, and the two acts on them.
 *
 * The file is one document under one lock; a scope is opened only when it is used.  What a scope is called is bound to its box, so that one
 * cannot be put in the place of another. */
#include "kernel/vault.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "proof/sign.h"

#include <fcntl.h>
#include <string.h>

enum { VAULT_BYTES = 64 << 20 };
#define VAULT_KEY "vault.key"
#define VAULT_DOMAIN "HELM/PrivacyVault/v2\n"

static struct doc doc_of(struct arena *a, const struct vault *v)
{
	return (struct doc){ .file = v->file,
		.lock = arena_printf(a, "%s.lock", v->file),
		.type = JSON_OBJECT,
		.max_bytes = VAULT_BYTES,
		.code = "VAULT_INVALID",
		.newest = 2 };
}

int vault_of(struct sys *s, struct arena *a, const struct workspace *ws, const char *file, const char *audit,
	struct vault *ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc)
		return rc;
	*ret = (struct vault){ .sys = s,
		.dirfd = AT_FDCWD,
		.file = file ? file : path_join(a, ws->state_dir, VAULT_FILE),
		.audit = audit ? audit : path_join(a, ws->state_dir, VAULT_AUDIT),
		.keys_dir = path_join(a, home, "keys") };
	return OK;
}

/* ---- sealed scopes ---- */

/* The vault's key: 64 hexadecimal digits in a file of the helm home.  `make`: when there is none. */
static int load_key(const struct vault *v, struct arena *a, bool make, uint8_t ret[BOX_KEY], struct err *e)
{
	const char *path = path_join(a, v->keys_dir, VAULT_KEY);
	struct bytes text;
	int rc = file_read(v->sys, a, AT_FDCWD, path, 4096, 0, &text, e);

	if (rc == E_MISSING && make) {
		char hex[2 * BOX_KEY + 2];
		if (v->sys->random(v->sys, ret, BOX_KEY))
			return err_sys(e, "VAULT_KEY", "no random bytes for the key of the vault");
		hex_encode(ret, BOX_KEY, hex);
		hex[2 * BOX_KEY] = '\n';
		rc = file_mkdirs(v->sys, AT_FDCWD, v->keys_dir, 0700, e);
		if (rc == OK)
			rc = file_create(v->sys, AT_FDCWD, path, 0600,
				(struct bytes){ (const uint8_t *)hex, 2 * BOX_KEY + 1 }, e);
		secret_wipe(hex, sizeof(hex));
		if (rc == OK || !text_eq(e->code, "FILE_EXISTS"))
			return rc;
		/* Somebody else was quicker. */
		rc = file_read(v->sys, a, AT_FDCWD, path, 4096, 0, &text, e);
	}
	if (rc == E_MISSING)
		return err_set(e, E_MISSING, "VAULT_KEY",
			"the vault is sealed and its key '%s' is not there; bring it back from a backup of the helm home",
			path);
	if (rc)
		return rc;
	bool is_key = text.n == 2 * BOX_KEY + 1 && text.p[2 * BOX_KEY] == '\n' &&
		hex_decode((const char *)text.p, 2 * BOX_KEY, ret, BOX_KEY, true);
	return is_key ? OK
		      : err_set(e, E_CORRUPT, "VAULT_KEY",
				"'%s' is no key of a vault; bring it back from a backup", path);
}

static struct bytes named(struct arena *a, const char *scope)
{
	return bytes_of(arena_printf(a, VAULT_DOMAIN "%s", scope));
}

static int open_scope(const struct vault *v, struct arena *a, const char *name, const struct json *sealed,
	struct json **ret, struct err *e)
{
	const char *nonce_text = json_get_text(sealed, "nonce", ""),
		   *box_text = json_get_text(sealed, "box", "");
	uint8_t key[BOX_KEY], own[BOX_KEY];
	struct bytes nonce, box;

	if (!base64_decode(a, nonce_text, strlen(nonce_text), BASE64_STD, true, &nonce) ||
		nonce.n != BOX_NONCE ||
		!base64_decode(a, box_text, strlen(box_text), BASE64_STD, true, &box) || box.n < BOX_TAG)
		return err_set(e, E_CORRUPT, "VAULT_INVALID",
			"scope '%s' of '%s' is damaged; nothing was changed", name, v->file);
	int rc = load_key(v, a, false, key, e);
	if (rc)
		return rc;
	box_derive(key, named(a, name), own);
	uint8_t *plain = arena_alloc(a, box.n);
	bool is_open = box_open(own, nonce.p, named(a, name), box, plain);
	secret_wipe(key, sizeof(key));
	secret_wipe(own, sizeof(own));
	if (!is_open)
		return err_set(e, E_CORRUPT, "VAULT_INVALID",
			"scope '%s' of '%s' does not open with the key of this helm home; nothing was changed",
			name, v->file);
	rc = json_parse(a, (struct bytes){ plain, box.n - BOX_TAG }, v->file, NULL, ret, e);
	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		return err_set(
			e, E_CORRUPT, "VAULT_INVALID", "scope '%s' of '%s' is no scope", name, v->file);
	return rc;
}

/* `make`: nothing is sealed yet, so a key may be made.  Otherwise a new one would leave what is sealed closed for good. */
static int seal_scope(const struct vault *v, struct arena *a, const char *name, const struct json *scope,
	bool make, struct json **ret, struct err *e)
{
	uint8_t key[BOX_KEY], own[BOX_KEY], nonce[BOX_NONCE];
	struct buf text;
	int rc = load_key(v, a, make, key, e);

	if (rc)
		return rc;
	buf_init(&text, a);
	json_canonical(&text, scope);
	struct bytes plain = buf_bytes(&text);
	if (v->sys->random(v->sys, nonce, sizeof(nonce))) {
		secret_wipe(key, sizeof(key));
		return err_sys(e, "VAULT_KEY", "no random bytes to seal the vault with");
	}
	uint8_t *box = arena_alloc(a, plain.n + BOX_TAG);
	box_derive(key, named(a, name), own);
	box_seal(own, nonce, named(a, name), plain, box);
	secret_wipe(key, sizeof(key));
	secret_wipe(own, sizeof(own));
	struct json *sealed = json_new(a, JSON_OBJECT);
	json_sets(a, sealed, "created_at", json_get_text(scope, "created_at", ""));
	json_sets(a, sealed, "nonce", base64_encode(a, nonce, sizeof(nonce), BASE64_STD, true));
	json_sets(a, sealed, "box", base64_encode(a, box, plain.n + BOX_TAG, BASE64_STD, true));
	*ret = sealed;
	return OK;
}

/* The scopes as they are stored.  Another version than ours or the Python Helm's is refused. */
static int scopes_of(
	const struct vault *v, const struct json *doc, int64_t *ret_version, struct json **ret, struct err *e)
{
	struct json *scopes = json_get(doc, "scopes");

	*ret_version = doc->n ? json_get_int(doc, "version", 0) : 2;
	if ((*ret_version != 1 && *ret_version != 2) || (doc->n && !json_is(scopes, JSON_OBJECT)))
		return err_set(e, E_CORRUPT, "VAULT_INVALID",
			"'%s' is no vault of version 1 or 2; it is left as it is, move it away to begin another",
			v->file);
	*ret = scopes;
	return OK;
}

static int read_scope(const struct vault *v, struct arena *a, const struct json *scopes, int64_t version,
	const char *name, struct json **ret, struct err *e)
{
	struct json *stored = json_get(scopes, name);

	if (!stored) {
		*ret = NULL;
		return OK;
	}
	if (!json_is(stored, JSON_OBJECT))
		return err_set(
			e, E_CORRUPT, "VAULT_INVALID", "scope '%s' of '%s' is no scope", name, v->file);
	if (version == 2)
		return open_scope(v, a, name, stored, ret, e);
	*ret = stored;
	return OK;
}

/* Every scope sealed: the changed one, and those of a vault in the clear. */
static int write_scopes(const struct vault *v, struct arena *a, const struct doc *d,
	const struct json *scopes, int64_t version, const char *name, const struct json *changed,
	struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *out = json_new(a, JSON_OBJECT), *sealed;
	bool make = version == 1 || !scopes || !scopes->n;
	int rc = OK;

	json_each_member (m, scopes) {
		if (text_eq(m->name, name))
			continue;
		sealed = m->value;
		if (version == 1)
			rc = seal_scope(v, a, m->name, m->value, make, &sealed, e);
		if (rc)
			return rc;
		json_set(a, out, m->name, sealed);
	}
	rc = seal_scope(v, a, name, changed, make, &sealed, e);
	if (rc)
		return rc;
	json_set(a, out, name, sealed);
	json_seti(a, doc, "version", 2);
	json_set(a, doc, "scopes", out);
	return doc_replace(v->sys, a, v->dirfd, d, doc, e);
}

/* ---- acts ---- */

/* Who read or made tokens, when, and how many; never a value. */
static int audit(const struct vault *v, struct arena *a, const char *operation, const char *scope,
	const struct json *answer, const char *reason, struct err *e)
{
	struct json *row = json_new(a, JSON_OBJECT);
	struct json *labels = json_new(a, JSON_ARRAY);
	struct buf line;

	if (!v->audit)
		return OK;
	json_each (r, json_get(answer, "replacements")) {
		const char *label = json_get_text(r, "label", "");
		bool is_there = false;
		json_each (l, labels)
			is_there |= text_eq(json_text(l), label);
		if (!is_there)
			json_pushs(a, labels, label);
	}
	json_sets(a, row, "timestamp", text_time_iso(a, v->sys->now_us(v->sys)));
	json_sets(a, row, "operation", operation);
	json_sets(a, row, "scope", scope);
	json_sets(a, row, "vault", v->file);
	json_seti(a, row, "replacement_count", json_get_int(answer, "replacement_count", 0));
	if (text_eq(operation, "tokenize"))
		json_set(a, row, "labels", labels);
	if (reason)
		json_sets(a, row, "reason", reason);
	privacy_redact_json(a, row);
	buf_init(&line, a);
	json_canonical(&line, row);
	return file_append_line(v->sys, v->dirfd, v->audit, 0600, buf_bytes(&line), NULL, e);
}

int vault_tokenize(struct arena *a, const struct vault *v, const char *scope, struct bytes text,
	const struct privacy_options *options, bool is_kept, struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct doc d = doc_of(a, v);
	struct json *doc, *scopes = NULL, *own = NULL, *answer;
	int64_t version = 2;
	int rc = OK;

	if (is_kept) {
		rc = doc_lock(v->sys, v->dirfd, &d, &lock, e);
		if (rc == OK)
			rc = doc_load(v->sys, a, v->dirfd, &d, &doc, e);
		if (rc == OK)
			rc = scopes_of(v, doc, &version, &scopes, e);
		if (rc == OK)
			rc = read_scope(v, a, scopes, version, scope, &own, e);
		if (rc)
			return rc;
	}
	if (!own) {
		own = json_new(a, JSON_OBJECT);
		json_sets(a, own, "created_at", text_time_iso(a, v->sys->now_us(v->sys)));
	}
	const struct json *tokens = json_get(own, "tokens");
	size_t before = tokens ? tokens->n : 0;
	answer = privacy_tokenize(a, (const char *)text.p, text.n, options, own, is_kept);
	tokens = json_get(own, "tokens");
	if (is_kept && tokens && tokens->n != before)
		rc = write_scopes(v, a, &d, scopes, version, scope, own, e);
	if (rc == OK)
		rc = audit(v, a, "tokenize", scope, answer, NULL, e);
	if (rc)
		return rc;
	json_sets(a, answer, "vault", is_kept ? v->file : NULL);
	*ret = answer;
	return OK;
}

int vault_restore(struct kernel *k, struct arena *a, const struct vault *v, const char *scope,
	struct bytes text, const char *reason, struct json **ret, struct err *e)
{
	struct doc d = doc_of(a, v);
	struct json *doc, *scopes, *own = NULL, *answer, *receipt;
	int64_t version;
	int rc = person_is_outside(k->sys, a, k->ws, e);

	if (rc == OK && !file_exists(v->sys, v->dirfd, v->file))
		rc = err_set(e, E_MISSING, "VAULT_MISSING",
			"the vault '%s' does not exist; nothing was restored", v->file);
	if (rc == OK)
		rc = doc_load(v->sys, a, v->dirfd, &d, &doc, e);
	if (rc == OK)
		rc = scopes_of(v, doc, &version, &scopes, e);
	if (rc == OK)
		rc = read_scope(v, a, scopes, version, scope, &own, e);
	if (rc)
		return rc;
	if (!own)
		return err_set(e, E_MISSING, "VAULT_SCOPE",
			"the vault '%s' has no scope '%s'; nothing was restored", v->file, scope);
	answer = privacy_restore(a, (const char *)text.p, text.n, own);
	struct json *about = json_new(a, JSON_OBJECT);
	json_sets(a, about, "scope", scope);
	json_seti(a, about, "replacement_count", json_get_int(answer, "replacement_count", 0));
	json_sets(a, about, "text_sha256", sha256_prefixed(a, text.p, text.n));
	if (reason)
		json_sets(a, about, "reason", reason);
	struct act act = { .effect_id = "helm.privacy/restore", .type = "privacy", .about = about };
	rc = act_record(k, a, &act, &receipt, e);
	if (rc == OK)
		rc = audit(v, a, "restore", scope, answer, reason, e);
	if (rc)
		return rc;
	json_sets(a, answer, "vault", v->file);
	json_sets(a, answer, "receipt_id", json_get_text(receipt, "receipt_id", ""));
	*ret = answer;
	return OK;
}

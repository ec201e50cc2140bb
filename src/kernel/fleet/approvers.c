/* approvers.c — whose answers from the centre count here (docs/formats/fleet-orders.md).
 *
 * The control key freezes; it does not permit.  Who may answer questions from afar stands in a list that the tenant's root key has signed, which is
 * nowhere near the ledger and was pinned at joining.  The list lies in the helm home as it was signed, and is looked at again each time; one with a
 * lower number never takes its place, so a list that still has somebody who left cannot be shown again. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/parts.h"
#include "kernel/passkey.h"
#include "kernel/person.h"
#include "proof/sshsig.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

static const struct doc LIST = {
	.file = FLEET_APPROVERS, .type = JSON_OBJECT, .max_bytes = 1 << 20, .code = "FLEET_APPROVERS"
};

static int wrong(struct err *e, const char *what)
{
	return err_set(e, E_DENIED, "FLEET_APPROVERS", "the list of approvers %s", what);
}

static struct bytes message_of(struct arena *a, const struct json *list)
{
	struct json *bare = json_copy(a, list);
	struct buf text;

	(void)json_remove(bare, "signature");
	buf_init(&text, a);
	buf_adds(&text, "helm:fleet-approvers:v1\n");
	json_canonical(&text, bare);
	return buf_bytes(&text);
}

/* A row: {public_key_hex}, {ssh_key} or {passkey}, and a label. */
static bool is_row(struct arena *a, const struct json *row)
{
	const char *hex = json_get_text(row, "public_key_hex", NULL),
		   *line = json_get_text(row, "ssh_key", NULL);
	uint8_t pub[SIGN_PUBLIC];
	struct ssh_key key;

	const struct json *passkey = json_get(row, "passkey");
	const char *label = json_get_text(row, "label", "");

	if (!json_is(row, JSON_OBJECT) || (hex != NULL) + (line != NULL) + (passkey != NULL) != 1 || !*label)
		return false;
	if (passkey)
		return passkey_is_row(a, row);
	return hex ? hex_decode(hex, strlen(hex), pub, sizeof(pub), true)
		   : ssh_key_parse(a, bytes_of(line), FLEET_APPROVERS, &key, NULL) == OK;
}

int fleet_approvers_sign(struct arena *a, const struct key *root, struct json *list, struct err *e)
{
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	json_each (row, json_get(list, "keys"))
		if (!is_row(a, row))
			return err_set(e, E_INPUT, "FLEET_APPROVERS",
				"an approver is a key of 64 hex digits, a line of OpenSSH or a passkey, with a label");
	key_sign(root, message_of(a, list), signature);
	hex_encode(signature, sizeof(signature), hex);
	json_sets(a, list, "signature", hex);
	return OK;
}

int fleet_approvers_check(
	struct arena *a, const char *root, const char *origin, const struct json *list, struct err *e)
{
	const char *hex = json_get_text(list, "signature", "");
	const struct json *keys = json_get(list, "keys");
	uint8_t pub[SIGN_PUBLIC], signature[SIGN_SIZE];

	if (!root || !*root)
		return err_set(e, E_MISSING, "FLEET_NO_ROOT",
			"no root key was pinned here, so nobody's answers count");
	if (!json_is(list, JSON_OBJECT) || !text_eq(json_get_text(list, "version", ""), FLEET_APPROVERS_V1) ||
		!json_is(keys, JSON_ARRAY) || json_get_int(list, "serial", 0) < 1)
		return wrong(e, "is of no version that is known here");
	if (!text_eq(json_get_text(list, "origin", ""), origin))
		return wrong(e, "is of another origin");
	if (!hex_decode(root, strlen(root), pub, sizeof(pub), true) ||
		!hex_decode(hex, strlen(hex), signature, sizeof(signature), true) ||
		!sign_verify(pub, message_of(a, list), signature))
		return wrong(e, "is not signed by the root key");
	return OK;
}

/* A row of a kind that is not known here names nobody: a later program may have it, and whoever left is gone with the list all the same. */
struct json *fleet_approvers_readable(struct arena *a, const struct json *list, uint32_t *ret_unread)
{
	struct json *copy = json_copy(a, list), *keys = json_new(a, JSON_ARRAY);
	uint32_t unread = 0;

	json_each (row, json_get(list, "keys"))
		if (is_row(a, row))
			json_push(a, keys, json_copy(a, row));
		else
			unread++;
	json_set(a, copy, "keys", keys);
	if (ret_unread)
		*ret_unread = unread;
	return copy;
}

static int open_dir(struct sys *s, struct arena *a, const char *helm_home, int *ret, struct err *e)
{
	return file_open_dir(s, AT_FDCWD, arena_printf(a, "%s/" FLEET_DIR, helm_home), ret, e);
}

/* What lies there is checked like what comes. */
static int load(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = open_dir(s, a, helm_home, &fd, e);

	if (rc == OK)
		rc = doc_load(s, a, fd, &LIST, ret, e);
	if (rc == OK && !(*ret)->n)
		rc = err_set(e, E_MISSING, "FLEET_APPROVERS", "the centre has named no approvers here yet");
	return rc ? rc
		  : fleet_approvers_check(a, json_get_text(joined, "root_key", NULL),
			    json_get_text(joined, "origin", ""), *ret, e);
}

int fleet_approvers(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	struct json **ret, struct err *e)
{
	struct json *list;
	int rc = load(s, a, helm_home, joined, &list, e);

	if (rc == OK)
		*ret = fleet_approvers_readable(a, list, NULL);
	return rc;
}

uint32_t fleet_approvers_unread(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *joined)
{
	struct json *list;
	uint32_t unread = 0;

	if (load(s, a, helm_home, joined, &list, NULL) == OK)
		(void)fleet_approvers_readable(a, list, &unread);
	return unread;
}

int fleet_approvers_newer(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	const struct json *list, bool *ret_is_new, struct err *e)
{
	struct json *now = NULL;
	struct err why = { 0 };
	int rc = load(s, a, helm_home, joined, &now, &why);

	if (rc == E_IO)
		return err_set(e, rc, why.code, "%s", why.text);
	int64_t have = rc == OK ? json_get_int(now, "serial", 0) : 0,
		serial = json_get_int(list, "serial", 0);
	*ret_is_new = serial > have;
	if (serial > have || (serial == have && text_eq(json_sha256(a, now), json_sha256(a, list))))
		return OK;
	return err_set(e, E_INPUT, "FLEET_APPROVERS_OLD",
		"the list of approvers has number %lld, and one with %lld is in force", (long long)serial,
		(long long)have);
}

int fleet_approvers_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *list, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = open_dir(s, a, helm_home, &fd, e);

	return rc ? rc : doc_replace(s, a, fd, &LIST, list, e);
}

/* ---- who has signed ---- */

static bool has_signed(struct arena *a, const struct json *row, struct bytes message, const char *signature)
{
	const char *hex = json_get_text(row, "public_key_hex", NULL);
	uint8_t pub[SIGN_PUBLIC], raw[SIGN_SIZE];
	struct sshsig_facts facts;
	struct ssh_key key;

	if (hex)
		return hex_decode(hex, strlen(hex), pub, sizeof(pub), true) &&
			hex_decode(signature, strlen(signature), raw, sizeof(raw), true) &&
			sign_verify(pub, message, raw);
	return ssh_key_parse(a, bytes_of(json_get_text(row, "ssh_key", "")), FLEET_APPROVERS, &key, NULL) ==
		OK &&
		sshsig_verify(a, &key, APPROVAL_NAMESPACE, message, bytes_of(signature), &facts, NULL) == OK;
}

/* For the record, in the form that other answers have there. */
static struct json *proof_of(
	struct arena *a, const struct json *row, const char *signature, const char **ret_id)
{
	struct json *proof = json_new(a, JSON_OBJECT);
	const char *hex = json_get_text(row, "public_key_hex", NULL);
	uint8_t pub[SIGN_PUBLIC] = { 0 };
	struct ssh_key key;
	char id[KEY_ID];

	if (hex) {
		(void)hex_decode(hex, strlen(hex), pub, sizeof(pub), true);
		key_id(pub, id);
		*ret_id = arena_strdup(a, id);
		json_sets(a, proof, "public_key_hex", hex);
	} else {
		(void)ssh_key_parse(
			a, bytes_of(json_get_text(row, "ssh_key", "")), FLEET_APPROVERS, &key, NULL);
		*ret_id = ssh_key_fingerprint(a, &key);
		json_sets(a, proof, "ssh_key", ssh_key_text(a, &key));
		json_sets(a, proof, "namespace", APPROVAL_NAMESPACE);
	}
	json_sets(a, proof, "key_id", *ret_id);
	json_sets(a, proof, "label", json_get_text(row, "label", ""));
	json_sets(a, proof, "signature", signature);
	return proof;
}

/* ---- passkeys, and one of several ---- */

/* The name under which a row's key stands in a record; NULL for a key of OpenSSH. */
static const char *id_of(struct arena *a, const struct json *row)
{
	const char *hex = json_get_text(row, "public_key_hex", NULL);
	uint8_t pub[SIGN_PUBLIC];
	char id[KEY_ID];

	if (json_get(row, "passkey"))
		return passkey_row_id(a, row);
	if (!hex || !hex_decode(hex, strlen(hex), pub, sizeof(pub), true))
		return NULL;
	key_id(pub, id);
	return arena_strdup(a, id);
}

/* {key_id: {label, public_key_hex}} of the list. */
static struct json *named_by(struct arena *a, const struct json *list)
{
	struct json *all = json_new(a, JSON_OBJECT);

	json_each (row, json_get(list, "keys")) {
		const char *id = id_of(a, row);
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "label", json_get_text(row, "label", ""));
		json_sets(a, one, "public_key_hex",
			json_get_text(json_get(row, "passkey") ? json_get(row, "passkey") : row,
				"public_key_hex", ""));
		if (id)
			json_set(a, all, id, one);
	}
	return all;
}

struct json *fleet_named(struct sys *s, struct arena *a, const char *helm_home)
{
	struct json *joined, *list;

	return fleet_joined(s, a, helm_home, &joined, NULL) == OK && joined &&
			fleet_approvers(s, a, helm_home, joined, &list, NULL) == OK
		? named_by(a, list)
		: NULL;
}

/* What a browser gave says whose key it is; what was carried by hand may not. */
static int by_passkey(struct arena *a, const struct json *list, const struct fleet_answer *x,
	struct person *ret, struct err *e)
{
	const struct json *rows = json_get(list, "keys");
	struct json *given = json_copy(a, x->passkey);

	if (!json_is(given, JSON_OBJECT))
		return err_set(e, E_INPUT, "WEBAUTHN_FORMAT", "what was signed is no object");
	if (*json_get_text(given, "id", ""))
		return passkey_in_rows(a, rows, x->message, given, x->es256, ret, e);
	json_each (row, rows) {
		const char *id = json_get_text(json_get(row, "passkey"), "credential_id", "");
		json_sets(a, given, "id", id);
		if (*id && passkey_in_rows(a, rows, x->message, given, x->es256, ret, NULL) == OK)
			return OK;
	}
	return err_set(e, E_DENIED, "APPROVER_UNKNOWN",
		"nobody whom the fleet's root key names as an approver has signed this answer");
}

/* Is it this row's?  Then *ret is who that is.  An assertion is looked at by whoever counts it: here only whose it says to be. */
static bool is_by(struct arena *a, const struct json *row, const struct fleet_answer *x, struct person *ret)
{
	const char *id = id_of(a, row);

	*ret = (struct person){ .es256 = x->es256 };
	if (x->assertion && id && !json_get(row, "passkey")) {
		ret->assertion = x->assertion;
		return text_eq(json_get_text(x->assertion, "key_id", ""), id);
	}
	if (x->assertion || json_get(row, "passkey") || !has_signed(a, row, x->message, x->signature))
		return false;
	ret->proof = proof_of(a, row, x->signature, &id);
	return true;
}

int fleet_person(struct arena *a, const struct json *list, const struct fleet_answer *x,
	const struct json *order, struct person *ret, struct err *e)
{
	if (x->passkey) {
		int rc = by_passkey(a, list, x, ret, e);
		if (rc == OK) {
			ret->order = order;
			ret->fleet = named_by(a, list);
		}
		return rc;
	}
	json_each (row, json_get(list, "keys"))
		if (is_by(a, row, x, ret)) {
			ret->order = order;
			ret->fleet = named_by(a, list);
			ret->name = arena_printf(a, "key %s of the fleet",
				json_get_text(ret->proof ? ret->proof : ret->assertion, "key_id", ""));
			return OK;
		}
	return err_set(e, E_DENIED, "APPROVER_UNKNOWN",
		"nobody whom the fleet's root key names as an approver has signed this answer");
}

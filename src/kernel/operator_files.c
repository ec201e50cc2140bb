/* operator_files.c — the documents of operators: is each what was written last, and does it say something that can be used?
 *
 * The readers here are those of the commands that use the file, so that doctor is red exactly when a command would refuse. */
#include "kernel/operator_files.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/apikey.h"
#include "kernel/ceiling.h"
#include "kernel/mcp/mcp.h"
#include "kernel/person.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>

enum { FILE_BYTES = 32 << 20 };

typedef int file_reader(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e);

static int refuse_form(struct err *e, const char *path, const char *name, const char *what)
{
	return err_set(e, E_CORRUPT, "OPERATOR_FILE",
		"%s holds %s; put it back from a copy, or start it anew: " SEALED_COMMAND " reset %s", path,
		what, name);
}

static int read_approver_keys(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e)
{
	struct json *keys;

	(void)ws;
	(void)path;
	return person_keys(s, a, &keys, e);
}

static int read_counters(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e)
{
	struct json *doc = NULL;
	int rc = sealed_read(s, a, AT_FDCWD, path, FILE_BYTES, PASSKEY_COUNTERS_NAME, &doc, e);

	(void)ws;
	if (rc)
		return rc == E_MISSING ? OK : rc;
	json_each_member (m, json_get(doc, "counters"))
		if (!json_is(m->value, JSON_NUMBER))
			return refuse_form(e, path, PASSKEY_COUNTERS_NAME, "something else than counts");
	return json_is(doc, JSON_OBJECT) ? OK : refuse_form(e, path, PASSKEY_COUNTERS_NAME, "no object");
}

static int read_trusted(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e)
{
	struct trust others = { 0 };
	struct json *doc;
	struct err why = { 0 };
	int rc = sealed_read(s, a, AT_FDCWD, path, FILE_BYTES, TRUSTED_KEYS_NAME, &doc, e);

	(void)ws;
	if (rc)
		return rc == E_MISSING ? OK : rc;
	if (trust_add_file(s, a, path, &others, &why) && !text_ends(why.text, "holds no key"))
		return refuse_form(e, path, TRUSTED_KEYS_NAME, "something that is no key");
	json_each (row, json_get(doc, "keys")) {
		const char *id = json_get_text(row, "key_id", ""),
			   *hex = json_get_text(row, "public_key_hex", "");
		if (text_starts(id, "ed25519:") && strcasecmp(id + strlen("ed25519:"), hex) != 0)
			return refuse_form(
				e, path, TRUSTED_KEYS_NAME, "a key that is not the one of its name");
	}
	return OK;
}

/* A row of a key that opens something says whose it is, and has its digest or its certificate. */
static int read_serve_keys(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e)
{
	struct json *doc;
	uint8_t digest[SHA256_SIZE];
	int rc = apikeys_load(s, a, ws, &doc, e);

	if (rc)
		return rc;
	const struct json *keys = json_get(doc, "keys");
	if (doc->n && !json_is(keys, JSON_OBJECT))
		return refuse_form(e, path, APIKEYS_NAME, "no keys");
	json_each_member (m, keys) {
		const char *hex = json_get_text(m->value, "sha256", "");
		if (!json_get_text(m->value, "principal", NULL) || !json_get_text(m->value, "tenant", NULL) ||
			!json_is(json_get(m->value, "scopes"), JSON_ARRAY) ||
			(!json_get_text(m->value, "certificate", NULL) &&
				!hex_decode(hex, strlen(hex), digest, sizeof(digest), true)))
			return refuse_form(e, path, APIKEYS_NAME, "something that is no key of a caller");
	}
	return OK;
}

static int read_budgets(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e)
{
	struct json *doc;

	(void)path;
	return ceilings_load(s, a, ws, &doc, e);
}

static int read_servers(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *path, struct err *e)
{
	struct json *doc;
	int rc = mcp_load(s, a, ws, &doc, e);

	return rc || !doc->n || json_is(json_get(doc, "servers"), JSON_OBJECT)
		? rc
		: refuse_form(e, path, MCP_REGISTRY_NAME, "no servers");
}

static const struct operator_file {
	const char *name, *file, *about;
	const char *reset_means;
	bool is_of_user; /* in trust/ of the helm home; else beside the workspace */
	file_reader *read;
} table[] = {
	{ APPROVERS_NAME, APPROVERS, "keys that may approve",
		"Nobody may approve with a key until one is added again.", true, read_approver_keys },
	{ PASSKEY_COUNTERS_NAME, PASSKEY_COUNTERS, "how far each passkey has counted",
		"A copy of an authenticator is noticed again only after the real one was used.", true,
		read_counters },
	{ TRUSTED_KEYS_NAME, TRUSTED_KEYS, "keys of others that count", "No key of somebody else counts.",
		true, read_trusted },
	{ APIKEYS_NAME, APIKEYS, "keys of callers of helm serve",
		"No caller gets in until a key is made again.", false, read_serve_keys },
	{ CEILINGS_NAME, CEILINGS, "budgets of callers",
		"The ceilings that stood in it are gone; set them again.", false, read_budgets },
	{ MCP_REGISTRY_NAME, MCP_REGISTRY, "servers of tools", "No server of tools is approved.", false,
		read_servers },
};

static const char *path_of(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct operator_file *f)
{
	const char *dir = NULL;

	if (f->is_of_user)
		return workspace_helm_home(s, a, &dir, NULL) ? NULL
							     : arena_printf(a, "%s/trust/%s", dir, f->file);
	dir = ws ? workspace_beside(a, ws) : NULL;
	return dir ? arena_printf(a, "%s/%s", dir, f->file) : NULL;
}

/* The remedy is the last part of the sentence. */
static void add_finding(
	struct arena *a, const struct operator_file *f, const char *path, const char *text, struct json *to)
{
	struct json *one = json_new(a, JSON_OBJECT);
	const char *cut = strstr(text, "; put it back");

	cut = cut ? cut : strstr(text, "; put the right one back");
	cut = cut ? cut : strstr(text, "; look at it");
	json_sets(a, one, "name", f->name);
	json_sets(a, one, "file", path);
	json_sets(a, one, "text",
		arena_printf(
			a, "%s: %s", f->about, cut ? arena_strndup(a, text, (size_t)(cut - text)) : text));
	json_sets(a, one, "remedy",
		cut ? arena_strdup(a, cut + 2)
		    : arena_printf(
			      a, "put %s back from a copy, or: " SEALED_COMMAND " reset %s", path, f->name));
	json_push(a, to, one);
}

void operator_files_check(struct sys *s, struct arena *a, const struct workspace *ws, struct json *findings)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *path = path_of(s, a, ws, &table[i]);
		struct err e = { 0 };
		if (path && table[i].read(s, a, ws, path, &e))
			add_finding(a, &table[i], path, e.text, findings);
	}
}

struct json *operator_files_list(struct sys *s, struct arena *a, const struct workspace *ws)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *path = path_of(s, a, ws, &table[i]);
		struct json *row = json_new(a, JSON_OBJECT);
		struct err e = { 0 };
		if (!path)
			continue;
		int rc = table[i].read(s, a, ws, path, &e);
		json_sets(a, row, "name", table[i].name);
		json_sets(a, row, "file", path);
		json_sets(a, row, "about", table[i].about);
		json_sets(a, row, "state",
			rc								     ? "damaged"
				: !file_exists(s, AT_FDCWD, path)			     ? "absent"
				: file_exists(s, AT_FDCWD, arena_printf(a, "%s.seal", path)) ? "sound"
											     : "unsealed");
		if (rc)
			json_sets(a, row, "text", arena_strdup(a, e.text));
		json_push(a, list, row);
	}
	return list;
}

static int find(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const struct operator_file **ret, const char **ret_path, struct err *e)
{
	struct buf names;

	buf_init(&names, a);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (text_eq(table[i].name, name) && (*ret_path = path_of(s, a, ws, &table[i]))) {
			*ret = &table[i];
			return OK;
		}
		buf_addf(&names, "%s%s", i ? ", " : "", table[i].name);
	}
	return err_set(e, E_USAGE, "OPERATOR_FILE_NAME", "'%.60s' is none of: %s", name, names.p);
}

int operator_file_show(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const char **ret_path, struct bytes *ret_text, const char **ret_reset_means, struct err *e)
{
	const struct operator_file *f;
	int rc = find(s, a, ws, name, &f, ret_path, e);

	*ret_text = (struct bytes){ 0 };
	if (rc)
		return rc;
	*ret_reset_means = f->reset_means;
	(void)file_read(s, a, AT_FDCWD, *ret_path, FILE_BYTES, 0, ret_text, NULL);
	return OK;
}

/* The reader is asked with the new seal.  A file that it refuses gets the old seal back, which says what was written last. */
int operator_file_accept(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *name, struct err *e)
{
	const struct operator_file *f;
	const char *path;
	struct bytes old = { 0 };
	struct json *doc;
	int rc = find(s, a, ws, name, &f, &path, e);

	if (rc == OK)
		rc = doc_read(s, a, AT_FDCWD, path, FILE_BYTES, 0, &doc, e);
	if (rc)
		return rc;
	const char *seal = arena_printf(a, "%s.seal", path);
	(void)file_read(s, a, AT_FDCWD, seal, 4096, 0, &old, NULL);
	rc = sealed_accept(s, a, AT_FDCWD, path, FILE_BYTES, e);
	if (rc == OK)
		rc = f->read(s, a, ws, path, e);
	if (rc && old.n)
		(void)file_replace(s, AT_FDCWD, seal, 0600, old, NULL);
	if (rc && e && !strstr(e->text, SEALED_COMMAND " reset")) {
		const char *why = arena_strdup(a, e->text);
		return err_set(e, rc, "OPERATOR_FILE",
			"%s; so it cannot be accepted: put it back from a copy, or start it anew: " SEALED_COMMAND
			" reset %s",
			why, name);
	}
	return rc;
}

int operator_file_reset(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const char **ret_aside, struct err *e)
{
	const struct operator_file *f;
	const char *path;
	int rc = find(s, a, ws, name, &f, &path, e);

	return rc ? rc : sealed_put_aside(s, a, AT_FDCWD, path, ret_aside, e);
}

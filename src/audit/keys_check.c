/* keys_check.c — do the files of keys/ and trust/ still say what was written to them?
 *
 * A key history verifies by itself from its first link on, but one that was cut, or an older copy, verifies too.  So it is
 * compared with two other files: it must reach as far as history.end says, and its last link must name the key that root.key
 * (or signer.json) has.  Nothing is changed here; keys_load() may make root.pub again, and says so itself. */
#include "audit/parts.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sealed.h"
#include "base/text.h"

#include <fcntl.h>
#include <string.h>

enum { HISTORY_LIMIT = 64 << 20, TRUSTED_LIMIT = 32 << 20 };
static const char how_to_repair[] = "helm key repair --yes";

struct log_report audit_report_new(struct arena *a)
{
	struct log_report r = { .doc = json_new(a, JSON_OBJECT), .is_sound = true, .why = "" };

	json_set(a, r.doc, "findings", json_new(a, JSON_ARRAY));
	return r;
}

static void add_finding(
	struct arena *a, struct log_report *r, const char *what, const char *text, const char *remedy)
{
	json_sets(a, audit_add_finding(a, r, "keys", what, text), "remedy", remedy);
	if (!r->why || !*r->why)
		r->why = text;
}

/* What helps depends on what is wrong with the secret.  `was`: the key that the history has in force, or "". */
static void add_key_finding(
	struct arena *a, struct log_report *r, const char *dir, const struct err *e, const char *was)
{
	const char *or_new = arena_printf(a,
		"put %s/root.key back from a copy; without one: mv %s %s.lost && helm key create%s%s", dir,
		dir, dir, *was ? ", then for what the lost key has signed: helm key trust add " : "", was);

	if (e->rc == E_MISSING)
		add_finding(a, r, "key_missing",
			arena_printf(a,
				"there is no signing key in %s, and a key history that ends with %.16s...",
				dir, was),
			or_new);
	else if (text_eq(e->code, "KEY_MODE") || text_eq(e->code, "KEY_OWNER") ||
		text_starts(e->code, "SIGNER"))
		add_finding(a, r, "key_unreadable", arena_strdup(a, e->text),
			text_starts(e->code, "SIGNER")
				? "the signer's user starts it: helm signer run; a damaged signer.json is made "
				  "again by: helm signer use"
				: arena_printf(a, "chmod 700 %s && chmod 600 %s/root.key", dir, dir));
	else
		add_finding(a, r, "key_unreadable", arena_strdup(a, e->text),
			arena_printf(
				a, "helm key repair --yes, which finds one wrong digit; else %s", or_new));
}

bool audit_history_read(
	struct sys *s, struct arena *a, const char *dir, struct key_history *ret, struct err *e)
{
	static const struct trust nobody = { 0 };
	struct verification *v = arena_zalloc(a, 1, sizeof(*v));
	struct bytes raw = { 0 };
	struct err why = { 0 };
	int rc = file_read(s, a, AT_FDCWD, path_join(a, dir, KEY_HISTORY), HISTORY_LIMIT, 0, &raw, &why);

	*ret = (struct key_history){ .raw = raw, .is_there = rc != E_MISSING, .active = "" };
	(void)keys_end_read(s, a, AT_FDCWD, dir, &ret->end);
	if (rc && rc != E_MISSING) {
		if (e)
			*e = why;
		ret->why = arena_strdup(a, why.text);
		return false;
	}
	ret->text = ret->raw;
	/* A last line without a newline is what a crash left of a link that nobody was told about. */
	while (ret->text.n && ret->text.p[ret->text.n - 1] != '\n')
		ret->text.n--;
	/* A key that was made, and whose first link was not written any more: the next change makes up for it. */
	if (!ret->text.n && !ret->end.links)
		ret->is_there = false;
	if (!ret->is_there)
		return true;
	verification_begin(v, a, &nobody, "key history");
	verify_key_history(v, ret->text, KEY_HISTORY);
	ret->v = v;
	ret->is_unbroken = v->integrity == ANSWER_YES;
	ret->why = ret->is_unbroken ? NULL : v->text ? v->text : "it holds no link";
	ret->active = ret->is_unbroken ? json_get_text(v->values, "active", "") : "";
	return true;
}

static bool has_key(const struct key_history *h, const char *hex)
{
	json_each (row, json_get(h->v ? h->v->values : NULL, "keys"))
		if (text_eq(json_get_text(row, "public_key", ""), hex))
			return true;
	return false;
}

/* `hex`: the key in force; "" when it cannot be loaded. */
static void check_history(
	struct arena *a, struct log_report *r, const struct key_history *h, const char *dir, const char *hex)
{
	if (h->why)
		add_finding(a, r, "history_broken",
			arena_printf(a, "the key history %s/" KEY_HISTORY " is broken: %s", dir, h->why),
			how_to_repair);
	else if (!h->is_there && h->end.links)
		add_finding(a, r, "history_missing",
			arena_printf(a, "the key history %s/" KEY_HISTORY " is gone; it had %lld links", dir,
				(long long)h->end.links),
			how_to_repair);
	else if (!keys_end_holds(a, &h->end, h->text))
		add_finding(a, r, "history_cut",
			arena_printf(a,
				"the key history %s/" KEY_HISTORY
				" has lost links, or is an older copy: it had %lld links when the last one was "
				"written",
				dir, (long long)h->end.links),
			how_to_repair);
	else if (h->is_there && *hex && !text_eq(h->active, hex) && has_key(h, hex))
		add_finding(a, r, "key_older",
			arena_printf(a,
				"the key in %s is %.16s..., which the key history has replaced; root.key is an older "
				"copy",
				dir, hex),
			arena_printf(a,
				"put %s/root.key back from a newer copy; without one: mv %s %s.lost && helm key create, "
				"then for what the lost keys have signed: helm key trust add KEY",
				dir, dir, dir));
	else if (h->is_there && *hex && !text_eq(h->active, hex))
		add_finding(a, r, "history_behind",
			arena_printf(a,
				"the key history ends with %.16s..., and the key in force is %.16s...: its last links "
				"are missing",
				*h->active ? h->active : "no key", hex),
			how_to_repair);
}

static void check_trusted(struct sys *s, struct arena *a, struct log_report *r, const char *helm_home)
{
	const char *path = path_join(a, helm_home, "trust/" TRUSTED_KEYS);
	struct trust others = { 0 };
	struct json *doc;
	struct err e = { 0 };
	int rc = sealed_read(s, a, AT_FDCWD, path, TRUSTED_LIMIT, "trusted-keys", &doc, &e);

	if (rc == OK)
		rc = trust_add_file(s, a, path, &others, &e);
	if (rc == OK || rc == E_MISSING || text_ends(e.text, "holds no key"))
		return;
	add_finding(a, r, "trusted_keys", arena_printf(a, "the trusted keys cannot be used: %s", e.text),
		arena_printf(a,
			"put %s back from a copy, or: " SEALED_COMMAND
			" accept trusted-keys, or: " SEALED_COMMAND " reset trusted-keys",
			path));
}

int audit_keys(
	struct sys *s, struct arena *a, const char *helm_home, struct log_report *report, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	const char *dir = path_join(a, helm_home, "keys");
	struct key_history h = { 0 };
	char hex[2 * SIGN_PUBLIC + 1] = "";
	struct err why = { 0 };
	int rc = keys_load(s, AT_FDCWD, dir, &key, &why);

	(void)e;
	(void)audit_history_read(s, a, dir, &h, NULL);
	if (rc == OK)
		hex_encode(key_public(key), SIGN_PUBLIC, hex);
	else if (rc != E_MISSING || h.is_there || h.end.links)
		add_key_finding(a, report, dir, &why, h.active);
	check_history(a, report, &h, dir, hex);
	check_trusted(s, a, report, helm_home);
	return OK;
}

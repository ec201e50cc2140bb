/* sealed.c — documents that are known by their digest; see sealed.h.
 *
 * Readers take no lock.  One that reads the document before a change and its seal behind it would see a difference that
 * is none; so a difference counts only when the document is still the same afterwards. */
#include "base/sealed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SEAL_LIMIT = 4096, TRIES = 20, DEFAULT_LIMIT = 1 << 20 };
static const char none[] = "none"; /* in the place of a digest: there was no document */

static const char *seal_path(struct arena *a, const char *path)
{
	return arena_printf(a, "%s.seal", path);
}

static const char *seal_check(struct arena *a, const struct json *digests)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, "helm:seal:v1\n");
	json_each (one, digests)
		buf_addf(&text, "%s\n", json_text(one) ? json_text(one) : "");
	return sha256_hex(a, text.p, text.n);
}

static int write_seal(struct sys *s, struct arena *a, int dirfd, const char *path, const char *now,
	const char *before, struct err *e)
{
	const struct doc file = { .file = seal_path(a, path), .style = JSON_SORT };
	struct json *doc = json_new(a, JSON_OBJECT), *digests = json_new(a, JSON_ARRAY);

	json_pushs(a, digests, now);
	if (before)
		json_pushs(a, digests, before);
	json_seti(a, doc, "version", 1);
	json_set(a, doc, "sha256", digests);
	json_sets(a, doc, "check", seal_check(a, digests));
	return doc_replace(s, a, dirfd, &file, doc, e);
}

/* The digests that are allowed; NULL where nothing was sealed. */
static int read_seal(
	struct sys *s, struct arena *a, int dirfd, const char *path, const struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = doc_read(s, a, dirfd, seal_path(a, path), SEAL_LIMIT, 0, &doc, e);

	*ret = NULL;
	if (rc == E_MISSING)
		return OK;
	if (rc)
		return rc;
	const struct json *digests = json_get(doc, "sha256");
	if (!json_is(digests, JSON_ARRAY) || !digests->n ||
		!text_eq(json_get_text(doc, "check", ""), seal_check(a, digests)))
		return err_set(e, E_CORRUPT, "SEAL_READ", "it is damaged");
	*ret = digests;
	return OK;
}

static bool allows(const struct json *digests, const char *digest)
{
	json_each (one, digests)
		if (text_eq(json_text(one), digest))
			return true;
	return false;
}

/* What cannot be read as a document cannot be accepted either. */
static int refuse_changed(
	struct arena *a, const char *path, const char *name, struct bytes text, struct err *e)
{
	struct json *doc;
	struct err why = { 0 };

	if (json_parse(a, text, path, NULL, &doc, &why))
		return err_set(e, E_CORRUPT, "SEAL_CHANGED",
			"%s is not what was written last, and is no document any more (%s); put it back from a copy, or "
			"start it anew: " SEALED_COMMAND " reset %s",
			path, why.text, name);
	return err_set(e, E_CORRUPT, "SEAL_CHANGED",
		"%s is not what was written last: it was changed, or is an older copy; put the right one back, or look "
		"at it and: " SEALED_COMMAND " accept %s",
		path, name);
}

/* E_MISSING where there is no document, and should be none. */
static int read_checked(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes,
	const char *name, struct bytes *ret, struct err *e)
{
	const char *before = NULL;

	for (int i = 0; i < TRIES; i++) {
		struct err why = { 0 };
		const struct json *digests;
		int rc = file_read(s, a, dirfd, path, max_bytes, 0, ret, &why);
		if (rc && rc != E_MISSING)
			return err_set(e, rc, why.code,
				"%s; put it back from a copy, or start it anew: " SEALED_COMMAND " reset %s",
				why.text, name);
		const char *digest = rc ? none : sha256_hex(a, ret->p, ret->n);
		if (read_seal(s, a, dirfd, path, &digests, &why))
			return err_set(e, E_CORRUPT, "SEAL_READ",
				"%s.seal cannot be read (%s), so nobody knows whether %s is what was written last; look at it, "
				"then: " SEALED_COMMAND " accept %s",
				path, why.text, path_base(path), name);
		if (!digests || allows(digests, digest)) {
			if (rc && e)
				*e = why;
			return rc;
		}
		if (before && text_eq(before, digest))
			return rc
				? err_set(e, E_CORRUPT, "SEAL_MISSING",
					  "%s is gone; put it back from a copy, or start it anew: " SEALED_COMMAND
					  " reset %s",
					  path, name)
				: refuse_changed(a, path, name, *ret, e);
		before = digest;
	}
	return err_set(e, E_IO, "SEAL_BUSY", "%s changes all the time", path);
}

int sealed_read(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes,
	const char *name, struct json **ret, struct err *e)
{
	struct bytes text;
	struct err why = { 0 };
	int rc = read_checked(s, a, dirfd, path, max_bytes, name, &text, e);

	if (rc)
		return rc;
	rc = json_parse(a, text, path, NULL, ret, &why);
	return rc ? err_set(e, E_CORRUPT, why.code,
			    "%s; put it back from a copy, or start it anew: " SEALED_COMMAND " reset %s",
			    why.text, name)
		  : OK;
}

int sealed_load(struct sys *s, struct arena *a, int dirfd, const struct doc *d, const char *name,
	struct json **ret, struct err *e)
{
	struct json *doc;
	struct err why = { 0 };
	int rc = sealed_read(
		s, a, dirfd, d->file, d->max_bytes ? d->max_bytes : DEFAULT_LIMIT, name, &doc, &why);

	if (rc == E_MISSING) {
		*ret = json_new(a, d->type);
		return OK;
	}
	if (rc) {
		if (e)
			*e = why;
		return rc;
	}
	if (!json_is(doc, d->type))
		return err_set(e, E_CORRUPT, d->code,
			"%s is no %s; put it back from a copy, or start it anew: " SEALED_COMMAND " reset %s",
			d->file, d->type == JSON_ARRAY ? "list" : "object", name);
	rc = doc_check(d, doc, e);
	if (rc == OK)
		*ret = doc;
	return rc;
}

static struct bytes spelled(struct arena *a, const struct json *doc, unsigned style)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, doc, JSON_INDENT | style);
	buf_addc(&text, '\n');
	return buf_bytes(&text);
}

bool sealed_is(
	struct sys *s, struct arena *a, int dirfd, const char *path, const struct json *doc, unsigned style)
{
	struct bytes text = spelled(a, doc, style);
	const struct json *digests;

	return read_seal(s, a, dirfd, path, &digests, NULL) == OK && digests &&
		allows(digests, sha256_hex(a, text.p, text.n));
}

int sealed_replace(
	struct sys *s, struct arena *a, int dirfd, const struct doc *d, const struct json *doc, struct err *e)
{
	struct bytes old, text = spelled(a, doc, d->style);
	int rc = file_read(s, a, dirfd, d->file, d->max_bytes ? d->max_bytes : DEFAULT_LIMIT, 0, &old, NULL);
	/* Whoever replaces a document that cannot be read has given it up. */
	const char *before = rc ? none : sha256_hex(a, old.p, old.n);

	const char *now = sha256_hex(a, text.p, text.n);
	rc = write_seal(s, a, dirfd, d->file, now, before, e);
	if (rc == OK)
		rc = file_replace(s, dirfd, d->file, d->mode ? d->mode : 0600, text, e);
	return rc ? rc : write_seal(s, a, dirfd, d->file, now, NULL, e);
}

int sealed_accept(
	struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes, struct err *e)
{
	struct bytes text;
	int rc = file_read(s, a, dirfd, path, max_bytes, 0, &text, e);

	return rc ? rc : write_seal(s, a, dirfd, path, sha256_hex(a, text.p, text.n), NULL, e);
}

/* The document first: with its seal alone everybody says that it is gone, and this is done again. */
int sealed_put_aside(
	struct sys *s, struct arena *a, int dirfd, const char *path, const char **ret_aside, struct err *e)
{
	const long long at = (long long)s->now_us(s); /* microseconds: two in one second have two names */
	const char *aside = arena_printf(a, "%s.damaged-%lld", path, at), *seal = seal_path(a, path);

	*ret_aside = aside;
	if (s->rename(s, dirfd, path, dirfd, aside, RENAME_NOREPLACE)) {
		if (errno != ENOENT)
			return err_sys(e, "SEAL_ASIDE", "cannot put %s aside", path);
		*ret_aside = NULL;
	}
	if (s->rename(s, dirfd, seal, dirfd, arena_printf(a, "%s.damaged-%lld", seal, at), 0) &&
		errno != ENOENT)
		return err_sys(e, "SEAL_ASIDE", "cannot put %s aside", seal);
	return OK;
}

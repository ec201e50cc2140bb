/* doc.c — small JSON documents that are read whole and replaced whole; see doc.h.
 *
 * State that changes (freezes, requests, settings) lives in such files. A change is: doc_lock, doc_load,
 * edit the tree, doc_replace, unlock. The lock is a file of its own, because the document itself is
 * replaced and a lock on it would be on a file that nobody uses any more. Readers take no lock: the rename
 * shows them the old document or the new one. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

enum { DEFAULT_LIMIT = 1 << 20 };

int doc_lock(struct sys *s, int dirfd, const struct doc *d, int *ret_fd, struct err *e)
{
	return file_lock(s, dirfd, d->lock, DOC_LOCK_MS, ret_fd, e);
}

int doc_read(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes, unsigned flags,
	struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(s, a, dirfd, path, max_bytes, flags, &text, e);

	return rc ? rc : json_parse(a, text, path, NULL, ret, e);
}

/* The number at the end of a text: 1 of "helm-key-history/v1". */
static bool last_number(const char *text, int64_t *ret)
{
	const char *end = text ? text + strlen(text) : NULL;

	while (end > text && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end && text_int(end, ret);
}

int doc_check_version(
	const struct json *doc, const char *member, int64_t newest, const char *file, struct err *e)
{
	const struct json *found = json_get(doc, member);
	int64_t version;

	if (!found)
		return OK;
	if (!json_int(found, &version) && !last_number(json_text(found), &version))
		return err_set(e, E_IO, DOC_NEWER,
			"'%s' of %s is no version that this program knows (the newest is %lld), so it is left as it is; use the "
			"helm that wrote it, or put the file back from a copy",
			member, file, (long long)newest);
	if (version <= newest)
		return OK;
	return err_set(e, E_IO, DOC_NEWER,
		"%s is of version %lld, newer than version %lld that this program reads, so it is left as it is; upgrade "
		"helm, or use the release that wrote it",
		file, (long long)version, (long long)newest);
}

int doc_check(const struct doc *d, const struct json *doc, struct err *e)
{
	return d->newest ? doc_check_version(doc, d->version ? d->version : "version", d->newest, d->file, e)
			 : OK;
}

bool doc_is_newer(const struct err *e)
{
	return text_eq(e->code, DOC_NEWER);
}

bool doc_is_damage(const struct err *e)
{
	return e->rc == E_CORRUPT || e->rc == E_INPUT ||
		(e->rc == E_LIMIT && !text_eq(e->code, "JSON_MEMORY") && !text_eq(e->code, "FILE_MEMORY"));
}

/* A missing file is the empty document. One that is not of the expected type is corrupt and is not
 * overwritten. */
int doc_load(struct sys *s, struct arena *a, int dirfd, const struct doc *d, struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = doc_read(s, a, dirfd, d->file, d->max_bytes ? d->max_bytes : DEFAULT_LIMIT, 0, &doc, e);

	if (rc == E_MISSING) {
		*ret = json_new(a, d->type);
		return OK;
	}
	if (rc)
		return rc;
	if (!json_is(doc, d->type))
		return err_set(e, E_CORRUPT, d->code, "%s is no %s", d->file,
			d->type == JSON_ARRAY ? "list" : "object");
	rc = doc_check(d, doc, e);
	if (rc)
		return rc;
	*ret = doc;
	return OK;
}

int doc_replace(
	struct sys *s, struct arena *a, int dirfd, const struct doc *d, const struct json *doc, struct err *e)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, doc, JSON_INDENT | d->style);
	buf_addc(&text, '\n');
	return file_replace(s, dirfd, d->file, d->mode ? d->mode : 0600, buf_bytes(&text), e);
}

/* The object under a name, made on first use. */
struct json *doc_part(struct arena *a, struct json *doc, const char *name)
{
	struct json *v = json_get(doc, name);

	if (!v) {
		v = json_new(a, JSON_OBJECT);
		json_set(a, doc, name, v);
	}
	return v;
}

void doc_lay_over(struct arena *a, struct json *base, const struct json *over)
{
	json_each_member (m, over) {
		struct json *old = json_get(base, m->name);
		if (json_is(old, JSON_OBJECT) && json_is(m->value, JSON_OBJECT))
			doc_lay_over(a, old, m->value);
		else
			json_set(a, base, m->name, json_copy(a, m->value));
	}
}

/* doc.c — small JSON documents that are read whole and replaced whole; see doc.h.
 *
 * State that changes (freezes, requests, settings) lives in such files. A change is: doc_lock, doc_load,
 * edit the tree, doc_replace, unlock. The lock is a file of its own, because the document itself is
 * replaced and a lock on it would be on a file that nobody uses any more. Readers take no lock: the rename
 * shows them the old document or the new one. */
#include "base/doc.h"
#include "base/file.h"

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

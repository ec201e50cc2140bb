/* vouch.c — what was signed last of a log, replaced before the next signature is given. */
#include "kernel/vouch.h"
#include "base/doc.h"
#include "base/text.h"

static struct doc doc_of(struct arena *a, const char *file)
{
	return (struct doc){ .file = file,
		.lock = arena_printf(a, "%s.lock", file),
		.type = JSON_OBJECT,
		.code = "VOUCH_STATE",
		.newest = 1 };
}

static int read_last(const struct vouch_place *p, struct arena *a, const struct doc *d, const char *origin,
	struct vouched *ret, struct err *e)
{
	struct json *doc;
	int rc = doc_load(p->sys, a, p->dirfd, d, &doc, e);

	if (rc)
		return rc;
	*ret = (struct vouched){ .head = { .origin = origin, .root = merkle_root(NULL, 0) } };
	if (!doc->n)
		return OK;
	int64_t size = json_get_int(doc, "size", -1);
	if (json_get_int(doc, "version", 0) != 1 || size < 0 ||
		!text_eq(json_get_text(doc, "origin", ""), origin) ||
		!hash_from_hex(json_get_text(doc, "root", ""), &ret->head.root))
		return err_set(e, E_CORRUPT, "VOUCH_STATE",
			"%s does not say what was signed last of '%s'; without that nothing can be signed: put it back from a copy",
			d->file, origin);
	ret->head.size = (uint64_t)size;
	ret->note = json_get_text(doc, "note", NULL);
	return OK;
}

int vouch_last(
	const struct vouch_place *p, struct arena *a, const char *origin, struct vouched *ret, struct err *e)
{
	struct doc d = doc_of(a, p->file);

	return read_last(p, a, &d, origin, ret, e);
}

static struct json *state_of(struct arena *a, const struct vouched *v)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "version", 1);
	json_sets(a, doc, "origin", v->head.origin);
	json_seti(a, doc, "size", (int64_t)v->head.size);
	json_sets(a, doc, "root", hash_hex(a, &v->head.root));
	if (v->note)
		json_sets(a, doc, "note", v->note);
	return doc;
}

int vouch_step(const struct vouch_place *p, struct arena *a, const struct vouched *next,
	const struct tlog_request *request, enum tlog_answer *ret_answer, struct vouched *ret_last,
	struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct doc d = doc_of(a, p->file);
	enum tlog_answer answer;
	struct vouched last;
	int rc = doc_lock(p->sys, p->dirfd, &d, &lock, e);

	if (rc == OK)
		rc = read_last(p, a, &d, next->head.origin, &last, e);
	if (rc)
		return rc;
	answer = tlog_step(&last.head, &next->head, request, e);
	/* The same tree once more is on disk already. */
	if (answer == TLOG_COSIGN && (next->head.size != last.head.size || !last.head.size))
		rc = doc_replace(p->sys, a, p->dirfd, &d, state_of(a, next), e);
	if (rc)
		return rc;
	*ret_answer = answer;
	*ret_last = last;
	return OK;
}

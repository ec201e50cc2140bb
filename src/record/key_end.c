/* key_end.c — how far the key history went: keys/history.end.
 *
 * The history proves itself link by link, but not that its last links are still there: one that is cut verifies,
 * and says that an older key is in force, or that a revoked key counts.  So whoever appends a link writes behind
 * it how many links there are and what the digest of the newest one is.  A history that is shorter, or has another
 * link in that place, has lost something.  One that is longer was written by somebody who was killed before this
 * file, and is whole.  The links themselves stand in it, too, for whoever repairs the history: they count there only
 * as far as their signatures prove them.
 *
 * The file is derived: without it, or where its own check does not hold, nothing is known, and the next link
 * makes it again. */
#include "base/doc.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/keys.h"
#include "record/parts.h"

#include <string.h>

static const char domain[] = "helm:key-history-end:v1\n";
enum { END_LIMIT = 128 << 20 };

static const char *end_path(struct arena *a, const char *dir)
{
	return arena_printf(a, "%s/" KEY_HISTORY_END, dir);
}

static const char *end_check(struct arena *a, int64_t links, const char *sha256, const char *copy)
{
	const char *text = arena_printf(a, "%s%lld\n%s\n%s", domain, (long long)links, sha256, copy);

	return sha256_hex(a, text, strlen(text));
}

bool keys_end_read(struct sys *s, struct arena *a, int dirfd, const char *dir, struct keys_end *ret)
{
	struct json *doc;

	*ret = (struct keys_end){ 0 };
	if (doc_read(s, a, dirfd, end_path(a, dir), END_LIMIT, 0, &doc, NULL))
		return false;
	int64_t links = json_get_int(doc, "links", 0);
	const char *sha256 = json_get_text(doc, "sha256", ""), *copy = json_get_text(doc, "copy", "");
	if (links < 1 || !text_eq(json_get_text(doc, "check", ""), end_check(a, links, sha256, copy)))
		return false;
	*ret = (struct keys_end){ links, sha256, copy };
	return true;
}

int keys_end_write(
	struct sys *s, struct arena *a, int dirfd, const char *dir, struct bytes history, struct err *e)
{
	const struct doc file = { .file = end_path(a, dir), .style = JSON_SORT };
	struct json *doc = json_new(a, JSON_OBJECT);
	const char *sha256 = "", *copy;
	struct bytes rest = history;
	int64_t links = 0;

	while (rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		if (!rest.p)
			break; /* torn */
		links++;
		sha256 = sha256_hex(a, line.p, line.n);
		history.n = (size_t)(line.p + line.n + 1 - history.p);
	}
	copy = arena_strndup(a, (const char *)history.p, links ? history.n : 0);
	json_seti(a, doc, "version", 1);
	json_seti(a, doc, "links", links);
	json_sets(a, doc, "sha256", sha256);
	json_sets(a, doc, "copy", copy);
	json_sets(a, doc, "check", end_check(a, links, sha256, copy));
	return doc_replace(s, a, dirfd, &file, doc, e);
}

bool keys_end_holds(struct arena *a, const struct keys_end *end, struct bytes history)
{
	int64_t n = 0;

	while (end->links && history.n) {
		struct bytes line = text_cut(&history, '\n');
		if (!history.p)
			break; /* torn */
		if (++n == end->links)
			return text_eq(sha256_hex(a, line.p, line.n), end->sha256);
	}
	return !end->links;
}

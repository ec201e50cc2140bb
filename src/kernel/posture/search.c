/* search.c — looking for acts of a person in the chain, where their document is not in its place.
 *
 * A chain has millions of receipts and a handful of acts.  Its files are searched as text, the newest first.  A process that has a call to
 * decide cannot wait for all of a long one, so it searches for a moment, keeps how far it came in the helm home (which no run can write),
 * and what governs the place counts as unknown until a later one has come to the end.  A file that was closed gets no more receipts: what was
 * searched once need not be searched again.
 *
 * A file that was moved away is searched where it is now.  Where it cannot be read, nobody knows what was decided in it. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture_parts.h"

#include <fcntl.h>
#include <string.h>

enum { STEP_US = 2000000 };

struct search {
	struct sys *s;
	struct arena *a, line;
	const struct workspace *ws;
	const char *digest; /* or NULL */
	const char *of_state; /* which state directory `kept` is about */
	const struct json *found; /* the newest so far */
	bool is_doubtful; /* there is one of this digest, and it could not be believed */
	struct err newer; /* the newest act of this user is of a newer release */
	bool is_newer;
	/* Files from `oldest` up to the one before `newest` were searched, and nothing was found in them but `found`. */
	unsigned newest, oldest;
};

/* ---- how far it came ---- */

static const char *search_file(struct arena *a, const struct workspace *ws)
{
	return arena_printf(a, "%s/" POSTURE_SEARCH, workspace_place(a, ws, ws->root));
}

/* What says something about another place, or about another directory at this place, says nothing. */
static void load(struct search *x, unsigned last)
{
	struct json *kept;
	int64_t newest, oldest;

	x->newest = x->oldest = last;
	if (doc_read(x->s, x->a, AT_FDCWD, search_file(x->a, x->ws), POSTURE_LIMIT, 0, &kept, NULL))
		return;
	if (doc_check_version(kept, "schema_version", 1, POSTURE_SEARCH, NULL))
		return; /* it can be searched again */
	newest = json_get_int(kept, "newest", 0);
	oldest = json_get_int(kept, "oldest", 0);
	if (!text_eq(json_get_text(kept, "root", ""), posture_name(x->a, x->ws->root)) ||
		!text_eq(json_get_text(kept, "state", ""), x->of_state) || oldest < 1 || oldest > newest ||
		newest > last)
		return;
	const struct json *act = json_get(kept, "act");
	if (act && !posture_believe(x->s, x->a, x->ws, act))
		return;
	x->newest = (unsigned)newest;
	x->oldest = (unsigned)oldest;
	x->found = act;
}

/* Where it cannot be kept the next process begins again. */
static void keep(struct search *x)
{
	const char *file = search_file(x->a, x->ws);
	const struct doc whole = { .file = file, .style = JSON_SORT };
	struct json *doc = json_new(x->a, JSON_OBJECT);

	json_seti(x->a, doc, "schema_version", 1);
	json_sets(x->a, doc, "root", posture_name(x->a, x->ws->root));
	json_sets(x->a, doc, "state", x->of_state);
	json_seti(x->a, doc, "newest", x->newest);
	json_seti(x->a, doc, "oldest", x->oldest);
	if (x->found)
		json_set(x->a, doc, "act", json_copy(x->a, x->found));
	if (file_mkdirs(x->s, AT_FDCWD, workspace_place(x->a, x->ws, x->ws->root), 0700, NULL) == OK)
		(void)doc_replace(x->s, x->a, AT_FDCWD, &whole, doc, NULL);
}

/* ---- searching ---- */

static int see(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct search *x = arg;

	(void)at;
	(void)text;
	(void)e;
	if (!receipt || (x->digest && !text_eq(json_get_text(receipt, "output_hash", ""), x->digest)))
		return 0;
	if (posture_check_version(receipt, file, &x->newer) &&
		receipt_is_of_user(x->s, &x->line, x->ws, receipt)) {
		x->is_newer = true;
		return 1;
	}
	if (posture_believe(x->s, &x->line, x->ws, receipt))
		x->found = json_copy(x->a, receipt);
	else if (x->digest)
		x->is_doubtful = true;
	arena_reset(&x->line);
	return x->found != NULL;
}

static int search_one(struct search *x, const struct log_cut *c, const struct log_file *f, struct err *e)
{
	if (f->fd < 0 && f->moved)
		return err_set(e, E_CORRUPT, "POSTURE_AWAY",
			"what was decided about this place is lost, and may stand in %s, which was archived%s%s and "
			"cannot be read there; bring it back, or say again what holds",
			f->name, f->moved_to ? " to " : "", f->moved_to ? f->moved_to : "");
	/* As a member of a receipt is written; in a text there would be a sign before the quote. */
	int rc = log_file_back(c, f, x->digest ? x->digest : "\"posture\":{", see, x, e);
	if (x->is_newer)
		return err_set(e, x->newer.rc, x->newer.code, "%s", x->newer.text);
	return rc > 0 ? OK : rc;
}

static int unfinished(const struct search *x, unsigned files, struct err *e)
{
	return err_set(e, E_LIMIT, "POSTURE_SEARCH",
		"what was decided about this place is lost in the helm home and is looked for in its record (%u of %u "
		"files so far), and until that is done nothing goes; every command goes on with it, and "
		"'helm workspace trust' does all of it at once",
		x->newest - x->oldest, files);
}

/* All that can have acts nobody has looked for yet: what was not closed then, and what lies before. */
static int search_all(
	struct search *x, const struct log_cut *c, const struct posture_search *how, struct err *e)
{
	const int64_t until = x->s->mono_us(x->s) + STEP_US;
	const unsigned last = log_file_number(c, c->n - 1), since = how->since;
	const struct json *known = x->found;
	bool is_new = false, is_up_to_date = true;
	int rc = OK;

	x->found = NULL;
	for (size_t i = c->n; rc == OK && i-- > 0 && !x->found;) {
		unsigned number = log_file_number(c, i);
		if (number < since)
			break;
		if (number < x->newest && (known || number >= x->oldest))
			continue;
		if (number < x->oldest && is_new && !how->is_patient && x->s->mono_us(x->s) > until)
			rc = unfinished(x, last, e);
		if (rc == OK)
			rc = search_one(x, c, &c->chain[i], e);
		is_up_to_date = rc == OK || number < x->newest;
		if (rc == OK && number < x->oldest) {
			x->oldest = number;
			is_new = true;
		}
	}
	x->found = x->found ? x->found : known;
	is_new |= last != x->newest || x->found != known;
	if (is_up_to_date && !x->digest && is_new && last > 1) {
		x->newest = last;
		keep(x);
	}
	return rc;
}

static int search_state(struct search *x, const struct posture_search *how, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	struct stat st;
	int rc = log_cut_take(x->s, &a, x->ws->state_fd, CUT_MOMENT, &cut, e);

	if (rc == OK && x->s->stat(x->s, x->ws->state_fd, "", &st, AT_EMPTY_PATH))
		rc = err_sys(e, "POSTURE_SEARCH", "cannot look at the state directory");
	if (rc || !cut.n)
		return rc;
	x->of_state =
		arena_printf(x->a, "%llx:%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	x->newest = x->oldest = log_file_number(&cut, cut.n - 1);
	if (!x->digest)
		load(x, x->newest);
	return search_all(x, &cut, how, e);
}

int posture_in_chain(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct posture_search *how, const struct json **ret, struct err *e)
{
	struct search x = { .s = s, .a = a, .ws = ws, .digest = how->digest };
	int rc = ws->state_fd < 0 ? OK : search_state(&x, how, e);

	arena_done(&x.line);
	*ret = NULL;
	if (rc)
		return rc == E_IO ? err_wrap(e, "the acts on record cannot be read") : rc;
	*ret = x.found;
	return x.found || !x.is_doubtful
		? OK
		: err_set(e, E_CORRUPT, "POSTURE_DOUBT",
			  "an act on record is signed by no key of this user that can be read now");
}

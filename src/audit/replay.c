/* replay.c — a pack played back: does what was recorded still say the same? (docs/formats/replay.md)
 *
 * Playing back executes nothing.  Receipts are followed by the chain hash, in each session by their clock;
 * recorded runs are compared with the outputs they were expected to have; tapes with their manifest.  A
 * pack that holds nothing of a kind says so by a count of zero, and a pack that holds nothing to play back
 * at all has failed.
 *
 * Receipts in files of lines may be of any number.  They stand in the order of their chain, so each is followed
 * from the one before while the pack is read, and nothing else is kept of it.
 *
 * Differences are collected as issues, and any issue makes the status DIVERGED.  replay_compare() answers
 * another question: where two packs decided differently about the same thing. */
#include "audit/audit.h"
#include "proof/pack.h"
#include "proof/preimage.h"

struct playing {
	struct arena *a;
	const struct pack *p;
	const struct trust *trust;
	struct json *issues;
};

/* One receipt.  Receipts without a session are grouped by their executor. */
struct played {
	const char *file, *id, *session;
	const struct json *doc;
	int64_t clock;
	bool has_clock;
};

static bool is_lines(const char *path)
{
	return text_starts(path, "receipts/") && text_ends(path, ".jsonl");
}

static void issue(struct playing *pl, const char *text)
{
	json_pushs(pl->a, pl->issues, text);
}

static bool is_receipt(const char *path)
{
	return text_ends(path, ".json") &&
		(text_starts(path, "receipts/") || text_starts(path, "02_PROOFGRAPH/receipts/"));
}

/* The file name breaks ties, so that the order is the same on every run. */
static int by_session_and_clock(const void *x, const void *y)
{
	const struct played *r = x, *s = y;
	int order = strcmp(r->session, s->session);

	if (!order)
		order = r->clock < s->clock ? -1 : r->clock > s->clock;
	return order ? order : strcmp(r->file, s->file);
}

/* Receipts that cannot be read are issues and left out.  The list is sorted by session and clock. */
static size_t read_receipts(struct playing *pl, struct played **ret)
{
	struct played *list = arena_zalloc(pl->a, pl->p->n + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < pl->p->n; i++) {
		const struct pack_file *f = &pl->p->files[i];
		struct json *doc;
		struct err e = { 0 };
		if (!is_receipt(f->path))
			continue;
		if (!f->is_kept || json_parse(pl->a, f->content, f->path, NULL, &doc, &e)) {
			issue(pl, arena_printf(pl->a, "%s cannot be read", f->path));
			continue;
		}
		const char *session = json_get_text(doc, "session_id", "");
		list[n] = (struct played){
			.file = f->path, .doc = doc, .id = json_get_text(doc, "receipt_id", "")
		};
		list[n].session = *session ? session : json_get_text(doc, "executor_id", "");
		list[n].has_clock = json_int(json_get(doc, "lamport_clock"), &list[n].clock);
		n++;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_session_and_clock);
	*ret = list;
	return n;
}

/* What was found over all receipts; the lists hold receipt ids. */
struct tally {
	struct json *breaks, *duplicates, *gaps, *reasons;
	int64_t verified, signatures, bad_signatures;
	bool is_ordered, has_clocks, is_chained;
};
enum { MOST_NAMED = 1000 }; /* breaks and gaps that are named */

static struct tally new_tally(struct arena *a)
{
	return (struct tally){ json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY),
		json_new(a, JSON_OBJECT), .is_ordered = true, .has_clocks = true };
}

static void name_one(struct arena *a, struct json *list, const char *id)
{
	if (list->n < MOST_NAMED)
		json_pushs(a, list, id);
}

/* Whether `now` follows `before` by the chain hash.  A clock that jumps is a gap: a pack may hold a
 * selection of receipts, and the ones between cannot be compared.  The first receipt of a chain must not
 * name a predecessor. */
static void check_link(
	struct playing *pl, const struct played *before, const struct played *now, struct tally *t)
{
	const char *prev = json_get_text(now->doc, "prev_hash", "");
	struct hash h;

	t->is_chained |= *prev != 0;
	if (!before || !text_eq(before->session, now->session)) {
		if (*prev && now->clock == 1)
			name_one(pl->a, t->breaks, now->id);
		return;
	}
	if (now->has_clock && before->has_clock && now->clock > before->clock + 1) {
		name_one(pl->a, t->gaps, now->id);
		return;
	}
	if (!*prev && !*json_get_text(before->doc, "prev_hash", ""))
		return; /* asserts no chain */
	if (receipt_chain_hash(pl->a, before->doc, h.b, NULL) || !text_eq(hash_hex(pl->a, &h), prev))
		name_one(pl->a, t->breaks, now->id);
	else
		t->verified++;
}

/* Timestamps may be equal but not go back; clocks must rise.  Only receipts of one session are compared. */
static void check_order(const struct played *before, const struct played *now, struct tally *t)
{
	int64_t x, y;
	const char *earlier = before ? json_get_text(before->doc, "timestamp", "") : "",
		   *later = json_get_text(now->doc, "timestamp", "");

	if (!before || !text_eq(before->session, now->session))
		return;
	if (text_parse_time(earlier, strlen(earlier), &x) && text_parse_time(later, strlen(later), &y) &&
		y < x)
		t->is_ordered = false;
	if (!now->has_clock || !before->has_clock || now->clock <= before->clock)
		t->has_clocks = false;
}

/* Only when the caller gave keys: without them nothing could be said about a signature. */
static void check_signature(struct playing *pl, const struct played *r, struct tally *t)
{
	struct verification v;

	if (!pl->trust->key_count || !json_get(r->doc, "signature"))
		return;
	verification_begin(&v, pl->a, pl->trust, "receipt");
	verify_receipt(&v, r->doc);
	t->signatures++;
	t->bad_signatures += v.trusted != ANSWER_YES;
}

/* How often each reason code occurs, for the summary. */
static void count_reason(struct playing *pl, const struct played *r, struct tally *t)
{
	const char *reason = json_get_text(r->doc, "reason_code", "");

	json_seti(pl->a, t->reasons, *reason ? reason : "NONE",
		json_get_int(t->reasons, *reason ? reason : "NONE", 0) + 1);
}

/* ---- receipts in files of lines ---- */

/* The receipt before, and two arenas that take turns in holding it. */
struct replay_lines {
	struct playing pl;
	struct arena turn[2];
	unsigned which;
	struct played before;
	bool has_before;
	struct tally tally;
	int64_t n, unreadable;
	struct reason_count {
		const char *reason;
		int64_t n;
	} reasons[64]; /* the last one is for all others */
	size_t reason_n;
};

struct replay_lines *replay_begin(struct arena *a)
{
	struct replay_lines *l = arena_zalloc(a, 1, sizeof(*l));

	l->pl.a = a;
	l->tally = new_tally(a);
	return l;
}

void replay_done(struct replay_lines *l)
{
	arena_done(&l->turn[0]);
	arena_done(&l->turn[1]);
}

/* Millions of them must not become millions of numbers in memory. */
static void count_line_reason(struct replay_lines *l, const char *reason)
{
	size_t i = 0;

	reason = *reason ? reason : "NONE";
	while (i < l->reason_n && !text_eq(l->reasons[i].reason, reason) && i + 1 < ARRAY_SIZE(l->reasons))
		i++;
	if (i == l->reason_n) {
		l->reasons[i].reason =
			i + 1 < ARRAY_SIZE(l->reasons) ? arena_strdup(l->pl.a, reason) : "OTHER";
		l->reason_n++;
	}
	l->reasons[i].n++;
}

static void play_line(struct replay_lines *l, const char *path, struct bytes text)
{
	struct arena *a = &l->turn[l->which];
	struct played now = { .file = path };
	struct playing pl = { .a = a };
	struct json *doc;

	arena_reset(a);
	if (json_parse(a, text, path, NULL, &doc, NULL) || !json_is(doc, JSON_OBJECT)) {
		l->unreadable++;
		return;
	}
	now.doc = doc;
	now.id = json_get_text(doc, "receipt_id", "");
	now.session = json_get_text(doc, "session_id", "");
	now.has_clock = json_int(json_get(doc, "lamport_clock"), &now.clock);
	/* What is found is named in memory that stays. */
	pl.a = l->pl.a;
	struct arena_mark mark = arena_mark(l->pl.a);
	uint32_t named = l->tally.breaks->n + l->tally.gaps->n;
	check_link(&pl, l->has_before ? &l->before : NULL, &now, &l->tally);
	if (named == l->tally.breaks->n + l->tally.gaps->n)
		arena_release(l->pl.a, mark); /* only the hash of the one before was made there */
	check_order(l->has_before ? &l->before : NULL, &now, &l->tally);
	count_line_reason(l, json_get_text(doc, "reason_code", ""));
	l->before = now;
	l->has_before = true;
	l->which = !l->which;
	l->n++;
}

void replay_visit(void *arg, const char *path, uint64_t line, struct bytes text)
{
	(void)line;
	while (text.p && text.n)
		play_line(arg, path, text_cut(&text, '\n'));
}

/* A small pack may have been read without anybody following: its lines were kept. */
static int64_t play_lines(struct playing *pl, struct replay_lines *l, struct tally *t)
{
	for (size_t i = 0; i < pl->p->n; i++) {
		const struct pack_file *f = &pl->p->files[i];
		if (!is_lines(f->path) || l->n)
			continue;
		if (f->is_kept)
			replay_visit(l, f->path, 1, f->content);
		else
			issue(pl, arena_printf(pl->a, "%s cannot be read", f->path));
	}
	if (l->unreadable)
		issue(pl,
			arena_printf(
				pl->a, "%lld lines of receipts cannot be read", (long long)l->unreadable));
	*t = l->tally;
	for (size_t i = 0; i < l->reason_n; i++)
		json_seti(pl->a, t->reasons, l->reasons[i].reason, l->reasons[i].n);
	return l->n;
}

static int by_id(const void *x, const void *y)
{
	return strcmp(((const struct played *)x)->id, ((const struct played *)y)->id);
}

/* Sorts a copy by id: the list itself must stay in the order of sessions. */
static void find_duplicates(struct playing *pl, struct played *list, size_t n, struct tally *t)
{
	struct played *copy = arena_zalloc(pl->a, n + 1, sizeof(*copy));

	memcpy(copy, list, n * sizeof(*copy));
	if (n)
		qsort(copy, n, sizeof(*copy), by_id);
	for (size_t i = 1; i < n; i++)
		if (*copy[i].id && text_eq(copy[i - 1].id, copy[i].id))
			json_pushs(pl->a, t->duplicates, copy[i].id);
}

/* Turns the tally into issues, one per kind.  Gaps and timestamps out of order are told in the report but
 * are no issue. */
static void judge_receipts(struct playing *pl, const struct tally *t)
{
	if (t->breaks->n)
		issue(pl,
			arena_printf(pl->a, "the chain breaks at receipt %.80s",
				json_text(json_at(t->breaks, 0))));
	if (t->duplicates->n)
		issue(pl,
			arena_printf(
				pl->a, "receipt %.80s stands twice", json_text(json_at(t->duplicates, 0))));
	if (t->is_chained && !t->has_clocks)
		issue(pl, "the clock does not rise");
	if (t->bad_signatures)
		issue(pl,
			arena_printf(pl->a, "%lld signatures are by none of the keys given",
				(long long)t->bad_signatures));
}

/* Receipts are sorted by session and clock, so the one before in the list is the one before in the chain. */
static struct json *play_receipts(struct playing *pl, struct replay_lines *lines, int64_t signed_lines)
{
	struct arena *a = pl->a;
	struct tally t;
	struct json *r = json_new(a, JSON_OBJECT);
	struct played *list;
	int64_t in_lines = play_lines(pl, lines, &t);
	size_t n = read_receipts(pl, &list);

	/* Whose they are was asked while they were read. */
	if (pl->trust->key_count) {
		t.signatures = in_lines;
		t.bad_signatures = in_lines - signed_lines;
	}
	for (size_t i = 0; i < n; i++) {
		const struct played *before = i ? &list[i - 1] : NULL;
		check_link(pl, before, &list[i], &t);
		check_order(before, &list[i], &t);
		check_signature(pl, &list[i], &t);
		count_reason(pl, &list[i], &t);
	}
	find_duplicates(pl, list, n, &t);
	judge_receipts(pl, &t);
	json_seti(a, r, "total_receipts", (int64_t)n + in_lines);
	json_setb(a, r, "valid_chain", n + (size_t)in_lines && t.is_chained && !t.breaks->n);
	json_set(a, r, "chain_breaks", t.breaks);
	json_set(a, r, "gaps", t.gaps);
	json_set(a, r, "duplicate_ids", t.duplicates);
	json_setb(a, r, "order_valid", t.is_ordered);
	json_setb(a, r, "lamport_valid", t.has_clocks);
	json_seti(a, r, "signatures_checked", t.signatures);
	json_seti(a, r, "signatures_failed", t.bad_signatures);
	json_seti(a, r, "hashes_verified", t.verified);
	json_set(a, r, "summary", t.reasons);
	return r;
}

/* Runs: a document below replay/ with the events that happened and, in its manifest, the outputs expected. */

/* One member of all events, in order; an absent one is an empty text, so that the number of events is part
 * of the hash. */
static struct json *member_list(struct arena *a, const struct json *events, const char *name)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (event, events)
		json_pushs(a, list, json_get_text(event, name, ""));
	return list;
}

/* The first event whose output is not the expected one, or -1.  An empty expectation accepts anything; an
 * expectation without an event is a divergence at the end. */
static int64_t divergence(const struct json *events, const struct json *expected)
{
	int64_t i = 0;

	json_each (event, events) {
		const char *wanted = json_text(json_at(expected, (size_t)i));
		if (wanted && *wanted && !text_eq(wanted, json_get_text(event, "output_hash", "")))
			return i;
		i++;
	}
	return json_is(expected, JSON_ARRAY) && expected->n > i ? i : -1;
}

/* Sequence numbers rise strictly. */
static bool is_sequence(const struct json *events)
{
	int64_t last = -1;

	json_each (event, events) {
		int64_t now = json_get_int(event, "sequence_number", -1);
		if (now <= last)
			return false;
		last = now;
	}
	return true;
}

/* One recorded run: its hashes over payloads and outputs, and where it diverges. */
static struct json *play_run(struct playing *pl, const char *path, const struct json *doc)
{
	struct arena *a = pl->a;
	const struct json *events = json_get(doc, "events");
	struct json *r = json_new(a, JSON_OBJECT);
	int64_t at = divergence(events, json_get(doc, "expected_receipt_hashes"));
	bool is_right = at < 0 && is_sequence(events);

	json_sets(a, r, "run_id", json_get_text(doc, "run_id", ""));
	json_sets(a, r, "status", is_right ? "COMPLETE" : "DIVERGED");
	json_seti(a, r, "total_steps", events->n);
	json_seti(a, r, "replayed_steps", at < 0 ? events->n : at);
	json_set(a, r, "divergence_point", at < 0 ? json_new(a, JSON_NULL) : json_number(a, at));
	json_sets(a, r, "original_hash", pack_run_hash(a, member_list(a, events, "payload_hash")));
	json_sets(a, r, "replay_hash", pack_run_hash(a, member_list(a, events, "output_hash")));
	if (!is_right)
		issue(pl,
			arena_printf(a, "the run in %s diverges%s", path,
				at < 0 ? ": its sequence does not rise" : ""));
	return r;
}

/* Documents below replay/ without events are something else and passed over. */
static struct json *play_runs(struct playing *pl)
{
	struct json *runs = json_new(pl->a, JSON_ARRAY);

	for (size_t i = 0; i < pl->p->n; i++) {
		const struct pack_file *f = &pl->p->files[i];
		struct json *doc;
		if (!text_starts(f->path, "replay/") || !text_ends(f->path, ".json"))
			continue;
		if (!f->is_kept || json_parse(pl->a, f->content, f->path, NULL, &doc, NULL))
			issue(pl, arena_printf(pl->a, "%s cannot be read", f->path));
		else if (json_is(json_get(doc, "events"), JSON_ARRAY))
			json_push(pl->a, runs, play_run(pl, f->path, doc));
	}
	return runs;
}

/* Returns how many tapes were checked; what is wrong with them joins the other issues. */
static int64_t play_tapes(struct playing *pl)
{
	struct verification v;

	verification_begin(&v, pl->a, pl->trust, "tapes");
	verify_pack_tapes(&v, pl->p);
	json_each (text, json_get(v.values, "issues"))
		json_push(pl->a, pl->issues, text);
	return json_get_int(v.values, "tapes", 0);
}

/* Never fails: whatever is wrong with a pack is an issue in the report. */
int replay_pack(struct arena *a, const struct pack *p, const struct trust *trust, struct replay_lines *lines,
	struct json **ret_report, struct err *e)
{
	struct playing pl = { a, p, trust, json_new(a, JSON_ARRAY) };
	struct json *r = json_new(a, JSON_OBJECT),
		    *receipts = play_receipts(
			    &pl, lines ? lines : replay_begin(a), verify_pack_trusted_lines(p, trust)),
		    *runs = play_runs(&pl);
	int64_t tapes = play_tapes(&pl);
	bool is_empty = !tapes && !runs->n && !json_get_int(receipts, "total_receipts", 0);

	(void)e;
	if (is_empty)
		issue(&pl, "the pack holds nothing that can be played back");
	json_sets(a, r, "status", is_empty ? "FAILED" : pl.issues->n ? "DIVERGED" : "COMPLETE");
	json_set(a, r, "issues", pl.issues);
	json_seti(a, r, "tapes", tapes);
	json_set(a, r, "runs", runs);
	json_set(a, r, "receipts", receipts);
	*ret_report = r;
	return OK;
}

/* Two traces. */

/* One decision, named by action and resource.  `place` is its position in the pack, so that of several
 * about the same thing the last one can be told. */
struct decided {
	const char *action, *resource, *verdict, *reason;
	size_t place;
};

static int by_action(const void *x, const void *y)
{
	const struct decided *d = x, *f = y;
	int order = strcmp(d->action, f->action);

	if (!order)
		order = strcmp(d->resource, f->resource);
	return order ? order : d->place < f->place ? -1 : d->place > f->place;
}

static bool same_subject(const struct decided *x, const struct decided *y)
{
	return text_eq(x->action, y->action) && text_eq(x->resource, y->resource);
}

/* A pack's decisions, sorted; of several about the same thing the last one counts.  Decision receipts name
 * action and resource in the record they carry; others are named by effect and tool. */
static size_t read_trace(struct arena *a, const struct pack *p, struct decided **ret)
{
	struct playing pl = { a, p, NULL, json_new(a, JSON_ARRAY) };
	struct played *list;
	size_t n = read_receipts(&pl, &list), kept = 0;
	struct decided *trace = arena_zalloc(a, n + 1, sizeof(*trace));

	for (size_t i = 0; i < n; i++) {
		const struct json *r = list[i].doc, *record = json_get(r, "subject");
		trace[i] = (struct decided){
			json_get_text(record, "action", json_get_text(r, "effect_id", "")),
			json_get_text(record, "resource",
				json_get_text(r, "tool_name", json_get_text(r, "args_hash", ""))),
			json_get_text(r, "verdict", json_get_text(r, "status", "")),
			json_get_text(r, "reason_code", ""),
			i,
		};
	}
	if (n)
		qsort(trace, n, sizeof(*trace), by_action);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || !same_subject(&trace[i], &trace[i + 1]))
			trace[kept++] = trace[i];
	*ret = trace;
	return kept;
}

/* Both verdicts and both reasons, for a person to compare. */
static struct json *divergence_row(struct arena *a, const struct decided *x, const struct decided *y)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "action", x->action);
	json_sets(a, row, "resource", x->resource);
	json_sets(a, row, "verdict_a", x->verdict);
	json_sets(a, row, "verdict_b", y->verdict);
	json_sets(a, row, "reason_a", x->reason);
	json_sets(a, row, "reason_b", y->reason);
	return row;
}

/* Whose decisions are too many to be held beside those of another pack. */
static bool is_too_large(const struct pack *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_lines(p->files[i].path))
			return true;
	return false;
}

/* Walks both sorted traces side by side.  The place is cleared before comparing, since it only has a
 * meaning within one pack. */
int replay_compare(
	struct arena *a, const struct pack *x, const struct pack *y, struct json **ret_report, struct err *e)
{
	struct json *r = json_new(a, JSON_OBJECT), *rows = json_new(a, JSON_ARRAY);
	struct decided *left, *right;
	size_t n, m, i = 0, j = 0;
	int64_t match = 0, only_a = 0, only_b = 0;

	if (is_too_large(x) || is_too_large(y))
		return err_set(e, E_LIMIT, "REPLAY_LARGE",
			"a pack with its receipts in files of lines has too many to be compared: export less of them, with "
			"--task, --session, --since or --until");
	n = read_trace(a, x, &left);
	m = read_trace(a, y, &right);

	if (!n && !m)
		return err_set(e, E_INPUT, "REPLAY_EMPTY", "neither pack holds a decision");
	while (i < n || j < m) {
		struct decided at = i < n ? left[i] : right[j], other = j < m ? right[j] : left[i];
		at.place = other.place = 0;
		int order = i == n ? 1 : j == m ? -1 : by_action(&at, &other);
		if (order < 0)
			only_a++;
		else if (order > 0)
			only_b++;
		else if (text_eq(left[i].verdict, right[j].verdict) &&
			text_eq(left[i].reason, right[j].reason))
			match++;
		else
			json_push(a, rows, divergence_row(a, &left[i], &right[j]));
		i += order <= 0;
		j += order >= 0;
	}
	json_seti(a, r, "match_count", match);
	json_seti(a, r, "divergent_count", rows->n);
	json_seti(a, r, "only_in_a", only_a);
	json_seti(a, r, "only_in_b", only_b);
	json_set(a, r, "divergences", rows);
	json_setb(a, r, "identical", !rows->n && !only_a && !only_b);
	*ret_report = r;
	return OK;
}

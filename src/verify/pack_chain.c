/* pack_chain.c — receipts in a pack, followed link by link.
 *
 * Receipts in stored packs are linked by three different rules: the chain hash of docs/formats/receipt.md,
 * the hash of the file's bytes, or a `hash` member the receipt states about itself.  The last has no
 * preimage, so such links show an order and nothing else; the report counts the steps by rule. */
#include "proof/preimage.h"
#include "verify/pack.h"

enum rule { BY_CHAIN_HASH, BY_FILE_HASH, BY_STATED_HASH, RULES };
static const char *const rule_names[] = { "chain hash", "file bytes", "self-declared hash (order only)" };
TABLE_COVERS(rule_names, RULES);

/* One receipt.  `names` holds what a successor could call it by, one per rule; `group` is the session or
 * executor within which receipts are linked. */
struct link {
	const char *file, *id, *group, *prev; /* prev without "sha256:" */
	const char *names[RULES]; /* its identities, without "sha256:"; NULL where there is none */
	int64_t clock;
	bool has_clock, is_seen;
};

struct walk {
	struct verification *v;
	struct link *links;
	size_t n;
	size_t by_rule[RULES];
	bool is_chained; /* some receipt names a predecessor */
	struct json *errors, *clock_errors;
};

static const char *bare(const char *hash)
{
	return text_starts(hash, "sha256:") ? hash + 7 : hash;
}

/* A clock that is there but not a whole number is a failure; one that is absent is judged later, when it
 * is known whether the receipts are chained at all. */
static void read_link(struct walk *w, const struct pack_file *f, const struct json *r)
{
	struct link *l = &w->links[w->n++];
	bool is_v5 = text_eq(member_text(r, "signature_version"), RECEIPT_V5);
	const struct json *clock = json_get(r, "lamport_clock");
	struct hash h;

	*l = (struct link){ .file = f->path, .id = member_text(r, "receipt_id") };
	l->group = member_text(r, is_v5 ? "session_id" : "executor_id");
	l->prev = bare(member_text(r, "prev_hash"));
	if (receipt_chain_hash(w->v->a, r, h.b, NULL) == OK)
		l->names[BY_CHAIN_HASH] = hash_hex(w->v->a, &h);
	l->names[BY_FILE_HASH] = hash_hex(w->v->a, &f->digest);
	if (*member_text(r, "hash"))
		l->names[BY_STATED_HASH] = bare(member_text(r, "hash"));
	l->has_clock = json_int(clock, &l->clock);
	if (clock && !l->has_clock)
		pack_add_error(w->v, w->clock_errors, "non-integral lamport clock in %.200s", f->path);
	w->is_chained |= *l->prev != 0;
}

/* JSON files directly in `dir`, not in folders below it. */
static bool in_dir(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return text_starts(path, dir) && path[n] == '/' && !strchr(path + n + 1, '/') &&
		text_ends(path, ".json");
}

/* A receipt that cannot be read is a failure: it could be the missing link. */
static void read_links(struct walk *w, const struct pack *p, const char *dir)
{
	w->links = arena_zalloc(w->v->a, p->n + 1, sizeof(*w->links));
	for (size_t i = 0; i < p->n; i++) {
		struct json *r;
		struct err e = { 0 };
		if (!in_dir(p->files[i].path, dir))
			continue;
		if (pack_json(w->v->a, &p->files[i], &r, &e))
			pack_add_error(w->v, w->errors, "%.300s", e.text);
		else
			read_link(w, &p->files[i], r);
	}
	if (!w->n && !w->errors->n)
		pack_add_error(w->v, w->errors, "the receipts directory %s is missing or empty", dir);
}

static int by_group_and_prev(const void *x, const void *y)
{
	const struct link *l = x, *m = y;
	int order = strcmp(l->group, m->group);

	return order ? order : strcmp(l->prev, m->prev);
}

/* The first link of links[0..n) (one group, sorted by prev) whose predecessor is `name`, and how many
 * there are. */
static size_t successors(struct link *links, size_t n, const char *name, struct link **ret)
{
	size_t low = 0, high = n, count = 0;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (strcmp(links[mid].prev, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	while (low + count < n && text_eq(links[low + count].prev, name))
		count++;
	*ret = count ? &links[low] : NULL;
	return count;
}

/* The one successor of a receipt under any of the rules, or NULL.  Two different ones are a fork, which is
 * a failure: a chain has one story. */
static struct link *next_link(struct walk *w, struct link *group, size_t n, const struct link *now)
{
	struct link *next = NULL;
	size_t total = 0;

	for (int rule = 0; rule < RULES; rule++) {
		struct link *found;
		size_t count = now->names[rule] ? successors(group, n, now->names[rule], &found) : 0;
		/* A self-declared hash often repeats one of the others: the same successor is not a fork. */
		if (!count || (count == 1 && next == found))
			continue;
		total += count;
		next = found;
		w->by_rule[rule]++;
	}
	if (total > 1)
		pack_add_error(w->v, w->errors, "receipt %.80s has %zu successors - the chain is forked",
			now->id, total);
	return total == 1 ? next : NULL;
}

/* Clocks in a pack rise by exactly one from 1. */
static void check_clock(struct walk *w, const struct link *l, const struct link *before)
{
	int64_t expected = before ? before->clock + 1 : 1;

	if (!l->has_clock || (before && !before->has_clock))
		pack_add_error(w->v, w->clock_errors, "receipt %.80s has no lamport clock", l->id);
	else if (l->clock != expected)
		pack_add_error(w->v, w->clock_errors, "receipt %.80s has clock %lld, expected %lld", l->id,
			(long long)l->clock, (long long)expected);
}

/* From the one receipt without predecessor along the links.  Receipts that are not reached are named only
 * when nothing else was found, since a fork explains them. */
static void walk_group(struct walk *w, struct link *group, size_t n)
{
	struct link *genesis, *before = NULL;
	size_t count = successors(group, n, "", &genesis), reached = 0;

	if (count != 1) {
		if (!count)
			pack_add_error(w->v, w->errors, "no genesis receipt");
		else
			pack_add_error(w->v, w->errors, "%zu receipts claim to be genesis", count);
		return;
	}
	for (struct link *l = genesis; l; before = l, l = next_link(w, group, n, l)) {
		if (l->is_seen) {
			pack_add_error(w->v, w->errors, "the chain runs in a cycle at receipt %.80s", l->id);
			return;
		}
		l->is_seen = true;
		reached++;
		check_clock(w, l, before);
	}
	if (reached < n && !w->errors->n)
		pack_add_error(
			w->v, w->errors, "%zu of %zu receipts are unreachable from genesis", n - reached, n);
}

/* Sorting by group and predecessor makes each group a slice that successors() can search. */
static void walk_groups(struct walk *w)
{
	qsort(w->links, w->n, sizeof(*w->links), by_group_and_prev);
	for (size_t start = 0; start < w->n;) {
		size_t end = start;
		while (end < w->n && text_eq(w->links[end].group, w->links[start].group))
			end++;
		walk_group(w, w->links + start, end - start);
		start = end;
	}
}

/* How many steps were made under which rule, for the report. */
static const char *describe(const struct walk *w)
{
	struct buf b;

	buf_init(&b, w->v->a);
	buf_addf(&b, "%zu receipts", w->n);
	for (int rule = 0; rule < RULES; rule++)
		if (w->by_rule[rule])
			buf_addf(&b, ", %zu steps by %s", w->by_rule[rule], rule_names[rule]);
	return b.p;
}

/* The layout demands a proof graph beside its receipts; its content is judged elsewhere. */
static bool has_graph(const struct pack *p)
{
	return verify_pack_find(p, "proofgraph.json") ||
		verify_pack_find(p, "02_PROOFGRAPH/proofgraph.json") || pack_has_dir(p, "02_PROOFGRAPH");
}

static void report(struct walk *w, const char *name, const struct json *errors, const char *detail)
{
	if (errors->n)
		verify_check(w->v, name, CHECK_FAIL, pack_join(w->v->a, errors, "; "));
	else if (!w->is_chained)
		verify_check(
			w->v, name, CHECK_NOT_APPLICABLE, "not established: no receipt names a predecessor");
	else
		verify_check(w->v, name, CHECK_PASS, detail);
}

/* Without any predecessor named there is no chain to judge, and clocks have no meaning either. */
void pack_check_chain(struct verification *v, const struct pack *p, const char *receipts_dir)
{
	struct walk w = {
		.v = v, .errors = json_new(v->a, JSON_ARRAY), .clock_errors = json_new(v->a, JSON_ARRAY)
	};

	if (!has_graph(p))
		pack_add_error(v, w.errors, "there is no proof graph");
	read_links(&w, p, receipts_dir);
	if (w.is_chained)
		walk_groups(&w);
	else
		w.clock_errors = json_new(v->a, JSON_ARRAY);
	report(&w, "chain_integrity", w.errors, describe(&w));
	report(&w, "lamport_monotonicity", w.clock_errors, "");
	if (w.by_rule[BY_STATED_HASH])
		verify_note(v,
			"some receipts are linked by a hash they state about themselves: that shows order "
			"only");
}

/* log_check.c — everything that can be known about a chain and its log.
 *
 * Every receipt of every file is verified, on all cores; then one pass in order follows links and clocks, compares each line with its
 * canonical spelling and each chain hash with its leaf; then the tree is built once and compared with every head that was ever
 * signed, here and elsewhere.  The first place where something does not fit is where the chain stops being good.
 *
 * Three kinds of findings: damage (what was recorded is lost or changed), untrusted (unchanged, but signed by a key that is not ours), and
 * notices (what a crash may leave, and the next writer mends). */
#include "audit/audit.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/records.h"
#include "proof/preimage.h"

#include <string.h>

#define FILE_LIMIT ((size_t)1 << 34)
enum { MAX_FINDINGS = 1000 };

struct log_checking {
	struct sys *sys;
	struct arena *a;
	int state_fd;
	const struct trust *trust;
	const struct log_check_options *options;
	struct log_report *report;
	struct json *findings, *files;
	int64_t omitted; /* findings beyond the first so many */
	/* The chain so far. */
	struct hash *leaves;
	uint64_t n, cap;
	struct hash last;
	const char *session;
	struct json *seams; /* of repairs: {"receipt","timestamp"} */
	/* The first place that is not good. */
	bool is_damaged;
	const char *bad_file;
	off_t good_bytes;
	off_t whole_bytes; /* of receipts.jsonl, without a torn end */
	/* The file being read. */
	const char *file, *previous_file, *previous_sha256;
	struct bytes text;
	uint64_t first; /* receipts before it */
	off_t line_offset;
	uint64_t done_bytes, total_bytes;
};

static struct json *find_out(struct log_checking *c, const char *severity, const char *what, const char *text)
{
	struct json *f = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, f, "severity", severity);
	json_sets(c->a, f, "what", what);
	json_sets(c->a, f, "text", text);
	if (c->findings->n < MAX_FINDINGS)
		json_push(c->a, c->findings, f);
	else
		c->omitted++;
	if (text_eq(severity, "damage"))
		c->is_damaged = true;
	if (!text_eq(severity, "notice"))
		c->report->is_sound = false;
	return f;
}

static void set_text(struct log_checking *c, struct json *f, const char *name, const char *value)
{
	if (value && *value)
		json_sets(c->a, f, name, text_safe(c->a, value, strlen(value), false));
}

static void name_line(struct log_checking *c, struct json *f, uint64_t line)
{
	json_sets(c->a, f, "file", c->file);
	json_seti(c->a, f, "line", (int64_t)line);
	json_seti(c->a, f, "receipt", (int64_t)(c->first + line));
}

static void name_member(
	struct log_checking *c, struct json *f, const char *member, const char *expected, const char *found)
{
	set_text(c, f, "member", member);
	set_text(c, f, "expected", expected);
	set_text(c, f, "found", found);
}

/* From here on the chain is not good.  Only the first such place counts. */
static void stop_good_at(struct log_checking *c, off_t offset)
{
	if (c->bad_file && !(text_eq(c->bad_file, c->file) && offset < c->good_bytes))
		return;
	c->bad_file = c->file;
	c->good_bytes = offset;
}

/* ---- one line ---- */

static off_t offset_of(const struct log_checking *c, uint64_t line)
{
	const uint8_t *p = c->text.p, *end = p + c->text.n;

	for (uint64_t i = 1; i < line && p < end; i++) {
		const uint8_t *newline = memchr(p, '\n', (size_t)(end - p));
		p = newline ? newline + 1 : end;
	}
	return p - c->text.p;
}

static struct json *damage_at(struct log_checking *c, uint64_t line, const char *what, const char *text)
{
	struct json *f = find_out(c, "damage", what, text);

	name_line(c, f, line);
	stop_good_at(c, c->line_offset);
	return f;
}

static void add_leaf(struct log_checking *c, const struct hash *chain)
{
	if (c->n == c->cap) {
		uint64_t cap = c->cap ? 2 * c->cap : 4096;
		c->leaves = arena_grow(c->a, c->leaves, c->cap * sizeof(*chain), cap * sizeof(*chain));
		c->cap = cap;
	}
	c->leaves[c->n++] = merkle_leaf(chain->b, SHA256_SIZE);
}

static void check_link(struct log_checking *c, uint64_t line, const struct json *receipt)
{
	const char *prev = json_get_text(receipt, "prev_hash", ""), *want = "";
	const char *session = json_get_text(receipt, "session_id", "");
	int64_t clock = json_get_int(receipt, "lamport_clock", -1);

	if (c->n)
		want = hash_hex(c->a, &c->last);
	if (!text_eq(prev, want))
		name_member(c,
			damage_at(c, line, "link_broken",
				"it does not continue the receipt before it: that one or this one was "
				"changed"),
			"prev_hash", want, prev);
	else if (clock != (int64_t)c->n + 1)
		name_member(c, damage_at(c, line, "clock", "receipts are missing before it, or out of order"),
			"lamport_clock", arena_printf(c->a, "%llu", (unsigned long long)c->n + 1),
			arena_printf(c->a, "%lld", (long long)clock));
	else if (c->session && !text_eq(session, c->session))
		name_member(c, damage_at(c, line, "session", "it belongs to another chain"), "session_id",
			c->session, session);
	if (!c->session)
		c->session = arena_strdup(c->a, session);
}

static bool is_receipt_member(const char *name)
{
	for (size_t i = 0; i < receipt_projection.n; i++)
		if (text_eq(receipt_projection.members[i].name, name))
			return true;
	return false;
}

/* Members that neither the signature nor the chain hash covers, and the spelling itself. */
static void check_unhashed(
	struct log_checking *c, struct arena *a, uint64_t line, struct bytes text, const struct json *receipt)
{
	uint8_t pub[SHA256_SIZE];
	const char *key = json_get_text(json_get(receipt, "public_key_set"), "ed25519", "");
	const char *log_id = json_get_text(receipt, "log_id", NULL);
	struct buf spelling;

	buf_init(&spelling, a);
	json_canonical(&spelling, receipt);
	if (!bytes_eq(buf_bytes(&spelling), text))
		(void)damage_at(c, line, "spelling", "the line is not spelled as it was written");
	json_each_member (m, receipt)
		if (!is_receipt_member(m->name))
			name_member(c,
				damage_at(c, line, "unknown_member", "it has a member that nobody wrote"),
				m->name, "no such member", "one");
	if (json_get_int(receipt, "leaf_index", 0) != (int64_t)c->n)
		name_member(c, damage_at(c, line, "leaf_index", "it names another place in the log"),
			"leaf_index", arena_printf(c->a, "%llu", (unsigned long long)c->n), "another number");
	if (log_id && hex_decode(key, strlen(key), pub, sizeof(pub), false) &&
		!text_eq(log_id, sha256_hex(a, pub, sizeof(pub))))
		name_member(c, damage_at(c, line, "log_id", "it names another log than its signer's"),
			"log_id", sha256_hex(c->a, pub, sizeof(pub)), log_id);
}

static void check_seam(struct log_checking *c, uint64_t line, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *effect = json_get_text(receipt, "effect_id", "");

	if (text_eq(effect, "helm.log/repair")) {
		struct json *seam = json_new(c->a, JSON_OBJECT);
		json_seti(c->a, seam, "receipt", (int64_t)c->n + 1);
		json_sets(c->a, seam, "timestamp", json_get_text(receipt, "timestamp", ""));
		json_sets(c->a, seam, "why", json_get_text(about, "why", ""));
		json_push(c->a, c->seams, seam);
	}
	if (!text_eq(effect, "helm.log/rotate") || line != 1)
		return;
	const char *named = json_get_text(about, "continues", ""), *hash = json_get_text(about, "sha256", "");
	if (!c->previous_file || !text_eq(named, c->previous_file))
		name_member(c, damage_at(c, line, "segment_missing", "the file it continues is not there"),
			"metadata.continues", named, c->previous_file ? c->previous_file : "nothing");
	else if (!text_eq(hash, c->previous_sha256))
		name_member(c,
			find_out(c, "damage", "segment_changed",
				arena_printf(c->a, "%s has changed since it was closed", named)),
			"metadata.sha256", hash, c->previous_sha256);
}

static void check_line(struct log_checking *c, struct arena *a, uint64_t line, struct bytes text)
{
	struct json *receipt;
	struct hash chain;
	struct err e = { 0 };

	if (json_parse(a, text, c->file, NULL, &receipt, &e) || receipt_chain_hash(a, receipt, chain.b, &e)) {
		struct json *f = damage_at(c, line, "no_receipt", "this line is no receipt");
		set_text(c, f, "found", e.text);
		memset(&chain, 0, sizeof(chain));
	} else {
		check_link(c, line, receipt);
		check_unhashed(c, a, line, text, receipt);
		check_seam(c, line, receipt);
	}
	add_leaf(c, &chain);
	c->last = chain;
}

/* ---- one file ---- */

/* With trusted keys first; when that finds damage, once more with the keys the receipts name, to find its first place. */
static void check_signatures(struct log_checking *c)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = FILE_LIMIT };
	struct trust anyone = { .allow_self_attested = true, .threads = c->trust->threads };
	struct verification v;

	verification_begin(&v, &a, c->trust, "receipt chain");
	verify_receipt_lines(&v, c->text, c->file, NULL, NULL);
	bool is_damage = v.integrity == ANSWER_NO;
	if (!is_damage && v.trusted == ANSWER_YES)
		return;
	if (is_damage) {
		verification_begin(&v, &a, &anyone, "receipt chain");
		verify_receipt_lines(&v, c->text, c->file, NULL, NULL);
	}
	if (!v.error)
		return;
	uint64_t line = (uint64_t)json_get_int(v.values, "line", 0);
	struct json *f = find_out(c, is_damage ? "damage" : "untrusted", v.error, arena_strdup(c->a, v.text));
	json_sets(c->a, f, "file", c->file);
	if (line)
		name_line(c, f, line);
	if (line && is_damage)
		stop_good_at(c, offset_of(c, line));
	name_member(c, f, v.member, v.expected, v.found);
}

static void check_torn(struct log_checking *c)
{
	const uint8_t *end = c->text.n ? memrchr(c->text.p, '\n', c->text.n) : NULL;
	size_t whole = end ? (size_t)(end - c->text.p) + 1 : 0;

	if (whole == c->text.n)
		return;
	struct json *f = find_out(c, "notice", "torn",
		"the last line was never completed; nobody was told that it is there, and the next writer "
		"sets "
		"it aside");
	json_sets(c->a, f, "file", c->file);
	c->text.n = whole;
}

static int check_file(struct log_checking *c, const char *file, struct err *e)
{
	AUTO(arena_done) struct arena text = { .limit_bytes = FILE_LIMIT };
	AUTO(arena_done) struct arena scratch = { 0 };
	struct json *row = json_new(c->a, JSON_OBJECT);
	int rc = file_read(c->sys, &text, c->state_fd, file, FILE_LIMIT / 2, 0, &c->text, e);

	if (rc)
		return rc;
	c->file = file;
	c->first = c->n;
	check_torn(c);
	struct bytes rest = c->text;
	for (uint64_t line = 1; rest.n; line++) {
		c->line_offset = (off_t)(c->text.n - rest.n);
		check_line(c, &scratch, line, text_cut(&rest, '\n'));
		arena_reset(&scratch);
	}
	c->whole_bytes = text_eq(file, RECEIPTS) ? (off_t)c->text.n : 0;
	if (c->text.n)
		check_signatures(c);
	c->previous_file = file;
	c->previous_sha256 = sha256_hex(c->a, c->text.p, c->text.n);
	json_sets(c->a, row, "file", file);
	json_seti(c->a, row, "receipts", (int64_t)(c->n - c->first));
	json_seti(c->a, row, "bytes", (int64_t)c->text.n);
	json_sets(c->a, row, "sha256", c->previous_sha256);
	json_push(c->a, c->files, row);
	c->done_bytes += c->text.n;
	if (c->options->step)
		c->options->step(c->options->arg, c->done_bytes, c->total_bytes);
	return OK;
}

static int check_files(struct log_checking *c, struct err *e)
{
	char **files;
	size_t n;
	struct stat st;
	int rc = receipts_files(c->sys, c->a, c->state_fd, &files, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (c->sys->stat(c->sys, c->state_fd, files[i], &st, 0) == 0)
			c->total_bytes += (uint64_t)st.st_size;
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = check_file(c, files[i], e);
	return rc;
}

/* ---- leaves ---- */

/* Where receipt number `index` + 1 stands: the file, and its first line's number. */
static void stop_good_at_receipt(struct log_checking *c, uint64_t index, struct json *f)
{
	uint64_t before = 0;

	json_seti(c->a, f, "receipt", (int64_t)index + 1);
	json_each (row, c->files) {
		uint64_t n = (uint64_t)json_get_int(row, "receipts", 0);
		if (index < before + n) {
			AUTO(arena_done) struct arena text = { .limit_bytes = FILE_LIMIT };
			c->file = json_get_text(row, "file", "");
			json_sets(c->a, f, "file", c->file);
			json_seti(c->a, f, "line", (int64_t)(index - before) + 1);
			if (file_read(c->sys, &text, c->state_fd, c->file, FILE_LIMIT / 2, 0, &c->text,
				    NULL) == OK)
				stop_good_at(c, offset_of(c, index - before + 1));
			return;
		}
		before += n;
	}
}

static bool read_leaf(struct bytes text, uint64_t i, struct hash *ret)
{
	const char *line = (const char *)text.p + i * 65;

	return line[64] == '\n' && hex_decode(line, 64, ret->b, SHA256_SIZE, true);
}

static void check_leaf(struct log_checking *c, uint64_t i, const struct hash *stored)
{
	struct json *f = find_out(c, "damage", "leaf",
		arena_printf(c->a, "receipt %llu is not the one the log knows: it was changed",
			(unsigned long long)i + 1));

	name_member(c, f, "chain hash", hash_hex(c->a, stored), hash_hex(c->a, &c->leaves[i]));
	stop_good_at_receipt(c, i, f);
}

static int check_leaves(struct log_checking *c, struct err *e)
{
	AUTO(arena_done) struct arena text_arena = { .limit_bytes = FILE_LIMIT };
	struct bytes text = { NULL, 0 };
	uint64_t unreadable = 0, beyond = 0;
	int rc = file_read(c->sys, &text_arena, c->state_fd, LEAVES, FILE_LIMIT / 2, 0, &text, e);

	if (rc && rc != E_MISSING)
		return rc;
	bool has_mismatch = false;
	uint64_t n = text.n / 65;
	for (uint64_t i = 0; i < n; i++) {
		struct hash stored;
		if (!read_leaf(text, i, &stored)) {
			unreadable++;
		} else if (i >= c->n) {
			beyond++;
		} else if (!has_mismatch && !hash_eq(&stored, &c->leaves[i])) {
			has_mismatch = true;
			check_leaf(c, i, &stored);
		}
	}
	if (beyond)
		(void)find_out(c, "damage", "receipts_lost",
			arena_printf(c->a,
				"the log knows %llu receipts behind the last one: they were cut off",
				(unsigned long long)beyond));
	if (unreadable || n < c->n)
		(void)find_out(c, "notice", "leaves",
			arena_printf(c->a, "%llu leaves are not written; the next writer makes them again",
				(unsigned long long)(unreadable + (n < c->n ? c->n - n : 0))));
	return OK;
}

/* ---- heads, here and elsewhere ---- */

struct claim {
	uint64_t size;
	const struct json *head;
	const char *where;
	bool is_anchor;
};

struct claims {
	struct claim *list;
	size_t n, cap;
};

static void add_claim(
	struct log_checking *c, struct claims *l, const struct json *head, const char *where, bool is_anchor)
{
	int64_t size = json_get_int(head, "tree_size", -1);

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		l->list = arena_grow(c->a, l->list, l->cap * sizeof(*l->list), cap * sizeof(*l->list));
		l->cap = cap;
	}
	l->list[l->n++] = (struct claim){ size < 0 ? 0 : (uint64_t)size, head, where, is_anchor };
}

static void check_head_signature(struct log_checking *c, const struct claim *claim)
{
	struct verification v;

	verification_begin(&v, c->a, c->trust, "tree head");
	verify_tree_head(&v, claim->head);
	const char *named = json_get_text(claim->head, "public_key", "");
	if (v.integrity == ANSWER_YES && v.signer && *named && !text_eq(named, v.signer))
		name_member(c,
			find_out(c, "damage", "head_key",
				arena_printf(c->a, "%s names another key than its signer's", claim->where)),
			"public_key", v.signer, named);
	if (v.integrity == ANSWER_YES && v.trusted == ANSWER_YES)
		return;
	struct json *f = find_out(c, v.integrity == ANSWER_NO || !v.signer ? "damage" : "untrusted",
		"head_signature",
		arena_printf(c->a, "%s: %s", claim->where, v.text ? v.text : "its signer is not known"));
	name_member(c, f, v.member, v.expected, v.found);
}

/* A head of before a repair is about receipts that the repair put on record as lost. */
static const struct json *later_repair(struct log_checking *c, const struct claim *claim)
{
	const char *at = json_get_text(claim->head, "timestamp", "");
	int64_t head_us, seam_us;

	json_each (seam, c->seams) {
		const char *when = json_get_text(seam, "timestamp", "");
		if (text_parse_time(at, strlen(at), &head_us) &&
			text_parse_time(when, strlen(when), &seam_us) && head_us <= seam_us &&
			(uint64_t)json_get_int(seam, "receipt", 0) <= claim->size)
			return seam;
	}
	return NULL;
}

static void refute_claim(
	struct log_checking *c, const struct claim *claim, const char *what, const char *text)
{
	const struct json *seam = claim->is_anchor ? later_repair(c, claim) : NULL;

	if (seam)
		(void)find_out(c, "notice", "anchor_before_repair",
			arena_printf(c->a, "%s is older than the repair that receipt %lld records",
				claim->where, (long long)json_get_int(seam, "receipt", 0)));
	else
		(void)find_out(c, "damage", what, text);
}

static int by_size(const void *x, const void *y)
{
	const struct claim *a = x, *b = y;

	return a->size < b->size ? -1 : a->size > b->size;
}

/* The tree grows once; every head is looked at when it has its size. */
static void check_claims(struct log_checking *c, struct claims *l, struct merkle *tree)
{
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), by_size);
	for (size_t i = 0; i < l->n; i++) {
		const struct claim *claim = &l->list[i];
		const char *root = json_get_text(claim->head, "root_hash", "");
		check_head_signature(c, claim);
		if (claim->size > c->n) {
			refute_claim(c, claim, "receipts_lost",
				arena_printf(c->a,
					"%s: the log had %llu receipts at %s and now has %llu: %llu are lost",
					claim->where, (unsigned long long)claim->size,
					json_get_text(claim->head, "timestamp", "?"),
					(unsigned long long)c->n, (unsigned long long)(claim->size - c->n)));
			continue;
		}
		while (tree->size < claim->size)
			merkle_append(tree, &c->leaves[tree->size]);
		struct hash have = merkle_head(tree);
		if (!text_eq(root, hash_hex(c->a, &have)))
			refute_claim(c, claim, "rewritten",
				arena_printf(c->a,
					"%s: the first %llu receipts are not those that were signed at %s: "
					"expected root "
					"%.64s, found %s",
					claim->where, (unsigned long long)claim->size,
					json_get_text(claim->head, "timestamp", "?"), root,
					hash_hex(c->a, &have)));
	}
	while (tree->size < c->n)
		merkle_append(tree, &c->leaves[tree->size]);
}

static bool is_head_line(struct bytes text, const struct json *head)
{
	static const char *const names[] = { "log_id", "public_key", "root_hash", "signature", "timestamp",
		"tree_size" };
	AUTO(arena_done) struct arena a = { 0 };
	struct buf spelling;

	buf_init(&spelling, &a);
	json_canonical(&spelling, head);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!json_get(head, names[i]))
			return false;
	return head->n == ARRAY_SIZE(names) && bytes_eq(buf_bytes(&spelling), text);
}

struct heads_reader {
	struct log_checking *c;
	struct claims *claims;
};

static int read_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct heads_reader *r = arg;
	struct log_checking *c = r->c;
	struct json *head;

	(void)offset;
	(void)e;
	if (!is_whole)
		(void)find_out(c, "notice", "torn", "the last line of " HEADS " was never completed");
	else if (json_parse(c->a, text, HEADS, NULL, &head, NULL) || !is_head_line(text, head))
		(void)find_out(c, "damage", "no_head",
			arena_printf(c->a, "%s line %llu is no tree head", HEADS, (unsigned long long)line));
	else
		add_claim(c, r->claims, head,
			arena_printf(c->a, "%s line %llu", HEADS, (unsigned long long)line), false);
	return OK;
}

static int collect_anchors(struct log_checking *c, struct claims *claims, struct json *shown, struct err *e)
{
	struct json *anchors;
	int rc = log_anchors(c->sys, c->a, c->state_fd, &anchors, e);

	if (rc)
		return rc;
	json_each (anchor, anchors) {
		const char *to = json_get_text(anchor, "to", "?");
		struct json *outside, *row = json_new(c->a, JSON_OBJECT);
		struct err why = { 0 };
		json_sets(c->a, row, "to", to);
		json_seti(c->a, row, "tree_size", json_get_int(json_get(anchor, "head"), "tree_size", 0));
		add_claim(c, claims, json_get(anchor, "head"),
			arena_printf(c->a, "anchor %s, as remembered", to), true);
		bool is_there = log_anchor_read(c->sys, c->a, c->options->root_fd, to, &outside, &why) == OK;
		if (is_there)
			add_claim(c, claims, outside, arena_printf(c->a, "anchor %s", to), true);
		else
			(void)find_out(c, "notice", "anchor_unreadable",
				arena_printf(c->a, "anchor %s cannot be read: %s", to, why.text));
		json_setb(c->a, row, "readable", is_there);
		json_push(c->a, shown, row);
	}
	return OK;
}

static int check_heads(struct log_checking *c, struct json *doc, struct err *e)
{
	struct claims claims = { 0 };
	struct heads_reader reader = { c, &claims };
	struct merkle tree = { 0 };
	struct json *anchors = json_new(c->a, JSON_ARRAY);
	int rc = lines_each(c->sys, c->state_fd, HEADS, read_head, &reader, e);

	if (rc && rc != E_MISSING)
		return rc;
	json_seti(c->a, doc, "heads", (int64_t)claims.n);
	rc = collect_anchors(c, &claims, anchors, e);
	if (rc)
		return rc;
	check_claims(c, &claims, &tree);
	struct hash root = merkle_head(&tree);
	json_set(c->a, doc, "anchors", anchors);
	json_seti(c->a, doc, "tree_size", (int64_t)tree.size);
	json_sets(c->a, doc, "root_hash", hash_hex(c->a, &root));
	return OK;
}

/* ---- the answer ---- */

static int64_t place_of(const struct json *finding)
{
	return json_get_int(finding, "receipt", INT64_MAX);
}

/* By place in the chain, what has none behind; otherwise as found. */
static void sort_findings(struct log_checking *c)
{
	struct json **items = c->findings->items;

	for (uint32_t i = 1; i < c->findings->n; i++) {
		struct json *f = items[i];
		uint32_t k = i;
		for (; k > 0 && place_of(items[k - 1]) > place_of(f); k--)
			items[k] = items[k - 1];
		items[k] = f;
	}
}

static char *why_damaged(struct log_checking *c)
{
	json_each (f, c->findings)
		if (text_eq(json_get_text(f, "severity", ""), "damage")) {
			int64_t receipt = place_of(f);
			const char *text = json_get_text(f, "text", "");
			return receipt == INT64_MAX
				? arena_strdup(c->a, text)
				: arena_printf(c->a, "receipt %lld: %s", (long long)receipt, text);
		}
	return arena_strdup(c->a, "");
}

static void plan_repair(struct log_checking *c)
{
	struct log_report *r = c->report;
	struct stat st = { 0 };

	if (!c->is_damaged)
		return;
	r->is_damaged = true;
	r->damage = (struct log_damage){ .file = RECEIPTS, .why = why_damaged(c) };
	if (c->bad_file)
		r->damage.file = arena_strdup(c->a, c->bad_file);
	if (c->sys->stat(c->sys, c->state_fd, r->damage.file, &st, 0) == 0)
		r->damage.file_size = st.st_size;
	/* Nothing in the chain is bad: it is what is missing behind it. */
	r->damage.good_bytes = c->bad_file ? c->good_bytes : c->whole_bytes;
}

int log_check(struct sys *s, struct arena *a, int state_fd, const struct trust *trust,
	const struct log_check_options *options, struct log_report *ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct log_checking c = { .sys = s,
		.a = a,
		.state_fd = state_fd,
		.trust = trust,
		.options = options,
		.report = ret,
		.findings = json_new(a, JSON_ARRAY),
		.files = json_new(a, JSON_ARRAY),
		.seams = json_new(a, JSON_ARRAY) };

	*ret = (struct log_report){ .is_sound = true, .doc = doc };
	int rc = check_files(&c, e);
	if (rc == OK)
		rc = check_leaves(&c, e);
	if (rc == OK)
		rc = check_heads(&c, doc, e);
	if (rc)
		return rc;
	sort_findings(&c);
	plan_repair(&c);
	ret->receipts = c.n;
	json_setb(a, doc, "sound", ret->is_sound);
	json_setb(a, doc, "damaged", ret->is_damaged);
	json_seti(a, doc, "receipts", (int64_t)c.n);
	json_set(a, doc, "files", c.files);
	json_set(a, doc, "repairs", c.seams);
	json_set(a, doc, "findings", c.findings);
	if (c.omitted)
		json_seti(a, doc, "findings_omitted", c.omitted);
	return OK;
}

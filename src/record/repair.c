/* repair.c — taking out what is no receipt, and saying so.
 *
 * A repair never removes a receipt that verifies.  It takes out bytes that are none, keeps them beside the
 * file, and signs a seam at the end of the chain: which bytes of which file, their digests, and the holes
 * they leave (proof/gap.h).
 *
 * The moment of the repair is one rename: a new receipts.jsonl, what stays of the old one and the seam
 * behind it.  There is no moment at which the chain has a hole and does not say so.  Before it, what is
 * taken out is copied aside.  After it, older files are made anew by what the seam says of them, heads that
 * do not fit are put aside, leaves are made again.  All of that may be done any number of times, and
 * whoever finds the seam at the end of the chain and the rest undone does it. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHAIN_LIMIT ((size_t)1 << 32)
enum { COPY_STEP = 256 << 10 };

/* A receipt names the key that signed it.  That key must be the one that appends, or one that the history
 * of this user's keys knows; then the signature itself is checked.  In doubt false. */
bool receipt_is_own(struct recorder *r, struct arena *a, const struct json *receipt)
{
	uint8_t signature[SIGN_SIZE], pub[SIGN_PUBLIC];
	const char *text = json_get_text(receipt, "signature", "");
	const char *named = json_get_text(json_get(receipt, "public_key_set"), "ed25519", "");
	struct bytes preimage;

	return hex_decode(text, strlen(text), signature, SIGN_SIZE, true) &&
		hex_decode(named, strlen(named), pub, SIGN_PUBLIC, true) &&
		((r->key && memcmp(pub, key_public(r->key), SIGN_PUBLIC) == 0) ||
			(r->keys_dir && keys_knows(r->sys, a, AT_FDCWD, r->keys_dir, named))) &&
		receipt_preimage_v5(a, receipt, &preimage, NULL) == OK &&
		sign_verify(pub, preimage, signature);
}

/* ---- runs of bytes as text: "0+1200,1300+55" ---- */

/* The form in which a seam keeps runs of bytes: "0+1200,1300+55" is offset plus length. */
static char *runs_text(struct arena *a, const struct log_run *runs, size_t n)
{
	struct buf to;

	buf_init(&to, a);
	for (size_t i = 0; i < n; i++)
		buf_addf(&to, "%s%lld+%lld", i ? "," : "", (long long)runs[i].at, (long long)runs[i].n);
	buf_add(&to, "", 0);
	return to.p ? to.p : arena_strdup(a, "");
}

/* False for anything that runs_text() would not have written. */
static bool read_runs(struct arena *a, const char *text, struct log_run **ret, size_t *ret_n)
{
	size_t n = 0, cap = 1;

	for (const char *p = text; *p; p++)
		cap += *p == ',';
	struct log_run *runs = arena_zalloc(a, cap, sizeof(*runs));
	while (*text) {
		char *end;
		long long at = strtoll(text, &end, 10);
		if (end == text || *end != '+')
			return false;
		text = end + 1;
		long long size = strtoll(text, &end, 10);
		if (end == text || at < 0 || size < 0 || (*end && *end != ','))
			return false;
		runs[n++] = (struct log_run){ at, size };
		text = *end ? end + 1 : end;
	}
	*ret = runs;
	*ret_n = n;
	return true;
}

/* ---- copying runs ---- */

/* A copy of some runs of a file, with an optional tail behind them; digest and bytes are over the runs
 * only. */
struct copy {
	struct recorder *r;
	const char *file;
	int from;
	const struct log_run *runs;
	size_t n;
	struct bytes tail;
	struct sha256 digest;
	off_t bytes;
};

static int copy_run(
	struct copy *c, struct sys *s, int fd, const struct log_run *run, char *step, struct err *e)
{
	for (off_t done = 0; done < run->n;) {
		size_t n = run->n - done < COPY_STEP ? (size_t)(run->n - done) : COPY_STEP;
		if (pread_all(s, c->from, step, n, run->at + done))
			return err_sys(e, "LOG_REPAIR", "cannot read %s", c->file);
		sha256_add(&c->digest, step, n);
		if (fd >= 0 && write_all(s, fd, step, n))
			return err_sys(e, "LOG_REPAIR", "cannot write what stays of %s", c->file);
		done += (off_t)n;
		c->bytes += (off_t)n;
	}
	return OK;
}

/* To fd, or with -1 only through the digest. */
static int copy_runs(void *arg, struct sys *s, int fd, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *step = arena_text(&a, COPY_STEP);
	struct copy *c = arg;
	int rc = OK;

	sha256_begin(&c->digest);
	c->bytes = 0;
	for (size_t i = 0; rc == OK && i < c->n; i++)
		rc = copy_run(c, s, fd, &c->runs[i], step, e);
	if (rc == OK && c->tail.n && fd >= 0 && write_all(s, fd, c->tail.p, c->tail.n))
		rc = err_sys(e, "LOG_REPAIR", "cannot write the seam behind %s", c->file);
	return rc;
}

static char *digest_of(struct arena *a, struct copy *c)
{
	struct hash h;

	sha256_end(&c->digest, h.b);
	return hash_hex(a, &h);
}

static int open_chain_file(struct recorder *r, const char *file, int *ret, struct err *e)
{
	*ret = r->sys->open(r->sys, r->state_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	return *ret < 0 ? err_sys(e, "LOG_REPAIR", "cannot read %s", file) : OK;
}

/* The digest of these runs of a file. */
static int hash_runs(struct recorder *r, struct arena *a, const char *file, const struct log_run *runs,
	size_t n, char **ret, off_t *ret_bytes, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = open_chain_file(r, file, &fd, e);
	struct copy c = { .r = r, .file = file, .from = fd, .runs = runs, .n = n };

	if (rc == OK)
		rc = copy_runs(&c, r->sys, -1, e);
	if (rc)
		return rc;
	*ret = digest_of(a, &c);
	if (ret_bytes)
		*ret_bytes = c.bytes;
	return OK;
}

/* The digest of a file as it is now. */
static int hash_file(struct recorder *r, struct arena *a, const char *file, char **ret, struct err *e)
{
	struct stat st;

	if (r->sys->stat(r->sys, r->state_fd, file, &st, AT_SYMLINK_NOFOLLOW))
		return err_sys(e, "LOG_REPAIR", "cannot look at %s", file);
	struct log_run all = { 0, st.st_size };
	return hash_runs(r, a, file, &all, 1, ret, NULL, e);
}

/* ---- behind the rename ---- */

/* The digest of the heads file; "" when there is none. */
static int heads_digest(struct recorder *r, struct arena *a, const char **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(r->sys, a, r->state_fd, HEADS, CHAIN_LIMIT, 0, &text, e);

	if (rc == OK)
		*ret = sha256_hex(a, text.p, text.n);
	if (rc == E_MISSING)
		*ret = "";
	return rc == E_MISSING ? OK : rc;
}

/* Never overwrites what was put aside before.  ENOENT or EEXIST mean that an earlier attempt has done it. */
static int put_aside(struct recorder *r, const char *from, const char *to, struct err *e)
{
	struct sys *s = r->sys;

	if (s->rename(s, r->state_fd, from, r->state_fd, to, RENAME_NOREPLACE) == 0 || errno == ENOENT ||
		errno == EEXIST)
		return OK;
	return err_sys(e, "LOG_REPAIR", "cannot put %s aside as %s", from, to);
}

static bool is_older_file(const char *name)
{
	return text_glob("receipts-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl", name, true);
}

/* Only names of older chain files and of the heads are accepted, since the name comes from a file that could have been
 * tampered with.  If the file is as the seam says it was, it is made anew; if it is as the seam says it is
 * to be, nothing is to do; anything else is new damage, which the check finds. */
static int mend_older(struct recorder *r, struct arena *a, const struct json *row, struct err *e)
{
	const char *file = json_get_text(row, "file", "");
	AUTO(close_fd) int fd = -1;
	struct log_run *runs;
	size_t n;
	char *now;

	if ((!is_older_file(file) && !text_eq(file, HEADS)) ||
		text_eq(json_get_text(row, "sha256_before", ""), json_get_text(row, "sha256_after", "?")) ||
		!read_runs(a, json_get_text(row, "kept", "?"), &runs, &n))
		return OK;
	int rc = hash_file(r, a, file, &now, e);
	if (rc || !text_eq(now, json_get_text(row, "sha256_before", "")))
		return rc;
	rc = open_chain_file(r, file, &fd, e);
	struct copy c = { .r = r, .file = file, .from = fd, .runs = runs, .n = n };
	return rc ? rc : file_replace_by(r->sys, r->state_fd, file, 0600, copy_runs, &c, e);
}

/* They are made again from the receipts; but for those of files that are elsewhere, where perhaps nobody can read them. */
static int empty_leaves(struct recorder *r, struct arena *a, struct err *e)
{
	off_t stay = (off_t)(chain_away(r, a) * LEAF_LINE);
	struct stat st;

	if (r->sys->stat(r->sys, r->leaves_fd, "", &st, AT_EMPTY_PATH) ||
		r->sys->truncate(r->sys, r->leaves_fd, st.st_size < stay ? 0 : stay))
		return err_sys(e, "LOG_REPAIR", "cannot empty %s", LEAVES);
	return OK;
}

int log_remake(struct recorder *r, struct arena *a, struct err *e)
{
	int rc = chain_open(r, e);

	if (rc == OK)
		rc = empty_leaves(r, a, e);
	if (rc)
		return rc;
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
	chain_forget(r);
	return log_rebuild_repaired(r, a, e);
}

/* Everything after the rename.  Each step finds out by itself whether it is still to be done, so a crash at
 * any point is made good by doing all of it again. */
static int finish(struct recorder *r, struct arena *a, const struct json *seam, struct err *e)
{
	const struct json *about = json_get(seam, "metadata");
	const char *mark = json_get_text(about, "mark", "repair"), *heads;
	const char *dropped = json_get_text(about, "heads_sha256", NULL);
	int rc = OK;

	json_each (row, json_get(about, "files"))
		if (rc == OK)
			rc = mend_older(r, a, row, e);
	if (rc == OK)
		rc = mends_finish(r, about, e);
	if (rc == OK && json_get_bool(about, "drops_anchors", false))
		rc = put_aside(r, ANCHORS, arena_printf(a, "%s.before-%s", ANCHORS, mark), e);
	if (rc == OK && dropped)
		rc = heads_digest(r, a, &heads, e);
	if (rc == OK && dropped && *heads && text_eq(heads, dropped))
		rc = put_aside(r, HEADS, arena_printf(a, "%s.before-%s", HEADS, mark), e);
	if (rc == OK)
		rc = empty_leaves(r, a, e);
	if (rc == OK && r->sys->fsync(r->sys, r->state_fd))
		rc = err_sys(e, "LOG_REPAIR", "cannot make the repair durable");
	return rc;
}

/* Only the newest receipt is looked at: whoever appended behind a seam had completed the repair first.  The
 * seam must be signed by this user, because it tells us to change files. */
int repair_finish_if_due(
	struct recorder *r, struct arena *a, struct bytes last_line, bool *ret_is_repair, struct err *e)
{
	struct json *last;

	*ret_is_repair = false;
	if (!last_line.n || json_parse(a, last_line, RECEIPTS, NULL, &last, NULL) || !gap_is_seam(a, last) ||
		!receipt_is_own(r, a, last))
		return OK;
	*ret_is_repair = true;
	return finish(r, a, last, e);
}

/* ---- the repair ---- */

/* Copies what is taken out of one file to a file beside it, durable before the chain changes. */
static int keep_out(struct recorder *r, struct arena *a, const struct log_mend *m, const char *mark,
	struct json *row, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	const char *name = arena_printf(a, "%s.damaged-%s", m->file, mark);

	if (!m->out_n)
		return OK;
	int rc = open_chain_file(r, m->file, &fd, e);
	if (rc)
		return rc;
	struct copy c = { .r = r, .file = m->file, .from = fd, .runs = m->out, .n = m->out_n };
	rc = file_replace_by(r->sys, r->state_fd, name, 0600, copy_runs, &c, e);
	if (rc)
		return rc;
	json_sets(a, row, "kept_as", name);
	json_seti(a, row, "lost_bytes", (int64_t)c.bytes);
	json_sets(a, row, "lost_sha256", digest_of(a, &c));
	return OK;
}

/* One row of the seam: which runs of the file stay, and its digest before and after. */
static int describe_file(struct recorder *r, struct arena *a, const struct log_mend *m, const char *mark,
	struct json **ret, struct err *e)
{
	struct json *row = json_new(a, JSON_OBJECT);
	char *before, *after;
	int rc = hash_file(r, a, m->file, &before, e);

	if (rc == OK)
		rc = hash_runs(r, a, m->file, m->kept, m->kept_n, &after, NULL, e);
	if (rc)
		return rc;
	json_sets(a, row, "file", m->file);
	json_sets(a, row, "kept", runs_text(a, m->kept, m->kept_n));
	json_sets(a, row, "sha256_before", before);
	json_sets(a, row, "sha256_after", after);
	*ret = row;
	return keep_out(r, a, m, mark, row, e);
}

/* Everything the seam says.  It must be enough to complete the repair from the seam alone. */
static int describe(
	struct recorder *r, struct arena *a, const struct log_plan *plan, struct json *about, struct err *e)
{
	struct json *files = json_new(a, JSON_ARRAY), *gaps = json_new(a, JSON_ARRAY), *head = NULL, *row;
	const char *mark = json_get_text(about, "mark", ""), *heads;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < plan->n; i++) {
		rc = describe_file(r, a, &plan->files[i], mark, &row, e);
		if (rc == OK)
			json_push(a, files, row);
	}
	for (size_t i = 0; i < plan->gaps.n; i++)
		json_push(a, gaps, gap_json(a, &plan->gaps.list[i]));
	if (files->n)
		json_set(a, about, "files", files);
	if (gaps->n)
		json_set(a, about, "gaps", gaps);
	if (rc == OK)
		rc = mends_prepare(r, a, plan, about, e);
	if (plan->drops_anchors)
		json_setb(a, about, "drops_anchors", true);
	if (plan->anew_from)
		json_seti(a, about, "anew_from", (int64_t)plan->anew_from);
	if (plan->heads_lost)
		json_seti(a, about, "heads_lost", (int64_t)plan->heads_lost);
	if (rc == OK && plan->drops_heads)
		rc = heads_digest(r, a, &heads, e);
	if (rc || !plan->drops_heads)
		return rc;
	json_sets(a, about, "heads_sha256", heads);
	if (log_last_head(r->sys, a, r->state_fd, &head, NULL) == OK && head) {
		json_seti(a, about, "head_tree_size", json_get_int(head, "tree_size", 0));
		json_sets(a, about, "head_root_hash", json_get_text(head, "root_hash", ""));
	}
	return OK;
}

/* The seam takes the place behind the last receipt that stays.  If none stays it starts a new chain. */
static int sign_seam(struct recorder *r, struct arena *a, const struct log_plan *plan, struct json *about,
	struct json **ret, struct hash *ret_chain, struct err *e)
{
	struct chain_end at = { .clock = plan->clock, .last = plan->last };
	char *id;
	int rc = record_new_id(a, r->sys, "seam-", &id, e);

	if (rc == OK && !*plan->chain_id)
		rc = chain_begin(r, a, &at, e);
	if (rc)
		return rc;
	if (*plan->chain_id)
		snprintf(at.chain_id, sizeof(at.chain_id), "%s", plan->chain_id);
	struct draft seam = { .decision_id = id,
		.effect_id = REPAIR_EFFECT,
		.status = "DAMAGED",
		.type = "seam",
		.output_hash = json_sha256(a, about),
		.metadata = about };
	return draft_sign(r, &at, a, &seam, ret, ret_chain, e);
}

/* The moment of the repair: one rename puts what stays of receipts.jsonl, and the seam behind it, in
 * place. */
static int swap_chain(struct recorder *r, struct arena *a, const struct log_plan *plan,
	const struct json *seam, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct copy c = { .r = r, .file = RECEIPTS };
	struct log_run all = { 0, 0 };
	struct buf line;
	struct stat st;
	int rc;

	for (size_t i = 0; i < plan->n; i++)
		if (text_eq(plan->files[i].file, RECEIPTS)) {
			c.runs = plan->files[i].kept;
			c.n = plan->files[i].kept_n;
		}
	rc = open_chain_file(r, RECEIPTS, &fd, e);
	if (rc == E_MISSING) /* and nothing but that: whatever else fails must not look like an empty chain */
		rc = OK;
	else if (rc == OK && r->sys->stat(r->sys, fd, "", &st, AT_EMPTY_PATH))
		rc = err_sys(e, "LOG_REPAIR", "cannot look at %s", RECEIPTS);
	else if (rc == OK && !c.runs) { /* nothing is taken out of it */
		all.n = st.st_size;
		c.runs = &all;
		c.n = 1;
	}
	if (rc)
		return rc;
	c.from = fd;
	buf_init(&line, a);
	json_canonical(&line, seam);
	buf_addc(&line, '\n');
	c.tail = buf_bytes(&line);
	return file_replace_by(r->sys, r->state_fd, RECEIPTS, 0600, copy_runs, &c, e);
}

/* Did the rename happen although the swap failed?  Then the seam at the end of the chain has this mark, or nobody can tell. */
static bool is_swapped(struct recorder *r, struct arena *a, const char *mark)
{
	AUTO(close_fd) int fd = -1;
	struct bytes line;
	off_t end, size;

	return open_chain_file(r, RECEIPTS, &fd, NULL) ||
		tail_line(r->sys, a, fd, RECEIPTS, &line, &end, &size, NULL) ||
		(line.n && memmem(line.p, line.n, mark, strlen(mark)));
}

/* What was copied aside for a repair that did not happen belongs to nobody. */
static void forget_copies(struct recorder *r, struct arena *a, const struct log_plan *plan, const char *mark)
{
	for (size_t i = 0; i < plan->n; i++)
		(void)r->sys->unlink(
			r->sys, r->state_fd, arena_printf(a, "%s.damaged-%s", plan->files[i].file, mark), 0);
	mends_forget(r, a, plan, mark);
}

static bool copy_leaves(struct recorder *r, struct arena *a, const struct log_plan *plan)
{
	off_t all = (off_t)(plan->tree.size * LEAF_LINE);
	char *step = arena_text(a, COPY_STEP);

	for (off_t at = 0; at < all;) {
		size_t n = all - at < COPY_STEP ? (size_t)(all - at) : COPY_STEP;
		if (pread_all(r->sys, plan->leaves_fd, step, n, at) ||
			write_all(r->sys, r->leaves_fd, step, n))
			return false;
		at += (off_t)n;
	}
	return true;
}

/* What follows the rename, with leaves that were made beside writers, while the plan was.  False: they must be made from the receipts. */
static bool adopt_leaves(struct recorder *r, struct arena *a, const struct log_plan *plan,
	const struct json *seam, const struct hash *chain)
{
	struct chain_end at = { .clock = plan->clock, .tree = plan->tree };
	struct hash leaf = merkle_leaf(chain->b, SHA256_SIZE);
	char line[LEAF_LINE + 1];

	if (!plan->has_leaves || plan->tree.size != plan->clock)
		return false;
	chain_forget(r);
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
	if (chain_open(r, NULL) || finish(r, a, seam, NULL) || segments_mark(r, a, &at.segments, NULL) ||
		r->sys->truncate(r->sys, r->leaves_fd, 0) || !copy_leaves(r, a, plan))
		return false;
	hex_encode(leaf.b, SHA256_SIZE, line);
	line[LEAF_LINE - 1] = '\n';
	if (write_all(r->sys, r->leaves_fd, line, LEAF_LINE))
		return false;
	merkle_append(&at.tree, &leaf);
	chain_step(&at, chain);
	snprintf(at.chain_id, sizeof(at.chain_id), "%s", json_get_text(seam, "session_id", ""));
	at.file = r->at.file;
	at.heads_n = heads_count(r->sys, r->state_fd);
	r->at = at;
	r->leaves = at.clock;
	return edge_write(r, &r->at) == 0;
}

/* The caller holds the lock and made the plan under it, or knows that nothing has changed since.  An error before swap_chain() leaves the chain as
 * it was; after it the repair has happened, and the next writer completes it. */
int log_repair(struct recorder *r, struct arena *a, const struct log_plan *plan, struct json **ret_seam,
	struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *seam;
	struct hash chain;
	char *unique;

	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY", "no signing key; 'helm key create' makes one");
	/* The plan was made beside writers, and one of them may have rotated the key: the old one must not sign behind the new one. */
	int rc = key_renew(r, e);
	if (rc == OK)
		rc = record_new_id(a, r->sys, "", &unique, e);
	if (rc)
		return rc;
	json_sets(a, about, "why", plan->why);
	json_sets(a, about, "mark",
		arena_printf(a, "%s-%.8s", text_time_compact(a, r->sys->now_us(r->sys)), unique));
	rc = describe(r, a, plan, about, e);
	if (rc == OK)
		rc = sign_seam(r, a, plan, about, &seam, &chain, e);
	if (rc == OK)
		rc = swap_chain(r, a, plan, seam, e);
	if (rc && !is_swapped(r, a, json_get_text(about, "mark", "")))
		forget_copies(r, a, plan, json_get_text(about, "mark", ""));
	if (rc == OK && !adopt_leaves(r, a, plan, seam, &chain))
		rc = log_rebuild_repaired(r, a, e); /* does the rest */
	if (rc == OK)
		rc = log_put_head(r, a, NULL, e);
	if (rc)
		chain_forget(r);
	if (rc == OK && ret_seam)
		*ret_seam = seam;
	return rc;
}

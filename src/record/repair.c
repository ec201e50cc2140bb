/* repair.c — putting damage on record.
 *
 * The cut and the seam that tells of it are one step: a new chain file, the good beginning and the signed seam, takes the place
 * of the old one by rename.  There is no moment at which the chain is shorter and does not say so.
 *
 * Before it, what is cut is copied aside.  After it, later files of the chain are renamed, heads about the lost receipts are put
 * aside, leaves are made again, and a new head is signed.  The seam names the heads file of before by its hash: as long as
 * log/heads.jsonl is still that one, or is not there, the rest has not been done, and whoever comes next does it. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHAIN_LIMIT ((size_t)1 << 32)

/* Signed by the key that is appending: nobody else's word makes us drop leaves. */
static bool is_own_seam(struct recorder *r, struct arena *a, const struct json *last)
{
	uint8_t signature[SIGN_SIZE];
	const char *text = json_get_text(last, "signature", "");
	struct bytes preimage;

	return text_eq(json_get_text(last, "effect_id", ""), REPAIR_EFFECT) && r->key &&
		hex_decode(text, strlen(text), signature, SIGN_SIZE, true) &&
		receipt_preimage_v5(a, last, &preimage, NULL) == OK &&
		sign_verify(key_public(r->key), preimage, signature);
}

/* The heads file by its hash; "" when there is none. */
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

static int put_aside(struct recorder *r, const char *from, const char *to, struct err *e)
{
	struct sys *s = r->sys;

	if (s->rename(s, r->state_fd, from, r->state_fd, to, RENAME_NOREPLACE) == 0 || errno == ENOENT)
		return OK;
	return err_sys(e, "LOG_REPAIR", "cannot put %s aside as %s", from, to);
}

/* Everything behind the rename; may be done any number of times. */
static int finish(struct recorder *r, struct arena *a, const struct json *seam, struct err *e)
{
	const struct json *about = json_get(seam, "metadata"), *files = json_get(about, "set_aside");
	const char *mark = json_get_text(about, "mark", "repair");
	int rc = OK;

	json_each (file, files) {
		const char *name = json_text(file);
		if (rc == OK && name &&
			text_glob("receipts-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl", name, true))
			rc = put_aside(r, name, arena_printf(a, "%s.damaged-%s", name, mark), e);
	}
	if (rc == OK && r->sys->fsync(r->sys, r->state_fd))
		rc = err_sys(e, "LOG_REPAIR", "cannot make the repair durable");
	if (rc == OK && r->sys->truncate(r->sys, r->leaves_fd, 0))
		rc = err_sys(e, "LOG_REPAIR", "cannot empty %s", LEAVES);
	if (rc == OK)
		rc = put_aside(r, HEADS, arena_printf(a, "%s.before-%s", HEADS, mark), e);
	return rc;
}

int repair_finish_if_due(struct recorder *r, struct arena *a, struct bytes last_line, struct err *e)
{
	struct json *last;
	const char *heads;

	if (!last_line.n || json_parse(a, last_line, RECEIPTS, NULL, &last, NULL) || !is_own_seam(r, a, last))
		return OK;
	int rc = heads_digest(r, a, &heads, e);
	if (rc)
		return rc;
	if (*heads && !text_eq(heads, json_get_text(json_get(last, "metadata"), "heads_sha256", "?")))
		return OK; /* later heads: it was completed long ago */
	return finish(r, a, last, e);
}

/* The good beginning, what is cut off it, and where the chain ends then. */
struct cut {
	struct bytes good, bad;
	struct chain_end at;
	struct json *set_aside; /* later files of the chain, except receipts.jsonl */
	bool loses_newest; /* receipts.jsonl is one of the later files: kept as a copy */
};

static int read_changed(struct err *e, const char *file)
{
	return err_set(e, E_INPUT, "LOG_CHANGED",
		"%s has changed since it was checked; run the command again", file);
}

static int end_of_good(
	struct recorder *r, struct arena *a, struct cut *c, char **files, size_t i, struct err *e)
{
	struct bytes text = c->good;

	for (;;) {
		while (text.n && text.p[text.n - 1] == '\n')
			text.n--;
		if (text.n) {
			const uint8_t *start = memrchr(text.p, '\n', text.n);
			if (start) {
				text.n -= (size_t)(start + 1 - text.p);
				text.p = start + 1;
			}
			return chain_read_last(a, text, RECEIPTS, &c->at, NULL, e);
		}
		if (i == 0)
			return chain_begin(r, a, &c->at, e);
		int rc = file_read(r->sys, a, r->state_fd, files[--i], CHAIN_LIMIT, 0, &text, e);
		if (rc)
			return rc;
	}
}

static int plan_cut(
	struct recorder *r, struct arena *a, const struct log_damage *damage, struct cut *c, struct err *e)
{
	char **files;
	size_t n, i = 0;
	struct bytes text = { NULL, 0 };
	int rc = receipts_files(r->sys, a, r->state_fd, &files, &n, e);

	if (rc)
		return rc;
	while (i < n && !text_eq(files[i], damage->file))
		i++;
	if (i < n)
		rc = file_read(r->sys, a, r->state_fd, damage->file, CHAIN_LIMIT, 0, &text, e);
	if (rc)
		return rc;
	if ((off_t)text.n != damage->file_size || damage->good_bytes > damage->file_size)
		return read_changed(e, damage->file);
	size_t good = (size_t)damage->good_bytes;
	c->good = (struct bytes){ text.p, good };
	c->bad = (struct bytes){ text.p ? text.p + good : NULL, text.n - good };
	c->set_aside = json_new(a, JSON_ARRAY);
	/* The damaged segment too: its good part lives on in receipts.jsonl. */
	for (size_t k = i; k < n; k++)
		if (!text_eq(files[k], RECEIPTS))
			json_pushs(a, c->set_aside, files[k]);
	c->loses_newest = i + 1 < n && text_eq(files[n - 1], RECEIPTS);
	return end_of_good(r, a, c, files, i < n ? i : n, e);
}

/* A copy of what will no longer be in the chain. */
static int keep_cut(struct recorder *r, struct arena *a, const struct cut *c, const char *mark,
	struct json *about, struct err *e)
{
	struct bytes text = c->bad;
	int rc = OK;

	if (c->loses_newest)
		rc = file_read(r->sys, a, r->state_fd, RECEIPTS, CHAIN_LIMIT, 0, &text, e);
	if (rc || !text.n)
		return rc;
	const char *name = arena_printf(a, "%s.damaged-%s", RECEIPTS, mark);
	json_sets(a, about, "kept_as", name);
	json_seti(a, about, "lost_bytes", (int64_t)text.n);
	json_sets(a, about, "lost_sha256", sha256_hex(a, text.p, text.n));
	return file_create(r->sys, r->state_fd, name, 0600, text, e);
}

static int sign_seam(struct recorder *r, struct arena *a, const struct cut *c, struct json *about,
	struct json **ret, struct err *e)
{
	struct hash chain;
	char *id;
	int rc = record_new_id(a, r->sys, "seam-", &id, e);
	struct buf text;

	if (rc)
		return rc;
	buf_init(&text, a);
	json_canonical(&text, about);
	struct draft seam = { .decision_id = id,
		.effect_id = REPAIR_EFFECT,
		.status = "DAMAGED",
		.type = "seam",
		.output_hash = sha256_prefixed(a, text.p, text.n),
		.metadata = about };
	return draft_sign(r, &c->at, a, &seam, ret, &chain, e);
}

/* The moment of the cut. */
static int swap_chain(
	struct recorder *r, struct arena *a, const struct cut *c, const struct json *seam, struct err *e)
{
	struct buf text;

	buf_init(&text, a);
	buf_room(&text, c->good.n + 4096);
	buf_add(&text, c->good.p ? (const char *)c->good.p : "", c->good.n);
	json_canonical(&text, seam);
	buf_addc(&text, '\n');
	return file_replace(r->sys, r->state_fd, RECEIPTS, 0600, buf_bytes(&text), e);
}

static int repair_locked(struct recorder *r, struct arena *a, const struct log_damage *damage,
	struct json **ret_seam, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *head = NULL, *seam;
	struct cut c = { 0 };
	const char *heads;
	char *unique;
	int rc = plan_cut(r, a, damage, &c, e);

	if (rc == OK)
		rc = record_new_id(a, r->sys, "", &unique, e);
	if (rc)
		return rc;
	char *mark = arena_printf(a, "%s-%.8s", text_time_compact(a, r->sys->now_us(r->sys)), unique);
	json_sets(a, about, "why", damage->why);
	json_sets(a, about, "mark", mark);
	if (c.set_aside->n)
		json_set(a, about, "set_aside", c.set_aside);
	rc = keep_cut(r, a, &c, mark, about, e);
	if (rc == OK)
		rc = heads_digest(r, a, &heads, e);
	if (rc)
		return rc;
	json_sets(a, about, "heads_sha256", heads);
	if (log_last_head(r->sys, a, r->state_fd, &head, NULL) == OK && head) {
		json_seti(a, about, "head_tree_size", json_get_int(head, "tree_size", 0));
		json_sets(a, about, "head_root_hash", json_get_text(head, "root_hash", ""));
	}
	if (rc == OK)
		rc = sign_seam(r, a, &c, about, &seam, e);
	if (rc == OK)
		rc = swap_chain(r, a, &c, seam, e);
	if (rc)
		return rc;
	chain_forget(r);
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
	rc = chain_settle(r, a, e); /* does the rest */
	if (rc == OK)
		rc = log_put_head(r, a, NULL, e);
	if (rc == OK && ret_seam)
		*ret_seam = seam;
	return rc;
}

int log_repair(struct recorder *r, struct arena *a, const struct log_damage *damage, struct json **ret_seam,
	struct err *e)
{
	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY", "no signing key; 'helm key create' makes one");
	int rc = chain_lock(r, e);
	if (rc)
		return rc;
	rc = repair_locked(r, a, damage, ret_seam, e);
	if (rc)
		chain_forget(r);
	chain_unlock(r);
	return rc;
}

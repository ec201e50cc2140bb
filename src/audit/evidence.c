/* evidence.c — what of a workspace goes into a pack, chosen by task, session or time.
 *
 * Receipts become one file each, byte for byte as they were signed, named by their place in the chain;
 * rows of the ledgers that match stay lines of a file.  The newest signed tree head and the log's leaf
 * hashes go along: hashes show nothing of what was left out, and with them each receipt's place can be
 * checked.  Every path sorts behind "manifest.json", so that the manifest comes first in the archive. */
#include "audit/parts.h"
#include "base/file.h"
#include "model/stamp.h"
#include "proof/preimage.h"

#include <fcntl.h>

enum { LEDGER_MAX = 256 << 20, ITEMS_MAX = 190000 };

/* What was collected so far, and what the pack will say about itself. */
struct collection {
	struct sys *sys;
	struct arena *a;
	const struct evidence_choice *choice;
	struct pack_item *items;
	size_t n, cap;
	uint64_t clock; /* of the newest receipt: its place in the chain, from 1 */
	uint64_t leaves; /* receipts that the log knows: they are on disk */
	size_t settled; /* items up to the last of those */
	struct json *head;
	uint64_t receipts;
	size_t key_seams; /* of the items */
	const char *actor, *policy_hash, *newest;
	int64_t newest_us;
	bool has_actors; /* more than one */
};

/* The limit is below that of readers, which leaves room for the files the pack writer adds. */
static int add_item(struct collection *c, const char *path, struct bytes content, struct err *e)
{
	if (c->n >= ITEMS_MAX)
		return err_set(e, E_LIMIT, "PACK_LIMIT", "the selection has more than %d files: choose less",
			ITEMS_MAX);
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 64;
		c->items = arena_grow(c->a, c->items, c->cap * sizeof(*c->items), cap * sizeof(*c->items));
		c->cap = cap;
	}
	c->items[c->n++] = (struct pack_item){ path, NULL, content };
	return OK;
}

/* Lines live in arenas that are reset; items must outlive them. */
static struct bytes copy_bytes(struct arena *a, struct bytes from)
{
	return (struct bytes){ (const uint8_t *)arena_strndup(a, (const char *)from.p, from.n), from.n };
}

/* When a row says it happened, by the first of the names in use. */
static const char *row_time(const struct json *row, int64_t *ret_us)
{
	static const char *const names[] = { "timestamp", "updated_at", "ts", "created_at", "finished_at",
		"started_at" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = json_text(json_get(row, names[i]));
		if (text && text_parse_time(text, strlen(text), ret_us))
			return text;
	}
	return NULL;
}

/* Some rows carry these names in their metadata. */
static bool has_member(const struct json *row, const char *const *names, const char *value)
{
	const struct json *metadata = json_get(row, "metadata");

	for (; *names; names++)
		if (text_eq(json_get_text(row, *names, ""), value) ||
			text_eq(json_get_text(metadata, *names, ""), value))
			return true;
	return false;
}

/* All conditions that are given must hold.  A row without a time is left out when a span is asked for: it
 * cannot be shown to lie in it. */
static bool is_chosen(const struct collection *c, const struct json *row)
{
	static const char *const tasks[] = { "task_id", "correlation_id", "parent_task_id", NULL };
	static const char *const sessions[] = { "session_id", "owner_session_id", NULL };
	const struct evidence_choice *choice = c->choice;
	int64_t us;

	if (choice->task && !has_member(row, tasks, choice->task))
		return false;
	if (choice->session && !has_member(row, sessions, choice->session))
		return false;
	if (!choice->has_since && !choice->has_until)
		return true;
	if (!row_time(row, &us))
		return false;
	return (!choice->has_since || us >= choice->since_us) &&
		(!choice->has_until || us < choice->until_us);
}

/* The newest time of anything chosen becomes the pack's creation time: the same selection gives the same
 * pack. */
static void note_time(struct collection *c, const struct json *row)
{
	int64_t us;
	const char *text = row_time(row, &us);

	if (!text || (c->newest && us <= c->newest_us))
		return;
	c->newest_us = us;
	c->newest = arena_strdup(c->a, text);
}

/* Characters that every file system keeps apart and no reader of archives trips over. */
static char *safe_name(struct arena *a, const char *id)
{
	size_t n = strlen(id) > 80 ? 80 : strlen(id);
	char *name = arena_strndup(a, id, n);

	for (char *p = name; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *p))
			*p = '_';
	return *name ? name : arena_strdup(a, "receipt");
}

/* The pack names one actor when all receipts have the same, and the policy of the last one. */
static void note_receipt(struct collection *c, const struct json *receipt)
{
	const char *actor = json_get_text(receipt, "executor_id", ""),
		   *policy = json_get_text(receipt, "policy_hash", "");

	if (*actor && c->actor && !text_eq(c->actor, actor))
		c->has_actors = true;
	if (*actor)
		c->actor = arena_strdup(c->a, actor);
	if (*policy)
		c->policy_hash = arena_strdup(c->a, policy);
	note_time(c, receipt);
	c->receipts++;
}

/* The position counts the lines of the chain, chosen or not, so that a name does not depend on the
 * selection. */
static int take_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct collection *c = arg;

	(void)file;
	(void)line;
	c->clock = receipt ? (uint64_t)json_get_int(receipt, "lamport_clock", 0) : c->clock;
	if (!receipt)
		return OK;
	/* Changes of keys always go along: with them the pack can be verified from any one of the keys. */
	bool is_key_seam = text_eq(json_get_text(receipt, "effect_id", ""), KEY_EFFECT);
	if (is_chosen(c, receipt))
		note_receipt(c, receipt);
	else if (is_key_seam)
		c->receipts++;
	else
		return OK;
	c->key_seams += is_key_seam;
	char *path = arena_printf(c->a, "receipts/%08llu-%s.json", (unsigned long long)c->clock,
		safe_name(c->a, receipt_id_short(c->a, json_get_text(receipt, "receipt_id", ""))));
	int rc = add_item(c, path, copy_bytes(c->a, text), e);
	if (c->clock <= c->leaves)
		c->settled = c->n;
	return rc;
}

/* Lines that match go along as they stand; lines that are not JSON cannot be judged and are left out. */
static int take_ledger(struct collection *c, int dirfd, const char *name, struct err *e)
{
	AUTO(arena_done) struct arena file = { 0 };
	AUTO(arena_done) struct arena row_arena = { 0 };
	struct bytes rest;
	struct buf kept;
	int rc = file_read(c->sys, &file, dirfd, name, LEDGER_MAX, 0, &rest, e);

	if (rc)
		return rc;
	buf_init(&kept, &file);
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		struct json *row;
		arena_reset(&row_arena);
		if (!line.n || json_parse(&row_arena, line, name, NULL, &row, NULL) || !is_chosen(c, row))
			continue;
		note_time(c, row);
		buf_add(&kept, line.p, line.n);
		buf_addc(&kept, '\n');
	}
	return kept.n ? add_item(c, arena_printf(c->a, "transcripts/%s", name),
				copy_bytes(c->a, buf_bytes(&kept)), e)
		      : OK;
}

/* All ledgers of the workspace, except the files of the chain, which are taken receipt by receipt. */
static int take_ledgers(struct collection *c, int state_fd, struct err *e)
{
	char **names;
	size_t n;
	int rc = file_list(c->sys, c->a, state_fd, ".", &names, &n, e);

	for (size_t i = 0; !rc && i < n; i++)
		if (text_ends(names[i], ".jsonl") && !text_starts(names[i], "receipts") && names[i][0] != '.')
			rc = take_ledger(c, state_fd, names[i], e);
	return rc;
}

/* Keeps the last head that can be read to its end: the newest one signed. */
static int keep_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct collection *c = arg;

	(void)offset;
	(void)line;
	(void)e;
	if (is_whole && json_parse(c->a, text, HEADS, NULL, &c->head, NULL))
		c->head = NULL;
	return OK;
}

/* Head and leaves of the same moment as the receipts.  Leaves are optional: without them a reader cannot
 * check places, and is told so. */
static int take_log(struct collection *c, const struct log_cut *cut, struct err *e)
{
	struct buf b;
	int rc = log_file_lines(cut, &cut->heads, keep_head, c, e);

	if (rc == OK && c->head) {
		buf_init(&b, c->a);
		json_write(&b, c->head, JSON_INDENT | JSON_HTML_SAFE);
		rc = add_item(c, "transparency/head.json", buf_bytes(&b), e);
	}
	if (rc || !c->leaves)
		return rc;
	size_t n = c->leaves * LEAF_TEXT;
	char *text = arena_text(c->a, n + 1);
	rc = log_file_read(cut, &cut->leaves, text, n, 0, e);
	return rc ? rc : add_item(c, "transparency/leaves.txt", (struct bytes){ (uint8_t *)text, n }, e);
}

/* Receipts whose writer has not finished yet have no leaf.  They are left out and come into the next pack.
 * When more receipts lack their leaf than can be on their way, leaves were lost, and nothing is left out
 * for that. */
static void leave_out_unsettled(struct collection *c)
{
	if (c->clock > c->leaves && c->clock - c->leaves <= RECENT_LEAVES && c->settled < c->n) {
		c->receipts -= c->n - c->settled;
		c->n = c->settled;
	}
}

/* Several actors are named as the workspace. */
static const char *actor_did(const struct collection *c)
{
	if (!c->actor || c->has_actors)
		return "did:helm:workspace";
	return text_starts(c->actor, "did:") ? c->actor
					     : arena_printf(c->a, "did:helm:%s", safe_name(c->a, c->actor));
}

/* What was asked for, as the exporter stated it. */
static const char *intent_id(const struct collection *c)
{
	const struct evidence_choice *choice = c->choice;
	const char *since = choice->has_since ? text_time_z(c->a, choice->since_us) : "",
		   *until = choice->has_until ? text_time_z(c->a, choice->until_us) : "";

	if (choice->task)
		return choice->task;
	if (choice->session)
		return choice->session;
	return *since || *until ? arena_printf(c->a, "%s/%s", since, until) : "all";
}

/* The hash of nothing when no receipt names a policy: the member is required. */
static const char *policy_hash(const struct collection *c)
{
	if (!c->policy_hash)
		return sha256_prefixed(c->a, "", 0);
	return text_starts(c->policy_hash, "sha256:") ? c->policy_hash
						      : arena_printf(c->a, "sha256:%s", c->policy_hash);
}

/* Chain, leaves and heads are read as they were at one moment, so that they fit each other while others
 * write.  The log goes along only when there are receipts whose place it could show. */
int evidence_collect(struct sys *s, struct arena *a, int state_fd, const struct evidence_choice *choice,
	struct pack_item **ret_items, size_t *ret_n, struct pack_about *ret_about, struct err *e)
{
	struct collection c = { .sys = s, .a = a, .choice = choice };
	AUTO(log_cut_close)
	struct log_cut cut = { .lock_fd = -1, .leaves = { .fd = -1 }, .heads = { .fd = -1 } };
	int rc;

	if (state_fd < 0)
		return err_set(e, E_MISSING, "PACK_EMPTY", "the workspace has recorded nothing yet");
	if ((rc = log_cut_take(s, a, state_fd, CUT_MOMENT, &cut, e)))
		return rc;
	c.leaves = (uint64_t)cut.leaves.size_bytes / LEAF_TEXT;
	if ((rc = log_cut_receipts(&cut, take_receipt, &c, e)))
		return rc;
	leave_out_unsettled(&c);
	if ((rc = take_ledgers(&c, state_fd, e)))
		return rc;
	if (c.n <= c.key_seams)
		return err_set(e, E_MISSING, "PACK_EMPTY",
			"nothing recorded matches: try --all, or `helm receipts list`");
	if (c.receipts && (rc = take_log(&c, &cut, e)))
		return rc;
	*ret_items = c.items;
	*ret_n = c.n;
	*ret_about = (struct pack_about){ actor_did(&c), intent_id(&c), policy_hash(&c),
		c.newest ? stamp_canonical(a, c.newest, strlen(c.newest), true) : "1970-01-01T00:00:00Z" };
	if (!ret_about->created_at)
		ret_about->created_at = text_time_z(a, c.newest_us);
	return OK;
}

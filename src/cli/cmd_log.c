/* cmd_log.c — log head, prove, consistency, anchor, check, repair: the tamper-evident log over the
 * receipts.
 *
 * Each receipt is a leaf of a Merkle tree. A signed head fixes how many there are and what they say; a
 * proof shows that one receipt is in it, or that an older log is a beginning of this one. What a head
 * cannot show is that receipts behind it were cut off, so heads can be anchored outside the workspace.
 *
 * Repair never makes damage invisible: it takes out what is no receipt, keeps it beside the log, and signs
 * a seam that says so. */
#include "cli/cmd_log.h"
#include "audit/keys.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "kernel/verdict.h"
#include "kernel/workspace.h"
#include "proof/preimage.h"
#include "proof/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const struct opt log_head_opts[] = {
	{ "sign", OPT_FLAG, NULL, "sign the log as it is now", NULL, false },
	{ 0 },
};
const struct opt log_prove_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write to a new file instead of standard output", NULL, false },
	{ 0 },
};
const struct opt log_consistency_opts[] = {
	{ "head", OPT_VALUE, "FILE", "the older tree head, as it was kept", NULL, false },
	{ "out", OPT_VALUE, "FILE", "write to a new file instead of standard output", NULL, false },
	{ 0 },
};
const struct opt log_anchor_opts[] = {
	{ "to", OPT_VALUE, "FILE|refs/...", "a file outside the workspace, or a git reference of it", NULL,
		true },
	{ 0 },
};
const struct opt log_check_opts[] = {
	{ "all", OPT_FLAG, NULL, "read everything, also what was verified before", NULL, false },
	{ "key", OPT_LIST, "KEY", "trust this key instead of your own: 64 hex digits, or a file", NULL,
		false },
	{ "history", OPT_VALUE, "FILE", "a key history that extends this trust", NULL, false },
	{ 0 },
};
const struct opt log_repair_opts[] = {
	CONFIRM_OPTIONS,
	{ 0 },
};

/* The key of this user. */
int cmd_log_key(struct cli *r, struct key **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	return rc ? rc : keys_load(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), ret, e);
}

/* Without a home there is no key directory; the recorder then works without the key history. */
void cmd_log_recorder(struct cli *r, struct recorder *ret, struct key *key)
{
	struct err none = { 0 };
	const char *home;

	recorder_open(ret, r->sys, r->ws->state_fd, key);
	if (workspace_helm_home(r->sys, r->a, &home, &none) == OK)
		ret->keys_dir = path_join(r->a, home, "keys");
}

/* The keys that --key names, or else our own. Signatures are checked on all cores. */
int cmd_log_trust(struct cli *r, bool has_options, struct trust *ret, struct err *e)
{
	const char **keys;
	size_t n = has_options ? opt_list(r, "key", &keys) : 0;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int rc = OK;

	/* Checking signatures is what takes the time. */
	*ret = (struct trust){ .threads = cores > 1 ? (unsigned)cores : 1 };
	if (!n) {
		struct json *problems;
		rc = workspace_trust(r->sys, r->a, r->ws->helm_home, ret, &problems, e);
		json_each (text, problems)
			warn(r, "%s", json_text(text));
		return rc;
	}
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = trust_add_key(r->sys, r->a, keys[i], ret, e);
	const char *history = opt_text(r, "history", NULL);
	return rc || !history ? rc : trust_add_history(r->sys, r->a, history, ret, e);
}

/* How many leaves there are.  The leaf file is derived: leaves that a crash left unwritten are made again from
 * the receipts; where nothing may be written, those that are there have to do. */
static int count_leaves(struct cli *r, uint64_t *ret, struct err *e)
{
	AUTO(recorder_close) struct recorder rec;
	int rc;

	/* Without a key: leaves are not signed. */
	cmd_log_recorder(r, &rec, NULL);
	rc = file_exists(r->sys, r->ws->state_fd, RECEIPTS) ? log_settle(&rec, r->a, e) : OK;
	if (rc == OK || (rc == E_IO && (e->sys == EACCES || e->sys == EROFS || e->sys == EPERM)))
		rc = log_leaf_count(r->sys, r->ws->state_fd, ret, e);
	if (rc == OK && *ret == 0)
		rc = err_set(e, E_MISSING, "LOG_EMPTY", "nothing has been recorded here yet");
	return rc;
}

/* Roots of parts of the log.  Leaves can always be made again from the receipts, so damage to them alone is
 * mended on the way. */
static int read_roots(
	struct cli *r, const struct merkle_range *ranges, size_t n, struct hash *ret, struct err *e)
{
	AUTO(recorder_close) struct recorder rec;
	int rc = log_roots(r->sys, r->ws->state_fd, ranges, n, ret, e);

	cmd_log_recorder(r, &rec, NULL);
	if (rc == E_CORRUPT && text_eq(e->code, "LOG_LEAVES") && (rc = log_refresh(&rec, r->a, e)) == OK)
		rc = log_roots(r->sys, r->ws->state_fd, ranges, n, ret, e);
	return rc;
}

/* A document for somebody else: to a new file, or to standard output. An existing file is not overwritten. */
static int give(struct cli *r, const struct json *doc, const char *said, struct err *e)
{
	const char *to = opt_text(r, "out", NULL);
	struct buf text;

	if (!to) {
		out_json(r, doc);
		return 0;
	}
	buf_init(&text, r->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	int rc = file_create(r->sys, AT_FDCWD, to, 0644, buf_bytes(&text), e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s\nwritten to %s\n", said, to);
	return 0;
}

/* An unsigned root is shown as such: it proves nothing to others. */
static void show_head(struct cli *r, const struct json *head)
{
	if (r->is_json) {
		out_json(r, head);
		return;
	}
	out(r, "tree_size=%lld\nroot_hash=%s\n", (long long)json_get_int(head, "tree_size", 0),
		json_get_text(head, "root_hash", ""));
	if (json_get(head, "signature"))
		out(r, "timestamp=%s\nlog_id=%s\npublic_key=%s\nsignature=%s\n",
			json_get_text(head, "timestamp", ""), json_get_text(head, "log_id", ""),
			json_get_text(head, "public_key", ""), json_get_text(head, "signature", ""));
	else
		out(r, "not signed; 'helm log head --sign' signs it\n");
}

/* Without --sign the last signed head is shown, or the unsigned root when there is none. */
int cmd_log_head(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder rec = { 0 };
	struct json *head = NULL;
	struct hash root;
	uint64_t n = 0;
	int rc;

	if (opt_flag(r, "sign")) {
		rc = cmd_log_key(r, &key, e);
		if (rc)
			return rc;
		cmd_log_recorder(r, &rec, key);
		rc = log_sign_head(&rec, r->a, &head, e);
	} else {
		rc = log_last_head(r->sys, r->a, r->ws->state_fd, &head, e);
		if (rc == OK && !head && (rc = count_leaves(r, &n, e)) == OK &&
			(rc = read_roots(r, &(struct merkle_range){ 0, n }, 1, &root, e)) == OK) {
			head = json_new(r->a, JSON_OBJECT);
			json_seti(r->a, head, "tree_size", (int64_t)n);
			json_sets(r->a, head, "root_hash", hash_hex(r->a, &root));
		}
	}
	if (rc == OK)
		show_head(r, head);
	return rc;
}

/* ---- proofs ---- */

/* What find_receipt() looks for. */
struct wanted {
	const char *word;
	int64_t clock; /* of the receipt found, 0 before */
	const char *id;
	struct arena *a;
};

/* Returns 1 to stop the walk at the first receipt with that id. */
static int find_receipt(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct wanted *w = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!receipt ||
		(!receipt_id_is(json_get_text(receipt, "receipt_id", ""), w->word) &&
			!text_eq(json_get_text(receipt, "decision_id", ""), w->word)))
		return 0;
	w->clock = json_get_int(receipt, "lamport_clock", 0);
	/* The receipt dies with this call, so its id is copied. */
	w->id = arena_strdup(w->a, json_get_text(receipt, "receipt_id", ""));
	return 1;
}

/* A number is an index; anything else the id of a receipt or decision. Clocks count from 1, leaves from 0. */
static int find_index(struct cli *r, const char *word, uint64_t n, uint64_t *ret, struct err *e)
{
	struct wanted w = { .word = word, .a = r->a };
	int64_t index;

	if (text_int(word, &index)) {
		if (index < 0 || (uint64_t)index >= n)
			return err_set(e, E_MISSING, "LOG_INDEX", "the log has leaves 0 to %llu",
				(unsigned long long)n - 1);
		*ret = (uint64_t)index;
		return OK;
	}
	const struct receipts_wanted want = { .text = text_is_plain(word) ? word : NULL };
	int rc = receipts_back(r->sys, r->ws->state_fd, &want, find_receipt, &w, e);
	if (rc)
		return rc;
	/* Not found, or a receipt whose leaf is not there. */
	if (w.clock < 1 || (uint64_t)w.clock > n)
		return err_set(
			e, E_MISSING, "LOG_RECEIPT", "no receipt or decision '%s' in this workspace", word);
	*ret = (uint64_t)w.clock - 1;
	return OK;
}

/* The hashes of a proof, from the leaf upwards. */
static struct json *path_json(struct arena *a, const struct hash *path, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_pushs(a, list, hash_hex(a, &path[i]));
	return list;
}

/* The proof is made in the tree of the newest signed head where that covers the leaf: its root is the one
 * that others have. */
static int choose_size(struct cli *r, uint64_t index, uint64_t *size, struct json **ret_head, struct err *e)
{
	int rc = log_last_head(r->sys, r->a, r->ws->state_fd, ret_head, e);
	uint64_t head_size = rc == OK && *ret_head ? (uint64_t)json_get_int(*ret_head, "tree_size", 0) : 0;

	/* A head over more leaves than there are is no use: the log was cut, and `log check` tells that. */
	if (head_size > index && head_size <= *size)
		*size = head_size;
	else
		*ret_head = NULL;
	return rc;
}

/* Stored leaves are a cache: a proof must lead to the root that was signed.  If it does not, they are made again once. */
static int roots_of_head(struct cli *r, const struct json *head, const struct merkle_range *ranges, size_t n,
	struct hash *ret, struct err *e)
{
	AUTO(recorder_close) struct recorder rec = { 0 };
	const char *signed_root = json_get_text(head, "root_hash", NULL);
	int rc = read_roots(r, ranges, n, ret, e);

	if (rc || !signed_root || text_eq(hash_hex(r->a, &ret[n - 1]), signed_root))
		return rc;
	cmd_log_recorder(r, &rec, NULL);
	rc = log_refresh(&rec, r->a, e);
	if (rc == OK)
		rc = read_roots(r, ranges, n, ret, e);
	if (rc == OK && !text_eq(hash_hex(r->a, &ret[n - 1]), signed_root))
		rc = err_set(e, E_CORRUPT, "LOG_LEAVES",
			"the leaves do not have the root that was signed, so nothing can be proved with them; 'helm log check' says why");
	return rc;
}

/* A receipt in a file that was moved away: where that is now. */
static int name_archive(struct cli *r, struct json *doc, uint64_t clock, struct err *e)
{
	AUTO(log_cut_close)
	struct log_cut cut = { .lock_fd = -1, .leaves = { .fd = -1 }, .heads = { .fd = -1 } };
	int rc = log_cut_take(r->sys, r->a, r->ws->state_fd, CUT_MOMENT, &cut, e);

	for (size_t i = 0; rc == OK && i < cut.n; i++) {
		const struct json *row = cut.chain[i].moved
			? segment_moved(r->a, cut.chain[i].moved, cut.chain[i].name)
			: NULL;
		if (!row || (uint64_t)json_get_int(row, "first", 0) > clock ||
			(uint64_t)json_get_int(row, "last", 0) < clock)
			continue;
		struct json *at = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, at, "file", cut.chain[i].name);
		json_sets(r->a, at, "to", cut.chain[i].moved_to ? cut.chain[i].moved_to : "");
		json_sets(r->a, at, "sha256", json_get_text(row, "sha256", ""));
		json_setb(r->a, at, "readable", cut.chain[i].fd >= 0);
		json_set(r->a, doc, "archived", at);
		if (!r->is_json && opt_text(r, "out", NULL))
			out(r, "The receipt is archived: %s at %s.\n", cut.chain[i].name,
				json_get_text(at, "to", "?"));
	}
	return rc;
}

/* The head goes into the document when the proof belongs to it. */
int cmd_log_prove(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *head;
	struct merkle_range ranges[MERKLE_MAX_PATH + 2];
	struct hash path[MERKLE_MAX_PATH + 2];
	uint64_t n = 0, index = 0;
	int rc = count_leaves(r, &n, e);

	if (rc == OK)
		rc = find_index(r, r->args[0], n, &index, e);
	if (rc == OK)
		rc = choose_size(r, index, &n, &head, e);
	if (rc)
		return rc;
	/* The path, then the leaf itself, then the root. */
	size_t steps = merkle_inclusion_ranges(n, index, ranges);
	ranges[steps] = (struct merkle_range){ index, 1 };
	ranges[steps + 1] = (struct merkle_range){ 0, n };
	rc = roots_of_head(r, head, ranges, steps + 2, path, e);
	if (rc)
		return rc;
	json_seti(r->a, doc, "leaf_index", (int64_t)index);
	json_seti(r->a, doc, "tree_size", (int64_t)n);
	json_sets(r->a, doc, "leaf_hash", hash_hex(r->a, &path[steps]));
	json_sets(r->a, doc, "root_hash", hash_hex(r->a, &path[steps + 1]));
	json_set(r->a, doc, "audit_path", path_json(r->a, path, steps));
	if (head)
		json_set(r->a, doc, "tree_head", head);
	rc = name_archive(r, doc, index + 1, e);
	return rc ? rc
		  : give(r, doc, "The receipt is in the log; check with: helm verify FILE --root ROOT", e);
}

/* The size of the older log, and its root when a kept head was given. */
static int old_size(struct cli *r, uint64_t *ret, const char **ret_root, struct err *e)
{
	const char *file = opt_text(r, "head", NULL);
	struct json *head;
	int64_t size;

	*ret_root = NULL;
	if ((file != NULL) == (r->arg_count == 1))
		return err_set(e, E_USAGE, "USAGE_OLD", "name the older log: its size, or --head FILE");
	if (!file) {
		if (!text_int(r->args[0], &size) || size < 1)
			return err_set(e, E_USAGE, "USAGE_SIZE", "'%s' is not a size", r->args[0]);
		*ret = (uint64_t)size;
		return OK;
	}
	int rc = log_anchor_read(r->sys, r->a, r->ws->root_fd, file, &head, e);
	if (rc)
		return rc;
	*ret = (uint64_t)json_get_int(head, "tree_size", 0);
	*ret_root = json_get_text(head, "root_hash", "");
	return OK;
}

/* A log that is shorter than the older one has lost receipts. One with another root at that size shows
 * different people different logs. Both are errors, not proofs. */
int cmd_log_consistency(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct merkle_range ranges[MERKLE_MAX_PATH + 2];
	struct hash path[MERKLE_MAX_PATH + 2], old_root, new_root;
	const char *claimed;
	uint64_t n = 0, old = 0;
	int rc = old_size(r, &old, &claimed, e);

	if (rc == OK)
		rc = count_leaves(r, &n, e);
	if (rc)
		return rc;
	if (old < 1 || old > n)
		return err_set(e, E_CORRUPT, "LOG_SHORTER",
			"this log has %llu receipts and cannot continue one of %llu: receipts are lost",
			(unsigned long long)n, (unsigned long long)old);
	/* Both roots are computed from our own leaves; the claimed one is only compared. */
	size_t steps = merkle_consistency_ranges(n, old, ranges);
	ranges[steps] = (struct merkle_range){ 0, old };
	ranges[steps + 1] = (struct merkle_range){ 0, n };
	rc = read_roots(r, ranges, steps + 2, path, e);
	if (rc)
		return rc;
	old_root = path[steps];
	new_root = path[steps + 1];
	if (claimed && !text_eq(claimed, hash_hex(r->a, &old_root)))
		return err_set(e, E_CORRUPT, "LOG_SPLIT",
			"the first %llu receipts of this log are not those of that head (split view): "
			"expected root %s, "
			"found %s",
			(unsigned long long)old, claimed, hash_hex(r->a, &old_root));
	json_seti(r->a, doc, "old_size", (int64_t)old);
	json_seti(r->a, doc, "new_size", (int64_t)n);
	json_sets(r->a, doc, "old_root", hash_hex(r->a, &old_root));
	json_sets(r->a, doc, "new_root", hash_hex(r->a, &new_root));
	json_set(r->a, doc, "consistency_path", path_json(r->a, path, steps));
	return give(r, doc, "The older log is a beginning of this one.", e);
}

/* An anchor inside the state directory is refused: whoever changes the log could change the anchor, too. */
int cmd_log_anchor(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder rec = { 0 };
	const char *to = opt_text(r, "to", "");
	char cwd[4096];
	struct json *head;
	int rc = cmd_log_key(r, &key, e);

	if (rc)
		return rc;
	if (!text_starts(to, "refs/")) {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_sys(e, "ANCHOR_PATH", "cannot tell the current directory");
		to = path_clean(r->a, path_join(r->a, cwd, to));
		/* The path is cleaned first, so that ".." cannot lead back inside. */
		if (path_is_below(to, r->ws->state_dir))
			return err_set(e, E_INPUT, "ANCHOR_INSIDE",
				"'%s' is inside the workspace's state: whoever changes the log could change "
				"it too",
				to);
	}
	cmd_log_recorder(r, &rec, key);
	rc = log_anchor(&rec, r->a, r->ws->root_fd, to, &head, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, head);
	else
		out(r, "%lld receipts anchored at %s\nroot_hash=%s\n",
			(long long)json_get_int(head, "tree_size", 0), to,
			json_get_text(head, "root_hash", ""));
	return 0;
}

/* ---- check and repair ---- */

/* Progress is shown in MiB. */
static void step(void *arg, uint64_t done, uint64_t total)
{
	struct progress *p = arg;

	p->total = total >> 20;
	progress_step(p, done >> 20);
}

/* Where, what, and what was expected; a notice is no damage. */
static void show_finding(struct cli *r, const struct json *f)
{
	const char *severity = json_get_text(f, "severity", "");
	bool is_notice = text_eq(severity, "notice");

	out(r, "%s%s%s  ", paint(r, is_notice ? PAINT_WARN : PAINT_BAD),
		is_notice				? "note  "
			: text_eq(severity, "damage")	? "DAMAGE"
			: text_eq(severity, "rows")	? "CHANGED"
			: text_eq(severity, "keys")	? "KEYS  "
			: text_eq(severity, "settings") ? "SETTINGS"
							: "UNTRUSTED",
		paint(r, PAINT_OFF));
	if (json_get(f, "receipt"))
		out(r, "receipt %lld (%s line %lld): ", (long long)json_get_int(f, "receipt", 0),
			json_get_text(f, "file", ""), (long long)json_get_int(f, "line", 0));
	out(r, "%s\n",
		text_safe(r->a, json_get_text(f, "text", ""), strlen(json_get_text(f, "text", "")), false));
	if (json_get(f, "expected") || json_get(f, "found"))
		out(r, "        %s: expected %s, found %s\n", json_get_text(f, "member", ""),
			json_get_text(f, "expected", "?"), json_get_text(f, "found", "nothing"));
}

/* A notice that nothing repairs says all there is to know. */
static bool has_remedy(const struct json *f)
{
	return *json_get_text(f, "remedy", "") &&
		!(text_eq(json_get_text(f, "severity", ""), "notice") &&
			text_eq(json_get_text(f, "repair", ""), "none"));
}

/* What to do about them, each remedy once, in the order in which they were shown. */
static void show_remedies(struct cli *r, const struct json *findings)
{
	const uint32_t n = findings ? findings->n : 0;

	for (uint32_t i = 0; i < n; i++) {
		const char *remedy = json_get_text(findings->items[i], "remedy", "");
		bool is_known = !has_remedy(findings->items[i]);
		for (uint32_t k = 0; !is_known && k < i; k++)
			is_known = text_eq(json_get_text(findings->items[k], "remedy", ""), remedy);
		if (!is_known)
			out(r, "next: %s\n", remedy);
	}
}

/* The verdict last, where the eye stops; with what the check could not see. */
static void show_report(struct cli *r, const struct log_report *report)
{
	const struct json *doc = report->doc;

	json_each (f, json_get(doc, "findings"))
		show_finding(r, f);
	if (!json_get(doc, "root_hash")) {
		out(r, "%sNOT SOUND%s  nothing else was looked at\n", paint(r, PAINT_BAD),
			paint(r, PAINT_OFF));
		show_remedies(r, json_get(doc, "findings"));
		return;
	}
	const uint32_t files = json_get(doc, "files")->n, anchors = json_get(doc, "anchors")->n;
	const long long heads = json_get_int(doc, "heads", 0);
	out(r, "%s%s%s  %llu receipt%s in %u file%s, %lld signed head%s, %u anchor%s\n",
		paint(r, report->is_sound ? PAINT_GOOD : PAINT_BAD),
		report->is_sound ? "sound " : "NOT SOUND", paint(r, PAINT_OFF),
		(unsigned long long)report->receipts, report->receipts == 1 ? "" : "s", files,
		files == 1 ? "" : "s", heads, heads == 1 ? "" : "s", anchors, anchors == 1 ? "" : "s");
	if (report->before)
		out(r, "        %llu receipts were verified on %s, %llu now; --all reads everything\n",
			(unsigned long long)report->receipts_before, report->before,
			(unsigned long long)(report->receipts - report->receipts_before));
	if (json_get_int(json_get(doc, "rows"), "since_receipt", 1) > 1)
		out(r, "        rows of the ledgers were compared from receipt %lld on; --all compares all\n",
			(long long)json_get_int(json_get(doc, "rows"), "since_receipt", 1));
	if (report->archived)
		out(r, "        archived, and not looked at: %s\n",
			text_count(r->a, (int64_t)report->archived, "receipt"));
	out(r, "        root of the log: %s\n", json_get_text(doc, "root_hash", ""));
	if (report->is_sound && json_get(doc, "anchors")->n == 0)
		out(r,
			"        a tail cut off since the last signed head is found only with a head kept "
			"elsewhere: helm "
			"log anchor --to FILE\n");
	show_remedies(r, json_get(doc, "findings"));
}

/* With --key the question is what somebody else would find: only the keys given count, and nothing is kept. */
static int check_for_others(struct cli *r, struct progress *p, struct record_verdict *ret, struct err *e)
{
	struct log_check_options options = {
		.root_fd = r->ws->root_fd, .all = opt_flag(r, "all"), .step = step, .arg = p
	};
	struct audit_place at = workspace_audit_place(r->a, r->ws);
	struct trust trust;
	int rc = cmd_log_trust(r, true, &trust, e);

	return rc ? rc : audit_verdict(r->sys, r->a, &at, &trust, &options, ret, e);
}

int cmd_log_check(struct cli *r, struct err *e)
{
	struct progress p;
	struct verdict_ask ask = { .is_now = true, .all = opt_flag(r, "all"), .step = step, .arg = &p };
	struct record_verdict v;
	const char **keys;

	progress_begin(&p, r, "checking MiB", 0);
	int rc = opt_list(r, "key", &keys) ? check_for_others(r, &p, &v, e)
					   : workspace_verdict(r->sys, r->a, r->ws, &ask, &v, e);
	progress_end(&p);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, v.report.doc);
	else
		show_report(r, &v.report);
	return v.is_sound ? 0 : EXIT_NO;
}

/* What a repair would do, before anything is done. */
static void show_plan(struct cli *r, const struct log_report *report, const struct log_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		out(r,
			"would take %zu %s out of %s and keep them beside it; every receipt that verifies "
			"stays\n",
			plan->files[i].out_n, plan->files[i].out_n == 1 ? "place" : "places",
			plan->files[i].file);
	if (plan->drops_heads)
		out(r, "would put the signed heads aside: they speak of receipts that are not there\n");
	if (plan->heads_lost)
		out(r, "would put on record that %s %s lost, and sign a new one\n",
			text_count(r->a, (int64_t)plan->heads_lost, "signed head"),
			plan->heads_lost == 1 ? "is" : "are");
	if (plan->drops_anchors)
		out(r, "would put log/anchors.json aside; 'helm log anchor --to PLACE' begins a new one\n");
	for (size_t i = 0; i < plan->ledger_n; i++)
		if (plan->ledgers[i].is_gone)
			out(r, "would put %s aside: nothing of it can be read\n", plan->ledgers[i].file.name);
		else
			out(r,
				"would keep a copy of %s beside it, and take out or put in order %s; every other entry "
				"stays at its place\n",
				plan->ledgers[i].file.name,
				text_count(r->a, (int64_t)plan->ledgers[i].rows, "entry"));
	if (plan->lost)
		out(r, "would name what is lost: %s, %s of notes, %s\n",
			text_count(r->a, json_get_int(plan->lost, "row_count", 0), "ledger entry"),
			text_count(r->a, json_get_int(plan->lost, "note_count", 0), "range"),
			text_count(r->a,
				json_get(plan->lost, "pieces") ? json_get(plan->lost, "pieces")->n : 0,
				"piece"));
	if (report->is_damaged && report->has_row_damage)
		out(r, "would then do the same for the ledgers, by what the repaired chain says of them\n");
	out(r, "would sign a seam at the end of the chain that says so\n");
}

/* Names where the bytes that were taken out are kept. */
static void show_kept(struct cli *r, const struct json *rows, const char *what)
{
	json_each (row, rows)
		if (json_get(row, "kept_as"))
			out(r, "%s %s/%s\n", what, r->ws->state_dir, json_get_text(row, "kept_as", ""));
}

/* The digests of the first ones; all of them are named in the receipt. */
static void show_lost(struct cli *r, const struct json *lost)
{
	enum { SHOWN = 10 };
	const struct json *digests = json_get(lost, "digests");

	for (uint32_t i = 0; digests && i < digests->n && i < SHOWN; i++) {
		const char *task = json_get_text(digests->items[i], "task_id", "");
		out(r, "lost: a ledger entry of receipt %lld%s%s, sha256 %s\n",
			(long long)json_get_int(digests->items[i], "receipt", 0), *task ? ", task " : "",
			text_safe(r->a, task, strlen(task), false),
			json_get_text(digests->items[i], "sha256", ""));
	}
	if (json_get_int(lost, "row_count", 0) > SHOWN)
		out(r, "lost: %s in all; the receipt names each\n",
			text_count(r->a, json_get_int(lost, "row_count", 0), "ledger entry"));
	if (json_get_int(lost, "note_count", 0))
		out(r, "lost: %s of notes; the receipt names each\n",
			text_count(r->a, json_get_int(lost, "note_count", 0), "range"));
	json_each (p, json_get(lost, "pieces"))
		out(r, "lost: the piece %s as it was sealed\n", json_get_text(p, "segment", ""));
}

static void show_repaired(struct cli *r, const struct json *seam)
{
	const struct json *about = json_get(seam, "metadata");

	out(r, "repaired: receipt %lld records the damage (%s)\n",
		(long long)json_get_int(seam, "lamport_clock", 0), json_get_text(about, "why", ""));
	show_kept(r, json_get(about, "files"), "what was taken out is kept as");
	show_kept(r, json_get(about, "ledgers"), "what was there is kept as");
	show_lost(r, json_get(about, "lost"));
	const char *mark = json_get_text(about, "mark", "");
	if (json_get(about, "heads_sha256"))
		out(r, "the signed heads are kept as %s/" HEADS ".before-%s\n", r->ws->state_dir, mark);
	if (json_get(about, "heads_lost"))
		out(r, "lost: %s; a new one was signed\n",
			text_count(r->a, json_get_int(about, "heads_lost", 0), "signed head"));
	if (json_get_bool(about, "drops_anchors", false))
		out(r, "the anchors are kept as %s/" ANCHORS ".before-%s\n", r->ws->state_dir, mark);
}

/* Without --yes only the plan is shown, and the exit code says that something is to be done. */
/* Copying what changes takes seconds; where signed heads do not fit, the chain is followed under the lock, some 30 us for each receipt. */
static void warn_of_waiting(struct cli *r)
{
	uint64_t n;

	if (log_leaf_count(r->sys, r->ws->state_fd, &n, &(struct err){ 0 }) == OK && n > 100000)
		warn(r,
			"%llu receipts: while damage is taken out, at the end, nothing can be recorded and calls of agents wait or are refused: "
			"some seconds, or about %llu s when signed heads do not fit either",
			(unsigned long long)n, (unsigned long long)n / 30000);
}

/* The seam; two when both the chain and ledgers were repaired; what was found when nothing was signed. */
static const struct json *done_json(struct cli *r, const struct log_repaired *done)
{
	struct json *doc;

	if (!done->seam || !done->rows_seam)
		return done->seam ? done->seam : done->rows_seam ? done->rows_seam : done->report.doc;
	doc = json_new(r->a, JSON_OBJECT);
	struct json *list = json_new(r->a, JSON_ARRAY);
	json_push(r->a, list, done->seam);
	json_push(r->a, list, done->rows_seam);
	json_set(r->a, doc, "repairs", list);
	return doc;
}

static void show_done(struct cli *r, const struct log_repaired *done)
{
	if (done->seam)
		show_repaired(r, done->seam);
	if (done->rows_seam)
		show_repaired(r, done->rows_seam);
	if (!done->seam && !done->rows_seam)
		out(r, "the leaves of the log were made again from the receipts; no receipt was touched\n");
}

/* Which receipts are ours is known by the key history.  While that is damaged, what older keys have signed looks like somebody else's, and a
 * repair would take it out. */
static int keys_are_known(struct cli *r, struct err *e)
{
	struct log_report keys = audit_report_new(r->a);
	int rc = r->ws->helm_home ? audit_keys(r->sys, r->a, r->ws->helm_home, &keys, e) : OK;
	const struct json *first = rc ? NULL : json_at(json_get(keys.doc, "findings"), 0);

	if (rc || !first)
		return rc;
	return err_set(e, E_CORRUPT, "LOG_KEYS",
		"%s; without it a repair would take out receipts of earlier keys. First: %s",
		json_get_text(first, "text", ""), json_get_text(first, "remedy", "helm key repair --yes"));
}

/* Before anything else: nothing is read through a directory or a link. */
static int put_wrong_kinds_aside(struct cli *r, bool apply, uint32_t *ret_n, struct err *e)
{
	const struct json *found = audit_wrong_kinds(r->sys, r->a, r->ws->state_fd);
	struct json *moved = NULL;

	*ret_n = found->n;
	if (!apply) {
		json_each_member (f, found)
			out(r,
				"would put %s aside, which is %s and must be a file; what is lost then is told by "
				"the repair\n",
				f->name, json_text(f->value));
		return OK;
	}
	int rc = audit_put_wrong_kinds_aside(r->sys, r->a, r->ws->state_fd, found, &moved, e);
	if (rc == OK && !r->is_json)
		json_each_member (f, moved)
			out(r, "put aside, because it is no file: %s/%s\n", r->ws->state_dir,
				json_text(f->value));
	return rc;
}

static int repair(struct cli *r, bool is_dry, bool *ret_has_work, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder rec = { 0 };
	const bool apply = !is_dry;
	uint32_t aside;
	struct log_repaired done;
	struct progress p;
	struct trust trust;
	struct log_check_options options = { .root_fd = r->ws->root_fd,
		.verified = workspace_verified_file(r->a, r->ws),
		.all = true,
		.step = step,
		.arg = &p };
	int rc = keys_are_known(r, e);

	if (rc == OK)
		rc = cmd_log_trust(r, false, &trust, e);
	if (rc == OK)
		rc = cmd_log_key(r, &key, e);
	if (rc)
		return rc;
	rc = put_wrong_kinds_aside(r, apply, &aside, e);
	*ret_has_work = aside > 0;
	if (rc || (aside && !apply))
		return rc;
	cmd_log_recorder(r, &rec, key);
	if (apply)
		warn_of_waiting(r);
	progress_begin(&p, r, "checking MiB", 0);
	rc = audit_repair(&rec, r->a, &trust, &options, apply, &done, e);
	progress_end(&p);
	if (rc)
		return rc;
	/* A repair of a sound log would put a seam where none belongs. */
	const bool has_work =
		done.report.is_damaged || done.report.has_wrong_leaves || done.report.has_row_damage;
	if (!has_work && aside && !r->is_json) {
		out(r, "nothing else was damaged\n");
		return 0;
	}
	if (!has_work && !aside && posture_of(r->sys, r->ws)->broken)
		return err_set(e, E_INPUT, "LOG_SOUND",
			"there is nothing to repair in the chain and the ledgers; the settings of this place are damaged: %s",
			freeze_remedy(r->sys, r->ws));
	if (!has_work && !aside)
		return err_set(e, E_INPUT, "LOG_SOUND",
			done.report.is_sound
				? "there is nothing to repair: 'helm log check' finds no damage"
				: "there is nothing to repair: nothing is damaged, but not all of it is signed by keys that "
				  "count here; 'helm log check' names them, and a person adds one with 'helm key trust add KEY'");
	if (r->is_json)
		out_json(r, done_json(r, &done));
	else if (apply)
		show_done(r, &done);
	else {
		show_report(r, &done.report);
		if (done.report.is_damaged || done.report.has_row_damage)
			show_plan(r, &done.report, &done.plan);
		else
			out(r,
				"would make the leaves of the log again from the receipts; no receipt is touched, and nothing is "
				"signed\n");
	}
	*ret_has_work = true;
	return 0;
}

int cmd_log_repair(struct cli *r, struct err *e)
{
	return confirm_and_do(r, repair, "repair it?", e);
}

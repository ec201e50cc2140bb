/* cmd_verify.c — helm verify: what a file proves, in separate answers, and where it breaks first.
 *
 * Works on any machine, without a workspace. Whether the file is unchanged, whether a trusted key signed
 * it, and whether it is complete are three answers that are never merged. Trust comes only from what the
 * caller names; keys inside the file prove nothing but that it agrees with itself. */
#include "audit/audit.h"
#include "base/file.h"
#include "cli/cmd.h"
#include "proof/tlog_policy.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <unistd.h>

const struct opt verify_opts[] = {
	{ "key", OPT_LIST, "KEY", "a public key you trust: 64 hex digits, or a file with them", NULL, false },
	{ "trust", OPT_VALUE, "FILE", "a file of trusted keys (JSON)", NULL, false },
	{ "history", OPT_VALUE, "FILE", "a key history: trust its other keys too, each for its time", NULL,
		false },
	{ "root", OPT_VALUE, "HASH", "a root you have from elsewhere, for proofs", NULL, false },
	{ "proof", OPT_VALUE, "FILE", "FILE is the content of one entry of a pack; this proves that it is",
		NULL, false },
	{ "entry", OPT_VALUE, "PATH", "with --proof: the entry it must be about", NULL, false },
	{ "old-root", OPT_VALUE, "HASH", "the older root, for consistency proofs", NULL, false },
	{ "log-key", OPT_VALUE, "KEY", "of a fleet pack: the key of its log, ORIGIN+ID+BASE64", NULL, false },
	{ "witness-key", OPT_LIST, "KEY", "and of a witness that must have cosigned", NULL, false },
	{ "policy", OPT_VALUE, "FILE", "or logs, witnesses and a quorum in a file (c2sp.org/tlog-policy)",
		NULL, false },
	{ "control-key", OPT_VALUE, "KEY", "and the key that signs its orders", NULL, false },
	{ "allow-legacy", OPT_FLAG, NULL, "accept records without a version tag, marked as legacy", NULL,
		false },
	{ "allow-self-attested", OPT_FLAG, NULL,
		"check under keys the file carries: internal consistency only", NULL, false },
	{ 0 },
};

/* Longer chains are not read into memory. */
enum { LARGE_BYTES = VERIFY_PIECE };

/* A chain of millions of receipts is a file of some gigabytes. */
static const size_t MAX_FILE_BYTES = (size_t)4 << 30;

/* A key that cannot be read is wrong usage: verifying with fewer keys than were given would mislead. */
static int read_trust(struct cli *r, struct trust *ret, struct err *e)
{
	const char *file = opt_text(r, "trust", NULL), **words;
	size_t n = opt_list(r, "key", &words);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*ret = (struct trust){ .allow_legacy = opt_flag(r, "allow-legacy"),
		.allow_self_attested = opt_flag(r, "allow-self-attested"),
		.root = opt_text(r, "root", NULL),
		.old_root = opt_text(r, "old-root", NULL),
		.threads = cores > 1 ? (unsigned)cores : 1 };
	for (size_t i = 0; i < n; i++)
		if (trust_add_key(r->sys, r->a, words[i], ret, e))
			return e->rc = E_USAGE;
	int rc = file ? trust_add_file(r->sys, r->a, file, ret, e) : OK;
	const char *history = opt_text(r, "history", NULL);
	return rc || !history ? rc : trust_add_history(r->sys, r->a, history, ret, e);
}

/* ---- packs of a fleet ---- */

static int read_note_key(
	struct cli *r, const char *text, const char *option, struct note_key *ret, struct err *e)
{
	return note_key_parse(r->a, bytes_of(text), option, ret, e) ? (int)(e->rc = E_USAGE) : OK;
}

/* What the caller trusts of a fleet; nothing when no option says so. */
static int read_fleet_trust(struct cli *r, struct fleet_trust *ret, struct err *e)
{
	const char *log = opt_text(r, "log-key", NULL), *file = opt_text(r, "policy", NULL),
		   *control = opt_text(r, "control-key", NULL), **words;
	size_t n = opt_list(r, "witness-key", &words);
	struct note_key log_key, *witnesses = arena_zalloc(r->a, n + 1, sizeof(*witnesses)),
				 *control_key = arena_zalloc(r->a, 1, sizeof(*control_key));
	struct tlog_policy *policy = arena_zalloc(r->a, 1, sizeof(*policy));
	struct bytes text;
	int rc = OK;

	*ret = (struct fleet_trust){ 0 };
	if ((file && (log || n)) || (n && !log) || n > TLOG_POLICY_MOST)
		return err_set(e, E_USAGE, "USAGE",
			"give --log-key, with or without --witness-key, or --policy instead of both");
	for (size_t i = 0; rc == OK && i < n; i++) {
		rc = read_note_key(r, words[i], "--witness-key", &witnesses[i], e);
		if (rc == OK && witnesses[i].type != NOTE_COSIGNATURE)
			rc = err_set(e, E_USAGE, "USAGE", "--witness-key takes the key of a witness");
	}
	if (rc == OK && log) {
		rc = read_note_key(r, log, "--log-key", &log_key, e);
		if (rc == OK)
			*policy = tlog_policy_of(r->a, &log_key, witnesses, n);
	}
	if (rc == OK && file)
		rc = file_read(r->sys, r->a, AT_FDCWD, file, TLOG_POLICY_LIMIT, FILE_FOLLOW, &text, e);
	if (rc == OK && file)
		rc = tlog_policy_parse(r->a, text, file, policy, e);
	if (rc == OK && control)
		rc = read_note_key(r, control, "--control-key", control_key, e);
	ret->policy = log || file ? policy : NULL;
	ret->control = control ? control_key : NULL;
	return rc;
}

/* Told by its first name.  False: it is something else. */
static bool verify_fleet_file(
	struct cli *r, const char *name, struct verification *v, int *ret_rc, struct err *e)
{
	AUTO(close_fd) int fd = r->sys->open(r->sys, AT_FDCWD, name, O_RDONLY | O_NONBLOCK, 0, 0);
	struct stream_fd in;
	struct fleet_trust given;
	uint8_t start[512];
	ssize_t n = fd < 0 ? -1 : r->sys->pread(r->sys, fd, start, sizeof(start), 0);

	if (n < 0 || !verify_fleet_is_one((struct bytes){ start, (size_t)n }))
		return false;
	*ret_rc = read_fleet_trust(r, &given, e);
	if (*ret_rc == OK)
		verify_fleet(v, stream_from_fd(&in, r->sys, fd, name), &given);
	return true;
}

/* Told by content and not by name: gzip's first bytes, or tar's mark. */
static bool is_archive(struct bytes text)
{
	return (text.n > 2 && text.p[0] == 0x1f && text.p[1] == 0x8b) ||
		(text.n > 262 && memcmp(text.p + 257, "ustar", 5) == 0);
}

/* -1: it cannot be read. */
static int is_archive_file(struct cli *r, const char *name)
{
	AUTO(close_fd) int fd = r->sys->open(r->sys, AT_FDCWD, name, O_RDONLY | O_NONBLOCK, 0, 0);
	uint8_t start[512];
	ssize_t n = fd < 0 ? -1 : r->sys->pread(r->sys, fd, start, sizeof(start), 0);

	return n < 0 ? -1 : is_archive((struct bytes){ start, (size_t)n });
}

/* Told from its names alone, so that no link or device in some other directory is taken for damage. */
static bool is_pack_directory(struct cli *r, struct arena *a, const char *name)
{
	char **names = NULL;
	size_t n = 0;

	if (file_list(r->sys, a, AT_FDCWD, name, &names, &n, NULL))
		return true; /* that it cannot be read is said by who reads it */
	for (size_t i = 0; i < n; i++)
		if (verify_pack_name(names[i]))
			return true;
	return false;
}

bool may_be_pack(struct cli *r, struct arena *a, const char *name)
{
	if (file_is_dir(r->sys, AT_FDCWD, name))
		return is_pack_directory(r, a, name);
	return is_archive_file(r, name) != 0;
}

/* An archive that cannot be read is damaged evidence, not an error of usage. */
static void verify_packed(struct cli *r, struct arena *a, const char *name, struct verification *v)
{
	struct err why = { 0 };
	struct pack p = { 0 };

	if (verify_pack_open(
		    r->sys, a, AT_FDCWD, name, &(struct pack_reading){ .trust = v->trust }, &p, &why))
		verify_pack_unreadable(v, &why);
	else if (!verify_pack_is_one(&p))
		verify_no_record(v);
	else
		verify_pack(v, &p);
}

/* The head file beside an audit log; NULL when there is none that can be read. */
static const struct json *side_head(struct cli *r, struct arena *a, const char *name)
{
	char *path = arena_printf(a, "%s.head", name);
	struct json *head = NULL;
	struct bytes text;

	if (file_read(r->sys, a, AT_FDCWD, path, 65536, FILE_FOLLOW, &text, NULL) ||
		json_parse(a, text, path, NULL, &head, NULL))
		return NULL;
	return head;
}

/* Does this large file begin like a chain of a workspace?  Then it need not be read into memory. */
static bool is_long_chain(struct cli *r, int fd)
{
	static const char start[] = "{\"args_hash\":\"";
	char text[sizeof(start)];
	struct stat st;

	return fd >= 0 && r->sys->stat(r->sys, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) &&
		st.st_size > LARGE_BYTES &&
		r->sys->pread(r->sys, fd, text, sizeof(start) - 1, 0) == (ssize_t)sizeof(start) - 1 &&
		memcmp(text, start, sizeof(start) - 1) == 0;
}

/* What kind of file it is decides how it is verified; a file that is none of ours is said to be no record. */
static int verify_file(struct cli *r, struct arena *a, const char *name, struct trust *trust,
	struct verification *v, struct err *e)
{
	struct bytes text;

	verification_begin(v, a, trust, "evidence pack");
	if (file_is_dir(r->sys, AT_FDCWD, name)) {
		if (is_pack_directory(r, a, name))
			verify_packed(r, a, name, v);
		else
			verify_no_record(v);
		return OK;
	}
	int rc = OK;
	if (verify_fleet_file(r, name, v, &rc, e))
		return rc;
	if (is_archive_file(r, name) == 1) { /* never read into memory as a whole */
		verify_packed(r, a, name, v);
		return OK;
	}
	AUTO(close_fd) int fd = r->sys->open(r->sys, AT_FDCWD, name, O_RDONLY | O_NONBLOCK, 0, 0);
	if (is_long_chain(r, fd) && verify_receipt_file(v, r->sys, fd, name, VERIFY_PIECE, &rc, e))
		return rc;
	verification_begin(v, a, trust, "evidence pack");
	if (file_read(r->sys, a, AT_FDCWD, name, MAX_FILE_BYTES, FILE_FOLLOW, &text, e))
		return e->rc;
	/* Read for every file: whether it is needed is known only when the kind of the file is. */
	trust->side_head = side_head(r, a, name);
	verify_document(v, text, name);
	return OK;
}

/* One entry of a pack, shown without the others, against its proof. */
static int verify_shown(struct cli *r, struct arena *a, const char *name, struct trust *trust,
	struct verification *v, struct err *e)
{
	const char *proof_name = opt_text(r, "proof", NULL);
	struct bytes content, text;
	struct json *proof;

	verification_begin(v, a, trust, "inclusion proof");
	if (file_read(r->sys, a, AT_FDCWD, name, MAX_FILE_BYTES, FILE_FOLLOW, &content, e) ||
		file_read(r->sys, a, AT_FDCWD, proof_name, (size_t)1 << 20, FILE_FOLLOW, &text, e) ||
		json_parse(a, text, proof_name, NULL, &proof, e))
		return e->rc;
	verify_pack_entry(v, proof, trust->root, opt_text(r, "entry", NULL), &content);
	return OK;
}

static const char *shown(struct cli *r, const char *s)
{
	return s ? text_safe(r->a, s, strlen(s), false) : "";
}

/* The first thing that broke, as exactly as it is known. */
static void show_broken(struct cli *r, const struct verification *v)
{
	if (v->error)
		out(r, "  reason      %s (%s)\n", shown(r, v->text), shown(r, v->error));
	if (v->record)
		out(r, "  record      %s\n", shown(r, v->record));
	if (v->member)
		out(r, "  member      %s\n", shown(r, v->member));
	if (v->expected)
		out(r, "  expected    %s\n", shown(r, v->expected));
	if (v->found)
		out(r, "  found       %s\n", shown(r, v->found));
}

/* The headline first, then the three answers, then the first break and every check. */
static void show(struct cli *r, const char *name, const struct verification *v)
{
	static const char *const words[] = { "ok", "FAIL", "-" };
	TABLE_COVERS(words, CHECK_STATUSES);
	static const enum paint paints[] = { PAINT_BAD, PAINT_WARN, PAINT_GOOD, PAINT_BAD, PAINT_WARN };
	TABLE_COVERS(paints, HEADLINE_COUNT);
	enum headline h = verification_headline(v);

	if (h == HEADLINE_NO_RECORD) {
		out(r, "%s%s%s  %s: %s\n", paint(r, paints[h]), headline_name(h), paint(r, PAINT_OFF),
			shown(r, name), v->text);
		return;
	}
	out(r, "%s%s%s  %s (%s)\n", paint(r, paints[h]), headline_name(h), paint(r, PAINT_OFF),
		shown(r, name), v->kind);
	out(r, "  unchanged   %s\n", answer_name(v->integrity));
	out(r, "  trusted     %s%s%s\n", answer_name(v->trusted), v->signer ? ", signed by " : "",
		shown(r, v->signer));
	out(r, "  complete    %s\n", answer_name(v->complete));
	if (v->is_legacy)
		out(r, "  legacy      yes\n");
	show_broken(r, v);
	for (size_t i = 0; i < v->check_count; i++)
		out(r, "  %-4s  %s%s%s\n", words[v->checks[i].status], shown(r, v->checks[i].name),
			*v->checks[i].detail ? ": " : "", shown(r, v->checks[i].detail));
	json_each (note, v->notes)
		out(r, "  note: %s\n", shown(r, json_text(note)));
	if (h == HEADLINE_UNVERIFIED && v->trust->key_count == 0)
		out(r, "  next: give the signer's public key with --key, from a place you trust\n");
}

/* Where a chain is verified to be complete, in the place where it was written, the ledgers beside it are compared with what it says
 * of their entries.  *ret NULL: this is no such place. */
static int check_rows(struct cli *r, struct arena *a, const char *name, struct verification *v,
	struct json **ret, struct err *e)
{
	AUTO(close_fd) int dir = -1;
	const char *base = path_base(name);
	const char *where = base == name ? "." : arena_strndup(a, name, (size_t)(base - name));
	struct log_report report = { .is_sound = true, .doc = json_new(a, JSON_OBJECT) };

	*ret = NULL;
	if (!opt_text(r, "root", NULL) || !text_eq(base, RECEIPTS) ||
		file_open_dir(r->sys, AT_FDCWD, where, &dir, NULL) || !file_exists(r->sys, dir, LEAVES))
		return OK;
	json_set(a, report.doc, "findings", json_new(a, JSON_ARRAY));
	if (audit_rows(r->sys, a, dir, true, &report, e))
		return e->rc;
	verification_ledgers(v, report.is_sound,
		arena_printf(a, "%lld in the ledgers beside it are bound by receipts%s",
			(long long)json_get_int(json_get(report.doc, "rows"), "bound", 0),
			report.is_sound ? "" : ", and not all of them are as they were written"));
	json_each (f, json_get(report.doc, "findings"))
		json_pushs(a, v->notes, json_get_text(f, "text", ""));
	*ret = report.doc;
	return OK;
}

/* Each file has an arena of its own. Exit code 0 only when all are admissible; 2 when the others are
 * merely no records. */
int cmd_verify(struct cli *r, struct err *e)
{
	struct json *results = json_new(r->a, JSON_ARRAY), *doc = json_new(r->a, JSON_OBJECT);
	struct trust trust;
	bool all = true, is_only_strange = true;

	if (read_trust(r, &trust, e))
		return e->rc;
	for (size_t i = 0; i < r->arg_count; i++) {
		/* Files may be large, and each gives its memory back before the next. */
		AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)16 << 30 };
		struct verification v;
		if ((opt_text(r, "proof", NULL) ? verify_shown : verify_file)(
			    r, &a, r->args[i], &trust, &v, e))
			return e->rc;
		struct json *rows;
		if (check_rows(r, &a, r->args[i], &v, &rows, e))
			return e->rc;
		enum headline h = verification_headline(&v);
		all = all && h == HEADLINE_ADMISSIBLE;
		is_only_strange = is_only_strange && (h == HEADLINE_ADMISSIBLE || h == HEADLINE_NO_RECORD);
		if (r->is_json) {
			struct json *one = verification_json(&a, &v);
			json_sets(&a, one, "file", r->args[i]);
			if (rows)
				json_set(&a, one, "ledgers", rows);
			json_push(r->a, results, json_copy(r->a, one));
		} else
			show(r, r->args[i], &v);
	}
	json_setb(r->a, doc, "admissible", all);
	json_set(r->a, doc, "results", results);
	if (r->is_json)
		out_json(r, doc);
	return all ? 0 : is_only_strange ? EXIT_USAGE : EXIT_NO;
}

/* audit.h — proving things about what was recorded: is the log whole, what leaves the workspace as evidence, does a pack play
 * back, do we answer as published cases say.
 *
 * Above record and verify, below everything that decides: nothing here can allow anything. */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include "record/record.h"
#include "verify/verify.h"

struct log_check_options {
	int root_fd; /* of the workspace: git references are looked up there */
	/* Where it is kept what was verified before: a file that the governed cannot write.  NULL: everything is read, and nothing
	 * remembered.  `all`: everything is read. */
	const char *verified;
	bool all;
	void (*step)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* or NULL */
	void *arg;
};
struct log_report {
	struct json *
		doc; /* what `helm log check --json` prints: sound, receipts, files, heads, anchors, findings, ... */
	bool is_sound; /* nothing lost that is not on record, nothing changed, everything signed by a trusted key */
	bool is_damaged; /* something is lost or changed, and not on record */
	const char *why; /* the first damage, for a person */
	bool has_wrong_leaves, has_wrong_heads, has_wrong_anchors;
	bool has_row_damage; /* of rows and pieces, or lines of ledgers that cannot be read: 'helm log repair' takes it (audit_rows()) */
	uint32_t *bad_heads; /* lines of log/heads.jsonl that are no signed head, by number */
	size_t bad_head_n;
	uint64_t lost_heads; /* signed heads that were there and are not */
	uint64_t omitted; /* findings beyond the first thousand */
	uint64_t
		rewritten_from; /* heads kept elsewhere, of this size or more, speak of other receipts; 0: none */
	uint64_t
		receipts; /* of which so many were verified at an earlier time, with the same trust, and are unchanged since */
	uint64_t receipts_before;
	const char *before; /* that time; NULL: everything was read now */
	const char *file_before; /* and the file they end in */
	uint64_t archived; /* receipts in files that were moved away and cannot be read here */
};
/* Check the log at one moment, beside any number of writers.  What was verified before is not read again while its files are, from
 * outside, as they were then (docs/formats/receipt-log.md, "Verified before"); the slightest doubt, or any finding, and everything is
 * read.  Changes nothing but options->verified.  OK also when the log is damaged. */
int log_check(struct sys *s, struct arena *a, int state_fd, const struct trust *trust,
	const struct log_check_options *options, struct log_report *ret, struct err *e);

/* Compare the rows of the ledgers, and their sealed pieces, with what receipts say of them.  Adds findings of severity "rows" to the report
 * of log_check(), which is not sound then, and a member `rows` {bound, missing, out_of_order, since_receipt}.  Where ledgers are long and
 * not `all` is asked for, only what is new since the log was last verified is compared.  Needs no more memory for more rows. */
int audit_rows(
	struct sys *s, struct arena *a, int state_fd, bool all, struct log_report *report, struct err *e);

/* The verdict on the record: what every entry point and every view asks.  Where the files are: */
struct audit_place {
	int state_fd, root_fd; /* of the workspace */
	const char *helm_home; /* keys and trust; NULL: there is none */
	const char *beside; /* a directory of the helm home about this workspace; NULL: nothing is kept */
};
struct record_verdict {
	bool is_known; /* false: the record was never checked, or cannot be checked now */
	bool is_sound; /* no finding but notices */
	bool is_now; /* everything that counts was read just now; else it is as it was at `checked_at` */
	bool is_stale; /* files that it rests on have changed since, or it was never made */
	const char *why; /* the first finding in one sentence; "" when it is sound */
	const char *remedy; /* what to type; "" when it is sound */
	uint64_t receipts; /* that were checked */
	uint64_t since; /* receipts behind them that nobody has checked */
	const char *checked_at; /* "" when is_known is false */
	const struct json *findings; /* as of `helm log check --json`; a kept verdict has the first hundred */
	struct log_report report; /* when is_now */
};
/* Check everything that a finding can come from: chain, leaves, heads, anchors, and the rows and notes that receipts bind.  OK also when
 * something is found. */
int audit_verdict(struct sys *s, struct arena *a, const struct audit_place *at, const struct trust *trust,
	const struct log_check_options *options, struct record_verdict *ret, struct err *e);
/* A finding from outside of audit/, before audit_conclude() says again what follows from all of them. */
struct json *audit_add_finding(
	struct arena *a, struct log_report *report, const char *severity, const char *what, const char *text);
void audit_conclude(struct arena *a, struct record_verdict *v);
/* What stands where the record has a file and is none: {name in the state directory: "a directory"}.  And put it aside: {name: its new name}. */
struct json *audit_wrong_kinds(struct sys *s, struct arena *a, int state_fd);
int audit_put_wrong_kinds_aside(struct sys *s, struct arena *a, int state_fd, const struct json *found,
	struct json **ret, struct err *e);
/* What a view shows: {sound, checked, checked_at, receipts, unchecked_receipts, why, remedy, findings}. */
struct json *audit_verdict_json(struct arena *a, const struct record_verdict *v);
/* "checked up to receipt N at TIME", and behind that what is not in it. */
char *audit_verdict_text(struct arena *a, const struct record_verdict *v);

/* The files that a verdict rests on, from outside: device, inode, length, modification and change time of each. */
struct record_marks {
	struct json *files; /* {name: mark}, also of anchors and archived files elsewhere */
	uint64_t bytes; /* in all: what a check may have to read */
	int64_t taken_us;
	bool is_settled; /* none of them changed so lately that one more change might leave the same marks */
	bool is_complete; /* everything that counts can be marked; false with anchors in a git repository elsewhere */
};
void marks_take(struct sys *s, struct arena *a, const struct audit_place *at, struct record_marks *ret);
/* The verdict that was kept; false: none that is ours, whole, and of this program.  *ret_stands: its files are as they were. */
bool verdict_load(struct sys *s, struct arena *a, const struct audit_place *at,
	const struct record_marks *now, struct record_verdict *ret, bool *ret_stands);
/* Never an error: who cannot keep it checks again. */
void verdict_keep(struct sys *s, struct arena *a, const struct audit_place *at,
	const struct record_marks *before, const struct record_verdict *v);
/* Is the key in force the one of the last link of an unbroken history, and can everything else in keys/ and trust/ be read?  Adds findings
 * of severity "keys" {severity, what, text, remedy} to the report of log_check() (or to one of audit_report_new(), keys.h), which is not
 * sound then.  OK also then. */
int audit_keys(
	struct sys *s, struct arena *a, const char *helm_home, struct log_report *report, struct err *e);

/* Look and repair in one go: nobody writes in between.  No receipt that verifies is removed (record.h: log_repair()).  With `apply` false
 * only `report` and `plan` are filled.  Wrong leaves alone are made again without a word in the chain.  What log_check() finds comes
 * first; what audit_rows() then finds of ledgers, on a chain that is whole, is named by a seam of its own. */
struct log_repaired {
	struct log_report report; /* as it was found, with what audit_rows() finds */
	struct log_plan plan;
	struct json *seam; /* NULL: nothing of the chain was put on record */
	struct json *rows_seam; /* NULL: nothing of the ledgers was */
};
int audit_repair(struct recorder *r, struct arena *a, const struct trust *trust,
	const struct log_check_options *options, bool apply, struct log_repaired *ret, struct err *e);

/* Sign a head and keep it at `to`: a file (absolute), or a git reference ("refs/...") of the repository at root_fd.  Refused
 * (ANCHOR_CONFLICT) when what is there is a head this log does not continue. */
int log_anchor(struct recorder *r, struct arena *a, int root_fd, const char *to, struct json **ret_head,
	struct err *e);
/* The head that is kept there. */
int log_anchor_read(
	struct sys *s, struct arena *a, int root_fd, const char *to, struct json **ret, struct err *e);
/* Those this workspace remembers: [{"to","head"}]. */
int log_anchors(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e);

/* What of a workspace is to leave it: everything, or what carries this task or session and lies in this span. */
struct evidence_choice {
	const char *task, *session; /* NULL: any */
	const char *tenant; /* what names another one is left out; NULL: any */
	bool needs_tenant; /* and what names none */
	bool has_since, has_until;
	int64_t since_us, until_us; /* since <= t < until */
	bool any_leaves; /* take the log's leaves along as they are; else LOG_LEAVES when they are not those of the newest head */
	const struct record_verdict *verdict; /* is said in the pack; NULL: nothing is said */
	uint64_t singles; /* up to so many receipts become files of their own, more become lines; 0: 10 000 */
};
/* What was chosen, as files for pack_write(): most of them are not in memory but read again when they are written.  The log is open
 * as it was at one moment. */
struct evidence {
	struct pack_item *items;
	size_t n;
	struct pack_about about;
	uint64_t receipts; /* among them */
	uint64_t total_bytes;
	const char *
		away; /* a file of the chain that was moved away and cannot be read: its receipts are not among them; or NULL */
	/* Progress while it is written; set between the two. */
	void (*step)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
	void *arg;
	struct log_cut cut;
	int state_fd; /* borrowed */
	uint64_t given_bytes;
};
/* E_MISSING with PACK_EMPTY when nothing matches. */
int evidence_collect(struct sys *s, struct arena *a, int state_fd, const struct evidence_choice *choice,
	struct evidence *ret, struct err *e);
void evidence_close(struct evidence *x); /* for AUTO(); fine on { 0 } and on what evidence_collect() left */

struct replay_lines;
/* A pack played back (docs/formats/replay.md): tapes against their manifest, recorded runs against the outputs they expect,
 * receipts against their links and, with keys, signatures.  Executes nothing.  The report: {status COMPLETE, DIVERGED or
 * FAILED, issues, tapes, runs, receipts}. */
int replay_pack(struct arena *a, const struct pack *p, const struct trust *trust, struct replay_lines *lines,
	struct json **ret_report, struct err *e);
/* Receipts in files of lines are followed while the pack is read: replay_visit() for verify_pack_open(), then the same for
 * replay_pack().  NULL there: only what was kept. */
struct replay_lines *replay_begin(struct arena *a);
pack_line_visit replay_visit;
void replay_done(struct replay_lines *l);

/* Two packs' decisions side by side, matched by action and resource: {match_count, divergent_count, only_in_a, only_in_b,
 * divergences, identical}. */
int replay_compare(
	struct arena *a, const struct pack *x, const struct pack *y, struct json **ret_report, struct err *e);

/* Run all cases of a directory, or of one family, in file order (conform.h).  The report: {cases, passed, failed,
 * not_supported, unscored, families: [{family, passed, failed, not_supported, unscored}], failures: [{id, expected, got}]}.
 * OK also when cases failed; an error when the directory cannot be read or holds no case. */
int conform_run(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *only_family,
	struct json **ret_report, struct err *e);

/* A suite is a set of cases in its publisher's own layout below DIR (docs/formats/conform-cases.md).  The report is the same, with
 * `suite`, and `absent`: the files that were not there.  E_USAGE for a name that is none. */
struct conform_place;
struct conform_tally;
struct conform_suite {
	const char *name;
	const char *reads; /* files below the folder */
	const char *what; /* it is about */
	int (*fn)(struct conform_place *p, struct conform_tally *t, struct err *e);
};
int conform_run_suite(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *suite,
	struct json **ret_report, struct err *e);
/* One effect of a case ({input, before: effects of the same session, and what describes the world beside it}), judged in that world and recorded in a ledger that is gone afterwards: {verdict,
 * reason_code?, receipt, intent?, active_packs, quarantined}. */
int conform_in_world(
	struct sys *s, struct arena *a, const struct json *vector, struct json **ret, struct err *e);
/* For lists: the i-th suite, the i-th family of cases.jsonl; NULL behind the last. */
const struct conform_suite *conform_suite_at(size_t i);
const char *conform_family_at(size_t i);

/* Gates over an evidence pack in the numbered layout (docs/formats/conformance-gates.md).  A set is a level or a profile: two of the scales that
 * share names, so `scale` goes with each claim. */
struct conform_set {
	const char *scale; /* "gate_level", "profile" */
	const char *name;
	const char *gates; /* ids, with a blank between them */
	const char *features; /* what such a profile promises beyond them, which no gate can see; or NULL */
};
struct conform_gates {
	const struct conform_set *set; /* NULL: all gates */
	const char **only; /* of those, these */
	size_t only_count;
	const struct pack *pack;
	const struct trust *trust; /* keys of receipts; none: no signature counts */
	const char *jurisdiction; /* NULL: all that the pack names */
};
/* The report: {run_id, gate_level or profile, timestamp, pass, gate_results, duration_ms, metadata}.  OK also when gates fail. */
int conform_gates(
	struct sys *s, struct arena *a, const struct conform_gates *ask, struct json **ret, struct err *e);
const struct conform_set *conform_set_at(size_t i);
const struct conform_set *conform_set_find(const char *scale, const char *name, struct err *e); /* E_USAGE */
const char *conform_gate_at(size_t i, const char **ret_about);

#endif

/* lifecycle.h — how skills live: seen, used, stale, archived, and what they claim does not work.
 *
 * Everything is kept beside the skills, in <state>/skill-lifecycle/: usage.json (one entry for each skill), events.jsonl (what happened, append
 * only), config.json.  SKILL.md is never changed.  Members that other versions wrote are kept.  docs/formats/skill-lifecycle.md. */
#ifndef REMEMBER_LIFECYCLE_H
#define REMEMBER_LIFECYCLE_H

#include "remember/skill.h"

struct lifecycle {
	struct contract_place at;
	int state_fd;
	/* after lifecycle_open() */
	int dir_fd, lock; /* dir_fd -1: nobody has scanned yet */
	struct json *usage, *config; /* config: as it is written, over the defaults */
	bool is_new;
};
/* Opened to be read; `to_write` also makes the directory and locks, until lifecycle_close(). */
int lifecycle_open(struct lifecycle *l, struct sys *s, struct arena *a, int root_fd, int state_fd,
	bool to_write, struct err *e);
void lifecycle_close(struct lifecycle *l); /* for AUTO() */
/* usage.json as it is now in memory. */
int lifecycle_save(struct lifecycle *l, struct err *e);
/* One row of events.jsonl: {ts, event, skill_id, more...}; `more` may be NULL. */
int lifecycle_event(
	struct lifecycle *l, const char *event, const char *skill_id, const struct json *more, struct err *e);

/* {workspace.., added[], refreshed[], missing[], archived_only[], total, dry_run}; writes unless dry. */
int lifecycle_scan(struct lifecycle *l, bool is_dry, struct json **ret, struct err *e);
/* {total, counts, never_used, least_recently_used, archive_candidates, pin_candidates, umbrella_candidates, negative_claim_candidates,
 * recommended_actions} */
int lifecycle_summary(struct lifecycle *l, struct json **ret, struct err *e);
/* [{skill_id, from_state, to_state, reason}]; with `apply` they are stale afterwards. */
int lifecycle_stale(struct lifecycle *l, bool apply, struct json **ret, struct err *e);
/* E_USAGE SKILL_UNKNOWN.  *ret_changed false: it was so already. */
int lifecycle_set_pinned(
	struct lifecycle *l, const char *skill_id, bool is_pinned, bool *ret_changed, struct err *e);
/* {from, to, file_count, bytes, samples[], applied}.  E_USAGE SKILL_ARCHIVE, SKILL_RESTORE with the reason. */
int lifecycle_archive(
	struct lifecycle *l, const char *skill_id, bool apply, struct json **ret, struct err *e);
int lifecycle_restore(
	struct lifecycle *l, const char *skill_id, bool apply, struct json **ret, struct err *e);
/* {baseline[], viewed[], patched[], total_observed, dry_run} */
int lifecycle_observe(struct lifecycle *l, bool is_dry, struct json **ret, struct err *e);
/* E_USAGE SKILL_UNKNOWN. */
int lifecycle_view(struct lifecycle *l, const char *skill_id, struct err *e);

/* What a run did with a skill.  Nothing is recorded before a scan, or about a skill that is not known.  Cannot fail: a run does not depend on it. */
struct lifecycle_outcome {
	const char *event; /* skill_used, skill_success, skill_failure, skill_promoted, skill_rejected */
	const char *task_id, *selection_reason, *evidence_quality; /* or NULL */
	const struct json *exit_code; /* or NULL */
	const char *user_correction;
	int64_t retry_count, duration_ms; /* duration -1: not known */
};
void lifecycle_record(struct sys *s, struct arena *a, int root_fd, int state_fd, const char *skill,
	const struct lifecycle_outcome *o);

/* Events, the last `limit` (0: all), of one skill or all (NULL). */
int lifecycle_events(struct lifecycle *l, const char *skill, size_t limit, struct json **ret, struct err *e);
/* {total_outcomes, skills[]}, outcomes worth a look, {total, selection_reasons, evidence_quality}. */
int lifecycle_outcomes(struct lifecycle *l, struct json **ret, struct err *e);
int lifecycle_candidates(struct lifecycle *l, size_t limit, struct json **ret, struct err *e);
int lifecycle_selection(
	struct lifecycle *l, const char *skill, size_t limit, struct json **ret, struct err *e);

/* ---- umbrella.c: skills that could be one ---- */

/* [{signal, token, skill_ids[]}] */
int lifecycle_umbrella(struct lifecycle *l, size_t least, struct json **ret, struct err *e);

/* ---- claims.c: what a skill says does not work ---- */

/* [{claim_id, skill_id, skill_md, line_no, keyword, text}] of all SKILL.md, live and archived. */
int claims_find(struct lifecycle *l, struct json **ret, struct err *e);
/* Those of them that nobody has resolved. */
struct json *claims_open(struct lifecycle *l, const struct json *found);
/* {added, kept, removed_stale, gone} */
int claims_persist(struct lifecycle *l, const struct json *found, int64_t ttl_days, double confidence,
	struct json **ret, struct err *e);
/* [{claim.., skill_id, anchor, due_since_days, probe_allowed}], longest overdue first. */
struct json *claims_due(struct lifecycle *l);
/* The claim itself, in usage.json; E_USAGE CLAIM_UNKNOWN. */
int claims_get(
	struct lifecycle *l, const char *skill_id, const char *claim_id, struct json **ret, struct err *e);
/* May this command be run to see whether a claim still holds?  *ret_argv is it, without a shell. */
bool claims_may_probe(
	struct lifecycle *l, const char *command, const char *const **ret_argv, size_t *ret_argc);
/* Status, note and, when there is one, what the probe said; on disk with its event. */
int claims_update(struct lifecycle *l, const char *skill_id, struct json *claim, const char *status,
	const char *note, const struct json *probe, struct err *e);

#endif

/* policy.h — the policy in use: which policy document a person has accepted for a place, and what it says about a request.
 *
 * A policy is a file that anybody can write.  It counts when a person says so: then the document that was made of it is kept by its
 * digest in <helm home>/policies/, and the standing word about the place (posture.h) names that digest:
 *
 *	policy		{ sha256, content_sha256, name, version, epoch, at, source, facts, lifts, fresh_seconds, signer }
 *	policy_epochs	{ name: the highest epoch that was ever in use }
 *	policy_revoked	{ "sha256:...": { at, reason, content_sha256 } }
 *	policy_signed	true: only what a trusted key has signed is taken
 *	policy_shadow	{ sha256, name, version, since, facts }: decides beside the one in use, and only differences are noted
 *
 * A policy only ever makes the answer of profiles and guard rules stricter, except that its explicit ALLOW answers what one of the
 * rules named in `lifts` merely asks about (decision 0045). */
#ifndef KERNEL_POLICY_POLICY_H
#define KERNEL_POLICY_POLICY_H

#include "decide/bundle/bundle.h"
#include "decide/decide.h"
#include "decide/engine/engine.h"
#include "kernel/act.h"

struct posture; /* posture.h */

enum { POLICY_LIMIT_BYTES = 64 << 20 };

/* What a person wants to be in use from now on. */
struct policy_choice {
	const struct json *document; /* checked and compiled by the caller; NULL: none */
	bool is_as_before; /* which policy is in use is left as it is; there is no document then */
	const char *source; /* the file it was made of; or NULL */
	const struct json *facts; /* object of texts and numbers that rules may rely on here; or NULL */
	const struct json *lifts; /* array: ids of guard rules whose question an ALLOW answers; or NULL */
	int64_t fresh_seconds; /* it must be put in use again after this long; 0: never */
	const char *signer; /* the trusted key that has signed these bytes, verified; or NULL */
	const char *require_signature; /* "yes", "no", or NULL to leave it */
	bool may_go_back; /* a lower epoch than before is meant */
	const char *candidate_profile,
		*candidate_skill; /* of a shadow: decided by instead of rules; or NULL */
	const char *executor; /* the person */
};
/* The document that stands for a candidate that is a profile or a skill: it has no rules of its own. */
struct json *policy_candidate(struct arena *a, const char *kind, const char *name);
/* Would it permit nothing that is not permitted now?  Then it needs no more than a person outside. */
bool policy_choice_is_stricter(struct kernel *k, const struct policy_choice *c);
/* Keep the document and put it in use.  The receipt is on disk before it counts.  E_DENIED POLICY_REVOKED, POLICY_ROLLBACK,
 * POLICY_UNSIGNED. */
int policy_use(struct kernel *k, struct arena *a, const struct policy_choice *c, struct json **ret_receipt,
	struct err *e);
/* From now on nothing with this digest or the same content is put in use, and where it is, everything is denied until another one is.
 * E_MISSING POLICY_UNKNOWN for a digest that is not known here, unless `is_unknown_meant`. */
int policy_revoke(struct kernel *k, struct arena *a, const char *sha256, const char *reason,
	bool is_unknown_meant, const char *executor, struct json **ret_receipt, struct err *e);
/* The digest of what it says, without where it was written: a copy of the file has the same. */
const char *policy_content_sha256(struct arena *a, const struct json *document);
/* What the standing word says against this policy: { at, reason }; NULL: nothing.  `content_sha256` may be NULL. */
const struct json *policy_revocation(const struct json *word, const char *sha256, const char *content_sha256);
/* Every policy that a digest can name here: [{sha256, name, version, in_use}], those of the standing word first. */
struct json *policy_known_here(struct sys *s, struct arena *a, const struct workspace *ws);
/* A candidate decides beside the policy in use; document NULL ends that.  E_MISSING when there is none to end. */
int policy_shadow(struct kernel *k, struct arena *a, const struct policy_choice *c, struct json **ret_receipt,
	struct err *e);

/* The document of this digest as it was kept, whole.  E_CORRUPT POLICY_LOST. */
int policy_kept(struct sys *s, struct arena *a, const struct workspace *ws, const char *sha256,
	struct json **ret, struct err *e);

/* ---- files (source.c) ---- */

/* How to take a file; { 0 } is how it describes itself. */
struct policy_way {
	bool as_policy, is_import;
};
/* Read one file ("-": standard input), and what it names beside it.  *ret_text may be NULL.  As policy_document_read(). */
int policy_source_read(struct sys *s, struct arena *a, const char *path, struct policy_way way,
	struct bytes *ret_text, struct policy_reading *ret, struct err *e);
/* And compiled: what decides, with the digest that receipts name it by. */
int policy_source_compile(
	struct sys *s, struct arena *a, const char *path, struct ruleset **ret, struct err *e);

/* ---- asking it (ask.c) ---- */

/* Every program that was understood to be started, as q->tools (tools.c): by its name, where it is looked for by its name or lies with the system's programs;
 * one that is named with another place is that place, so that no file somebody puts into the tree has the name of another program.  With `is_command` the
 * first of them is q->tool, too: then each needs a rule that allows it.  Beside another tool only rules that forbid count. */
void policy_tools(struct arena *a, struct policy_question *q, bool is_command);
/* What a door knows about a request, of itself. */
struct policy_door {
	const char *door; /* "run", "hook/CLIENT", ... */
	const struct profile *profile;
	const char *cwd; /* or NULL */
	enum placement placement;
	bool is_supervised;
	const struct ruleset *rules; /* a policy that the door was started with; or NULL */
	const struct json *more; /* what else this door knows: {tenant, ...}; or NULL */
};
/* As facts, which nobody who asks can say otherwise (known.c).  Where conditions are about paths, also where links lead, of
 * the params and of what the proposal does: `places` (places.c). */
struct json *policy_door_facts(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct policy_door *d, const struct policy_question *q);
void policy_look_at_places(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct policy_door *d, const struct policy_question *q, struct json *to);
/* Does a policy that holds here, decides beside it, or came with the door (`door`, or NULL) give this gate something to check, or require it? */
bool policy_wants(struct sys *s, struct arena *a, const struct workspace *ws, const struct ruleset *door,
	enum gate_id g);
/* Is this one of them?  Then no person says it when a policy is put in use. */
bool policy_is_door_fact(const char *name);
/* As it is kept in rows and files: {action, tool, principal, session, params, context, effects, facts}; docs/formats/policy-request.md.  Texts of more
 * than 4096 bytes and more than 64 effects are cut, and `is_cut` says so. */
struct json *policy_question_json(struct arena *a, const struct policy_question *q);
/* The same for what is written down: without what belongs to people. */
struct json *policy_question_kept(struct arena *a, const struct policy_question *q);
/* Back again; memory in `a`.  E_INPUT POLICY_REQUEST names the member that is wrong. */
int policy_question_read(struct arena *a, const struct json *doc, struct policy_question *ret, struct err *e);

/* How a decision names the rule or gate of a policy: everywhere, so that it can be counted.  Rules of the guard have their bare ids. */
#define POLICY_RULE "policy:"

/* What the policy in use said.  Memory in the arena of the question. */
struct policy_answer {
	const char *sha256, *name, *version; /* of the one that decided */
	uint64_t epoch;
	enum verdict verdict; /* of the policy alone, without the guard's word */
	enum reason_code code; /* meaningful unless V_ALLOW */
	const char *rule, *origin, *text, *gate; /* of what decided; or NULL */
	const char *instead; /* what to do, where the remedy of the code does not fit; or NULL */
	const char *roster_sha256;
	const struct json *bound; /* what the receipt must bind, by what decided; or NULL */
	const char **asks; /* POLICY_RULE "ID" for each thing that must be approved */
	size_t ask_count;
	int64_t approvers; /* how many people, 0: one is enough */
	const struct draw *draws; /* what is used up when it is done */
	size_t draw_count;
	bool is_explicit; /* a rule allows it by name */
	bool is_whole; /* of a candidate that takes the place of the profile: what the guard said under another one does not count */
	const struct json *lifts; /* guard rules whose question that answers; or NULL */
	const struct judgement *judged; /* policy_judgement() */
};
/* Gates, roster, packs and what fired: for who explains an answer. */
struct json *policy_judgement(struct arena *a, const struct policy_answer *p);
/* Which of its rules are about what the command does, and why each holds or does not (engine_reasons()).  `guard` may be NULL. */
struct json *policy_reasons(struct arena *a, const struct ruleset *rules, const struct policy_question *q,
	const struct decision *guard);

/* What happens when the guard says one thing and the policy another: the stricter of both; the policy alone where it answers what the guard asks. */
enum verdict policy_with_guard(const struct policy_answer *p, const struct decision *guard);

/* Places that conditions of what is in use, or decides beside it, are about; NULL: none is about paths. */
const struct json *policy_places(struct sys *s, struct arena *a, const struct workspace *ws);
/* The candidate that decides beside it, compiled once; NULL: there is none, or it cannot be used. */
const struct ruleset *policy_shadow_rules(struct sys *s, struct arena *a, const struct workspace *ws);
/* The place whose record counts what this entry of the standing word bounds; NULL: the one that it is asked in. */
const char *policy_counted_at(const struct posture *at, const struct json *entry);
/* Is one in use here?  Cheap. */
bool policy_is_in_use(struct sys *s, const struct workspace *ws);
/* One digest of all that decides here: `rules`, which is that of profiles and guard rules, with the policies that hold and what was revoked.  What
 * was permitted under another one has to be asked again. */
const char *policy_in_force(struct sys *s, struct arena *a, const struct workspace *ws, const char *rules);
/* Why the one in use denies everything: it is lost, revoked or not fresh; NULL: it does not, or there is none. */
const char *policy_trouble(struct sys *s, struct arena *a, const struct workspace *ws);
/* Does what is in use, or what the door brings along (or NULL), bound something?  Then a question needs what was used up so far. */
bool policy_is_bounded(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct ruleset *door);
/* NULL: none is.  One that cannot be read, is revoked or not fresh denies everything.  `door`: a policy that this door was started with, or NULL;
 * it is obeyed beside the others, and can lift nothing.  `guard` is what the rules said; it is not changed. */
const struct policy_answer *policy_ask(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct ruleset *door, const struct policy_question *q, const struct decision *guard);
/* The same by any compiled policy.  `facts` of the policy are in q->known already. */
const struct policy_answer *policy_judge(struct arena *a, const struct ruleset *rules,
	const struct policy_facts *about, const struct policy_question *q, const struct decision *guard);
/* A decision becomes stricter by it, never laxer: every ask of the policy is one more reason to ask. */
void policy_raise(struct arena *a, const struct policy_answer *p, struct decision *d);
/* Does the policy answer everything that the guard asks?  Only by an explicit rule, and only rules it was given. */
bool policy_lifts(const struct policy_answer *p, const struct decision *d);
/* Facts that an accepted policy was given, and those that the door knows, in one object; the door's own win. */
struct json *policy_known(struct arena *a, const struct json *entry, const struct policy_question *q);

struct policy_memo *policy_memo_new(struct arena *a); /* for workspace_open() */
void policy_memo_done(struct policy_memo *m); /* NULL is fine */

/* ---- what was asked before (replay.c) ---- */

/* One decision of the record, asked again. */
struct policy_recorded {
	struct policy_question question;
	struct decision guard; /* verdict, action and asks as far as they were kept */
	enum verdict then; /* what was decided before anybody answered a question */
	const char *at, *decision_id, *rule, *preview; /* decision_id is NULL for what only read */
	bool is_inexact; /* something was cut or redacted when it was kept */
};
struct policy_replay {
	int64_t seen, replayed,
		inexact; /* decisions in the span; those that could be asked again; of those, not to the letter */
	int64_t not_kept; /* rows from before it was kept what was asked */
	int64_t stopped; /* by a freeze or a pause, which no policy changes */
};
typedef int policy_replay_visit(void *arg, const struct policy_recorded *x, struct err *e);
/* Everything from `since_us` on, oldest first, of all doors.  What `fn` gets is valid during the call only. */
int policy_replay_each(struct sys *s, const struct workspace *ws, int64_t since_us, policy_replay_visit *fn,
	void *arg, struct policy_replay *ret, struct err *e);

/* ---- the candidate beside it (shadow.c) ---- */

/* What the shadow says, by what was used up before this decision; NULL: there is none. */
const struct policy_answer *policy_shadow_ask(
	struct kernel *k, struct arena *a, const struct policy_question *q, const struct decision *guard);
/* After a decision: what the shadow has said (`p`, or NULL), noted when that differs.  Cannot fail: what cannot be noted is not. */
void policy_shadow_note(struct kernel *k, struct arena *a, const struct policy_answer *p,
	const struct policy_question *q, const struct decision *guard, enum verdict live,
	const char *live_rule, const char *decision_id);
/* Everything that was noted since it started: {shadow, asked, differences: [...], by_rule: [...]}.  E_MISSING POLICY_NO_SHADOW. */
int policy_shadow_report(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);

#endif

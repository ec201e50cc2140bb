/* skill.h — a skill that is in use: its contract becomes the walls and the policy of what is done for it.
 *
 * Three doors lead here: `helm run --skill`, a client's session that has activated a skill, and contained calls of such a session.  All of them get a profile
 * that the contract has narrowed (model/terms.h); kernel_decide() judges by it, and walls are put up from it.
 *
 * Files of a live skill are pinned by one digest when it is first used, and when a person accepts it: the member `skills` of the standing word
 * (posture.h).  A skill that has changed since is refused until a person accepts what it is now.  Drafts are not pinned: they are being written. */
#ifndef KERNEL_SKILL_H
#define KERNEL_SKILL_H

#include "kernel/kernel.h"
#include "remember/skill.h"

struct contract_place skill_place(struct sys *s, struct arena *a, const struct workspace *ws);

struct skill_use {
	const char *name;
	const char *sha256; /* of its files; NULL: it has no folder */
	const struct json *contract; /* NULL: it has none */
	const struct profile *profile; /* narrowed by it; or the one that was given */
	bool is_draft, is_new; /* is_new: it was not pinned yet */
	struct json *files; /* their digests */
};
/* What using it under this profile means.  E_INPUT SKILL_CONTRACT lists what is wrong with its contract, SKILL_PROFILE names the profiles it may run
 * under; E_DENIED SKILL_CHANGED when its files are not those that were pinned.  A name that nobody knows limits nothing. */
int skill_use(struct kernel *k, struct arena *a, const char *name, const struct profile *p,
	struct skill_use *ret, struct err *e);
/* The first use: what it is now is what it stays.  An act on record, with the digest of each file (skill_digest()). */
int skill_pin(struct kernel *k, struct arena *a, const char *name, const char *sha256,
	const struct json *files, const char *executor, struct json **ret_receipt, struct err *e);
/* What is different from what was pinned, each as "changed: SKILL.md", "added: ...", "gone: ..."; an empty list when nothing is, or when the
 * receipt of the pin does not say or is not here. */
struct json *skill_differences(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const struct json *files);
/* What was pinned: {sha256, at}; or NULL. */
const struct json *skill_pinned(struct sys *s, const struct workspace *ws, const char *name);

/* The directories that the contract lets be written, made where they are missing: Landlock opens only what is there. */
int skill_make_places(struct sys *s, struct arena *a, const struct terms *t, const char *tree, struct err *e);
bool skill_has_places(struct sys *s, const struct terms *t, const char *tree); /* nothing is to be made */
/* Calls a day, as a policy that is asked beside the one in use; *ret stays as it is when the contract has no such limit. */
int skill_budget(struct arena *a, const struct terms *t, const struct ruleset **ret, struct err *e);

/* Does the request leave the contract of its profile?  Then the decision says so, and is DENY. */
bool skill_stops(struct kernel *k, const struct request *q, struct handling *h);

/* ---- sessions of clients ---- */

/* The skill that this call activates; NULL: none. */
const char *skill_called(struct arena *a, const char *client, const struct tool_call *call);
/* From now on the calls of this session are made under the contract.  Several add up: what one forbids is forbidden. */
int skill_activate(struct kernel *k, struct arena *a, const char *client, const char *session,
	const struct skill_use *use, struct err *e);
/* The profile narrowed by all that is active in the session; the same pointer when nothing is.  What cannot be read is an error, and so a refusal. */
int skill_narrow(struct kernel *k, struct arena *a, const char *client, const char *session,
	const struct profile **profile, struct err *e);
/* [{client, session, skills [{name, sha256, at}]}], and the end of one. */
int skill_sessions(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
int skill_session_end(struct kernel *k, struct arena *a, const char *session, const char *executor,
	struct json **ret_receipt, struct err *e);

#endif

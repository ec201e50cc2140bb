/* posture.h — the standing word of a workspace: what a person has decided about a place.
 *
 * A repository is untrusted, also about itself.  So what governs a workspace does not lie in it: it is kept in the helm home, in
 * <helm home>/trees/<sha256 of the root>/posture.json, as the whole newest signed receipt of a person's act, which binds a
 * snapshot of everything that was decided (docs/formats/posture.md):
 *
 *	{ version, root, at, stands_alone, default_profile, destructive, freezes, pauses, accepted, require_key, degraded,
 *	  degraded_machine, degraded_guarantees, allowed_paths, readable_paths, egress }
 *
 * Files in the tree (freeze.json, workspace.json, profile-pause-state.json, references/) are what people and older tools read.
 * They may make things stricter.  What they say beyond the word counts for nothing, and is told. */
#ifndef KERNEL_POSTURE_H
#define KERNEL_POSTURE_H

#include "kernel/act.h"

struct posture {
	const struct json *word; /* the snapshot that holds here; an empty object when nobody has spoken */
	const struct json *own; /* the same without what comes from `outer` */
	const char *receipt_id; /* of the act that `own` comes from; or NULL */
	const char *dir; /* where accepted files lie; NULL: there is no helm home */
	bool is_spoken; /* there is an act about this very place, and it verifies */
	bool stands_alone; /* a person has let this place stand on its own */
	const char *
		outer; /* nobody has let this place stand alone: the word about this one above it holds, too; or NULL */
	bool is_signed_above; /* the word of a place above takes only signed policies, whatever is said here */
	const char *broken; /* it is there and cannot be believed, so everything is frozen; or NULL */
	bool is_unreadable; /* the same, because something could not be read now: nothing is made in its place */
	const char *note; /* something about the word itself that a person should know; or NULL */
	const struct json
		*restored; /* the act that `own` comes from, when its file has to be written again; or NULL */
	bool is_unfinished; /* an act was interrupted, its document is lost, or nobody looked yet: posture_settle() has work */
};

/* The word of a workspace, now.  Cannot fail: what cannot be believed freezes everything.  The answer lives as long as the
 * workspace is open, and is read again only when its files have changed. */
const struct posture *posture_of(struct sys *s, const struct workspace *ws);
/* While it is held, posture_of() answers as it did at the beginning and does not look again: for one question that is made of many, which
 * should not get answers from two moments.  Never around a wait.  Ended by AUTO(posture_release).  NULL is fine. */
const struct workspace *posture_hold(struct sys *s, const struct workspace *ws);
void posture_release(const struct workspace **ws);
struct posture_memo *posture_memo_new(struct arena *a); /* for workspace_open() */
void posture_memo_done(struct posture_memo *m); /* NULL is fine */

/* Is this receipt whole, and signed by a key of this user, in force or before a rotation? */
bool receipt_is_of_user(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *receipt);

/* DEMAND_*: the guarantees without which runs go on here, because an operator accepted that for this very machine.  Settings of another
 * machine, or of a version that did not name the machine, do not count: other guarantees may be unmet there. */
unsigned posture_waived(struct sys *s, struct arena *a, const struct workspace *ws);
/* This machine, the same after a restart: a digest of /etc/machine-id, and where there is none, of the host's name. */
const char *posture_machine(struct sys *s, struct arena *a);

/* Does the word about another place hold here, and says more than the shipped defaults do? */
bool posture_binds(const struct posture *p);

/* Does the helm home know the place `root`, another one than that of `ws`?  Then somebody made, used or decided about it from outside of
 * every run, because no run can write there.  Also when what was decided cannot be believed now: then nothing goes there. */
bool posture_knows(struct sys *s, struct arena *a, const struct workspace *ws, const char *root);

/* Change the word: the one way for every act.  `edit` changes `word`, a copy of the snapshot in force, or says why not.  Then the
 * intent is on disk, the act with the new snapshot in the chain, the document replaced and the files in the tree made to agree.
 * Killed anywhere between, the stricter of both snapshots holds until the next command has finished it. */
typedef int posture_edit(void *arg, struct arena *a, struct json *word, struct err *e);
int posture_change(struct kernel *k, struct arena *a, const struct act *act, posture_edit *edit, void *arg,
	struct json **ret_receipt, struct err *e);
/* Finish what was interrupted, and keep again what is only in the chain.  What cannot be done now is left for later: until then the
 * stricter snapshot holds. */
void posture_settle(struct kernel *k);

/* An operator puts back what was decided, from the newest signed act in the chain, after the file was damaged and its seal does not prove that
 * act by itself (then no command is needed: posture_settle() does it).  Refused while the record is not sound (POSTURE_RECORD).  Where
 * receipts behind that act are lost, what it permitted may have been taken back in one of them: then only what forbids comes back, and
 * *ret_is_strict says so.  POSTURE_WHOLE: there is nothing to repair. */
int posture_repair(struct kernel *k, struct arena *a, const char *executor, struct json **ret_receipt,
	bool *ret_is_strict, struct err *e);

/* Somebody makes this workspace.  Before it has state, so that a run that ends beside it does not take it for its own.  `stands_alone`: a
 * person does, and nothing is accepted beyond the shipped defaults.  Needs no act, because nothing is permitted by it; does nothing where
 * there is one already. */
int posture_begin(
	struct sys *s, struct arena *a, const struct workspace *ws, bool stands_alone, struct err *e);

/* Sentences, each with its remedy: where the tree says something else than the word.  [{text, remedy}].  Reads only. */
struct json *posture_differences(struct sys *s, struct arena *a, const struct workspace *ws);

/* ---- which files of the tree count (posture/accepted.c) ---- */

/* The accepted bytes of a file of the tree ("references/guard_policy.json").  E_MISSING when none were accepted. */
int accepted_read(struct sys *s, struct arena *a, const struct workspace *ws, const char *file,
	struct bytes *ret, struct err *e);
/* What a person would accept now: {files: [{file, state, ...}], becomes_possible: [sentence], default_profile, destructive}. */
int accepted_offer(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Accept exactly what was offered.  `require_key`: "yes", "no" or NULL to leave it.  `waived`: DEMAND_*, the guarantees without which runs
 * go on, on this machine; 0 takes that back, NULL leaves it.  ACCEPT_CHANGED when a file changed since. */
int accepted_take(struct kernel *k, struct arena *a, const struct json *offer, const char *require_key,
	const unsigned *waived, const char *executor, struct json **ret_receipt, struct err *e);

#endif

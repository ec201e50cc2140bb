/* act.c — changing the standing word of a workspace: one way for every act of a person.
 *
 *	lock, read, make the new snapshot
 *	intent		from here on the stricter of both snapshots holds
 *	receipt		the act is on record: from here on it will be finished, whoever does it
 *	document	the new snapshot holds alone
 *	tree		the files that people and older tools read say the same
 *	intent goes
 *
 * Whoever finds an intent under the lock looks into the chain: an act that is on record is finished, one that is not did not
 * happen. */
#include "base/doc.h"
#include "base/file.h"
#include "base/notice.h"
#include "base/sealed.h"
#include "base/text.h"
#include "kernel/posture_parts.h"
#include "kernel/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct place {
	struct kernel *k;
	struct arena *a;
	const char *dir;
	int lock_fd, dir_fd;
	bool is_patient; /* a person waits: what is lost is looked for to the end */
};

static void place_close(struct place *p)
{
	close_fd(&p->dir_fd);
	close_fd(&p->lock_fd);
}

static int place_open(struct place *p, int wait_ms, struct err *e)
{
	struct kernel *k = p->k;

	p->dir = workspace_place(p->a, k->ws, k->ws->root);
	if (!p->dir)
		return err_set(e, E_MISSING, "HOME_UNSET",
			"HOME is not set; set it, or HELM_HOME, to say where decisions are kept");
	int rc = file_mkdirs(k->sys, AT_FDCWD, p->dir, 0700, e);
	if (rc == OK)
		rc = file_open_dir(k->sys, AT_FDCWD, p->dir, &p->dir_fd, e);
	return rc ? rc : file_lock(k->sys, p->dir_fd, POSTURE_LOCK, wait_ms, &p->lock_fd, e);
}

static int put(struct place *p, const char *file, const struct json *doc, struct err *e)
{
	const struct doc whole = { .file = file, .style = JSON_SORT }; /* a receipt has one order */

	/* An older copy of the settings would open again what was closed since. */
	return text_eq(file, POSTURE_FILE) ? sealed_replace(p->k->sys, p->a, p->dir_fd, &whole, doc, e)
					   : doc_replace(p->k->sys, p->a, p->dir_fd, &whole, doc, e);
}

static int drop(struct place *p, const char *file, struct err *e)
{
	struct sys *s = p->k->sys;

	return s->unlink(s, p->dir_fd, file, 0) == 0 || errno == ENOENT
		? OK
		: err_sys(e, "POSTURE_REMOVE", "cannot remove %s/%s", p->dir, file);
}

/* The names on the way to the document survive, too, also when whoever made the directories was interrupted. */
static int sync_names(struct place *p, struct err *e)
{
	static const char *const ways[] = { ".", "..", "../.." };
	struct sys *s = p->k->sys;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		AUTO(close_fd) int fd = -1;
		int rc = file_open_dir(s, p->dir_fd, ways[i], &fd, e);
		if (rc)
			return rc;
		if (s->fsync(s, fd))
			return err_sys(e, "POSTURE_SYNC", "cannot sync %s/%s", p->dir, ways[i]);
	}
	return OK;
}

/* The act is on record: put it in place. */
static int finish(struct place *p, const struct json *receipt, struct err *e)
{
	const struct json *word = json_get(json_get(receipt, "metadata"), "posture");
	int rc = put(p, POSTURE_FILE, receipt, e);

	if (rc == OK)
		rc = posture_write_tree(p->k->sys, p->a, p->k->ws, word, e);
	if (rc == OK)
		rc = drop(p, POSTURE_NEW, e);
	if (rc == OK)
		rc = drop(p, POSTURE_SEARCH, e);
	if (rc == OK)
		rc = drop(p, POSTURE_INTENT, e);
	return rc ? rc : sync_names(p, e);
}

/* An intent that is damaged does not say which act it is, or names none: then it is the newest one, if that is newer than the document. */
static int newest_act(struct place *p, const struct json **ret, struct err *e)
{
	struct sys *s = p->k->sys;
	struct json *now = NULL;
	struct err why = { 0 }; /* nobody may want it, and what is wrong decides */
	int rc = doc_read(s, p->a, p->dir_fd, POSTURE_FILE, POSTURE_LIMIT, 0, &now, &why);

	if (rc == OK)
		rc = posture_check_version(now, POSTURE_FILE, &why);
	if (rc && e)
		*e = why;
	if (rc == OK || rc == E_MISSING || doc_is_damage(&why))
		rc = posture_in_chain(
			s, p->a, p->k->ws, &(struct posture_search){ .is_patient = p->is_patient }, ret, e);
	const struct json *word = rc ? NULL : json_get(json_get(*ret, "metadata"), "posture");
	if (rc == OK &&
		(!text_eq(json_get_text(word, "root", ""), posture_name(p->a, p->k->ws->root)) ||
			json_get_int(*ret, "lamport_clock", 0) <= json_get_int(now, "lamport_clock", 0)))
		*ret = NULL;
	return rc;
}

/* Over everything else that is in it. */
static const char *intent_sum(struct arena *a, const struct json *intent)
{
	struct json *rest = json_copy(a, intent);

	(void)json_remove(rest, "sha256");
	return json_sha256(a, rest);
}

static bool is_whole_intent(struct arena *a, const struct json *intent)
{
	return json_is(json_get(intent, "posture"), JSON_OBJECT) &&
		json_get_int(intent, "since_file", 0) > 0 &&
		text_eq(json_get_text(intent, "sha256", ""), intent_sum(a, intent));
}

/* Under the lock: what somebody else left unfinished.  The digest of the snapshot finds the act; each has its own, because each
 * names the moment it was made at.  An intent that is as it was written says which file of the chain was the newest then: the act is in none
 * before it.  Where it cannot be found out now, the intent stays, and with it the stricter snapshot. */
static int finish_other(struct place *p, struct err *e)
{
	const struct json *act = NULL;
	struct json *intent;
	struct err why = { 0 };
	int rc = doc_read(p->k->sys, p->a, p->dir_fd, POSTURE_INTENT, POSTURE_LIMIT, 0, &intent, &why);

	if (rc == E_MISSING)
		return OK;
	if (rc == OK)
		rc = doc_check_version(
			json_get(intent, "posture"), "version", POSTURE_VERSION, POSTURE_INTENT, &why);
	if (rc && e)
		*e = why;
	if (rc == OK && is_whole_intent(p->a, intent))
		rc = posture_in_chain(p->k->sys, p->a, p->k->ws,
			&(struct posture_search){ .digest = json_sha256(p->a, json_get(intent, "posture")),
				.since = (unsigned)json_get_int(intent, "since_file", 0) },
			&act, e);
	else if (rc == OK || doc_is_damage(&why))
		rc = newest_act(p, &act, e);
	if (rc)
		return rc;
	return act ? finish(p, act, e) : drop(p, POSTURE_INTENT, e);
}

/* From the snapshot to the record.  `act` is completed by the snapshot and its digest. */
static int take_effect(
	struct place *p, const struct act *act, struct json *word, struct json **ret_receipt, struct err *e)
{
	struct kernel *k = p->k;
	struct arena *a = p->a;
	struct json *intent = json_new(a, JSON_OBJECT), *receipt;
	struct act whole = *act;
	unsigned file;
	int rc = receipts_newest(k->sys, k->ws->state_fd, &file, e);

	if (rc)
		return rc;

	json_seti(a, word, "version", POSTURE_VERSION);
	json_sets(a, word, "root", posture_name(a, k->ws->root));
	json_sets(a, word, "at", text_time_iso(a, k->sys->now_us(k->sys)));
	json_set(a, intent, "posture", word);
	json_sets(a, intent, "effect_id", act->effect_id);
	json_seti(a, intent, "since_file", file);
	json_sets(a, intent, "sha256", intent_sum(a, intent));
	whole.about = act->about ? json_copy(a, act->about) : json_new(a, JSON_OBJECT);
	json_set(a, whole.about, "posture", word);
	whole.output_hash = json_sha256(a, word);
	act_sign(a, k->person, word, whole.about);
	rc = put(p, POSTURE_INTENT, intent, e);
	if (rc)
		return rc;
	rc = act_record(k, a, &whole, &receipt, e);
	if (rc) {
		(void)finish_other(p, NULL); /* it is not on record, so it did not happen; or it is */
		return rc;
	}
	rc = finish(p, receipt, e);
	if (rc)
		return err_wrap(e, "it is on record, and the next command puts it in place");
	*ret_receipt = receipt;
	return OK;
}

/* Nobody can read what was forbidden here: everything is, until a person lifts that. */
static int freeze_unknown(struct place *p, struct json **ret)
{
	struct json *word = json_new(p->a, JSON_OBJECT), *all = json_new(p->a, JSON_OBJECT);

	json_sets(p->a, all, "reason", "what was decided here before is in an archive that cannot be read");
	json_sets(p->a, all, "at", text_time_iso(p->a, p->k->sys->now_us(p->k->sys)));
	json_set(p->a, doc_part(p->a, word, "freezes"), "*", all);
	tree_adopt_strict(p->k->sys, p->a, p->k->ws, word);
	*ret = word;
	return OK;
}

/* What the new snapshot begins with.  Where the old one cannot be believed, what the chain says was forbidden. */
static int present_word(struct place *p, struct json **ret, struct err *e)
{
	struct kernel *k = p->k;
	struct posture now;
	struct json *word;
	struct err own = { 0 };

	e = e ? e : &own;

	posture_read(k->sys, p->a, k->ws, &now);
	if (now.is_unreadable)
		return err_set(e, E_IO, "POSTURE_UNREADABLE",
			"what was decided about this place cannot be read now, so it is not changed: %s",
			now.broken);
	if (now.broken) {
		const struct json *act;
		int rc = posture_in_chain(k->sys, p->a, k->ws,
			&(struct posture_search){ .is_patient = p->is_patient }, &act, e);
		if (rc && text_eq(e->code, "POSTURE_AWAY"))
			return freeze_unknown(p, ret);
		if (rc)
			return rc;
		word = posture_only_strict(p->a, json_get(json_get(act, "metadata"), "posture"));
	} else {
		word = json_copy(p->a, now.own);
		if (now.stands_alone)
			json_setb(p->a, word, "stands_alone", true);
	}
	tree_adopt_strict(k->sys, p->a, k->ws, word);
	*ret = word;
	return OK;
}

int posture_change(struct kernel *k, struct arena *a, const struct act *act, posture_edit *edit, void *arg,
	struct json **ret_receipt, struct err *e)
{
	AUTO(place_close)
	struct place p = { .k = k, .a = a, .lock_fd = -1, .dir_fd = -1, .is_patient = true };
	struct json *word;
	int rc = place_open(&p, DOC_LOCK_MS, e);

	if (rc == OK)
		rc = finish_other(&p, e);
	if (rc == OK)
		rc = present_word(&p, &word, e);
	if (rc)
		return rc;
	rc = edit ? edit(arg, a, word, e) : OK;
	return rc ? rc : take_effect(&p, act, word, ret_receipt, e);
}

/* That there is no act about this place, so that nobody has to search the chain for one. */
static int note_new(
	struct sys *s, struct arena *a, const char *dir, const char *root, bool stands_alone, struct err *e)
{
	const struct doc whole = { .file = arena_printf(a, "%s/" POSTURE_NEW, dir) };
	struct json *place = json_new(a, JSON_OBJECT);

	json_seti(a, place, "schema_version", 1);
	json_sets(a, place, "root", posture_name(a, root));
	json_sets(a, place, "at", text_time_iso(a, s->now_us(s)));
	json_setb(a, place, "stands_alone", stands_alone);
	int rc = file_mkdirs(s, AT_FDCWD, dir, 0700, e);
	if (rc == OK)
		rc = doc_replace(s, a, AT_FDCWD, &whole, place, e);
	if (rc == OK) /* what it says stays true as long as the state directory is the same */
		(void)s->unlink(s, AT_FDCWD, arena_printf(a, "%s/" POSTURE_SEARCH, dir), 0);
	return rc;
}

/* A copy of the file, when it says something else; its name, or "". */
static const char *keep_aside(struct place *p, const struct json *right)
{
	struct sys *s = p->k->sys;
	const char *aside =
		arena_printf(p->a, POSTURE_FILE ".damaged-%lld", (long long)(s->now_us(s) / 1000000));
	struct json *doc;
	struct bytes text;

	if (file_read(s, p->a, p->dir_fd, POSTURE_FILE, POSTURE_LIMIT, 0, &text, NULL) ||
		(right && json_parse(p->a, text, POSTURE_FILE, NULL, &doc, NULL) == OK &&
			json_eq(doc, right)))
		return "";
	return file_replace(s, p->dir_fd, aside, 0600, text, NULL) ? "" : aside;
}

/* The file is not what was written last, and the chain has that: it is written again.  What lies there now stays beside it. */
static void write_again(struct place *p)
{
	struct sys *s = p->k->sys;
	struct posture now;

	posture_read(s, p->a, p->k->ws, &now);
	if (!now.restored)
		return;
	const char *aside = keep_aside(p, now.restored);
	const bool is_kept = *aside;
	if (finish(p, now.restored, NULL) == OK)
		notice("%s/" POSTURE_FILE
		       " was damaged; it was written again from the signed act %s in the record%s%s",
			p->dir, json_get_text(now.restored, "receipt_id", ""),
			is_kept ? ", and what was there is kept as " : "", is_kept ? aside : "");
}

/* Does not wait for anybody: whoever holds the lock finishes it. */
void posture_settle(struct kernel *k)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(place_close) struct place p = { .k = k, .a = &a, .lock_fd = -1, .dir_fd = -1 };
	const struct posture *now = posture_of(k->sys, k->ws);
	const struct json *act;
	struct json *receipt, *word;

	if (!now->is_unfinished || now->broken || place_open(&p, 0, NULL) || finish_other(&p, NULL))
		return;
	if (now->restored) {
		write_again(&p);
		return;
	}
	if (file_exists(k->sys, p.dir_fd, POSTURE_FILE) ||
		posture_in_chain(k->sys, &a, k->ws, &(struct posture_search){ 0 }, &act, NULL) ||
		present_word(&p, &word, NULL))
		return;
	if (act)
		(void)take_effect(&p, &(struct act){ .effect_id = "helm.workspace/adopt", .type = "setting" },
			word, &receipt, NULL);
	else /* what init noted about it stays */
		(void)note_new(
			k->sys, &a, p.dir, k->ws->root, json_get_bool(word, "stands_alone", false), NULL);
}

/* ---- an operator's repair ---- */

struct losing {
	int64_t behind; /* the clock of the act */
	bool is_lost;
};

/* A repair that names lost entries of ledgers alone leaves the chain as it was; every other one may have lost receipts. */
static int see_seam(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct losing *l = arg;
	const struct json *about = json_get(receipt, "metadata");

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (json_get_int(receipt, "lamport_clock", 0) > l->behind &&
		text_eq(json_get_text(receipt, "effect_id", ""), REPAIR_EFFECT))
		l->is_lost |= !json_get(about, "lost") || json_get(about, "gaps") ||
			json_get(about, "heads_sha256") || json_get(about, "anew_from") ||
			json_get(about, "files");
	return OK;
}

/* The snapshot that comes back: of the newest act, when nothing behind it can be lost. */
static int repaired_word(struct place *p, struct json **ret, bool *ret_is_strict, struct err *e)
{
	struct kernel *k = p->k;
	const struct json *act;
	int rc = posture_in_chain(
		k->sys, p->a, k->ws, &(struct posture_search){ .is_patient = true }, &act, e);

	if (rc == OK && !act)
		rc = err_set(e, E_MISSING, "POSTURE_NONE",
			"the record has no act about this place, so there is nothing to put back; 'helm freeze' and then "
			"'helm unfreeze' begin anew, with nothing permitted");
	if (rc)
		return rc;
	const struct json *word = json_get(json_get(act, "metadata"), "posture");
	struct losing l = { .behind = json_get_int(act, "lamport_clock", 0) };
	rc = receipts_from(k->sys, k->ws->state_fd, (uint64_t)l.behind, see_seam, &l, e);
	if (rc)
		return rc;
	*ret_is_strict =
		l.is_lost || !text_eq(json_get_text(word, "root", ""), posture_name(p->a, k->ws->root));
	*ret = *ret_is_strict ? posture_only_strict(p->a, word) : json_copy(p->a, word);
	tree_adopt_strict(k->sys, p->a, k->ws, *ret);
	return OK;
}

int posture_repair(struct kernel *k, struct arena *a, const char *executor, struct json **ret_receipt,
	bool *ret_is_strict, struct err *e)
{
	AUTO(place_close)
	struct place p = { .k = k, .a = a, .lock_fd = -1, .dir_fd = -1, .is_patient = true };
	struct record_verdict v;
	struct posture now;
	struct json *word;
	int rc = place_open(&p, DOC_LOCK_MS, e);

	if (rc == OK)
		rc = finish_other(&p, e);
	if (rc)
		return rc;
	posture_read(k->sys, a, k->ws, &now);
	if (now.is_unreadable)
		return err_set(e, E_IO, "POSTURE_UNREADABLE",
			"what was decided about this place cannot be read now, so it is not repaired: %s",
			now.broken);
	if (!now.broken)
		return err_set(e, E_INPUT, "POSTURE_WHOLE", "what was decided about this place is whole");
	rc = workspace_verdict_of_log(k->sys, a, k->ws, &v, e);
	if (rc == OK && !v.is_sound)
		rc = err_set(e, E_CORRUPT, "POSTURE_RECORD",
			"the record itself is not sound (%s), so it does not say what was decided; first: "
			"helm log repair --yes",
			v.why);
	if (rc == OK)
		rc = repaired_word(&p, &word, ret_is_strict, e);
	if (rc)
		return rc;
	(void)keep_aside(&p, NULL);
	return take_effect(&p,
		&(struct act){ .effect_id = "helm.workspace/repair",
			.type = "setting",
			.executor_id = executor,
			.about = json_new(a, JSON_OBJECT) },
		word, ret_receipt, e);
}

int posture_begin(
	struct sys *s, struct arena *a, const struct workspace *ws, bool stands_alone, struct err *e)
{
	const struct posture *now = posture_of(s, ws);

	if (now->stands_alone || now->is_spoken || now->broken || now->receipt_id)
		return OK;
	return note_new(s, a, workspace_place(a, ws, ws->root), ws->root, stands_alone, e);
}

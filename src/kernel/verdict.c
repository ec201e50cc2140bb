/* verdict.c — the verdict on the record of a workspace: whose signatures count, what was kept of the last check, and what is checked now.
 *
 * A kept verdict answers while every file it rests on is, from outside, as it was (audit/verdict_kept.c).  Otherwise the record is checked
 * again; only a view that must be quick, of a record that is long, shows the kept one with what is not in it. */
#include "kernel/verdict.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "proof/key.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void add_problem(struct arena *a, struct json *problems, const char *what, const struct err *why)
{
	json_pushs(a, problems, arena_printf(a, "%s: %s", what, why->text));
}

int workspace_trust(struct sys *s, struct arena *a, const char *helm_home, struct trust *ret,
	struct json **ret_problems, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	struct json *problems = json_new(a, JSON_ARRAY);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	char hex[2 * SIGN_PUBLIC + 1];
	struct err why = { 0 };

	/* Verifying signatures is what takes the time. */
	*ret = (struct trust){ .threads = cores > 1 ? (unsigned)cores : 1 };
	*ret_problems = problems;
	if (!helm_home)
		return OK;
	int rc = keys_load(s, AT_FDCWD, path_join(a, helm_home, "keys"), &key, e);
	if (rc == E_MISSING)
		return OK;
	if (rc)
		return rc;
	hex_encode(key_public(key), SIGN_PUBLIC, hex);
	rc = trust_add_key(s, a, hex, ret, e);
	if (rc)
		return rc;
	const char *history = path_join(a, helm_home, "keys/" KEY_HISTORY);
	rc = file_exists(s, AT_FDCWD, history) ? trust_add_history(s, a, history, ret, &why) : OK;
	if (rc == E_IO) { /* it cannot be read now: no damage, and no verdict either */
		*e = why;
		return rc;
	}
	if (rc)
		add_problem(a, problems, "the key history is not used", &why);
	/* A key that was lost counts when an operator said so. */
	const char *others = path_join(a, helm_home, "trust/" TRUSTED_KEYS);
	rc = file_exists(s, AT_FDCWD, others) ? trust_add_file(s, a, others, ret, &why) : OK;
	if (rc == E_IO) {
		*e = why;
		return rc;
	}
	if (rc && !text_ends(why.text, "holds no key"))
		add_problem(a, problems, "trusted keys are not used", &why);
	return OK;
}

struct audit_place workspace_audit_place(struct arena *a, const struct workspace *ws)
{
	return (struct audit_place){ .state_fd = ws->state_fd,
		.root_fd = ws->root_fd,
		.helm_home = ws->helm_home,
		.beside = workspace_beside(a, ws) };
}

const char *workspace_verified_file(struct arena *a, const struct workspace *ws)
{
	const char *beside = workspace_beside(a, ws);

	return beside ? path_join(a, beside, "verified.json") : NULL;
}

/* What operators decided is a signed act in the chain, and posture.json its copy.  One that cannot be believed freezes everything; one that
 * was damaged and is proven by the chain is written again by the next command that records something. */
static void judge_settings(
	struct sys *s, struct arena *a, const struct workspace *ws, struct record_verdict *v)
{
	const struct posture *p = posture_of(s, ws);
	struct json *f = NULL;

	if (p->broken) {
		f = audit_add_finding(a, &v->report, "settings", "settings_damaged", p->broken);
		json_sets(a, f, "remedy", freeze_remedy(s, ws));
	} else if (p->restored) {
		f = audit_add_finding(a, &v->report, "notice", "settings_restored",
			"the file with what was decided about this place was damaged; what it said stands in the chain, "
			"and holds");
		json_sets(a, f, "remedy",
			"nothing to do: the next command that records something writes it again");
	}
	if (f)
		json_sets(a, f, "repair", p->broken ? "workspace repair" : "next writer");
}

/* Check everything that the log and its keys can tell. */
static int check_log(struct sys *s, struct arena *a, const struct workspace *ws, const struct audit_place *at,
	const struct verdict_ask *ask, struct record_verdict *ret, struct err *e)
{
	struct log_check_options options = { .root_fd = ws->root_fd,
		.verified = workspace_verified_file(a, ws),
		.all = ask->all,
		.step = ask->step,
		.arg = ask->arg };
	struct json *problems;
	struct trust trust;
	int rc = workspace_trust(s, a, ws->helm_home, &trust, &problems, e);

	if (rc == OK)
		rc = audit_verdict(s, a, at, &trust, &options, ret, e);
	if (rc)
		return rc;
	/* audit_keys() says more of the same; what it does not know is no less a reason. */
	bool is_told = false;
	json_each (f, ret->findings)
		is_told |= text_eq(json_get_text(f, "severity", ""), "keys");
	json_each (text, is_told ? NULL : problems)
		(void)audit_add_finding(a, &ret->report, "keys", "trust_unreadable", json_text(text));
	ret->is_sound = ret->report.is_sound;
	audit_conclude(a, ret);
	return OK;
}

/* And the settings; what came of it is kept with the marks that the files had before. */
static int check_now(struct sys *s, struct arena *a, const struct workspace *ws, const struct audit_place *at,
	const struct verdict_ask *ask, const struct record_marks *before, struct record_verdict *ret,
	struct err *e)
{
	int rc = check_log(s, a, ws, at, ask, ret, e);

	if (rc)
		return rc;
	judge_settings(s, a, ws, ret);
	ret->is_sound = ret->report.is_sound;
	audit_conclude(a, ret);
	verdict_keep(s, a, at, before, ret);
	return OK;
}

int workspace_verdict_of_log(
	struct sys *s, struct arena *a, const struct workspace *ws, struct record_verdict *ret, struct err *e)
{
	const struct audit_place at = workspace_audit_place(a, ws);

	return check_log(s, a, ws, &at, &(struct verdict_ask){ .is_now = true }, ret, e);
}

/* How many receipts stand behind those that were checked. */
static uint64_t count_since(struct sys *s, const struct workspace *ws, uint64_t checked)
{
	uint64_t n = 0;

	return log_leaf_count(s, ws->state_fd, &n, &(struct err){ 0 }) == OK && n > checked ? n - checked : 0;
}

int workspace_verdict(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct verdict_ask *ask, struct record_verdict *ret, struct err *e)
{
	struct audit_place at = workspace_audit_place(a, ws);
	struct record_marks before;
	struct record_verdict v = { 0 };
	bool stands = false;

	if (ws->state_fd < 0 && !ask->is_now) { /* nothing was recorded yet */
		*ret = (struct record_verdict){
			.is_known = true, .is_sound = true, .is_now = true, .why = "", .remedy = ""
		};
		ret->checked_at = text_time_z(a, s->now_us(s) / 1000000 * 1000000);
		return OK;
	}
	marks_take(s, a, &at, &before);
	bool is_kept = !ask->is_now && verdict_load(s, a, &at, &before, &v, &stands);
	if (!stands && !(!ask->is_now && ask->most_bytes && before.bytes > ask->most_bytes))
		return check_now(s, a, ws, &at, ask, &before, ret, e);
	if (!is_kept)
		v = (struct record_verdict){
			.why = "the record was never checked", .remedy = "helm log check", .checked_at = ""
		};
	v.is_stale = !stands;
	if (v.is_stale)
		v.since = count_since(s, ws, v.receipts);
	*ret = v;
	return OK;
}

void workspace_verdict_quick(struct sys *s, struct arena *a, const struct workspace *ws, uint64_t most_bytes,
	struct record_verdict *ret)
{
	const struct verdict_ask ask = { .most_bytes = most_bytes };
	struct err e = { 0 };

	if (workspace_verdict(s, a, ws, &ask, ret, &e))
		*ret = (struct record_verdict){ .why = arena_printf(
							a, "the record cannot be checked: %s", e.text),
			.remedy = "helm log check",
			.checked_at = "" };
}

/* standing.c — profile, freeze, walls, agents' calls, what waits, and what is wrong: read once, for every
 * view.
 *
 * Each part reads one file or one end of a file, so that this costs the same on an old workspace as on a
 * new one.  A part that cannot be read does not stop the others: it is said in `wrong` with what it means
 * now and what mends it.
 *
 * Who reads it: `helm status`, the panel and `helm doctor` show the same facts from here, so that they
 * cannot disagree. */
#include "kernel/standing.h"
#include "audit/audit.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/approval/approval.h"
#include "kernel/chain_key.h"
#include "kernel/fleet/fleet.h"
#include "kernel/freeze.h"
#include "kernel/hook.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "kernel/setup/setup.h"
#include "kernel/state_files.h"
#include "kernel/task/task.h"
#include "kernel/verdict.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

enum {
	TAIL_LINES = 200,
	TRIAL_BYTES = 64 << 10,
	LITTLE_ROOM_BYTES = 64 << 20,
};
static const int64_t HOUR_US = INT64_C(3600) * 1000000, DAY_US = INT64_C(86400) * 1000000;

struct look_around {
	struct sys *s;
	struct arena *a;
	struct workspace *ws;
	struct json *doc, *wrong, *reasons, *notes;
	const struct json *guards; /* rows of setup_status(); or NULL */
	int64_t now_us, last_session_us; /* when a supervised session last asked; 0: never */
	bool is_patient;
	const struct index_progress *shown; /* or NULL */
};

/* Why a person should look; nothing is well while there is one. */
static void add_reason(struct look_around *x, const char *text)
{
	json_pushs(x->a, x->reasons, text);
}

/* Something is wrong: what, what follows from it now (`means`, or NULL), and what mends it.  It is also a
 * reason not to call the workspace fine. */
static void add_wrong(
	struct look_around *x, const char *name, const char *text, const char *means, const char *remedy)
{
	struct json *row = json_new(x->a, JSON_OBJECT);
	const char *all = means ? arena_printf(x->a, "%s; %s", text, means) : text;

	all = text_safe(x->a, all, strlen(all), false);
	json_sets(x->a, row, "name", name);
	json_sets(x->a, row, "text", all);
	json_sets(x->a, row, "remedy", remedy);
	json_push(x->a, x->wrong, row);
	add_reason(x, all);
}

/* The absolute path of a file of the state, for remedies that a person can paste. */
static const char *in_state(struct look_around *x, const char *file)
{
	return arena_printf(x->a, "%s/%s", x->ws->state_dir, file);
}

/* The remedy for a file that cannot be read because of `why`: mend it or move it away, and then do what makes it anew.  One of a newer release
 * is whole, and stays where it is. */
static const char *put_aside(struct look_around *x, const struct err *why, const char *file, const char *then)
{
	const char *path = in_state(x, file);

	if (doc_is_newer(why))
		return "upgrade helm, or use the release that wrote it";
	return arena_printf(x->a, "mend it, or: mv %s %s.bad%s%s", path, path, *then ? " && " : "", then);
}

/* ---- what is in force ---- */

static bool says_profile(const struct json *word, const char *name)
{
	return name && text_eq(json_get_text(word, "default_profile", ""), name);
}

/* A choice that cannot be read refuses every call, so it is wrong and not merely unknown. */
static void look_at_profile(struct look_around *x)
{
	struct json *part = json_new(x->a, JSON_OBJECT);
	struct err e = { 0 };
	struct profiles all;
	const struct profile *p = NULL;
	enum destructive_rule rule = DESTRUCTIVE_ASK;
	const char *name = NULL;

	if (workspace_default_profile(x->s, x->a, x->ws, &name, &e))
		add_wrong(x, "settings", e.text, "every call of an agent is refused",
			put_aside(x, &e, "workspace.json", "helm profile use NAME"));
	else if (workspace_profiles(x->s, x->a, x->ws, &all, &e))
		add_wrong(
			x, "profiles", e.text, "nothing is allowed", "mend that file, or: helm init --force");
	else if (profiles_get(&all, name, &p, &e))
		add_wrong(
			x, "settings", e.text, "every call of an agent is refused", "helm profile use NAME");
	else
		(void)workspace_destructive(x->s, x->a, x->ws, p, &rule, &e);
	const struct posture *chosen = posture_of(x->s, x->ws);
	bool is_default = name && text_eq(name, "workspace_edit");
	json_sets(x->a, part, "name", name);
	json_setb(x->a, part, "is_default", is_default);
	json_setb(
		x->a, part, "is_chosen", says_profile(chosen->word, name) || says_profile(chosen->own, name));
	json_sets(x->a, part, "inherited_from",
		says_profile(chosen->word, name) && !says_profile(chosen->own, name) ? chosen->outer : NULL);
	json_sets(x->a, part, "destructive",
		!p					 ? NULL
			: rule == DESTRUCTIVE_CHECKPOINT ? "checkpoint"
							 : "ask");
	json_set(x->a, x->doc, "profile", part);
	if (p && !is_default)
		json_push(x->a, x->notes, json_stringf(x->a, "the profile is %s", name));
	if (p && rule == DESTRUCTIVE_CHECKPOINT)
		json_pushs(x->a, x->notes, "what destroys is saved first and then runs without a question");
}

/* A policy with an error asks about everything; that is safe, but a person should know why. */
static void look_at_policy(struct look_around *x)
{
	struct guard g;

	if (guard_open(x->s, x->a, x->ws, x->ws->root, &g, NULL) || !g.policy || !policy_error(g.policy))
		return;
	add_wrong(x, "policy", policy_error(g.policy), "everything is asked about",
		arena_printf(x->a, "mend %s/references/guard_policy.json", x->ws->root));
}

/* { name, version, sha256, coverage }; no coverage where the document cannot be read. */
static struct json *policy_part(struct look_around *x, const struct json *entry)
{
	struct json *part = json_new(x->a, JSON_OBJECT), *document;
	const char *sha256 = json_get_text(entry, "sha256", "");

	json_sets(x->a, part, "name", json_get_text(entry, "name", ""));
	json_sets(x->a, part, "version", json_get_text(entry, "version", ""));
	json_sets(x->a, part, "sha256", sha256);
	json_sets(x->a, part, "coverage",
		policy_kept(x->s, x->a, x->ws, sha256, &document, NULL)
			? NULL
			: json_get_text(document, "coverage", "closed"));
	return part;
}

/* That one is in use is a choice; that it denies everything is wrong. */
static void look_at_policy_in_use(struct look_around *x)
{
	const struct json *entry = json_get(posture_of(x->s, x->ws)->word, "policy");
	const char *trouble = policy_trouble(x->s, x->a, x->ws);

	if (entry)
		json_set(x->a, x->doc, "policy_in_use", policy_part(x, entry));
	if (entry)
		json_push(x->a, x->notes,
			json_stringf(x->a, "the policy %s %s is in use",
				text_safe(x->a, json_get_text(entry, "name", ""),
					strlen(json_get_text(entry, "name", "")), false),
				text_safe(x->a, json_get_text(entry, "version", ""),
					strlen(json_get_text(entry, "version", "")), false)));
	if (trouble)
		add_wrong(x, "policy in use", trouble, "everything is denied",
			"helm policy use FILE, or helm policy use --none");
}

/* Where the tree says something else than what a person decided: each in one sentence, with what mends it. */
static void look_at_differences(struct look_around *x)
{
	const struct json *differences = posture_differences(x->s, x->a, x->ws);
	json_each (one, differences)
		add_wrong(x, "trust", json_get_text(one, "text", ""), NULL, json_get_text(one, "remedy", ""));
}

/* A freeze is no defect, but a reason why nothing works. */
static void look_at_freeze(struct look_around *x)
{
	struct json *doc, *list = json_new(x->a, JSON_ARRAY);
	struct err e = { 0 };

	json_set(x->a, x->doc, "freeze", list);
	if (freeze_load(x->s, x->a, x->ws, &doc, &e)) {
		add_wrong(x, "freeze", e.text, "so everything counts as frozen", freeze_remedy(x->s, x->ws));
		return;
	}
	json_each_member (m, doc) {
		const struct json *about = json_get(m->value, "metadata");
		struct json *one = json_new(x->a, JSON_OBJECT);
		const char *reason = json_get_text(about, "reason", "");
		json_sets(x->a, one, "principal", m->name);
		json_sets(x->a, one, "reason", reason);
		json_sets(x->a, one, "since", json_get_text(m->value, "timestamp", NULL));
		json_sets(x->a, one, "by", json_get_text(about, "by", NULL));
		json_sets(x->a, one, "receipt_id", json_get_text(m->value, "receipt_id", NULL));
		json_push(x->a, list, one);
		add_reason(x,
			arena_printf(x->a, "%s is frozen%s%s", text_eq(m->name, "*") ? "everything" : m->name,
				*reason ? ": " : "", reason));
	}
}

/* A paused profile is refused at every door. */
static void look_at_pauses(struct look_around *x)
{
	struct json *doc, *list = json_new(x->a, JSON_ARRAY);
	struct err e = { 0 };

	json_set(x->a, x->doc, "paused", list);
	if (pause_load(x->s, x->a, x->ws, &doc, &e)) {
		add_wrong(x, "pauses", e.text, NULL, put_aside(x, &e, "profile-pause-state.json", ""));
		return;
	}
	json_each_member (m, doc) {
		struct json *one = json_new(x->a, JSON_OBJECT);
		const char *reason = json_get_text(m->value, "reason", "");
		json_sets(x->a, one, "profile", m->name);
		json_sets(x->a, one, "reason", reason);
		json_sets(x->a, one, "since", json_get_text(m->value, "paused_at", NULL));
		json_push(x->a, list, one);
		add_reason(x,
			arena_printf(
				x->a, "the profile %s is paused%s%s", m->name, *reason ? ": " : "", reason));
	}
}

/* Does a guard hold walls around its shell commands?  That somebody wants them is not enough: a hook that is not armed, or was taken away,
 * holds none. */
static bool is_contained(const struct look_around *x, const struct client *c)
{
	json_each (row, x->guards)
		if (text_eq(json_get_text(row, "client", ""), c->name) &&
			text_eq(json_get_text(row, "containment", ""), "walls"))
			return true;
	return false;
}

/* Clients whose shell commands are contained here, by name: "claude-code, codex"; NULL: none. */
static const char *contained_clients(struct look_around *x)
{
	struct buf names;
	const struct client *c;

	buf_init(&names, x->a);
	for (size_t i = 0; (c = clients_at(i)); i++)
		if (is_contained(x, c))
			buf_addf(&names, "%s%s", names.n ? ", " : "", c->name);
	return names.n ? names.p : NULL;
}

/* Does any client ask here before it acts? */
static bool is_any_armed(const struct look_around *x)
{
	json_each (row, x->guards)
		if (json_get_bool(row, "armed", false))
			return true;
	return false;
}

/* The sandbox of this machine, as runs will have it. */
static void put_sandbox(struct look_around *x, const struct machine *m, struct json *part)
{
	const unsigned unmet = machine_unmet(m);
	struct json *not_given = json_new(x->a, JSON_ARRAY);

	for (const char *const *one = sandbox_not_given(machine_sandbox(m)); *one; one++)
		json_pushs(x->a, not_given, *one);
	json_sets(x->a, part, "sandbox", unmet ? NULL : sandbox_kind_name(machine_sandbox(m)));
	json_set(x->a, part, "unmet", guarantees_list(x->a, unmet));
	json_set(x->a, part, "not_given", not_given);
}

/* Which agents' calls are sandboxed, which are only checked, and which sandbox stands here. */
static void look_at_walls(struct look_around *x)
{
	struct json *part = json_new(x->a, JSON_OBJECT),
		    *have = json_get(kernel_about(x->s, x->a), "protections");
	int64_t abi = json_get_int(have, "landlock_abi", 0);
	bool filter = json_get_bool(have, "seccomp", false);
	const char *inside = contained_clients(x);
	struct machine m;

	const bool is_tried = machine_recall(x->s, x->a, x->ws->helm_home, &m);
	json_sets(x->a, part, "agent_calls", inside ? "walls" : "judged");
	if (inside)
		json_sets(x->a, part, "contained_clients", inside);
	json_sets(x->a, part, "runs", abi || filter ? "walls" : "judged");
	json_seti(x->a, part, "landlock_abi", abi);
	json_setb(x->a, part, "seccomp", filter);
	if (is_tried)
		put_sandbox(x, &m, part);
	json_sets(x->a, part, "text",
		arena_printf(x->a, "Sandbox of runs: %s. %s",
			is_tried ? machine_line(x->a, &m)
				 : "not tried since this machine started (helm doctor tries it)",
			inside ? arena_printf(x->a,
					 "Agents: shell commands of %s are sandboxed; their other calls are checked, not sandboxed.",
					 inside)
				: is_any_armed(x)
				? "Agents: their calls are checked, not sandboxed."
				: "Agents: none connected ('helm setup CLIENT'); calls over HTTP, MCP and proxy are checked, not sandboxed."));
	json_set(x->a, x->doc, "containment", part);
}

/* ---- what happened ---- */

/* What came by some entry points: in the last hour and in the last day. */
struct calls_seen {
	struct entry_tally in[2];
	int64_t last_us;
};

static void add_tally(struct entry_tally *to, const struct entry_tally *n)
{
	to->allowed += n->allowed;
	to->asked += n->asked;
	to->denied += n->denied;
	to->self_tests += n->self_tests;
}

static int add_entry(struct look_around *x, struct index *index, enum entry_point entry,
	struct calls_seen *to, struct err *e)
{
	static const int64_t *const spans[] = { &HOUR_US, &DAY_US };
	int64_t last_us = 0;
	int rc = index_entry_last(index, entry, &last_us, e);

	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(spans); i++) {
		struct entry_tally n;
		rc = index_entry_calls(index, entry, x->now_us - *spans[i], &n, e);
		if (rc == OK)
			add_tally(&to->in[i], &n);
	}
	to->last_us = last_us > to->last_us ? last_us : to->last_us;
	return rc;
}

static struct json *tally_json(struct arena *a, const struct entry_tally *n)
{
	struct json *part = json_new(a, JSON_OBJECT);

	json_seti(a, part, "passed", n->allowed);
	json_seti(a, part, "asked", n->asked);
	json_seti(a, part, "refused", n->denied);
	return part;
}

static struct json *calls_json(struct look_around *x, const struct calls_seen *c, bool is_complete)
{
	struct json *part = json_new(x->a, JSON_OBJECT);

	json_set(x->a, part, "last_hour", tally_json(x->a, &c->in[0]));
	json_set(x->a, part, "last_24_hours", tally_json(x->a, &c->in[1]));
	json_sets(x->a, part, "last_at", c->last_us ? text_time_iso(x->a, c->last_us) : NULL);
	json_setb(x->a, part, "complete", is_complete);
	return part;
}

/* What was refused or asked about in the last day.  `what` in the plural: "calls of agents". */
static void add_stopped(struct look_around *x, const struct calls_seen *c, const char *one, const char *many)
{
	const int64_t refused = c->in[1].denied, asked = c->in[1].asked;

	if (refused)
		add_reason(x,
			arena_printf(x->a, "%lld %s refused in the last 24 hours", (long long)refused,
				refused == 1 ? arena_printf(x->a, "%s was", one)
					     : arena_printf(x->a, "%s were", many)));
	if (asked)
		add_reason(x,
			arena_printf(x->a, "%lld %s needed a person in the last 24 hours", (long long)asked,
				asked == 1 ? one : many));
}

/* A part of the record is no reason for calm. */
static void add_part(struct look_around *x, struct index *index, struct json *calls)
{
	const struct index_part part = index_part(index);
	struct json *counted = json_new(x->a, JSON_OBJECT);

	json_seti(x->a, counted, "receipts", part.receipts);
	json_seti(x->a, counted, "of", part.of);
	json_set(x->a, calls, "counted", counted);
	add_reason(x,
		arena_printf(x->a,
			"only the newest %s of %s receipts were counted ('helm status' counts all)",
			text_thousands(x->a, part.receipts), text_thousands(x->a, part.of)));
}

/* Self-tests of the setup are counted apart: nobody's work was refused by them.  Calls over HTTP, through the proxy and of sessions have receipts and no
 * row of their own. */
static void look_at_calls(struct look_around *x)
{
	const struct index_place at = { x->s, x->a, x->ws->state_dir, x->ws->state_fd };
	AUTO(index_close) struct index *index = NULL;
	struct calls_seen clients = { 0 }, others = { 0 };
	struct err e = { 0 };
	int rc = index_open_shown(&at, x->is_patient ? INDEX_ALL : INDEX_SOON, x->shown, &index, &e);
	bool is_complete = rc == OK && index_is_whole(index);

	if (rc == OK)
		rc = add_entry(x, index, ENTRY_CLIENT, &clients, &e);
	for (enum entry_point i = ENTRY_CLIENT + 1; rc == OK && i < ENTRY_POINTS; i++)
		rc = add_entry(x, index, i, &others, &e);
	if (rc == OK)
		rc = index_entry_last(index, ENTRY_SESSION, &x->last_session_us, &e);
	if (rc)
		add_wrong(x, "calls", e.text, "what agents did cannot be told", "helm doctor");
	struct json *part = calls_json(x, &clients, is_complete);
	json_seti(x->a, part, "self_tests", clients.in[1].self_tests);
	json_set(x->a, part, "other_doors", calls_json(x, &others, is_complete));
	json_set(x->a, x->doc, "calls", part);
	add_stopped(x, &clients, "call of agents", "calls of agents");
	add_stopped(x, &others, "call over HTTP, the proxy or in a session",
		"calls over HTTP, the proxy or in sessions");
	if (rc == OK && !is_complete)
		add_part(x, index, part);
}

/* What waits for a person is a reason to look; a file that cannot be read is wrong, until the next question
 * makes it again. */
static void look_at_approvals(struct look_around *x)
{
	struct json *doc, *part = json_new(x->a, JSON_OBJECT);
	struct err e = { 0 };
	size_t pending = 0, in_force = 0;
	bool ok = approvals_load(x->s, x->a, x->ws, &doc, &e) == OK;

	if (ok)
		approvals_count(doc, x->now_us, &pending, &in_force);
	else
		add_wrong(x, "approvals", e.text,
			doc_is_newer(&e)
				? "nothing can be asked, and nothing counts as approved"
				: "the next question puts it aside and makes standing grants again from the record; "
				  "what waited must be asked again",
			put_aside(x, &e, APPROVALS, ""));
	json_setb(x->a, part, "readable", ok);
	json_seti(x->a, part, "pending", (int64_t)pending);
	json_seti(x->a, part, "grants_in_force", (int64_t)in_force);
	json_set(x->a, x->doc, "approvals", part);
	if (pending)
		add_reason(x,
			arena_printf(x->a, "%zu %s for your answer", pending,
				pending == 1 ? "request waits" : "requests wait"));
}

/* ---- what is wrong ---- */

static int take_signer(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	char *signer = arg;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	(void)snprintf(signer, 2 * SIGN_PUBLIC + 1, "%s",
		json_get_text(json_get(receipt, "public_key_set"), "ed25519", ""));
	return 1;
}

/* A key that was lost and made anew leaves older receipts that nobody here vouches for; the newest ones look well. */
static void look_at_first_signer(struct look_around *x, const char *home, const struct key *key)
{
	char signer[2 * SIGN_PUBLIC + 1] = "";
	struct err e = { 0 };

	if (receipts_each(x->s, x->ws->state_fd, take_signer, signer, &e) < 0 || !*signer ||
		chain_key_is_own(x->s, x->a, home, key, signer) ||
		chain_key_is_trusted(x->s, x->a, home, signer))
		return;
	add_wrong(x, "key",
		arena_printf(x->a,
			"the oldest receipts are signed by ed25519:%.16s..., which is no key of this user; 'helm log check' "
			"does not trust them",
			signer),
		NULL,
		arena_printf(x->a,
			"put the key and its history back from a copy; if it was yours and is lost: helm key trust add %s",
			signer));
}

/* Also compares with the signer of the newest receipt: a key that was exchanged without a rotation is found
 * here. */
static void look_at_key(struct look_around *x, const struct json *last)
{
	AUTO(key_free) struct key *key = NULL;
	struct err e = { 0 };
	const char *home, *dir = "";
	int rc = workspace_helm_home(x->s, x->a, &home, &e);

	if (rc == OK) {
		dir = arena_printf(x->a, "%s/keys", home);
		rc = keys_load(x->s, AT_FDCWD, dir, &key, &e);
	}
	if (rc == E_MISSING) {
		add_wrong(x, "key", "there is no signing key",
			"nothing can be recorded, so nothing is allowed",
			last ? "put the key back where it was, or: helm key create" : "helm key create");
		return;
	}
	if (rc) {
		add_wrong(x, "key", e.text, "nothing can be recorded, so nothing is allowed",
			text_eq(e.code, "KEY_MODE")
				? arena_printf(x->a, "chmod 700 %s && chmod 600 %s/root.key", dir, dir)
				: text_eq(e.code, "KEY_OWNER")
				? "run helm as the user whose home this is (HOME and HELM_HOME say whose), or give the "
				  "files back to yourself with chown"
				: "put the key back from a copy; 'helm key show' looks at it");
		return;
	}
	if (key_keeper(key) && signer_check(x->a, key, &e)) {
		add_wrong(x, "key", e.text, "nothing can be recorded, so nothing is allowed",
			"the signer's user starts it: helm signer run");
		return;
	}
	const char *signer = json_get_text(json_get(last, "public_key_set"), "ed25519", "");
	if (last && !chain_key_is_own(x->s, x->a, home, key, signer) &&
		!chain_key_is_trusted(x->s, x->a, home, signer))
		add_wrong(x, "key",
			arena_printf(x->a,
				"the newest receipt is signed by ed25519:%.16s..., which is no key of this "
				"user",
				signer),
			"nothing is written under another key, so nothing is allowed here",
			chain_key_remedy(x->s, x->a, x->ws, signer));
	else if (last)
		look_at_first_signer(x, home, key);
}

/* Where the files are not as the last writer left them, the next writer looks further back before it goes on; so do we. */
static bool look_further_back(struct look_around *x)
{
	struct err e = { 0 };
	const char *home;

	if (log_is_as_left(x->s, x->a, x->ws->state_fd) || workspace_helm_home(x->s, x->a, &home, &e) ||
		log_look_back(x->s, x->a, x->ws->state_fd, arena_printf(x->a, "%s/keys", home), &e) == OK)
		return false;
	add_wrong(x, "record", e.text, "nothing is allowed until it is mended",
		"helm log check, then: helm log repair --yes");
	return true;
}

/* The end of the chain, and the signature of its newest receipt.  `helm log check` looks at all of it. */
static void look_at_record(struct look_around *x)
{
	struct json *last = NULL;
	struct err e = { 0 };

	if (log_look(x->s, x->a, x->ws->state_fd, &last, &e))
		add_wrong(x, "record", e.text, "nothing is allowed until it is mended",
			"helm log check, then: helm log repair --yes");
	else if (look_further_back(x))
		last = NULL;
	look_at_key(x, last);
	if (!last)
		return;
	struct trust nobody = { 0 };
	struct verification v;
	verification_begin(&v, x->a, &nobody, "receipt");
	verify_receipt(&v, last);
	if (v.integrity == ANSWER_NO)
		add_wrong(x, "record", "the signature of the newest receipt does not hold", NULL,
			"helm log check, then: helm log repair --yes");
}

/* What `helm log check` finds is wrong here, too.  What it found stays wrong until it looks again. */
static void look_at_verdict(struct look_around *x)
{
	struct record_verdict v;

	workspace_verdict_quick(x->s, x->a, x->ws, VERDICT_QUICK_BYTES, &v);
	struct json *doc = audit_verdict_json(x->a, &v);
	const char *upto = audit_verdict_text(x->a, &v);
	json_sets(x->a, doc, "text",
		v.is_known && !v.is_sound ? arena_printf(x->a, "NOT SOUND, %s", upto) : upto);
	json_set(x->a, x->doc, "record", doc);
	if (v.is_known ? v.is_sound : v.is_stale)
		return;
	json_each (w, x->wrong) /* the end of the chain says more: that nothing is allowed */
		if (text_eq(json_get_text(w, "name", ""), "record"))
			return;
	add_wrong(x, "record", v.why, NULL, v.remedy);
}

/* Lines at the end of a ledger that are no rows: what they said is lost to every view. */
static void look_at_ledger(struct look_around *x, const char *file)
{
	size_t lines, bad;
	struct err e = { 0 };

	if (rows_check(x->s, x->ws->state_fd, file, TAIL_LINES, &lines, &bad, &e))
		add_wrong(x, file, e.text, NULL, "helm doctor");
	else if (bad)
		add_wrong(x, file,
			arena_printf(
				x->a, "%zu of the last %zu lines of %s cannot be read", bad, lines, file),
			NULL, "helm doctor names the first; helm log check says what is proven");
}

/* Only whether the list can be read; the store itself is checked when it is used. */
static void look_at_checkpoints(struct look_around *x)
{
	struct json *all;
	struct err e = { 0 };
	int rc = checkpoint_list_in(x->s, x->a, x->ws->state_fd, &all, &e);

	if (rc)
		add_wrong(x, "checkpoints", e.text, "what was saved cannot be listed or restored",
			rc == E_CORRUPT ? CHECKPOINT_REMEDY : "helm doctor");
}

/* Files that nothing is decided from, and that somebody still relies on: each must be readable. */
static void look_at_files(struct look_around *x)
{
	static const struct {
		const char *file, *version, *means, *then;
	} files[] = {
		{ ANCHORS, NULL, "heads that were kept elsewhere are not compared", "helm log repair --yes" },
		{ "setup.json", "version", "what was put in front of agent clients cannot be taken back",
			"helm setup status" },
		{ "long-running-runtime.json", "runtime_state_schema_version",
			"runs that must ask a person fail instead", "" },
	};
	struct err e = { 0 };
	struct json *doc;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct bytes text;
		int rc = file_read(x->s, x->a, x->ws->state_fd, files[i].file, 64 << 20, 0, &text, &e);
		if (rc == E_MISSING)
			continue;
		if (rc == OK)
			rc = json_parse(x->a, text, files[i].file, NULL, &doc, &e);
		if (rc == OK && text_eq(files[i].file, ANCHORS))
			rc = log_anchors(x->s, x->a, x->ws->state_fd, &doc, &e);
		else if (rc == OK && !json_is(doc, JSON_OBJECT))
			rc = err_set(&e, E_CORRUPT, "STATE_FILE", "%s holds something else than it should",
				files[i].file);
		else if (rc == OK)
			rc = doc_check_version(doc, files[i].version, 1, files[i].file, &e);
		if (rc)
			add_wrong(x, "files", e.text, files[i].means,
				doc_is_newer(&e) || *files[i].then
					? put_aside(x, &e, files[i].file, files[i].then)
					: WORKSPACE_REPAIR);
	}
}

/* Runs that did not come to their clean-up, of every place: what they left may start at any moment. */
static void look_at_autorun(struct look_around *x)
{
	json_each (one, autorun_unfinished(x->s, x->a, x->ws))
		add_wrong(
			x, "autorun", json_get_text(one, "text", ""), NULL, json_get_text(one, "remedy", ""));
}

/* Guards that a person put in front of a client, and that do not hold. */
static void look_at_guards(struct look_around *x)
{
	json_each (row, x->guards) {
		const char *state = json_get_text(row, "state", "");
		if (text_eq(state, "armed") || text_eq(state, "absent") || text_eq(state, "unknown"))
			continue;
		add_wrong(x, "guard",
			arena_printf(x->a, "the guard in front of %s (%s) is %s: %s",
				json_get_text(row, "client", ""), json_get_text(row, "scope", ""), state,
				json_get_text(row, "detail", "")),
			NULL, "helm setup status");
	}
}

/* Whether anything guards the agents of this user, and whether any is expected to be guarded: one whose program or settings are on this
 * machine.  A supervised session guards its client without an entry in its settings. */
static void look_for_agents(struct look_around *x, const struct setup *setup)
{
	struct json *part = json_new(x->a, JSON_OBJECT), *found = setup_found_clients(setup, x->guards);
	const struct client *c = clients_find(found->n ? json_text(json_at(found, 0)) : "");
	bool is_active = is_any_armed(x) || x->last_session_us, is_expected = c != NULL;

	json_setb(x->a, part, "active", is_active);
	json_setb(x->a, part, "expected", is_expected);
	json_set(x->a, part, "found", found);
	if (!is_active && is_expected) {
		const char *remedy = setup_advice(x->a, c);
		json_sets(x->a, part, "remedy", remedy);
		add_reason(x, arena_printf(x->a, "no agent is guarded here: %s", remedy));
	}
	json_set(x->a, x->doc, "guard", part);
}

/* As much as some decisions take, to a file without a name: an empty file can be made where nothing can be written any more, and neither
 * permissions nor the number of free bytes tell of a quota.  A short write is followed by another, which says why.  0, or the errno. */
static int try_to_write(struct look_around *x)
{
	static const char some[TRIAL_BYTES];
	struct sys *s = x->s;
	AUTO(close_fd) int fd = s->open(s, x->ws->state_fd, ".", O_TMPFILE | O_WRONLY, 0600, 0);

	if (fd < 0) /* not every file system has files without names */
		return errno == EROFS || errno == EACCES || errno == EPERM || errno == ENOSPC ? errno : 0;
	for (size_t done = 0; done < sizeof(some);) {
		ssize_t n = s->write(s, fd, some, sizeof(some) - done);
		if (n <= 0)
			return n ? errno : ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/* Does the limit of this shell on the size of a file leave room for some decisions more? */
static bool may_grow(struct sys *s, int fd)
{
	struct rlimit most;
	struct stat st;

	return s->stat(s, fd, "", &st, AT_EMPTY_PATH) || getrlimit(RLIMIT_FSIZE, &most) ||
		most.rlim_cur == RLIM_INFINITY || (uint64_t)st.st_size + TRIAL_BYTES <= most.rlim_cur;
}

/* Can it be recorded what happens?  And little room means that soon it cannot. */
static void look_at_state(struct look_around *x)
{
	static const char *const files[] = { RECEIPTS, TASK_LEDGER, COMMAND_LOG, TOOL_CALLS };
	struct sys *s = x->s;
	int cannot = try_to_write(x);
	int64_t left = s->free_bytes(s, x->ws->state_fd);
	const char *remedy = arena_printf(x->a, "ls -ld %s; df -h %s", x->ws->state_dir, x->ws->state_dir);

	if (cannot)
		add_wrong(x, "state",
			arena_printf(x->a, "cannot write in %s: %s", x->ws->state_dir, strerror(cannot)),
			"nothing can be recorded, so nothing is allowed",
			cannot == ENOSPC || cannot == EDQUOT
				? arena_printf(x->a,
					  "make room, for example with 'helm checkpoint prune': %s", remedy)
				: cannot == EFBIG ? "raise 'ulimit -f', which limits the size of a file here"
						  : arena_printf(x->a, "make it writable: %s", remedy));
	else if (left >= 0 && left < LITTLE_ROOM_BYTES)
		add_wrong(x, "free-space",
			arena_printf(x->a, "%lld MiB are left where %s is", (long long)(left >> 20),
				x->ws->state_dir),
			"when they are used up, nothing can be recorded, and nothing is allowed",
			arena_printf(x->a, "make room: %s", remedy));
	if (left >= 0)
		json_seti(x->a, x->doc, "free_bytes", left);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd = s->open(
			s, x->ws->state_fd, files[i], O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0, 0);
		if (fd < 0 && errno != ENOENT)
			add_wrong(x, "state",
				arena_printf(x->a, "cannot write to %s: %s", in_state(x, files[i]),
					strerror(errno)),
				"nothing can be recorded, so nothing is allowed",
				arena_printf(x->a, "ls -l %s; chmod u+w %s", in_state(x, files[i]),
					in_state(x, files[i])));
		if (fd >= 0 && !may_grow(s, fd))
			add_wrong(x, "state",
				arena_printf(x->a, "%s has nearly the size that 'ulimit -f' allows here",
					in_state(x, files[i])),
				"soon nothing can be recorded, and nothing is allowed",
				"raise 'ulimit -f', or set it to unlimited");
		if (fd >= 0)
			close_fd(&fd);
	}
}

/* Whoever has joined a fleet is told what its ledger holds against this machine, and this machine against its ledger. */
static void look_at_fleet(struct look_around *x)
{
	json_each (one, fleet_wrong(x->s, x->a, x->ws->helm_home))
		add_wrong(x, "fleet", json_get_text(one, "text", ""), NULL, json_get_text(one, "remedy", ""));
}

/* What is wrong comes first, because the first reason is the one that most views show. */
static struct json *look_at_all(struct look_around *x)
{
	struct setup guards;
	struct err e = { 0 };
	bool has_setup = setup_open(x->s, x->a, x->ws, NULL, &guards, &e) == OK;

	x->now_us = x->s->now_us(x->s);
	x->doc = json_new(x->a, JSON_OBJECT);
	x->wrong = json_new(x->a, JSON_ARRAY);
	x->reasons = json_new(x->a, JSON_ARRAY);
	x->notes = json_new(x->a, JSON_ARRAY);
	x->guards = has_setup ? setup_status(&guards, NULL) : NULL;
	if (x->ws->state_fd >= 0) {
		look_at_state(x);
		look_at_record(x);
		look_at_verdict(x);
		look_at_freeze(x);
		look_at_pauses(x);
		look_at_differences(x);
		look_at_profile(x);
		look_at_policy(x);
		look_at_policy_in_use(x);
		look_at_ledger(x, TASK_LEDGER);
		look_at_ledger(x, COMMAND_LOG);
		look_at_ledger(x, TOOL_CALLS);
		look_at_checkpoints(x);
		look_at_files(x);
		look_at_approvals(x);
		look_at_guards(x);
		look_at_calls(x);
		look_at_fleet(x);
	}
	if (has_setup)
		look_for_agents(x, &guards);
	look_at_autorun(x);
	look_at_walls(x);
	json_set(x->a, x->doc, "wrong", x->wrong);
	json_set(x->a, x->doc, "reasons", x->reasons);
	json_set(x->a, x->doc, "notes", x->notes);
	return x->doc;
}

struct json *standing(struct sys *s, struct arena *a, struct workspace *ws)
{
	struct look_around x = { .s = s, .a = a, .ws = ws };

	return look_at_all(&x);
}

struct json *standing_patient(
	struct sys *s, struct arena *a, struct workspace *ws, const struct index_progress *shown)
{
	struct look_around x = { .s = s, .a = a, .ws = ws, .is_patient = true, .shown = shown };

	return look_at_all(&x);
}

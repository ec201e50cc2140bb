/* console_views.c — what the pages of the console show beside acts: how things stand, what waits, freezes, the log, evidence, policy, servers of
 * tools, spend and memory.
 *
 * Everything here has a command that says the same.  Where that command makes its document itself, it is asked (console_ask_helm()), so that
 * the two cannot differ. */
#include "actions/actions.h"
#include "audit/audit.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/freeze.h"
#include "kernel/mcp/mcp.h"
#include "kernel/passkey.h"
#include "kernel/posture.h"
#include "kernel/standing.h"
#include "kernel/verdict.h"
#include "serve/http/console.h"

#include <string.h>

enum {
	ANSWERED_SHOWN = 200,
	WAITING_SHOWN = 200,
	WAITING_MOST = 1000,
	HEADS_SHOWN = 200,
	FREEZES_SHOWN = 50,
	PACKS_SHOWN = 200,
	EXPLAIN_MOST = 16000,
	NOW_SHOWN = 20,
	COUNTED_MOST = 100000
};
static const int64_t DAY_US = INT64_C(86400) * 1000000;

static bool is_home(const struct call *c)
{
	return text_eq(c->who.tenant, auth_home_tenant(c->server));
}

/* ---- who looks, and at what ---- */

static int me(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct console_session who = { 0 };
	struct json *keys;
	char hex[2 * SIGN_PUBLIC + 1];
	int rc = passkey_credentials(c->server->sys, c->a, console_rp_id(c), &keys, e);

	if (rc)
		return rc;
	bool is_session = console_has_cookie(c) && console_session_of(c, &who);
	hex_encode(key_public(c->k->recorder.key), SIGN_PUBLIC, hex);
	json_sets(c->a, doc, "principal", c->who.principal);
	json_sets(c->a, doc, "label", who.label);
	json_sets(c->a, doc, "key_id", who.key_id);
	json_sets(c->a, doc, "may_register", who.may_register);
	json_setb(c->a, doc, "has_keys", keys->n > 0);
	json_setb(c->a, doc, "has_fleet", console_has_fleet(c));
	json_sets(c->a, doc, "expires_at", is_session ? text_time_z(c->a, who.expires_us) : NULL);
	json_sets(c->a, doc, "origin", console_origin(c));
	json_sets(c->a, doc, "rp_id", console_rp_id(c));
	json_sets(c->a, doc, "workspace", c->server->ws->root);
	json_sets(c->a, doc, "public_key", hex);
	json_seti(c->a, doc, "length", (int64_t)tail_length(c->server->tail));
	json_sets(c->a, doc, "version", HELM_VERSION);
	json_sets(c->a, doc, "now", text_time_z(c->a, c->server->sys->now_us(c->server->sys)));
	call_answer(c, 200, doc);
	return OK;
}

/* ---- now ---- */

/* A self-test stops something, too, but no agent asked for that: it has a number of its own. */
static int count_stopped(
	struct action_index *x, int64_t from_us, struct call *c, struct json *doc, struct err *e)
{
	struct action_filter f = { .verdict = "stopped" };
	int64_t all = 0, day = 0, stopped = 0;
	int rc = action_count(x, &f, COUNTED_MOST, &all, e);

	f.from_us = from_us;
	if (rc == OK)
		rc = action_count(x, &f, COUNTED_MOST, &day, e);
	f.leaves_out_self_tests = true;
	if (rc == OK)
		rc = action_count(x, &f, COUNTED_MOST, &stopped, e);
	json_seti(c->a, doc, "stopped_24h", stopped);
	json_seti(c->a, doc, "self_tests_24h", day - stopped);
	json_seti(c->a, doc, "stopped_all", all);
	return rc;
}

/* How things stand, in the words and by the rule of `helm status`. */
static struct json *judged_standing(struct call *c)
{
	struct workspace *ws = c->k->ws;
	const struct actions_place o = { .sys = c->server->sys,
		.a = c->a,
		.root = ws->root,
		.layout = layout_name(ws->layout),
		.state_name = ws->state_name,
		.state_dir = ws->state_dir,
		.root_fd = ws->root_fd,
		.state_fd = ws->state_fd,
		.is_quick = true };
	struct json *how = standing(c->server->sys, c->a, ws);

	actions_judge(&o, how);
	json_sets(c->a, how, "headline", actions_headline(c->a, how));
	return how;
}

static int now(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	struct json *doc = json_new(c->a, JSON_OBJECT), *approvals, *states;
	struct console_rows rows = { c, json_new(c->a, JSON_ARRAY) };
	const struct action_filter f = { .verdict = "stopped" };
	int64_t now_us = c->server->sys->now_us(c->server->sys);
	size_t pending = 0, granted = 0;
	bool is_behind;
	int rc = console_acts(c, &x, &is_behind, e);

	if (rc == OK)
		rc = count_stopped(x, now_us - DAY_US, c, doc, e);
	if (rc == OK)
		rc = action_list(
			x, &f, (struct action_cursor){ 0 }, NOW_SHOWN, console_push_action, &rows, e);
	if (rc == OK)
		rc = actions_day_states(x, now_us, &states, e);
	if (rc == OK && is_home(c))
		rc = approvals_load(c->server->sys, c->a, c->server->ws, &approvals, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "action_states", states);
	if (is_home(c))
		approvals_count(approvals, now_us, &pending, &granted);
	struct json *how = is_home(c) ? judged_standing(c) : json_new(c->a, JSON_OBJECT);
	json_seti(c->a, doc, "waiting", (int64_t)pending);
	json_seti(c->a, doc, "grants", (int64_t)granted);
	json_set(c->a, doc, "standing", how);
	json_set(c->a, doc, "stopped", rows.list);
	json_setb(c->a, doc, "behind", is_behind);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- what waits ---- */

/* Who of several people has said yes, by the keys that signed. */
static struct json *yes_so_far(struct call *c, const struct json *entry)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	json_each (x, json_get(json_get(entry, "quorum"), "assertions")) {
		struct json *o = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, o, "key_id", json_get_text(x, "key_id", ""));
		json_sets(c->a, o, "label", approval_yes_by(c->server->sys, c->a, x));
		json_push(c->a, list, o);
	}
	return list;
}

static struct json *question(struct call *c, struct action_index *x, const struct json *entry, int64_t now_us)
{
	const char *id = json_get_text(json_get(entry, "request"), "approval_id", "");
	struct action *action = NULL;
	struct json *o = json_new(c->a, JSON_OBJECT);
	const struct json *receipt = json_get(entry, "receipt");

	if (json_get(entry, "quorum"))
		json_set(c->a, o, "said_yes", yes_so_far(c, entry));

	json_set(c->a, o, "request", json_copy(c->a, json_get(entry, "request")));
	if (text_eq(request_state(entry, now_us), "pending"))
		console_add_shown(c, o, json_get(entry, "request"));
	json_sets(c->a, o, "state", request_state(entry, now_us));
	if (action_of_question(x, id, &action, NULL) == OK && action)
		json_set(c->a, o, "action", action_json(c->a, action));
	json_sets(c->a, o, "responder", json_get_text(entry, "responder", NULL));
	json_sets(c->a, o, "resolved_at", json_get_text(entry, "resolved_at", NULL));
	json_sets(c->a, o, "grant_id", json_get_text(entry, "grant_id", NULL));
	json_sets(c->a, o, "decision_id", json_get_text(receipt, "decision_id", NULL));
	json_set(c->a, o, "decision", json_copy(c->a, json_get(receipt, "subject")));
	return o;
}

static int waiting(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	struct sys *s = c->server->sys;
	struct json *all, *doc = json_new(c->a, JSON_OBJECT), *open = json_new(c->a, JSON_ARRAY),
			  *answered = json_new(c->a, JSON_ARRAY);
	int64_t now_us = s->now_us(s), limit = 0;
	size_t total, granted;
	bool is_more = false, is_behind;
	int rc = console_only_home(c, e);

	if (rc == OK)
		rc = console_acts(c, &x, &is_behind, e);

	if (rc == OK)
		rc = call_query_int(c, "limit", WAITING_SHOWN, 1, WAITING_MOST, &limit, e);
	if (rc == OK)
		rc = approvals_load(s, c->a, c->server->ws, &all, e);
	if (rc == OK)
		rc = approvals_add_waiting(s, c->a, c->server->ws, (size_t)limit, all, e);
	if (rc)
		return rc;
	approvals_count(all, now_us, &total, &granted);
	json_each_member (m, json_get(all, "requests"))
		if (text_eq(request_state(m->value, now_us), "pending"))
			json_push(c->a, open, question(c, x, m->value, now_us));
	if (open->n > limit) { /* the newest, which stand last */
		open->items += open->n - limit;
		open->n = (uint32_t)limit;
	}
	rc = approvals_add_settled(s, c->a, c->server->ws, ANSWERED_SHOWN, all, &is_more, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(all, "requests"))
		if (!text_eq(request_state(m->value, now_us), "pending"))
			json_push(c->a, answered, question(c, x, m->value, now_us));
	json_set(c->a, doc, "waiting", open);
	json_seti(c->a, doc, "shown", open->n);
	json_seti(c->a, doc, "total", (int64_t)total);
	json_set(c->a, doc, "answered", answered);
	json_setb(c->a, doc, "more", is_more);
	json_setb(
		c->a, doc, "require_key", json_get_bool(posture_of(s, c->k->ws)->word, "require_key", false));
	call_answer(c, 200, doc);
	return OK;
}

/* One row more than is shown was asked for: were there more? */
static bool cut_rows(struct json *list, uint32_t most)
{
	bool is_cut = list->n > most;

	list->n = is_cut ? most : list->n;
	return is_cut;
}

/* ---- freezes ---- */

static int freezes(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	struct json *all, *doc = json_new(c->a, JSON_OBJECT), *list = json_new(c->a, JSON_ARRAY);
	struct console_rows who = { c, json_new(c->a, JSON_ARRAY) },
			    before = { c, json_new(c->a, JSON_ARRAY) };
	const struct action_filter past = { .kind = "freeze" };
	bool is_behind;
	int rc = console_only_home(c, e);

	if (rc == OK)
		rc = freeze_load(c->server->sys, c->a, c->k->ws, &all, e);
	if (rc == OK)
		rc = console_acts(c, &x, &is_behind, e);
	if (rc == OK)
		rc = action_values(x, "who", 50, console_push, &who, e);
	if (rc == OK)
		rc = action_list(x, &past, (struct action_cursor){ 0 }, FREEZES_SHOWN + 1,
			console_push_action, &before, e);
	if (rc)
		return rc;
	json_setb(c->a, doc, "more", cut_rows(before.list, FREEZES_SHOWN));
	json_each_member (m, all) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		const struct json *about = json_get(m->value, "metadata");
		json_sets(c->a, one, "principal", m->name);
		json_sets(c->a, one, "reason", json_get_text(about, "reason", ""));
		json_sets(c->a, one, "by", json_get_text(about, "by", ""));
		json_sets(c->a, one, "since", json_get_text(m->value, "timestamp", ""));
		json_sets(c->a, one, "receipt_id", json_get_text(m->value, "receipt_id", ""));
		json_push(c->a, list, one);
	}
	json_set(c->a, doc, "frozen", list);
	json_set(c->a, doc, "principals", who.list);
	json_set(c->a, doc, "history", before.list);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- the log ---- */

struct heads {
	struct call *c;
	struct json *list;
	int64_t total, seen; /* heads on record; of these, in this walk */
};

static int count_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	(void)offset;
	(void)line;
	(void)text;
	(void)e;
	((struct heads *)arg)->total += is_whole;
	return 0;
}

/* Only those that are shown are read: there may be a great many. */
static int add_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct heads *h = arg;
	struct json *head;

	(void)offset;
	(void)line;
	(void)e;
	if (is_whole && h->seen++ >= h->total - HEADS_SHOWN && h->list->n < HEADS_SHOWN &&
		json_parse(h->c->a, text, "head", NULL, &head, NULL) == OK)
		json_push(h->c->a, h->list, head);
	return 0;
}

static int log_view(struct call *c, struct err *e)
{
	struct sys *s = c->server->sys;
	int fd = c->server->ws->state_fd;
	struct heads h = { .c = c, .list = json_new(c->a, JSON_ARRAY) };
	struct json *doc = json_new(c->a, JSON_OBJECT), *last = NULL, *anchors = NULL;
	struct err why = { 0 };
	int rc = console_only_home(c, e);

	if (rc == OK)
		rc = lines_each(s, fd, HEADS, count_head, &h, e);
	if (rc == OK)
		rc = lines_each(s, fd, HEADS, add_head, &h, e);
	if (rc && rc != E_MISSING)
		return rc;
	bool is_sound = log_look(s, c->a, fd, &last, &why) == OK;
	(void)!log_anchors(s, c->a, fd, &anchors, NULL);
	json_seti(c->a, doc, "receipts", (int64_t)tail_length(c->server->tail));
	json_setb(c->a, doc, "end_is_sound", is_sound);
	json_sets(c->a, doc, "problem", is_sound ? NULL : why.text);
	struct record_verdict v;
	workspace_verdict_quick(s, c->a, c->server->ws, VERDICT_QUICK_BYTES, &v);
	struct json *record = audit_verdict_json(c->a, &v);
	json_sets(c->a, record, "text", audit_verdict_text(c->a, &v));
	json_set(c->a, doc, "record", record);
	json_sets(c->a, doc, "last_at", json_get_text(last, "timestamp", NULL));
	json_sets(c->a, doc, "chain_id", json_get_text(last, "session_id", NULL));
	json_set(c->a, doc, "heads", h.list);
	json_seti(c->a, doc, "heads_total", h.total);
	json_set(c->a, doc, "anchors", anchors ? anchors : json_new(c->a, JSON_ARRAY));
	call_answer(c, 200, doc);
	return OK;
}

/* ---- evidence ---- */

static int evidence(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	struct json *doc = json_new(c->a, JSON_OBJECT), *list = json_new(c->a, JSON_ARRAY);
	struct console_rows rows = { c, json_new(c->a, JSON_ARRAY) };
	const struct action_filter f = { .kind = "evidence" };
	bool is_behind;
	int rc = console_acts(c, &x, &is_behind, e);

	if (rc == OK)
		rc = action_list(
			x, &f, (struct action_cursor){ 0 }, PACKS_SHOWN + 1, console_push_action, &rows, e);
	json_setb(c->a, doc, "more", cut_rows(rows.list, PACKS_SHOWN));
	json_each (row, rows.list) {
		const char *line = NULL;
		struct json *receipt;
		if (rc == OK)
			rc = console_line(c, json_get_int(row, "clock", 0), &line, e);
		if (rc || !line || json_parse(c->a, bytes_of(line), "receipt", NULL, &receipt, e))
			continue;
		struct json *one = json_copy(c->a, json_get(receipt, "metadata"));
		json_sets(c->a, one, "at", json_get_text(row, "at", ""));
		json_sets(c->a, one, "id", json_get_text(row, "id", ""));
		json_sets(c->a, one, "who", json_get_text(row, "who", ""));
		json_push(c->a, list, one);
	}
	if (rc)
		return rc;
	json_set(c->a, doc, "packs", list);
	call_answer(c, 200, doc);
	return OK;
}

static int read_moment(struct call *c, const char *name, bool *ret_has, int64_t *ret, struct err *e)
{
	const char *text = json_get_text(c->body, name, "");

	*ret_has = *text != '\0';
	if (*ret_has && !text_parse_time(text, strlen(text), ret))
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s is no time of RFC 3339", name);
	return OK;
}

/* Somebody takes evidence along: that is on record, with the digest of what was given. */
static int make_evidence(struct call *c, struct err *e)
{
	const char *session = json_get_text(c->body, "session", NULL);
	struct evidence_choice choice = { .session = session && *session ? session : NULL,
		.tenant = c->who.tenant };
	struct json *about = json_new(c->a, JSON_OBJECT), *receipt;
	struct bytes pack;
	char *id;
	int rc = read_moment(c, "from", &choice.has_since, &choice.since_us, e);

	choice.needs_tenant = !text_eq(c->who.tenant, auth_home_tenant(c->server));
	if (rc == OK)
		rc = read_moment(c, "to", &choice.has_until, &choice.until_us, e);
	if (rc == OK)
		rc = evidence_export(c, &choice, &pack, e);
	if (rc == OK)
		rc = record_new_id(c->a, c->server->sys, "dec-", &id, e);
	if (rc)
		return rc;
	const char *digest = sha256_prefixed(c->a, pack.p, pack.n);
	json_sets(c->a, about, "sha256", digest);
	json_seti(c->a, about, "bytes", (int64_t)pack.n);
	json_sets(c->a, about, "tenant", c->who.tenant);
	if (choice.session)
		json_sets(c->a, about, "session", choice.session);
	if (choice.has_since)
		json_sets(c->a, about, "from", json_get_text(c->body, "from", ""));
	if (choice.has_until)
		json_sets(c->a, about, "to", json_get_text(c->body, "to", ""));
	rc = call_record(c,
		&(struct draft){ .decision_id = id,
			.effect_id = "helm.evidence/export",
			.status = "RECORDED",
			.policy_hash = c->k->policy_hash,
			.output_hash = digest,
			.executor_id = c->who.principal,
			.type = "evidence",
			.metadata = about },
		&receipt, e);
	if (rc)
		return rc;
	call_send_header(c, "X-Helm-Evidence-Hash", digest);
	call_send_header(c, "Content-Disposition", "attachment; filename=\"evidence.helmpack.tar\"");
	call_bytes(c, 200, "application/x-tar", pack);
	return OK;
}

/* ---- documents of commands ---- */

/* Any exit code that comes with a document is an answer: what a command says is what is shown. */
static int show(struct call *c, const char *const *words, struct bytes input, struct err *e)
{
	struct json *doc;
	int code = 0, rc = console_only_home(c, e);

	if (rc == OK)
		rc = console_ask_helm(c, words, input, &doc, &code, e);
	if (rc)
		return rc;
	const struct json *wrong = json_get(doc, "error");
	if (code && json_is(wrong, JSON_OBJECT))
		return call_refuse(c, e, 422, json_get_text(wrong, "code", "CONSOLE_VIEW"), "%s",
			json_get_text(wrong, "message", "it cannot be shown"));
	call_answer(c, 200, doc);
	return OK;
}

static int policy(struct call *c, struct err *e)
{
	static const char *const words[] = { "policy", "show", NULL };

	return show(c, words, (struct bytes){ 0 }, e);
}

/* The candidate goes by standard input: no file of the caller's is read. */
static int simulate(struct call *c, struct err *e)
{
	const char *since = json_get_text(c->body, "since", "30d");
	const char *const words[] = { "policy", "simulate", arena_printf(c->a, "--since=%s", since), "-",
		NULL };

	return show(c, words, bytes_of(json_get_text(c->body, "policy", "")), e);
}

static int memory(struct call *c, struct err *e)
{
	static const char *const pack[] = { "context", "pack", NULL };
	static const char *const entries[] = { "memory", "entries", NULL };
	struct json *doc = json_new(c->a, JSON_OBJECT), *told, *kept;
	int code, rc = console_only_home(c, e);

	if (rc == OK)
		rc = console_ask_helm(c, pack, (struct bytes){ 0 }, &told, &code, e);
	if (rc == OK)
		rc = console_ask_helm(c, entries, (struct bytes){ 0 }, &kept, &code, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "next_run", told);
	json_set(c->a, doc, "entries", kept);
	call_answer(c, 200, doc);
	return OK;
}

/* A command as a tree of what it would do: judged now, not as it was then. */
static int explain(struct call *c, struct err *e)
{
	const char *text = json_get_text(c->body, "command", ""), *cwd = json_get_text(c->body, "cwd", NULL);
	const char *words[] = { "guard", "explain", arena_printf(c->a, "--shell=%s", text),
		cwd ? arena_printf(c->a, "--cwd=%s", cwd) : NULL, NULL };

	if (!*text || strlen(text) > EXPLAIN_MOST)
		return call_refuse(
			c, e, 400, "BAD_REQUEST", "command is a text of 1 to %d bytes", EXPLAIN_MOST);
	return show(c, words, (struct bytes){ 0 }, e);
}

static int spend(struct call *c, struct err *e)
{
	struct json *doc;
	int64_t days, now_us = c->server->sys->now_us(c->server->sys);
	int rc = console_only_home(c, e);

	if (rc == OK)
		rc = call_query_int(c, "days", 30, 1, 3650, &days, e);
	if (rc == OK)
		rc = actions_proxy(
			c->server->sys, c->a, c->server->ws->state_fd, now_us - days * DAY_US, &doc, e);
	if (rc)
		return rc;
	json_seti(c->a, doc, "days", days);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- servers of tools ---- */

/* What says how a server is started may hold secrets: only what is meant to be seen is given on. */
static const char *const shown_parts[] = { "command", "args", "hosts", "network", "trusted", "approved_at",
	"expires_at", "source", "set_sha256", "launch_sha256" };

static struct json *server_row(
	struct call *c, const char *id, const struct json *row, const struct json *seen)
{
	struct json *o = json_new(c->a, JSON_OBJECT), *tools = json_new(c->a, JSON_ARRAY);
	const struct json *last = json_get(json_get(seen, "servers"), id), *offered = json_get(last, "tools");
	const char *url = json_get_text(row, "url", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(shown_parts); i++)
		if (json_get(row, shown_parts[i]))
			json_set(c->a, o, shown_parts[i], json_copy(c->a, json_get(row, shown_parts[i])));
	if (url)
		json_sets(c->a, o, "url", arena_strndup(c->a, url, strcspn(url, "?#")));
	json_sets(c->a, o, "server_id", id);
	json_sets(c->a, o, "state", mcp_state(row, c->server->sys->now_us(c->server->sys)));
	json_sets(c->a, o, "state_text",
		mcp_state_text(c->a, row, offered, c->server->sys->now_us(c->server->sys)));
	json_sets(c->a, o, "seen_at", json_get_text(last, "at", NULL));
	json_each (tool, offered) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		const char *name = json_get_text(tool, "name", "");
		json_sets(c->a, one, "tool", name);
		json_setb(c->a, one, "approved", json_get(json_get(row, "tools"), name) != NULL);
		json_sets(c->a, one, "effect", mcp_effect(id, tool));
		json_sets(c->a, one, "description", json_get_text(tool, "description", ""));
		json_push(c->a, tools, one);
	}
	json_set(c->a, o, "offered", tools);
	json_set(c->a, o, "drift", offered ? mcp_drift(c->a, row, offered) : json_new(c->a, JSON_ARRAY));
	json_set(
		c->a, o, "findings", offered ? mcp_inspect_tools(c->a, offered) : json_new(c->a, JSON_ARRAY));
	return o;
}

static int servers(struct call *c, struct err *e)
{
	struct sys *s = c->server->sys;
	struct json *registry, *seen, *doc = json_new(c->a, JSON_OBJECT), *list = json_new(c->a, JSON_ARRAY);
	int rc = console_only_home(c, e);

	if (rc == OK)
		rc = mcp_load(s, c->a, c->k->ws, &registry, e);
	if (rc == OK)
		rc = mcp_seen_load(s, c->a, c->k->ws, &seen, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(registry, "servers"))
		json_push(c->a, list, server_row(c, m->name, m->value, seen));
	json_set(c->a, doc, "servers", list);
	call_answer(c, 200, doc);
	return OK;
}

#define READ AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE
const struct route http_console_views_routes[] = {
	{ "GET", "/api/v1/console/me", READ, 0, me, "who looks, and at which workspace", NULL, "ConsoleMe" },
	{ "GET", "/api/v1/console/now", READ, 0, now, "what was stopped, what waits, what is not right", NULL,
		"ConsoleNow" },
	{ "GET", "/api/v1/console/waiting", READ, 0, waiting, "questions, and their answers", NULL,
		"ConsoleWaiting" },
	{ "GET", "/api/v1/console/freeze", READ, 0, freezes, "who is frozen, and since when", NULL,
		"ConsoleFreeze" },
	{ "GET", "/api/v1/console/log", READ, 0, log_view, "signed heads and anchors of the log", NULL,
		"ConsoleLog" },
	{ "GET", "/api/v1/console/evidence", READ, 0, evidence, "packs that were made here", NULL,
		"ConsoleEvidence" },
	{ "POST", "/api/v1/console/evidence", READ, TAKES_JSON | BODY_OPTIONAL, make_evidence,
		"a signed pack of a session or a span; on record", "ConsoleEvidenceAsk", NULL },
	{ "GET", "/api/v1/console/policy", READ, 0, policy, "what is in force, rule by rule", NULL,
		"ConsoleDocument" },
	{ "POST", "/api/v1/console/policy/simulate", READ, TAKES_JSON, simulate,
		"what a candidate would change", "ConsoleSimulate", "ConsoleDocument" },
	{ "POST", "/api/v1/console/explain", READ, TAKES_JSON, explain, "a command as a tree",
		"ConsoleExplain", "ConsoleDocument" },
	{ "GET", "/api/v1/console/mcp", READ, 0, servers, "servers of tools: approved, changed, found", NULL,
		"ConsoleServers" },
	{ "GET", "/api/v1/console/spend", READ, 0, spend, "what passed the model proxy", NULL,
		"ConsoleSpend" },
	{ "GET", "/api/v1/console/memory", READ, 0, memory,
		"what the next run will be told, with its sources", NULL, "ConsoleMemory" },
	{ 0 },
};

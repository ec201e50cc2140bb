/* cmd_approval_show.c — approval list, approval show: what waits for a person, and what was granted, in
 * words.
 *
 * Agents write much of what is shown here, and a person decides by it. So every text goes through safe():
 * control characters, direction marks and bad bytes are made visible and cannot hide a part of a command.
 * The same descriptions are shown before an answer is asked for. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "proof/preimage.h"

#include <string.h>

enum { LOOKED_AT = 200 }; /* answers that are searched for a "no" to the same call */
enum { LIST_USUAL = 200, LIST_MOST = 10000 };

const struct opt approval_list_opts[] = {
	{ "all", OPT_FLAG, NULL, "also what was answered, used, revoked or has expired", NULL, false },
	{ "limit", OPT_INT, "N",
		"the newest N that wait, and with --all the newest N that are settled (default 200, at most 10000)",
		NULL, false },
	{ "since", OPT_VALUE, "TIME", "only what was asked or granted since then: 2d, yesterday, 2026-05-01",
		NULL, false },
	URL_OPTIONS,
	{ 0 },
};

/* What an agent wrote, harmless for a terminal. */
static const char *safe(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

/* 0 for a time that is missing or cannot be read: then it is long over. */
static int64_t time_of(const struct json *doc, const char *name)
{
	const char *text = json_get_text(doc, name, "");
	int64_t us;

	return text_parse_time(text, strlen(text), &us) ? us : 0;
}

/* "for 3 hours", "for 2 days", "no longer". */
static const char *how_long(struct cli *r, int64_t until_us)
{
	int64_t s = (until_us - r->sys->now_us(r->sys)) / 1000000;

	if (s <= 0)
		return "no longer";
	if (s < 120)
		return arena_printf(r->a, "for %lld seconds", (long long)s);
	if (s < 7200)
		return arena_printf(r->a, "for %lld minutes", (long long)((s + 30) / 60));
	if (s < 172800)
		return arena_printf(r->a, "for %lld hours", (long long)((s + 1800) / 3600));
	return arena_printf(r->a, "for %lld days", (long long)((s + 43200) / 86400));
}

/* How long ago a recorded time was. */
static const char *ago(struct cli *r, const struct json *doc, const char *name)
{
	return actions_ago(r->a, time_of(doc, name), r->sys->now_us(r->sys));
}

/* ---- one request ---- */

/* One "title value" line; nothing when the member is missing. */
static void line(struct cli *r, struct buf *to, const struct json *doc, const char *title, const char *name)
{
	const char *value = json_get_text(doc, name, NULL);

	if (value)
		buf_addf(to, "  %-10s %s\n", title, safe(r, receipt_id_short(r->a, value)));
}

/* A command of several lines is shown line by line, never joined or cut: what is approved is what was
 * seen. */
static void describe_command(struct cli *r, struct buf *to, const struct json *request)
{
	const char *text = json_get_text(request, "preview", "");
	struct bytes rest = bytes_of(text);
	bool is_first = true;

	while (rest.p) {
		struct bytes one = text_cut(&rest, '\n');
		buf_addf(to, "  %-10s %s\n", is_first ? "command" : "",
			text_safe(r->a, (const char *)one.p, one.n, false));
		is_first = false;
	}
}

/* Why it was asked: each rule with what it understood. */
static void describe_reasons(struct cli *r, struct buf *to, const struct json *request)
{
	const struct json *rules = json_get(request, "rules"), *texts = json_get(request, "understood");

	for (uint32_t i = 0; json_is(rules, JSON_ARRAY) && i < rules->n; i++) {
		const char *rule = json_text(rules->items[i]), *text = json_text(json_at(texts, i));
		buf_addf(to, "  %-10s %s [%s]\n", i ? "" : "because", text ? safe(r, text) : "",
			rule ? safe(r, rule) : "");
	}
}

/* The action that asked; NULL: it is not in this workspace's record, or that cannot be read. */
static struct action *action_asked(struct action_index *x, const char *approval_id)
{
	struct action *found = NULL;

	return x && action_of_question(x, approval_id, &found, NULL) == OK ? found : NULL;
}

/* In the words of every other view; of a machine elsewhere in those of its answer. */
static const char *state_words(
	struct cli *r, struct action_index *x, const char *approval_id, const char *otherwise)
{
	const struct action *action = action_asked(x, approval_id);

	return safe(r, action ? action_state_text(r->a, action) : otherwise);
}

/* One request: who asked, what, where, why, and until when it waits. */
void approval_describe(struct cli *r, struct buf *to, const struct json *entry)
{
	const struct json *request = json_get(entry, "request");
	const char *state = request_state(entry, r->sys->now_us(r->sys)),
		   *id = json_get_text(request, "approval_id", "");
	bool is_open = text_eq(state, "pending");
	AUTO(action_index_close) struct action_index *index = r->ws && !is_open ? actions_of_cli(r) : NULL;

	buf_addf(to, "%sRequest %s%s, %s\n", paint(r, PAINT_BOLD), safe(r, id), paint(r, PAINT_OFF),
		is_open ? "waiting for an answer" : state_words(r, index, id, state));
	line(r, to, request, "asked by", "principal");
	line(r, to, request, "session", "session");
	line(r, to, request, "task", "task_id");
	describe_command(r, to, request);
	shown_describe(r, to, request);
	line(r, to, request, "in", "cwd");
	line(r, to, request, "profile", "profile");
	describe_reasons(r, to, request);
	const struct json *yes = json_get(json_get(entry, "quorum"), "assertions");
	if (json_get(request, "approvers"))
		buf_addf(to, "  %-10s %lld people, each with a registered key of their own; %u so far\n",
			"takes", (long long)json_get_int(request, "approvers", 0),
			json_is(yes, JSON_ARRAY) ? yes->n : 0);
	json_each (x, yes) {
		const char *label = approval_yes_by(r->sys, r->a, x);
		buf_addf(to, "  %-10s %s\n", "yes by",
			safe(r, *label ? label : json_get_text(x, "key_id", "")));
	}
	buf_addf(to, "  %-10s %s\n", "asked", ago(r, request, "created_at"));
	if (is_open)
		buf_addf(to, "  %-10s %s\n", "waits", how_long(r, time_of(request, "expires_at")));
	line(r, to, entry, "answered", "resolved_at");
	line(r, to, entry, "by", "responder");
	line(r, to, entry, "grant", "grant_id");
	line(r, to, request, "to go on", "resume_command");
}

/* ---- one grant ---- */

/* One effect of a grant in words, with the operands it may touch. */
static const char *effect_text(struct cli *r, const struct grant *g, const struct cover *c)
{
	const char *where = g->reach == REACH_PATH	 ? arena_printf(r->a, ", below %s", safe(r, g->path))
		: g->reach == REACH_HOST		 ? arena_printf(r->a, ", on %s", safe(r, g->host))
		: c->is_whole || g->reach == REACH_EXACT ? ""
		: c->path_class == PATH_IN		 ? ", anywhere in the workspace"
		: c->path_class == PATH_TMP		 ? ", anywhere in temporary directories"
							 : ", on the same operand from the same directory";

	if (c->is_whole)
		return arena_printf(r->a, "what %s asks about", safe(r, c->rule));
	return arena_printf(r->a, "%s%s%s%s%s [%s]", effect_kind_clause(c->kind), *c->tag ? " (" : "",
		safe(r, c->tag), *c->tag ? ")" : "", where, safe(r, c->rule));
}

/* Effects that read the same are said once. */
static void describe_effects(struct cli *r, struct buf *to, const struct grant *g)
{
	const char **said = arena_zalloc(r->a, g->cover_count + 1, sizeof(*said));
	size_t n = 0;

	for (size_t i = 0; i < g->cover_count; i++) {
		const char *text = effect_text(r, g, &g->covers[i]);
		size_t k = 0;
		while (k < n && !text_eq(said[k], text))
			k++;
		if (k < n)
			continue;
		said[n++] = text;
		buf_addf(to, "  %-10s %s\n", n == 1 ? "covers" : "", text);
	}
}

/* The same words for covers that no grant holds yet; `guard tune` shows them. */
void covers_describe(struct cli *r, struct buf *to, struct cover *covers, size_t n)
{
	struct grant g = { .reach = REACH_SHAPE, .covers = covers, .cover_count = n };

	describe_effects(r, to, &g);
}

/* What a grant covers, for whom, where and until when; shown before it is given and afterwards. */
void grant_describe(struct cli *r, struct buf *to, const struct grant *g)
{
	/* The order is that of enum reach. */
	static const char *const reach[] = { "this very command, in this directory",
		"any command with these effects and no others that ask",
		"any command with these effects below one directory",
		"any command with these effects on one host" };
	TABLE_COVERS(reach, REACH_COUNT);

	buf_addf(to, "  %-10s %s, %s\n", "grants", reach[g->reach],
		g->is_once ? "once" : "any number of times");
	buf_addf(to, "  %-10s %s%s%s, under %s\n", "to", g->principal ? safe(r, g->principal) : "anybody",
		g->session ? ", session " : "", g->session ? safe(r, g->session) : "", safe(r, g->profile));
	if (g->cwd)
		buf_addf(to, "  %-10s %s\n", "in", safe(r, g->cwd));
	describe_effects(r, to, g);
	buf_addf(to, "  %-10s %s (%s)\n", "until", text_time_z(r->a, g->expires_us),
		how_long(r, g->expires_us));
}

/* The grant inside the receipt that gave it. */
static const struct json *grant_of(const struct json *entry)
{
	return json_get(json_get(json_get(entry, "receipt"), "metadata"), "grant");
}

/* A grant that is not understood grants nothing, and the text says so. */
static void describe_grant_entry(struct cli *r, struct buf *to, const char *id, const struct json *entry)
{
	struct grant g;

	buf_addf(to, "%sGrant %s%s, %s\n", paint(r, PAINT_BOLD), safe(r, id), paint(r, PAINT_OFF),
		grant_state(entry, r->sys->now_us(r->sys)));
	if (grant_from_json(r->a, grant_of(entry), &g, NULL)) {
		buf_adds(to, "  not understood: it grants nothing\n");
		return;
	}
	grant_describe(r, to, &g);
	buf_addf(to, "  %-10s %s\n", "given by", safe(r, g.responder));
	line(r, to, entry, "used", "used_at");
	line(r, to, entry, "revoked", "revoked_at");
	line(r, to, json_get(entry, "receipt"), "receipt", "receipt_id");
}

/* ---- lists ---- */

/* The list with the last ones that were answered; NULL when they cannot be read, which is no reason not to show what waits. */
static const struct json *last_settled(struct cli *r)
{
	struct json *doc;
	bool has_more;

	return approvals_load(r->sys, r->a, r->ws, &doc, NULL) ||
			approvals_add_settled(r->sys, r->a, r->ws, LOOKED_AT, doc, &has_more, NULL)
		? NULL
		: doc;
}

/* The newest "no" to the same call of the same principal, given before this was asked: whoever is asked again knows that it was
 * answered.  NULL: none. */
static const struct json *denied_before(const struct json *requests, const struct json *request)
{
	static const char *const same[] = { "args_sha256", "principal" };
	const struct json *found = NULL;

	json_each_member (m, requests) {
		const struct json *other = json_get(m->value, "request");
		bool is_same = text_eq(json_get_text(m->value, "response", ""), "denied") &&
			time_of(m->value, "resolved_at") < time_of(request, "created_at");
		for (size_t i = 0; i < ARRAY_SIZE(same); i++)
			is_same &= json_get(request, same[i]) &&
				text_eq(json_get_text(other, same[i], ""),
					json_get_text(request, same[i], ""));
		if (is_same)
			found = m->value;
	}
	return found;
}

/* Those of the document that wait. */
static size_t waiting_here(struct cli *r, const struct json *doc)
{
	size_t n = 0;

	json_each_member (m, json_get(doc, "requests"))
		n += text_eq(request_state(m->value, r->sys->now_us(r->sys)), "pending");
	return n;
}

/* Requests that wait get numbers, so that `helm watch` can take one; answered ones do not. */
static void print_waiting(struct cli *r, const struct json *requests, const struct json *settled, bool all)
{
	AUTO(action_index_close) struct action_index *x = all && r->ws ? actions_of_cli(r) : NULL;
	int64_t now = r->sys->now_us(r->sys);
	int number = 0;

	json_each_member (m, requests) {
		const struct json *request = json_get(m->value, "request");
		const char *state = request_state(m->value, now);
		bool waits = text_eq(state, "pending");
		if (!waits && !all)
			continue;
		const char *text = json_get_text(request, "preview", "");
		/* The number is what a person types in `helm watch`. */
		if (waits)
			out(r, "%2d  ", ++number);
		else
			out(r, "    ");
		out(r, "%s%s%s  %s, asked %s by %s\n", paint(r, waits ? PAINT_WARN : PAINT_MUTED),
			safe(r, m->name), paint(r, PAINT_OFF),
			waits ? how_long(r, time_of(request, "expires_at"))
			      : state_words(r, x, m->name, state),
			ago(r, request, "created_at"), safe_member(r, request, "principal"));
		out(r, "    %s\n", text_safe(r->a, text, strcspn(text, "\n"), false));
		const char *changes = waits ? shown_summary(r, request) : NULL;
		if (changes)
			out(r, "    %s\n", changes);
		out(r, "    %s%s%s\n", paint(r, PAINT_MUTED), safe_member(r, request, "risk_reason"),
			paint(r, PAINT_OFF));
		const struct json *no = waits ? denied_before(settled, request) : NULL;
		if (no)
			out(r, "    %sasked again: it was denied %s%s\n", paint(r, PAINT_WARN),
				ago(r, no, "resolved_at"), paint(r, PAINT_OFF));
	}
}

/* Grants that cannot be understood are left out of the list: they are not in force. */
static void print_grants(struct cli *r, const struct json *grants, bool all)
{
	int64_t now = r->sys->now_us(r->sys);

	json_each_member (m, grants) {
		struct grant g;
		const char *state = grant_state(m->value, now);
		if ((!text_eq(state, "in force") && !all) ||
			grant_from_json(r->a, grant_of(m->value), &g, NULL))
			continue;
		out(r, "    %s  %s, %s%s, %s, for %s\n", safe(r, m->name),
			text_eq(state, "in force") ? how_long(r, g.expires_us) : state, reach_name(g.reach),
			g.is_once ? " once" : "", g.cover_count ? safe(r, g.covers[0].rule) : "nothing",
			g.principal ? safe(r, g.principal) : "anybody");
	}
}

/* The list for eyes: what waits, then what is in force; with `all` also what is over. */
void approvals_print(struct cli *r, const struct json *doc, bool all)
{
	const struct json *requests = json_get(doc, "requests"), *grants = json_get(doc, "grants");
	size_t pending, in_force;

	approvals_count(doc, r->sys->now_us(r->sys), &pending, &in_force);
	if (pending)
		out(r, "%zu %s for an answer:\n", pending, pending == 1 ? "request waits" : "requests wait");
	else
		out(r, "Nothing waits for an answer.\n");
	print_waiting(r, requests, pending ? json_get(last_settled(r), "requests") : NULL, all);
	const char *cut = text_shown_of(r->a, (int64_t)waiting_here(r, doc), (int64_t)pending,
		arena_printf(r->a, "%s with: helm approval list --limit %zu",
			pending <= LIST_MOST ? "all" : "more",
			pending < LIST_MOST ? pending : (size_t)LIST_MOST));
	if (cut)
		out(r, "    %s\n", cut);
	if (in_force || (all && grants->n))
		out(r, "%s\n", in_force ? "Granted, and in force:" : "Grants:");
	print_grants(r, grants, all);
}

/* The id of the n-th waiting request, counted as print_waiting() numbers them. */
const char *approvals_nth(struct cli *r, const struct json *doc, int64_t n)
{
	json_each_member (m, json_get(doc, "requests"))
		if (text_eq(request_state(m->value, r->sys->now_us(r->sys)), "pending") && --n == 0)
			return m->name;
	return NULL;
}

/* One flat object, as older readers know it, with the newer members beside them. */
static struct json *flat(struct cli *r, struct action_index *x, const struct json *entry)
{
	static const char *const members[] = { "response", "responder", "resolved_at", "grant_id" };
	struct json *doc = json_copy(r->a, json_get(entry, "request"));

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get(entry, members[i]))
			json_set(r->a, doc, members[i], json_get(entry, members[i]));
	json_sets(r->a, doc, "state", request_state(entry, r->sys->now_us(r->sys)));
	json_sets(
		r->a, doc, "decision_receipt", json_get_text(json_get(entry, "receipt"), "receipt_id", NULL));
	const struct action *action = action_asked(x, json_get_text(doc, "approval_id", ""));
	json_set(r->a, doc, "action", action ? action_json(r->a, action) : json_new(r->a, JSON_NULL));
	return doc;
}

/* One flat object per grant: what was granted, and what became of it. */
static struct json *flat_grant(struct cli *r, const struct json *entry)
{
	static const char *const members[] = { "used_at", "revoked_at" };
	struct json *doc = grant_of(entry) ? json_copy(r->a, grant_of(entry)) : json_new(r->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get(entry, members[i]))
			json_set(r->a, doc, members[i], json_get(entry, members[i]));
	json_sets(r->a, doc, "state", grant_state(entry, r->sys->now_us(r->sys)));
	json_sets(r->a, doc, "receipt", json_get_text(json_get(entry, "receipt"), "receipt_id", NULL));
	return doc;
}

/* Without --all only what waits and what is in force. */
static void print_json(struct cli *r, const struct json *doc, bool all, bool has_more)
{
	AUTO(action_index_close) struct action_index *x = actions_of_cli(r);
	size_t total, in_force;
	struct json *out_doc = json_new(r->a, JSON_OBJECT), *requests = json_new(r->a, JSON_ARRAY),
		    *grants = json_new(r->a, JSON_ARRAY);
	int64_t now = r->sys->now_us(r->sys);

	json_each_member (m, json_get(doc, "requests"))
		if (all || text_eq(request_state(m->value, now), "pending"))
			json_push(r->a, requests, flat(r, x, m->value));
	json_each_member (m, json_get(doc, "grants"))
		if (all || text_eq(grant_state(m->value, now), "in force"))
			json_push(r->a, grants, flat_grant(r, m->value));
	json_set(r->a, out_doc, "requests", requests);
	json_set(r->a, out_doc, "grants", grants);
	approvals_count(doc, now, &total, &in_force);
	json_seti(r->a, out_doc, "shown", (int64_t)waiting_here(r, doc));
	json_seti(r->a, out_doc, "total", (int64_t)total);
	if (all)
		json_setb(r->a, out_doc, "complete", !has_more);
	out_json(r, out_doc);
}

/* The list is made from the record: one that is damaged goes aside, and standing grants are made again, as the next question would do it. */
static int load_or_heal(struct cli *r, struct json **ret, struct err *e)
{
	const char *note = NULL;
	struct kernel k;
	struct err why = { 0 };

	if (approvals_load(r->sys, r->a, r->ws, ret, e) == OK)
		return OK;
	if (kernel_open(r->sys, r->a, r->ws, &k, &why))
		return e ? e->rc : E_CORRUPT;
	int rc = approvals_restore(&k, r->a, ret, &note, e);
	kernel_close(&k);
	if (rc == OK && note)
		warn(r, "%s", note);
	return rc;
}

/* Those that are settled come from the log, and only as many as were asked for. */
/* Requests that were asked, and grants that were given, before this moment.  How many of them wait. */
static size_t drop_older(struct cli *r, struct json *doc, int64_t since_us)
{
	struct json *requests = json_get(doc, "requests"), *grants = json_get(doc, "grants");
	size_t waiting = 0;

	for (uint32_t i = requests ? requests->n : 0; i-- > 0;) {
		const struct json *one = requests->members[i].value;
		if (time_of(json_get(one, "request"), "created_at") >= since_us)
			continue;
		waiting += text_eq(request_state(one, r->sys->now_us(r->sys)), "pending");
		(void)json_remove(requests, requests->members[i].name);
	}
	for (uint32_t i = grants ? grants->n : 0; i-- > 0;)
		if (time_of(grant_of(grants->members[i].value), "created_at") < since_us)
			(void)json_remove(grants, grants->members[i].name);
	return waiting;
}

/* *ret_older: how many that wait are older than --since, and so are not in the list. */
static int load_list(
	struct cli *r, bool all, struct json **ret, bool *ret_more, size_t *ret_older, struct err *e)
{
	int64_t since_us = 0,
		limit = opt_int(r, "limit", opt_text(r, "since", NULL) ? LIST_MOST : LIST_USUAL);
	int rc = limit < 1 || limit > LIST_MOST
		? err_set(e, E_USAGE, "APPROVAL_LIMIT", "--limit takes 1 to %d", LIST_MOST)
		: OK;

	*ret_more = false;
	*ret_older = 0;
	if (rc == OK)
		rc = opt_since(r, "since", &since_us, e);
	if (rc == OK)
		rc = load_or_heal(r, ret, e);
	if (rc == OK)
		rc = approvals_add_waiting(r->sys, r->a, r->ws, (size_t)limit, *ret, e);
	if (rc == OK && all)
		rc = approvals_add_settled(r->sys, r->a, r->ws, (size_t)limit, *ret, ret_more, e);
	if (rc == OK && since_us) {
		out_since(r, since_us);
		*ret_older = drop_older(r, *ret, since_us);
	}
	return rc;
}

/* What waits is told also when it is not shown. */
static void say_older(struct cli *r, size_t older)
{
	if (older)
		out(r, "%s: helm approval list\n",
			older == 1 ? "1 older request waits"
				   : arena_printf(r->a, "%zu older requests wait", older));
}

/* Ends with the command that answers the first request. */
int cmd_approval_list(struct cli *r, struct err *e)
{
	bool all = opt_flag(r, "all"), has_more;
	struct json *doc;
	size_t older;

	if (opt_text(r, "url", NULL))
		return remote_approvals(r, e);
	int rc = load_list(r, all, &doc, &has_more, &older, e);

	if (rc)
		return rc;
	if (r->is_json) {
		print_json(r, doc, all, has_more);
		return 0;
	}
	approvals_print(r, doc, all);
	say_older(r, older);
	if (has_more)
		out(r,
			"Older ones are not shown: --limit shows more, 'helm approval show ID' any of them; all "
			"stand in %s/" APPROVALS_LOG ".\n",
			r->ws->state_dir);
	if (approvals_nth(r, doc, 1))
		out(r, "\nTo see and answer one: helm approval approve %s\n", approvals_nth(r, doc, 1));
	return 0;
}

/* The id may name a grant or a request, settled or not; grants are looked up first. */
int cmd_approval_show(struct cli *r, struct err *e)
{
	const char *id = r->args[0];
	struct json *doc, *entry;
	struct kernel k;
	struct buf text;

	if (opt_text(r, "url", NULL))
		return remote_approval(r, e);
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	buf_init(&text, r->a);
	rc = approvals_load(r->sys, r->a, r->ws, &doc, e);
	struct json *grant = rc ? NULL : json_get(json_get(doc, "grants"), id);
	if (rc == OK && !grant && text_is_id(id) && text_starts(id, "grant-"))
		grant = approvals_find_settled(r->sys, r->a, r->ws, true, id);
	if (rc == OK && !grant)
		rc = approval_get(&k, r->a, id, &entry, e);
	kernel_close(&k);
	if (rc)
		return rc;
	if (r->is_json) {
		AUTO(action_index_close) struct action_index *x = actions_of_cli(r);
		struct json *one = grant ? flat_grant(r, grant) : flat(r, x, entry);
		const struct json *shown = grant ? NULL : shown_of(r, json_get(entry, "request"), NULL);
		if (shown)
			json_set(r->a, one, "shown", json_copy(r->a, shown));
		out_json(r, one);
		return 0;
	}
	if (grant)
		describe_grant_entry(r, &text, id, grant);
	else
		approval_describe(r, &text, entry);
	out(r, "%s", text.p);
	return 0;
}

/* cmd_remote.c — status, receipts, approvals and watch with --url: a boundary elsewhere, by its HTTP interface.
 *
 * This program has no network: helm-serve asks (serve/remote.c), this one shows.  What comes back was written by others, so all of it is made safe before
 * it reaches a terminal.  An answer takes a person at a terminal here, as at home, and a key there whose principal may answer; it is bound to what was
 * shown by the hash of the ceremony. */
#include "base/text.h"
#include "base/url.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_log.h"
#include "cli/cmd_serve.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { ASK_MS = 60000, LIST_USUAL = 50, TAIL_USUAL = 10, PAGE = 1000, MOST = 5000, LOOK_S = 2 };

const struct opt watch_opts[] = {
	{ "once", OPT_FLAG, NULL, "show it once, and end", NULL, false },
	URL_OPTIONS,
	{ 0 },
};
const struct opt approval_show_opts[] = {
	URL_OPTIONS,
	{ 0 },
};
const struct opt serve_reload_opts[] = {
	URL_OPTIONS,
	{ 0 },
};

/* ---- one question ---- */

static int check_url(struct cli *r, struct err *e)
{
	const char *url = opt_text(r, "url", "");

	if (!opt_text(r, "client-cert", NULL) != !opt_text(r, "client-key", NULL))
		return err_set(e, E_USAGE, "USAGE", "--client-cert and --client-key belong together");
	if (!text_starts(url, "http://") && !text_starts(url, "https://") && !text_starts(url, "unix:/"))
		return err_set(e, E_USAGE, "USAGE",
			"--url takes https://host:port, http://127.0.0.1:port or unix:/path, not '%s'", url);
	if (!url_is_private(url))
		return err_set(e, E_USAGE, "USAGE",
			"over http:// everybody on the way reads the key: use https:// for other machines");
	return OK;
}

static enum rc rc_of(int64_t status)
{
	return status == 401 || status == 403 ? E_DENIED : status == 404 ? E_MISSING : E_INPUT;
}

/* The body of a good answer; otherwise an error in the words of the server. */
static int ask(struct cli *r, const char *method, const char *path, struct json *body, struct json **ret,
	struct err *e)
{
	static const char *const files[][2] = { { "api-key-file", "key_file" }, { "ca", "ca" },
		{ "client-cert", "client_cert" }, { "client-key", "client_key" } };
	const char *given = opt_text(r, "url", "");
	struct json *o = json_new(r->a, JSON_OBJECT), *options = json_new(r->a, JSON_OBJECT), *answer;
	int code, rc = check_url(r, e);

	if (rc)
		return rc;
	size_t n = strlen(given);
	while (n && given[n - 1] == '/')
		n--;
	json_sets(r->a, o, "url", arena_strndup(r->a, given, n));
	json_sets(r->a, o, "method", method);
	json_sets(r->a, o, "path", path);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (opt_text(r, files[i][0], NULL))
			json_sets(r->a, o, files[i][1], opt_text(r, files[i][0], NULL));
	if (body)
		json_set(r->a, o, "body", body);
	json_set(r->a, options, "remote", o);
	rc = serve_ask(r, options, ASK_MS, &answer, &code, e);
	if (rc)
		return rc;
	int64_t status = json_get_int(answer, "status", 0);
	*ret = json_get(answer, "body");
	if (status / 100 == 2)
		return OK;
	const struct json *why = json_get(*ret, "error");
	return err_set(e, rc_of(status), "REMOTE", "%s answers %lld: %s", given, (long long)status,
		json_get_text(why, "message", "no reason is given"));
}

static const char *safe(struct cli *r, const struct json *doc, const char *name)
{
	const char *text = json_get_text(doc, name, "");

	return text_safe(r->a, text, strlen(text), false);
}

/* Whatever it is, it stays one segment of a path, or one value of a query. */
static void put_escaped(struct buf *to, const char *text)
{
	for (const char *p = text; *p; p++)
		buf_addf(to, "%%%02X", (unsigned char)*p);
}

static const char *path_with(struct cli *r, const char *before, const char *id)
{
	struct buf text;

	buf_init(&text, r->a);
	buf_adds(&text, before);
	put_escaped(&text, id);
	return text.p;
}

/* ---- looking ---- */

int remote_status(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = ask(r, "GET", "/api/v1/boundary/status", NULL, &doc, e);

	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int remote_receipt(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = ask(r, "GET", path_with(r, "/api/v1/receipts/", r->args[0]), NULL, &doc, e);

	if (rc)
		return rc;
	out_result(r, doc);
	if (!r->is_json)
		out(r, "As it was signed; not verified here: save it with --json, then helm verify FILE --key KEY.\n");
	return OK;
}

/* Where the newest `limit` begin, when nothing is filtered: the number of receipts says it. */
static int first_cursor(struct cli *r, int64_t limit, int64_t *ret, struct err *e)
{
	struct json *doc;
	int rc = ask(r, "GET", "/api/v1/boundary/status", NULL, &doc, e);

	if (rc)
		return rc;
	int64_t n = json_get_int(doc, "receipt_count", 0);
	*ret = limit && n > limit ? n - limit : 0;
	return OK;
}

static int query_of(struct cli *r, const char *cursor, const char **ret, struct err *e)
{
	static const char *const names[][2] = { { "session", "session_id" }, { "verdict", "verdict" },
		{ "since", "from" } };
	struct buf text;

	buf_init(&text, r->a);
	buf_addf(&text, "/api/v1/receipts?limit=%d&since=%s", PAGE, cursor);
	if (opt_text(r, "task", NULL))
		return err_set(e, E_USAGE, "USAGE", "--task is not known there; use --session");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = opt_text(r, names[i][0], NULL);
		if (!value)
			continue;
		buf_addf(&text, "&%s=", names[i][1]);
		put_escaped(&text, value);
	}
	*ret = text.p;
	return OK;
}

/* The newest `most` behind the cursor, which moves to their end.  *is_cut is set when there were more. */
static int read_pages(
	struct cli *r, const char **cursor, int64_t most, struct json **ret, bool *is_cut, struct err *e)
{
	struct json *page, *kept = json_new(r->a, JSON_ARRAY);
	const char *path = NULL;

	do {
		int rc = query_of(r, *cursor, &path, e);
		if (rc == OK)
			rc = ask(r, "GET", path, NULL, &page, e);
		if (rc)
			return rc;
		json_each (one, json_get(page, "receipts"))
			json_push(r->a, kept, one);
		if (kept->n > most) {
			*is_cut = true;
			struct json *newer = json_new(r->a, JSON_ARRAY);
			for (size_t i = kept->n - (size_t)most; i < kept->n; i++)
				json_push(r->a, newer, json_at(kept, i));
			kept = newer;
		}
		*cursor = json_get_text(page, "next_cursor", *cursor);
	} while (json_get_bool(page, "has_more", false));
	*ret = kept;
	return OK;
}

static void show_receipts(struct cli *r, const struct json *list, bool is_tail)
{
	if (is_tail) {
		json_each (one, list)
			receipts_tail_row(r, one);
	} else if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_set(r->a, doc, "receipts", json_copy(r->a, list));
		out_json(r, doc);
	} else if (list->n) {
		receipts_table(r, list);
	} else {
		out(r, "No receipts.\n");
	}
	out_flush(r);
}

int remote_receipts(struct cli *r, bool is_followed, struct err *e)
{
	bool is_tail = text_eq(r->cmd->is->name, "receipts tail");
	bool has_filter =
		opt_text(r, "session", NULL) || opt_text(r, "verdict", NULL) || opt_text(r, "since", NULL);
	int64_t limit = opt_int(r, "limit", is_tail ? TAIL_USUAL : LIST_USUAL), from = 0;
	struct json *list;
	bool is_cut = false;
	int rc = has_filter ? check_url(r, e) : first_cursor(r, limit, &from, e);
	const char *cursor = arena_printf(r->a, "lamport:%lld", (long long)from);

	if (rc == OK)
		rc = read_pages(r, &cursor, limit && limit < MOST ? limit : MOST, &list, &is_cut, e);
	if (rc)
		return rc;
	if (!is_tail && (is_cut || from > 0))
		warn(r, "the newest %s; there are more, %s", text_thousands(r->a, list->n),
			list->n < MOST ? "with --limit N, up to 5000" : "of a shorter time with --since");
	show_receipts(r, list, is_tail);
	while (rc == OK && is_followed) {
		if (!out_wait(INT64_C(1000000)))
			break;
		rc = read_pages(r, &cursor, MOST, &list, &is_cut, e);
		if (rc == OK)
			show_receipts(r, list, true);
	}
	return rc;
}

/* ---- questions ---- */

static void describe(struct cli *r, struct buf *to, const struct json *q)
{
	static const char *const lines[][2] = { { "asked by", "requested_by" }, { "what", "subject" },
		{ "because", "reason" }, { "arguments", "args_sha256" }, { "asked", "created_at" },
		{ "waits until", "expires_at" } };

	buf_addf(to, "%sRequest %s%s at %s, %s\n", paint(r, PAINT_BOLD), safe(r, q, "approval_id"),
		paint(r, PAINT_OFF), opt_text(r, "url", ""), safe(r, q, "state"));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (*json_get_text(q, lines[i][1], ""))
			buf_addf(to, "  %-11s %s\n", lines[i][0], safe(r, q, lines[i][1]));
	if (json_get_int(q, "quorum", 1) > 1)
		buf_addf(to, "  %-11s %lld people, each with a registered key, where it was asked\n", "takes",
			(long long)json_get_int(q, "quorum", 1));
}

static void print_questions(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "#", "REQUEST", "STATE", "ASKED BY", "WHAT" };
	struct out_table *t;
	size_t n = 0;

	if (!list->n) {
		out(r, "Nothing waits at %s.\n", opt_text(r, "url", ""));
		return;
	}
	t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (q, list) {
		const char *cells[] = { arena_printf(r->a, "%zu", ++n), safe(r, q, "approval_id"),
			safe(r, q, "state"), safe(r, q, "requested_by"), safe(r, q, "subject") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

/* A server gives 200 unless it is asked for more, and 1,000 at most. */
static int load_questions(struct cli *r, bool all, struct json **ret, struct err *e)
{
	enum { USUAL = 200 };
	int rc = ask(r, "GET", all ? "/api/v1/approvals" : "/api/v1/approvals?state=pending", NULL, ret, e);

	if (rc == OK && json_is(*ret, JSON_ARRAY) && (*ret)->n >= USUAL)
		rc = ask(r, "GET",
			all ? "/api/v1/approvals?limit=1000" : "/api/v1/approvals?state=pending&limit=1000",
			NULL, ret, e);
	if (rc == OK && json_is(*ret, JSON_ARRAY) && (*ret)->n >= PAGE)
		warn(r, "the newest %s; all of them are listed there, with: helm approval list --limit 10000",
			text_thousands(r->a, (*ret)->n));
	return rc == OK && !json_is(*ret, JSON_ARRAY)
		? err_set(e, E_INPUT, "REMOTE", "%s answers with no list", opt_text(r, "url", ""))
		: rc;
}

int remote_approvals(struct cli *r, struct err *e)
{
	struct json *list;
	int rc = load_questions(r, opt_flag(r, "all"), &list, e);

	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, list);
	else
		print_questions(r, list);
	return OK;
}

static int load_question(struct cli *r, const char *id, struct json **ret, struct err *e)
{
	return ask(r, "GET", path_with(r, "/api/v1/approvals/", id), NULL, ret, e);
}

int remote_approval(struct cli *r, struct err *e)
{
	struct json *q;
	struct buf text;
	int rc = load_question(r, r->args[0], &q, e);

	if (rc)
		return rc;
	buf_init(&text, r->a);
	describe(r, &text, q);
	if (r->is_json)
		out_json(r, q);
	else
		out(r, "%s", text.p);
	return OK;
}

/* ---- answers ---- */

static int send_answer(struct cli *r, const struct json *q, const char *verb, struct err *e)
{
	struct json *body = json_new(r->a, JSON_OBJECT), *now;
	const char *path = path_with(r, "/api/v1/approvals/", json_get_text(q, "approval_id", ""));

	json_sets(r->a, body, "expected_ceremony_hash", json_get_text(q, "ceremony_hash", ""));
	if (!text_eq(r->cmd->is->name, "watch") && !text_eq(verb, "approve") && opt_text(r, "reason", NULL))
		json_sets(r->a, body, "reason", opt_text(r, "reason", NULL));
	int rc = ask(r, "POST", arena_printf(r->a, "%s/%s", path, verb), body, &now, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, now);
	else
		out(r, "Request %s is %s.\n", safe(r, now, "approval_id"), safe(r, now, "state"));
	return OK;
}

/* How far a yes reaches is decided where it was asked: over HTTP it is this very call, once. */
static int check_reach(struct cli *r, struct err *e)
{
	static const char *const other[] = { "session", "shape", "below", "host", "until", "for", "key",
		"run", "signed" };

	for (size_t i = 0; i < r->value_count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(other); k++)
			if (text_eq(r->values[i].opt->name, other[k]))
				return err_set(e, E_USAGE, "USAGE",
					"--%s does not go with --url: over HTTP an answer is for this very call, once",
					other[k]);
	return OK;
}

int remote_answer(struct cli *r, const char *verb, struct err *e)
{
	const char *word = text_eq(verb, "approve") ? "APPROVE" : text_eq(verb, "deny") ? "DENY" : "REVOKE";
	const char *const words[] = { word, NULL };
	const char *typed;
	struct person who;
	struct json *q;
	struct buf text;
	int rc = check_reach(r, e);

	if (rc == OK)
		rc = person_open(r->sys, r->a, NULL, NULL, &who, e);
	if (rc == OK)
		rc = load_question(r, r->args[0], &q, e);
	if (rc)
		return rc;
	buf_init(&text, r->a);
	describe(r, &text, q);
	buf_addf(&text, "\nType %s to go on, anything else to leave it: ", word);
	if (!approver_says(r, text.p, words, &typed)) {
		out(r, "Nothing was changed.\n");
		return EXIT_NO;
	}
	return send_answer(r, q, verb, e);
}

/* ---- watch ---- */

/* One of the list, by its number; anything else leaves. */
static int take_line(struct cli *r, const struct json *list, bool *ret_ends, struct err *e)
{
	static const char *const words[] = { "APPROVE", "DENY", NULL };
	char line[32];
	ssize_t n = read(0, line, sizeof(line) - 1);
	const char *typed;
	struct json *q;
	struct buf text;
	int64_t number;

	*ret_ends = true;
	if (n <= 0)
		return OK;
	line[n] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (!text_int(line, &number) || number < 1 || number > (int64_t)list->n)
		return OK;
	*ret_ends = false;
	int rc = load_question(r, json_get_text(json_at(list, (size_t)number - 1), "approval_id", ""), &q, e);
	if (rc)
		return rc;
	buf_init(&text, r->a);
	describe(r, &text, q);
	buf_adds(&text, "\nType APPROVE or DENY, anything else to leave it: ");
	if (!approver_says(r, text.p, words, &typed))
		return OK;
	return send_answer(r, q, text_eq(typed, "APPROVE") ? "approve" : "deny", e);
}

int remote_watch(struct cli *r, struct err *e)
{
	bool is_live = r->is_tty && !r->is_json && !opt_flag(r, "once"), ends = !is_live;
	struct person who;
	struct json *list;
	int rc = is_live && isatty(0) ? person_open(r->sys, r->a, NULL, NULL, &who, e) : OK;

	do {
		if (rc == OK)
			rc = load_questions(r, false, &list, e);
		if (rc)
			return rc;
		if (r->is_json) {
			out_json(r, list);
			return OK;
		}
		if (is_live)
			out(r, "\033[H\033[2J");
		print_questions(r, list);
		if (!is_live)
			return OK;
		out(r, "\nType the number of a request to answer it, or only Enter to leave> ");
		out_flush(r);
		struct pollfd key = { 0, POLLIN, 0 };
		if (poll(&key, isatty(0) ? 1 : 0, LOOK_S * 1000) > 0)
			rc = take_line(r, list, &ends, e);
	} while (!ends && rc == OK);
	return rc;
}

/* ---- operation ---- */

int cmd_serve_reload(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = opt_text(r, "url", NULL)
		? ask(r, "POST", "/internal/policy/reconcile", json_new(r->a, JSON_OBJECT), &doc, e)
		: err_set(e, E_USAGE, "USAGE", "say which server: --url http://127.0.0.1:7714");

	if (rc == OK)
		out_result(r, doc);
	return rc;
}

/* cmd_receipts.c — receipts list, show, export, tail: what was recorded, for people and for programs.
 *
 * The log may hold millions of receipts, so the newest are looked for from its end, and no more of it is read than
 * that takes; what is kept is bounded. Lines
 * that are no receipts are counted or named and never silently skipped. An export is byte for byte what
 * was signed: a receipt that is parsed and written again may no longer verify. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_log.h"
#include "kernel/workspace.h"
#include "proof/preimage.h"

#include <fcntl.h>
#include <string.h>

/* MAX_KEPT and KEPT_BYTES bound the memory of a list; POLL_US is how often --follow looks; AT_ONCE how many new receipts
 * one look expects. */
enum {
	DEFAULT_LIST = 50,
	DEFAULT_TAIL = 10,
	MAX_KEPT = 5000,
	KEPT_BYTES = 24 << 20,
	POLL_US = 200000,
	AT_ONCE = 256
};

#define CHOICE_OPTS \
	{ "session", OPT_VALUE, "ID", "of this session only", NULL, false }, \
		{ "task", OPT_VALUE, "ID", "of this task only", NULL, false }, \
		{ "verdict", OPT_VALUE, "VERDICT", "with this verdict only", "ALLOW|DENY|ESCALATE", false }, \
	{ \
		"since", OPT_VALUE, "TIME", "not older than this: 2d, yesterday, 2026-05-01", NULL, false \
	}

const struct opt receipts_list_opts[] = {
	{ "limit", OPT_INT, "N", "the newest N; 50 when not given, 0 for all, up to 5000", NULL, false },
	CHOICE_OPTS,
	URL_OPTIONS,
	{ 0 },
};
const struct opt receipts_export_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write to a new file, and the newest signed tree head to FILE.head", NULL,
		false },
	CHOICE_OPTS,
	{ 0 },
};
const struct opt receipts_tail_opts[] = {
	{ "limit", OPT_INT, "N", "start with the newest N; 10 when not given", NULL, false },
	{ "follow", OPT_FLAG, NULL, "wait for more, until interrupted", NULL, false },
	CHOICE_OPTS,
	URL_OPTIONS,
	{ 0 },
};
const struct opt receipts_show_opts[] = {
	{ "all", OPT_FLAG, NULL, "every member, as it was signed", NULL, false },
	URL_OPTIONS,
	{ 0 },
};

/* ---- choosing ---- */

/* Which receipts are wanted. */
struct choice {
	const char *session, *task, *verdict;
	int64_t since_us;
	bool has_since;
};

/* The same filters for list, export and tail. */
static int read_choice(struct cli *r, struct choice *ret, struct err *e)
{
	*ret = (struct choice){ .session = opt_text(r, "session", NULL),
		.task = opt_text(r, "task", NULL),
		.verdict = opt_text(r, "verdict", NULL),
		.has_since = opt_text(r, "since", NULL) != NULL };
	return opt_since(r, "since", &ret->since_us, e);
}

/* A session or task is named in different members by different kinds of receipts; any of them counts. A
 * receipt without a readable time is not newer than anything. */
static bool is_chosen(const struct choice *c, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *time = json_get_text(receipt, "timestamp", "");
	int64_t us;

	if (c->session && !text_eq(json_get_text(receipt, "session_id", ""), c->session) &&
		!text_eq(json_get_text(receipt, "correlation_id", ""), c->session) &&
		!text_eq(json_get_text(about, "session", ""), c->session))
		return false;
	if (c->task && !text_eq(json_get_text(about, "task_id", ""), c->task) &&
		!text_eq(json_get_text(receipt, "correlation_id", ""), c->task))
		return false;
	if (c->verdict && !text_eq(json_get_text(receipt, "verdict", ""), c->verdict))
		return false;
	return !c->has_since || (text_parse_time(time, strlen(time), &us) && us >= c->since_us);
}

/* The newest so many of those chosen, as the lines they are. */
struct newest {
	const struct choice *choice;
	struct arena *a;
	struct bytes *lines; /* the newest first */
	size_t n, cap, bytes;
	int64_t after; /* nothing up to this clock is looked for; 0: all */
	bool is_more; /* there are older ones that match */
	uint64_t unreadable;
};

static int keep_newest(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct newest *k = arg;

	(void)file;
	(void)at;
	(void)e;
	if (!receipt) {
		k->unreadable++;
		return 0;
	}
	if (k->after && json_get_int(receipt, "lamport_clock", 0) <= k->after)
		return 1;
	if (!is_chosen(k->choice, receipt))
		return 0;
	k->is_more = k->n == k->cap || k->bytes > KEPT_BYTES;
	if (k->is_more)
		return 1;
	k->lines[k->n++] =
		(struct bytes){ (const uint8_t *)arena_strndup(k->a, (const char *)text.p, text.n), text.n };
	k->bytes += text.n;
	return 0;
}

/* What every line that is chosen has in it, so that others need not be parsed. */
static const char *text_of_choice(struct arena *a, const struct choice *c)
{
	if (c->task && text_is_plain(c->task))
		return c->task;
	if (c->session && text_is_plain(c->session))
		return c->session;
	return c->verdict ? arena_printf(a, "\"%s\"", c->verdict) : NULL;
}

/* Receipts of one id, where the index leads to them.  False: it does not, and the chain itself has to be searched. */
static bool ask_index(struct cli *r, const char *id, receipt_back *fn, void *arg)
{
	const struct index_place at = { r->sys, r->a, r->ws->state_dir, r->ws->state_fd };
	AUTO(index_close) struct index *x = NULL;

	if (!id || !text_is_plain(id) || !file_exists(r->sys, r->ws->state_fd, INDEX_FILE) ||
		index_open(&at, INDEX_SOON, &x, NULL))
		return false;
	return !index_note(x) && index_receipts(x, id, fn, arg, NULL) == OK;
}

/* A limit of 0 means "all", up to MAX_KEPT; more than that is what export is for. */
static int read_newest(struct cli *r, const struct choice *choice, size_t limit, int64_t after,
	struct newest *ret, struct err *e)
{
	const struct receipts_wanted want = { .text = text_of_choice(r->a, choice) };
	const struct newest none = { .choice = choice,
		.a = r->a,
		.lines =
			arena_zalloc(r->a, limit && limit < MAX_KEPT ? limit : MAX_KEPT, sizeof(*none.lines)),
		.cap = limit && limit < MAX_KEPT ? limit : MAX_KEPT,
		.after = after };

	*ret = none;
	if (!after && ask_index(r, choice->task ? choice->task : choice->session, keep_newest, ret))
		return OK;
	*ret = none;
	return receipts_back(r->sys, r->ws->state_fd, &want, keep_newest, ret, e);
}

/* The i-th of those kept, the oldest first; valid until the arena is reset. */
static struct json *newest_at(struct arena *a, const struct newest *k, size_t i)
{
	struct json *receipt = NULL;

	(void)json_parse(a, k->lines[k->n - 1 - i], "receipt", NULL, &receipt, NULL);
	return receipt;
}

/* ---- showing ---- */

/* A member of a receipt, harmless for a terminal. */
static const char *shown(struct cli *r, const struct json *receipt, const char *name)
{
	const char *s = json_get_text(receipt, name, "");

	return text_safe(r->a, s, strlen(s), false);
}

/* The id without its mark, which is for machines. */
static const char *shown_id(struct cli *r, const struct json *receipt)
{
	const char *s = receipt_id_short(r->a, json_get_text(receipt, "receipt_id", ""));

	return text_safe(r->a, s, strlen(s), false);
}

/* The beginning of its decision's id, which 'helm receipts show' takes; any other id as it is. */
static const char *list_id(struct cli *r, const struct json *receipt)
{
	enum { SHOWN_DIGITS = 8, ID_DIGITS = 32 };
	static const char before[] = "dec-";
	const char *id = json_get_text(receipt, "decision_id", ""), *digits = id + strlen(before);

	if (!text_starts(id, before) || strlen(digits) != ID_DIGITS ||
		strspn(digits, "0123456789abcdef") != ID_DIGITS)
		return shown_id(r, receipt);
	return arena_printf(r->a, "%.*s%s", (int)strlen(before) + SHOWN_DIGITS, id,
		text_eq(json_get_text(receipt, "type", ""), "outcome") ? "_outcome" : "");
}

/* Refused and broken things are red, questions yellow. */
static enum paint paint_of(const char *status)
{
	if (text_eq(status, "DENY") || text_eq(status, "FAILED") || text_eq(status, "DAMAGED"))
		return PAINT_BAD;
	return text_eq(status, "ESCALATE") ? PAINT_WARN : PAINT_GOOD;
}

/* The action that a receipt is about; NULL: it is about none, or nobody can tell. */
static struct action *action_for(struct action_index *x, const struct json *receipt)
{
	const char *id = json_get_text(receipt, "decision_id", "");
	struct action *found = NULL;

	if (!x || !*id || action_find(x, id, &found, NULL))
		return NULL;
	return found;
}

/* A decision and its outcome are rows of one action, and both show its state. */
static void list_row(struct cli *r, struct out_table *t, struct action_index *x, const struct json *receipt)
{
	const struct action *action = action_for(x, receipt);
	const char *status = shown(r, receipt, "status"),
		   *what = action
		? action->sentence
		: arena_printf(r->a, "%s %s", shown(r, receipt, "tool_name"), shown(r, receipt, "effect_id"));
	const char *state = action && action_state_of(action) != ACTION_RECORDED
		? action_state_text(r->a, action)
		: status;
	enum paint colour = action ? paint_for_state(action_state_of(action)) : paint_of(status);
	const enum paint paints[] = { PAINT_OFF, PAINT_MUTED, colour, PAINT_MUTED, PAINT_OFF };
	const char *cells[] = { arena_printf(
					r->a, "%lld", (long long)json_get_int(receipt, "lamport_clock", 0)),
		shown(r, receipt, "timestamp"), text_safe(r->a, state, strlen(state), false),
		list_id(r, receipt), text_safe(r->a, what, strlen(what), false) };

	out_row(t, cells, paints);
}

static const char *const headings[] = { "#", "TIME", "STATE", "RECEIPT", "ACTION" };

void receipts_table(struct cli *r, const struct json *list)
{
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));

	json_each (one, list)
		list_row(r, t, NULL, one);
	out_table_end(t);
}

static void list_text(struct cli *r, const struct newest *newest, uint64_t total)
{
	AUTO(arena_done) struct arena one = { 0 };

	if (!newest->n) {
		out(r, "No receipts.\n");
		return;
	}
	AUTO(action_index_close) struct action_index *x = actions_of_cli(r);
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	for (size_t i = 0; i < newest->n; i++) {
		list_row(r, t, x, newest_at(&one, newest, i));
		arena_reset(&one);
	}
	out_table_end(t);
	if (newest->is_more)
		out(r, "The newest %s%s; %s\n", text_thousands(r->a, (int64_t)newest->n),
			total ? arena_printf(r->a, " of %s", text_thousands(r->a, (int64_t)total)) : "",
			newest->n < MAX_KEPT
				? "more with --limit N, all with --limit 0 or 'helm receipts export'"
				: "all with 'helm receipts export'");
}

/* {decision_id: action} of the receipts above it. */
static void list_actions_json(struct cli *r, const struct newest *newest)
{
	AUTO(arena_done) struct arena one = { 0 };
	AUTO(action_index_close) struct action_index *x = newest->n ? actions_of_cli(r) : NULL;
	const char *before = "";
	struct buf text;

	out(r, "  \"actions\": {");
	for (size_t i = 0; x && i < newest->n; i++) {
		const struct json *receipt = newest_at(&one, newest, i);
		const struct action *action = text_eq(json_get_text(receipt, "type", ""), "outcome")
			? NULL
			: action_for(x, receipt);
		if (action) {
			buf_init(&text, &one);
			json_write(&text, json_stringf(&one, "%s", action->id), 0);
			buf_adds(&text, ": ");
			json_write(&text, action_json(&one, action), 0);
			buf_addc(&text, '\0');
			out(r, "%s\n    %s", before, text.p);
			before = ",";
		}
		arena_reset(&one);
	}
	out(r, "%s},\n", *before ? "\n  " : "");
}

/* Written receipt by receipt: thousands of them as one document in memory would take more than any command may. */
static void list_json(struct cli *r, const struct newest *newest, uint64_t total)
{
	AUTO(arena_done) struct arena one = { 0 };
	struct buf text;

	out(r, "{\n  \"receipts\": [");
	for (size_t i = 0; i < newest->n; i++) {
		buf_init(&text, &one);
		json_write(&text, newest_at(&one, newest, i), JSON_INDENT);
		buf_addc(&text, '\0');
		out(r, "%s", i ? ",\n" : "\n");
		for (const char *line = text.p, *end; line; line = end ? end + 1 : NULL) {
			end = strchr(line, '\n');
			out(r, "    %.*s%s", end ? (int)(end - line) : (int)strlen(line), line,
				end ? "\n" : "");
		}
		arena_reset(&one);
	}
	out(r, "%s],\n", newest->n ? "\n  " : "");
	list_actions_json(r, newest);
	if (!newest->is_more)
		out(r, "  \"matching\": %zu,\n", newest->n);
	out(r, "  \"shown\": %zu,\n", newest->n);
	if (!newest->is_more || total)
		out(r, "  \"total\": %llu,\n",
			newest->is_more ? (unsigned long long)total : (unsigned long long)newest->n);
	out(r, "  \"complete\": %s,\n  \"unreadable_lines\": %llu\n}\n", newest->is_more ? "false" : "true",
		(unsigned long long)newest->unreadable);
}

/* Says when there are more, so that a cut list is not taken for the whole. */
int cmd_receipts_list(struct cli *r, struct err *e)
{
	int64_t limit = opt_int(r, "limit", DEFAULT_LIST);
	struct newest newest;
	struct choice choice;

	if (limit < 0)
		return err_set(e, E_USAGE, "USAGE_LIMIT", "--limit cannot be negative");
	if (opt_text(r, "url", NULL))
		return remote_receipts(r, false, e);
	uint64_t total = 0;
	int rc = read_choice(r, &choice, e);
	if (rc == OK)
		rc = read_newest(r, &choice, (size_t)limit, 0, &newest, e);
	if (rc)
		return rc;
	/* How many match a filter nobody has counted; how many there are stands in the log. */
	if (newest.is_more && !choice.session && !choice.task && !choice.verdict && !choice.has_since &&
		(log_leaf_count(r->sys, r->ws->state_fd, &total, NULL) || total < newest.n))
		total = 0;
	if (r->is_json)
		list_json(r, &newest, total);
	else
		list_text(r, &newest, total);
	if (newest.unreadable)
		warn(r, "lines that are no receipts: %llu; see 'helm log check'",
			(unsigned long long)newest.unreadable);
	return 0;
}

struct wanted {
	struct arena *a;
	const char *word;
	int64_t clock;
	struct json *found;
	const char *file;
	off_t at;
	uint64_t line;
};

/* Returns 1 to stop the walk. A number is compared with the place in the chain, a text with both kinds of
 * ids. */
static int find_one(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct wanted *w = arg;

	(void)text;
	(void)e;
	if (!receipt ||
		(json_get_int(receipt, "lamport_clock", -1) != w->clock &&
			!receipt_id_is(json_get_text(receipt, "receipt_id", ""), w->word) &&
			!text_eq(json_get_text(receipt, "decision_id", ""), w->word)))
		return 0;
	w->found = json_copy(w->a, receipt);
	w->file = arena_strdup(w->a, file);
	w->at = at;
	return 1;
}

/* A number leads to its file; an id is looked for from the newest receipt on. */
static int find_receipt(struct cli *r, struct wanted *w, struct err *e)
{
	struct receipts_wanted want = { .text = text_is_plain(w->word) ? w->word : NULL };
	int64_t clock;
	int rc = OK;

	if (text_int(w->word, &clock) && clock > 0) {
		const struct receipts_wanted number = {
			.text = arena_printf(r->a, "\"lamport_clock\":%lld", (long long)clock), .clock = clock
		};
		w->clock = clock;
		rc = receipts_back(r->sys, r->ws->state_fd, &number, find_one, w, e);
	}
	if (rc == OK && !w->found)
		(void)ask_index(r, w->word, find_one, w);
	if (rc == OK && !w->found)
		rc = receipts_back(r->sys, r->ws->state_fd, &want, find_one, w, e);
	if (rc == OK && w->found)
		rc = receipts_line_at(r->sys, r->ws->state_fd, w->file, w->at, &w->line, e);
	return rc;
}

/* A beginning of an id that is that of one action, as lists show it: the whole id in w->word, and it is found. */
static int find_by_beginning(struct cli *r, struct wanted *w, struct err *e)
{
	static const char outcome[] = "_outcome";
	AUTO(action_index_close) struct action_index *x = actions_of_cli(r);
	const char *word = text_starts(w->word, "rcpt_") ? w->word + strlen("rcpt_") : w->word;
	const bool is_outcome = text_ends(word, outcome);
	struct action *found = NULL;

	word = arena_strndup(r->a, word, strlen(word) - (is_outcome ? strlen(outcome) : 0));
	if (!text_starts(word, "dec-"))
		word = arena_printf(r->a, "dec-%s", word);
	if (!x || action_find(x, word, &found, NULL) || !found)
		return OK;
	w->word = arena_printf(r->a, "rcpt_%s%s", found->id, is_outcome ? outcome : "");
	return find_receipt(r, w, e);
}

/* What it is about, before how it is written down. */
static void show_action(struct cli *r, const struct action *x)
{
	const struct {
		const char *title, *text;
	} lines[] = { { "state", action_state_text(r->a, x) }, { "by", x->who },
		{ "came by", action_entry_point(x->door) }, { "session", x->session }, { "rule", x->rule } };

	out(r, "%s%s%s\n", paint(r, PAINT_BOLD), text_safe(r->a, x->sentence, strlen(x->sentence), false),
		paint(r, PAINT_OFF));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].text)
			out(r, "  %-8s %s\n", lines[i].title,
				text_safe(r->a, lines[i].text, strlen(lines[i].text), false));
	if (x->approval_id && action_state_of(x) == ACTION_WAITING)
		out(r, "  %-8s helm approval show %s\n", "answer",
			text_safe(r->a, x->approval_id, strlen(x->approval_id), false));
	if (x->checkpoint_id && !x->undone_us)
		out(r, "  %-8s helm checkpoint restore %s\n", "undo",
			text_safe(r->a, x->checkpoint_id, strlen(x->checkpoint_id), false));
	out(r, "\n");
}

static void show_line(struct cli *r, const char *name, const char *text)
{
	if (text && *text)
		out(r, "  %-8s %s\n", name, text_safe(r->a, text, strlen(text), false));
}

/* A digest by its beginning, which is enough to compare it by eye. */
static const char *short_digest(struct arena *a, const char *text)
{
	enum { DIGITS = 16 };
	const char *colon = strchr(text, ':'), *digits = colon ? colon + 1 : text;

	return strlen(digits) <= DIGITS ? text
					: arena_printf(a, "%.*s...", (int)(digits - text) + DIGITS, text);
}

/* What people ask of the receipt of an action; all of its members are with --all and --json. */
static void show_receipt(struct cli *r, const struct json *receipt)
{
	struct arena *a = r->a;
	const struct json *about = json_get(receipt, "metadata"), *program = json_get(about, "program"),
			  *opened = json_get(about, "opened");
	const char *task = json_get_text(about, "task_id", NULL);
	struct buf text;

	out(r, "Receipt %s, number %lld, of %s\n", shown_id(r, receipt),
		(long long)json_get_int(receipt, "lamport_clock", 0),
		actions_when(a, shown(r, receipt, "timestamp")));
	show_line(r, "verdict", json_get_text(receipt, "verdict", NULL));
	show_line(r, "status", json_get_text(receipt, "status", NULL));
	show_line(r, "reason", json_get_text(receipt, "reason_code", NULL));
	show_line(r, "profile", json_get_text(about, "profile", NULL));
	show_line(r, "sandbox",
		text_eq(json_get_text(about, "containment", ""), "walls")
			? "yes"
			: json_get_text(about, "containment", NULL));
	if (json_get_text(program, "path", NULL))
		show_line(r, "program",
			arena_printf(a, "%s, sha256 %s", json_get_text(program, "path", ""),
				short_digest(a, json_get_text(program, "sha256", ""))));
	buf_init(&text, a);
	json_each (one, opened)
		buf_addf(&text, "%s%s", text.n ? ", " : "",
			json_get_text(one, "path", json_get_text(one, "host", "?")));
	show_line(r, "opened", text.n ? text.p : NULL);
	show_line(r, "task", task ? arena_printf(a, "helm task show %s", task) : NULL);
	show_line(r, "policy", short_digest(a, json_get_text(receipt, "policy_hash", "")));
	show_line(r, "key", short_digest(a, json_get_text(receipt, "key_id", "")));
}

/* The receipt is verified under our own keys before it is shown; the exit code is that of the
 * verification. A clock of -2 matches no receipt. */
int cmd_receipts_show(struct cli *r, struct err *e)
{
	/* find_one() takes -1 for a receipt without a clock. */
	struct wanted w = { .a = r->a, .word = r->args[0], .clock = -2 };
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct verification v;
	struct trust trust;

	if (opt_text(r, "url", NULL))
		return remote_receipt(r, e);
	int rc = cmd_log_trust(r, false, &trust, e);

	if (rc == OK)
		rc = find_receipt(r, &w, e);
	if (rc == OK && !w.found)
		rc = find_by_beginning(r, &w, e);
	if (rc)
		return rc;
	if (!w.found)
		return err_set(e, E_MISSING, "RECEIPT_MISSING",
			"no receipt, decision or number '%s' in this workspace, or several begin so",
			r->args[0]);
	verification_begin(&v, r->a, &trust, "receipt");
	verify_receipt(&v, w.found);
	AUTO(action_index_close) struct action_index *x = actions_of_cli(r);
	const struct action *action = action_for(x, w.found);
	json_set(r->a, doc, "receipt", w.found);
	json_set(r->a, doc, "action", action ? action_json(r->a, action) : json_new(r->a, JSON_NULL));
	json_sets(r->a, doc, "file", w.file);
	json_seti(r->a, doc, "line", (int64_t)w.line);
	json_set(r->a, doc, "verification", verification_json(r->a, &v));
	if (r->is_json) {
		out_json(r, doc);
	} else {
		const bool is_short =
			action && action_state_of(action) != ACTION_RECORDED && !opt_flag(r, "all");
		if (action)
			show_action(r, action);
		if (is_short)
			show_receipt(r, w.found);
		else
			out_pretty(r, w.found);
		out(r, "\n%s  %s line %llu%s%s\n", headline_name(verification_headline(&v)), w.file,
			(unsigned long long)w.line, v.text ? ": " : "", v.text ? v.text : "");
		if (is_short)
			out(r, "%s\n",
				hint(r,
					arena_printf(r->a,
						"Every member of it: helm receipts show %lld --all",
						(long long)json_get_int(w.found, "lamport_clock", 0))));
	}
	return verification_headline(&v) == HEADLINE_ADMISSIBLE ? 0 : EXIT_NO;
}

/* ---- export ---- */

/* Where the receipts go, and how many went there. */
struct exporting {
	struct cli *r;
	const struct choice *choice;
	struct sink *to; /* NULL: standard output */
	const char *path;
	uint64_t n;
};

/* Byte for byte: that is what was signed and hashed.  To standard output each receipt leaves at once. */
static int export_one(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct exporting *x = arg;

	if (!receipt) {
		warn(x->r, "%s line %llu is no receipt; left out", file, (unsigned long long)line);
		return 0;
	}
	if (!is_chosen(x->choice, receipt))
		return 0;
	x->n++;
	if (x->to) {
		int rc = x->to->write(x->to, text.p, text.n, e);
		return rc ? rc : x->to->write(x->to, "\n", 1, e);
	}
	buf_add(x->r->out, text.p, text.n);
	buf_addc(x->r->out, '\n');
	/* A reader at the other end of a pipe need not wait for the whole log. */
	out_flush(x->r);
	return 0;
}

/* A whole log may go into one file: it is written as it is read. */
static int export_to_file(void *arg, struct sys *s, int fd, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct exporting *x = arg;
	struct sink_fd *sink = arena_alloc(&a, sizeof(*sink));

	x->to = sink_to_fd(sink, s, fd, x->path);
	int rc = receipts_each(s, x->r->ws->state_fd, export_one, x, e);
	return rc ? rc : sink_fd_flush(sink, e);
}

/* The newest signed head goes beside the file: with it a reader can tell that nothing was cut off. */
static int export_head(struct cli *r, const char *to, struct err *e)
{
	struct json *head;
	struct buf text;
	int rc = log_last_head(r->sys, r->a, r->ws->state_fd, &head, e);

	if (rc || !head) {
		if (rc == OK)
			warn(r, "no tree head has been signed yet; 'helm log head --sign' makes one");
		return rc;
	}
	buf_init(&text, r->a);
	json_canonical(&text, head);
	buf_addc(&text, '\n');
	return file_create(r->sys, AT_FDCWD, arena_printf(r->a, "%s.head", to), 0644, buf_bytes(&text), e);
}

/* An existing file is not overwritten. */
int cmd_receipts_export(struct cli *r, struct err *e)
{
	const char *to = opt_text(r, "out", NULL);
	struct choice choice;
	struct exporting x = { .r = r, .choice = &choice, .path = to };
	int rc = read_choice(r, &choice, e);

	if (rc || !to)
		return rc ? rc : receipts_each(r->sys, r->ws->state_fd, export_one, &x, e);
	rc = file_create_by(r->sys, AT_FDCWD, to, 0644, export_to_file, &x, e);
	if (rc == OK)
		rc = export_head(r, to, e);
	if (rc)
		return rc;
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "file", to);
		json_seti(r->a, doc, "receipts", (int64_t)x.n);
		out_json(r, doc);
	} else {
		out(r, "%llu receipts written to %s\n", (unsigned long long)x.n, to);
	}
	return 0;
}

/* ---- tail ---- */

/* One line per receipt, so that it can be followed and piped. */
void receipts_tail_row(struct cli *r, const struct json *x)
{
	const char *status = shown(r, x, "status"), *reason = shown(r, x, "reason_code");

	if (r->is_json) {
		out_line_json(r, x);
		return;
	}
	out(r, "%lld  %s%s%s  %s%-8s%s  %s  %s  %s%s%s\n", (long long)json_get_int(x, "lamport_clock", 0),
		paint(r, PAINT_MUTED), shown(r, x, "timestamp"), paint(r, PAINT_OFF),
		paint(r, paint_of(status)), status, paint(r, PAINT_OFF), shown(r, x, "tool_name"),
		shown(r, x, "effect_id"), shown_id(r, x), *reason ? "  " : "", reason);
}

/* The clock of the newest receipt seen makes sure that each is shown once. */
struct following {
	struct cli *r;
	const struct choice *choice;
	int64_t clock; /* of the newest receipt seen */
};

/* Shows a receipt that is newer than all seen so far. */
static int follow_one(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct following *f = arg;
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	/* Rows that were shown already come again with every look at the end of the file. */
	if (!receipt || clock <= f->clock)
		return 0;
	f->clock = clock;
	if (is_chosen(f->choice, receipt))
		receipts_tail_row(f->r, receipt);
	return 0;
}

/* A number that changes whenever the newest file does, from one stat(). */
static int64_t chain_change(struct cli *r)
{
	struct stat st;

	if (r->sys->stat(r->sys, r->ws->state_fd, RECEIPTS, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec + st.st_size;
}

static int follow_gap(struct following *f, struct arena *a, struct err *e)
{
	static const struct choice any;
	struct cli *r = f->r;
	struct newest missed = { .choice = &any, .a = a, .cap = MAX_KEPT, .after = f->clock };
	const struct receipts_wanted want = { 0 };

	missed.lines = arena_zalloc(a, missed.cap, sizeof(*missed.lines));
	int rc = receipts_back(r->sys, r->ws->state_fd, &want, keep_newest, &missed, e);
	if (rc || missed.is_more)
		return rc ? rc : receipts_each(r->sys, r->ws->state_fd, follow_one, f, e);
	for (size_t i = 0; i < missed.n; i++)
		(void)follow_one(f, RECEIPTS, 0, (struct bytes){ 0 }, newest_at(a, &missed, i), e);
	return OK;
}

/* The end of the newest file is usually enough. After a rotation or a long pause there is a gap before it, and what lies
 * behind the last one shown is looked for from the end; everything is read only when that is too much to hold. */
static int follow_once(struct following *f, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct cli *r = f->r;
	struct json *rows;
	int rc = rows_tail(r->sys, &a, r->ws->state_fd, RECEIPTS, AT_ONCE, &rows, e);

	if (rc)
		return rc;
	/* The first row read is not the next one: something lies between. */
	if (rows->n && json_get_int(rows->items[0], "lamport_clock", 0) > f->clock + 1)
		return follow_gap(f, &a, e);
	json_each (row, rows)
		(void)follow_one(f, RECEIPTS, 0, (struct bytes){ 0 }, row, e);
	return OK;
}

/* Polls, because it must work on every file system; ends by a signal, an error, or when nobody reads it any more. */
static int follow(struct cli *r, const struct choice *choice, int64_t clock, struct err *e)
{
	struct following f = { r, choice, clock };
	int64_t seen = 0;

	for (;;) {
		int64_t now = chain_change(r);
		int rc = now != seen ? follow_once(&f, e) : OK;
		if (rc)
			return rc;
		seen = now;
		out_flush(r);
		if (!out_wait(POLL_US))
			return 0;
	}
}

/* The newest ones first, and with --follow whatever comes. */
int cmd_receipts_tail(struct cli *r, struct err *e)
{
	AUTO(arena_done) struct arena one = { 0 };
	int64_t limit = opt_int(r, "limit", DEFAULT_TAIL), clock = 0;
	struct newest newest;
	struct choice choice;

	if (limit < 1)
		return err_set(e, E_USAGE, "USAGE_LIMIT", "--limit must be at least 1");
	if (opt_text(r, "url", NULL))
		return remote_receipts(r, opt_flag(r, "follow"), e);
	int rc = read_choice(r, &choice, e);
	if (rc == OK)
		rc = read_newest(r, &choice, (size_t)limit, 0, &newest, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < newest.n; i++) {
		const struct json *x = newest_at(&one, &newest, i);
		receipts_tail_row(r, x);
		clock = json_get_int(x, "lamport_clock", 0);
		arena_reset(&one);
	}
	out_flush(r);
	return opt_flag(r, "follow") ? follow(r, &choice, clock, e) : 0;
}

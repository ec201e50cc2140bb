/* sessions.c — what an agent did in a session: every call, its verdict and its receipt, from
 * tool-calls.jsonl.
 *
 * The ledger holds two kinds of rows. A call has a verdict and is written before the tool runs. An outcome
 * has none and is written when the client reports that the tool ended; it names the call by tool_use_id.
 * Here the two are put together again. */
#include "actions/actions_internal.h"
#include "base/text.h"

#include <string.h>

/* A session is one document in memory, and a list of sessions may be; longer ones are walked. */
enum { MOST_CALLS = 2000, MANY = 1000, RECENT_MOST = 10000 };

/* An entry as views show it: self_test is there only when it is true. */
int keep_session(void *arg, struct json *row, struct err *e)
{
	struct kept_rows *k = arg;
	struct arena *a = k->o->a;
	struct json *entry = json_copy(a, row);
	bool is_test = json_get_int(row, "self_test", 0);

	(void)e;
	(void)json_remove(entry, "self_test");
	if (is_test) /* of 'helm setup': no agent asked for that */
		json_setb(a, entry, "self_test", true);
	json_push(a, k->rows, entry);
	return OK;
}

/* One at a time, in memory that is used again. */
struct one_by_one {
	struct actions_place o;
	struct arena a;
	index_visit *fn;
	void *arg;
};

static int give_session(void *arg, struct json *row, struct err *e)
{
	struct one_by_one *g = arg;

	g->o.a = &g->a;
	struct kept_rows one = { &g->o, json_new(&g->a, JSON_ARRAY) };
	(void)keep_session(&one, row, e);
	int rc = g->fn(g->arg, one.rows->items[0], e);
	arena_reset(&g->a);
	return rc;
}

/* How many of its actions are in which state. */
static int put_states(struct action_index *x, struct arena *a, struct json *session, struct err *e)
{
	const struct action_filter f = { .session = json_get_text(session, "session", "") };
	struct json *states;
	int rc = action_states(x, &f, &states, e);

	if (rc == OK)
		json_set(a, session, "states", states);
	return rc;
}

/* Sessions of a period, the newest first: they come by their last call, so the first older one ends it. */
struct recent_sessions {
	struct kept_rows kept;
	int64_t since_us, limit, of;
};

static int take_recent(void *arg, struct json *row, struct err *e)
{
	struct recent_sessions *s = arg;
	const char *at = json_get_text(row, "last_at", "");
	int64_t us;

	if (!text_parse_time(at, strlen(at), &us) || us < s->since_us)
		return 1;
	return ++s->of <= s->limit ? keep_session(&s->kept, row, e) : 0;
}

static int list_recent(struct index *x, struct recent_sessions *s, struct part *ret, index_visit *fn,
	void *arg, struct err *e)
{
	int rc = index_sessions(x, 0, take_recent, s, e);

	ret->of = s->of;
	ret->shown = s->kept.rows->n;
	for (uint32_t i = s->kept.rows->n; rc >= 0 && i-- > 0;)
		rc = fn(arg, s->kept.rows->items[i], e);
	return rc > 0 ? OK : rc;
}

int actions_session_list(const struct actions_place *o, int64_t since_us, size_t limit, struct part *ret,
	index_visit *fn, void *arg, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	struct kept_rows kept = { o, json_new(o->a, JSON_ARRAY) };
	int rc = actions_index(o, limit ? INDEX_SOON : INDEX_ALL, &x, e);

	*ret = (struct part){ 0 };
	if (rc == OK)
		rc = index_count(x, "sessions", &ret->of, e);
	if (rc)
		return rc;
	ret->note = index_note(x);
	if (since_us) {
		struct recent_sessions s = { kept, since_us, limit ? (int64_t)limit : RECENT_MOST, 0 };
		return list_recent(x, &s, ret, fn, arg, e);
	}
	ret->shown = limit && (int64_t)limit < ret->of ? (int64_t)limit : ret->of;
	if (ret->shown > MANY) {
		struct one_by_one g = { .o = *o, .fn = fn, .arg = arg };
		rc = index_sessions_forth(x, (size_t)(ret->of - ret->shown), give_session, &g, e);
		arena_done(&g.a);
		return rc;
	}
	AUTO(action_index_close) struct action_index *actions = NULL;
	bool is_behind;
	rc = index_sessions(x, (size_t)MANY, keep_session, &kept, e);
	if (rc == OK)
		rc = action_index_open(o->sys, o->a, o->ws, (struct actions_of){ 0 },
			actions_how(o, limit ? INDEX_SOON : INDEX_ALL), &actions, &is_behind, e);
	for (uint32_t i = (uint32_t)(kept.rows->n < ret->shown ? kept.rows->n : ret->shown);
		rc == OK && i-- > 0;) {
		rc = put_states(actions, o->a, kept.rows->items[i], e);
		if (rc == OK)
			rc = fn(arg, kept.rows->items[i], e);
	}
	return rc > 0 ? OK : rc;
}

/* What an outcome says about files, hosts and walls; copied to its call as it stands. */
static const char *const what_changed[] = { "changed_files", "deleted_files", "changes_partial", "egress",
	"refused_by_wall" };

struct session_calls {
	const struct actions_place *o;
	struct index *x;
	struct action_index *actions;
	struct json *calls, *walls; /* walls: what of them was refused by the walls, or by their door */
};

/* Which wall stopped it, if any did. */
static void keep_walls(struct session_calls *s, const struct json *call)
{
	struct arena *a = s->o->a;
	const struct json *egress = json_get(call, "egress");
	const char *host = json_get_text(egress, "refused_first", NULL),
		   *what = json_get_text(call, "refused_by_wall", NULL);

	if (!what && host)
		what = arena_printf(a, "the door refused %lld, the first to %s",
			(long long)json_get_int(egress, "refused", 0), host);
	if (!what)
		return;
	struct json *row = json_new(a, JSON_OBJECT);
	json_sets(a, row, "at", json_get_text(call, "at", ""));
	json_sets(a, row, "what", what);
	json_sets(a, row, "preview", json_get_text(call, "preview", ""));
	json_push(a, s->walls, row);
}

/* The note of the client that this call was made; NULL when there is none. */
static int find_end(const struct session_calls *s, const struct json *call, struct json **ret, struct err *e)
{
	const struct actions_place *o = s->o;
	int64_t place;
	int rc = index_call_end(
		s->x, json_get_text(call, "tool_use_id", NULL), json_get_int(call, "place", 0), &place, e);

	*ret = NULL;
	if (rc || place < 0)
		return rc;
	return row_at(o->sys, o->a, o->state_fd, TOOL_CALLS, (off_t)place, ret, e);
}

/* A call with what its outcome says, and its state. */
static int keep_call(void *arg, struct json *row, struct err *e)
{
	struct session_calls *s = arg;
	struct arena *a = s->o->a;
	struct json *call = json_copy(a, row), *end = NULL;
	struct action *action = NULL;
	int rc = find_end(s, row, &end, e);

	json_sets(a, call, "outcome", json_get_text(end, "outcome", NULL));
	if (rc == OK)
		rc = action_of_call(s->actions, row, &action, e);
	put_action(a, call, action);
	if (json_get(end, "exit_code"))
		json_set(a, call, "exit_code", json_get(end, "exit_code"));
	for (size_t n = 0; n < ARRAY_SIZE(what_changed); n++)
		if (json_get(end, what_changed[n]))
			json_set(a, call, what_changed[n], json_get(end, what_changed[n]));
	json_push(a, s->calls, call);
	keep_walls(s, call);
	return rc;
}

/* A session that is named is wanted whole, however old it is. */
int actions_session(const struct actions_place *o, const char *start, struct json **ret, struct err *e)
{
	struct arena *a = o->a;
	AUTO(index_close) struct index *x = NULL;
	struct json *doc = json_new(a, JSON_OBJECT);
	AUTO(action_index_close) struct action_index *actions = NULL;
	const char *session;
	int64_t of = 0;
	bool is_behind;
	int rc = actions_index(o, INDEX_ALL, &x, e);

	if (rc == OK)
		rc = action_index_open(
			o->sys, a, o->ws, (struct actions_of){ 0 }, INDEX_ALL, &actions, &is_behind, e);
	if (rc == OK)
		rc = index_session_find(x, start, &session, &of, e);
	if (rc)
		return rc;
	struct session_calls s = { o, x, actions, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY) };
	rc = index_calls(x, session, MOST_CALLS, keep_call, &s, e);
	if (rc)
		return rc;
	turn_round(s.calls);
	turn_round(s.walls);
	json_sets(a, doc, "workspace", o->root);
	json_sets(a, doc, "generated_at", text_time_iso(a, o->sys->now_us(o->sys)));
	json_sets(a, doc, "session", session);
	json_sets(a, doc, "client", json_get_text(json_at(s.calls, 0), "client", ""));
	if (of > s.calls->n)
		json_seti(a, doc, "calls_of", of);
	json_set(a, doc, "calls", s.calls);
	json_set(a, doc, "stopped_at_walls", s.walls);
	*ret = doc;
	return OK;
}

/* "approved by NAME", "failed, exit 1": its state, or the verdict where that is not known yet. */
static const char *how_it_went(struct arena *a, const struct json *call)
{
	return arena_printf(a, "%s%s", json_get_text(call, "became", json_get_text(call, "verdict", "")),
		json_get_bool(call, "self_test", false) ? ", self-test of helm setup" : "");
}

/* Nothing at all when there are no paths. */
static void put_paths(struct buf *b, const char *what, const struct json *paths)
{
	if (!paths || !paths->n)
		return;
	buf_addf(b, "  - %s:", what);
	json_each (path, paths) {
		buf_addc(b, ' ');
		plain(b, json_text(path) ? json_text(path) : "");
	}
	buf_addc(b, '\n');
}

/* What went through the door of a contained call. */
static void put_egress(struct buf *b, const struct json *egress)
{
	const char *first = json_get_text(egress, "refused_first", NULL);

	if (!egress)
		return;
	buf_addf(b, "  - network: %lld admitted, %lld refused",
		(long long)json_get_int(egress, "admitted", 0),
		(long long)json_get_int(egress, "refused", 0));
	if (first) {
		buf_adds(b, ", the first to ");
		plain(b, first);
	}
	buf_addc(b, '\n');
}

/* One line per call, with what it changed and how to undo it below. Nothing of it is ours but the layout:
 * tools, previews, paths and even ids are what an agent gave. */
char *actions_session_markdown(struct arena *a, const struct json *doc)
{
	static const char *const ends[][3] = { { "rule", "  \\[", "\\]" }, { "receipt_id", "  (", ")" } };
	const struct json *calls = json_get(doc, "calls");
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, "# Session ");
	plain(&b, json_get_text(doc, "session", ""));
	buf_adds(&b, "\n\n- Client: ");
	plain(&b, json_get_text(doc, "client", ""));
	buf_addf(&b, "\n- Calls: %u", calls->n);
	if (json_get(doc, "calls_of"))
		buf_addf(&b, ", the newest of %lld", (long long)json_get_int(doc, "calls_of", 0));
	buf_adds(&b, "\n\n");
	json_each (call, calls) {
		buf_addf(&b, "- %s  ", actions_when(a, json_get_text(call, "at", "")));
		plain(&b, how_it_went(a, call));
		buf_adds(&b, "  ");
		plain(&b, json_get_text(call, "tool", ""));
		buf_adds(&b, ": ");
		plain(&b, json_get_text(call, "preview", ""));
		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			if (!json_get_text(call, ends[i][0], NULL))
				continue;
			buf_adds(&b, ends[i][1]);
			plain(&b, json_get_text(call, ends[i][0], ""));
			buf_adds(&b, ends[i][2]);
		}
		buf_addc(&b, '\n');
		put_paths(&b, "changed", json_get(call, "changed_files"));
		put_paths(&b, "deleted", json_get(call, "deleted_files"));
		put_egress(&b, json_get(call, "egress"));
		if (json_get_text(call, "refused_by_wall", NULL)) {
			buf_adds(&b, "  - ");
			plain(&b, json_get_text(call, "refused_by_wall", ""));
			buf_addc(&b, '\n');
		}
		if (json_get_text(call, "checkpoint_id", NULL)) {
			buf_adds(&b, "  - saved first; undo: helm checkpoint restore ");
			plain(&b, json_get_text(call, "checkpoint_id", ""));
			buf_addc(&b, '\n');
		}
	}
	return b.p;
}

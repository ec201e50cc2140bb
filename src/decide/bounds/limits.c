/* limits.c — the limits of a policy, compiled, and what a person sees of them; docs/formats/policy-limits.md.
 *
 * The shape is what schemas/policy-limits.schema.json says: a document that does not fit is refused with the place in it, and what is read here
 * afterwards is there and of its kind. */
#include "decide/bounds/parts.h"

#include "base/embed.h"
#include "base/schema.h"

#include <string.h>

static const int64_t day_us = (int64_t)86400 * 1000000;

/* ---- periods ---- */

/* Days since 1970 of the first of a month. */
static int64_t month_day(int64_t year, int64_t month)
{
	int64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 - 719468;
}

static void months_at(int64_t day, int64_t n, int64_t *ret_first, int64_t *ret_next)
{
	int64_t shifted = day + 719468, era = shifted / 146097, in_era = shifted % 146097,
		y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365,
		in_year = in_era - (365 * y + y / 4 - y / 100), m = (5 * in_year + 2) / 153,
		month = m < 10 ? m + 3 : m - 9, year = era * 400 + y + (month <= 2);
	int64_t first = (month - 1) / n * n + 1, next = first + n;

	*ret_first = month_day(year, first);
	*ret_next = month_day(year + (next > 12), next > 12 ? next - 12 : next);
}

bool period_at(const char *period, int64_t now_us, int64_t *ret_start_us, int64_t *ret_length_us)
{
	static const struct {
		const char *name;
		int days, months;
	} rows[] = { { "total", 0, 0 }, { "day", 1, 0 }, { "week", 7, 0 }, { "month", 0, 1 },
		{ "quarter", 0, 3 }, { "DAILY", 1, 0 }, { "WEEKLY", 7, 0 }, { "MONTHLY", 0, 1 },
		{ "QUARTERLY", 0, 3 } };
	int64_t day = now_us / day_us, first = 0, next = 0;

	if (text_eq(period, "hour")) {
		*ret_length_us = day_us / 24;
		*ret_start_us = now_us - now_us % *ret_length_us;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!text_eq(rows[i].name, period))
			continue;
		if (rows[i].months)
			months_at(day, rows[i].months, &first, &next);
		else if (rows[i].days) {
			first = day - (rows[i].days == 7 ? (day + 3) % 7 : 0); /* 1970 began on a Thursday */
			next = first + rows[i].days;
		}
		*ret_start_us = first * day_us;
		*ret_length_us = (next - first) * day_us;
		return true;
	}
	return false;
}

/* ---- compiling ---- */

static const char *const per_names[] = { "all", "principal", "session", "tenant", "tool" };
TABLE_COVERS(per_names, PER_COUNT);

static enum limit_per per_of(const struct json *doc, const char *absent)
{
	const char *name = json_get_text(doc, "per", absent);
	size_t i = 0;

	while (!text_eq(per_names[i], name))
		i++;
	return (enum limit_per)i;
}

static void compile_list(struct arena *a, const struct json *list, const char *limit, const char *per,
	struct limit **ret, size_t *ret_n)
{
	size_t n = 0;

	*ret = arena_zalloc(a, list ? list->n : 1, sizeof(**ret));
	json_each (v, list)
		(*ret)[n++] = (struct limit){ .id = text_of(v, "id"),
			.doc = v,
			.per = per_of(v, per),
			.period = json_get_text(v, "period", "total"),
			.most = json_get_int(v, limit, 0),
			.actions = json_get(v, "actions") };
	*ret_n = n;
}

/* One list must not have two of one name: whoever draws on one would draw on the other. */
static int check_names(const struct json *doc, const char *member, struct err *e)
{
	const struct json *list = json_get(doc, member);

	for (uint32_t i = 0; list && i < list->n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (text_eq(text_of(list->items[i], "id"), text_of(list->items[k], "id")))
				return err_set(e, E_INPUT, "POLICY_LIMITS",
					"limits: %s has two of the name '%s'; give each a name of its own",
					member, text_of(list->items[i], "id"));
	return OK;
}

static int check_shape(struct arena *a, const struct json *doc, struct err *e)
{
	static const char name[] = "schemas/policy-limits.schema.json",
			  *const lists[] = { "budgets", "windows", "buckets", "spend" };
	struct bytes text;
	struct json *source;
	struct schema *schema;

	if (!embed_find(name, &text) || json_parse(a, text, name, NULL, &source, e) ||
		schema_compile(a, source, name, &schema, e))
		BUG("the schema of limits is part of the program");
	if (schema_check(schema, doc, e)) {
		struct err why = *e;
		return err_set(e, E_INPUT, "POLICY_LIMITS", "limits: %s", why.text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (check_names(doc, lists[i], e))
			return e->rc;
	return OK;
}

int limits_compile(struct arena *a, const struct json *doc, struct limits **ret, struct err *e)
{
	struct limits *l = arena_zalloc(a, 1, sizeof(*l));
	struct json *risk = json_new(a, JSON_ARRAY), *envelope = json_get(doc, "envelope");

	if (check_shape(a, doc, e))
		return e->rc;
	if (json_get(doc, "risk"))
		json_push(a, risk, json_get(doc, "risk"));
	compile_list(a, json_get(doc, "budgets"), "limit", "all", &l->budgets, &l->budget_count);
	compile_list(a, json_get(doc, "windows"), "limit", "principal", &l->windows, &l->window_count);
	compile_list(a, json_get(doc, "buckets"), "burst", "principal", &l->buckets, &l->bucket_count);
	compile_list(a, json_get(doc, "spend"), "max_amount_cents", "all", &l->spends, &l->spend_count);
	compile_list(a, risk, "cap", "all", &l->risks, &l->risk_count);
	l->has_ladder = json_get_bool(json_get(doc, "velocity"), "ladder", false);
	l->prices = json_get(doc, "prices");
	l->envelope = json_is(envelope, JSON_OBJECT) ? envelope : NULL;
	*ret = l;
	return OK;
}

const struct json *limits_envelope(const struct limits *l)
{
	return l->envelope;
}

/* ---- for the gates ---- */

static bool matches(const char *pattern, const char *action)
{
	size_t n = strlen(pattern);

	return n && pattern[n - 1] == '*' ? strncmp(pattern, action, n - 1) == 0 : text_eq(pattern, action);
}

bool limit_holds(const struct limit *l, const struct submission *ask)
{
	if (!l->actions || (ask->budget_id && text_eq(ask->budget_id, l->id)))
		return true;
	json_each (v, l->actions)
		if (matches(word_of(v), ask->effect_type))
			return true;
	return false;
}

/* Who is not known is one and the same. */
const char *limit_who(const struct limit *l, const struct judging *j)
{
	const char *const who[] = { "", j->facts->principal, j->facts->session, j->facts->tenant,
		j->ask->tool };
	TABLE_COVERS(who, PER_COUNT);

	return who[l->per] ? who[l->per] : "";
}

struct draw limit_draw(
	const struct limit *l, struct judging *j, enum draw_kind kind, const char *what, int64_t amount)
{
	struct draw x = { .kind = kind,
		.key = draw_key(j->a, what, l->id, limit_who(l, j), NULL),
		.amount = amount,
		.limit = l->most };

	(void)period_at(l->period, j->facts->now_us, &x.window_us, &x.window_length_us);
	return x;
}

bool limit_amount(const struct judging *j, const char *name, int64_t absent, int64_t *ret)
{
	const struct json *v = json_get(j->ask->params, name);
	int64_t least = json_get_int(j->facts->known, name, -1);

	*ret = absent;
	if (v && (!json_int(v, ret) || *ret < 0))
		return false;
	if (*ret < least)
		*ret = least;
	return true;
}

/* ---- for people ---- */

static struct json *row_of(
	struct arena *a, const struct limit *l, const struct drawn_entry *e, const char *who, int64_t now_us)
{
	struct json *row = json_new(a, JSON_OBJECT);
	int64_t used = e ? e->used : 0, held = e ? e->held : 0, left;

	if (e && e->kind == DRAW_BUCKET)
		used = e->used <= now_us ? 0 : (e->used - now_us - 1) / e->length_us + 1;
	if (__builtin_sub_overflow(l->most - used, held, &left))
		left = -INT64_MAX;
	json_sets(a, row, "who", who);
	json_seti(a, row, "used", used);
	json_seti(a, row, "held", held);
	json_seti(a, row, "left", left > 0 ? left : 0);
	if (left < 0)
		json_seti(a, row, "over", -left);
	return row;
}

/* Everybody who drew on it in the period of now; nobody has drawn: one row that says what there is. */
static void view_one(struct arena *a, struct json *to, const struct limit *l, enum draw_kind kind,
	const char *what, const struct drawn *drawn, int64_t start_us, int64_t now_us)
{
	struct json *doc = json_new(a, JSON_OBJECT), *rows = json_new(a, JSON_ARRAY);
	const struct drawn_entry *e;
	const char *part, *who;
	size_t at = 0;

	while ((e = drawn_next(drawn, &at)))
		if (e->kind == kind && e->window_us == start_us && draw_key_part(a, e->key, 0, &part) &&
			text_eq(part, what) && draw_key_part(a, e->key, 1, &part) && text_eq(part, l->id) &&
			draw_key_part(a, e->key, 2, &who))
			json_push(a, rows, row_of(a, l, e, who, now_us));
	if (!rows->n)
		json_push(a, rows, row_of(a, l, NULL, "", now_us));
	json_sets(a, doc, "id", l->id);
	json_sets(a, doc, "kind", what);
	json_sets(a, doc, "per", per_names[l->per]);
	json_seti(a, doc, "limit", l->most);
	json_sets(a, doc, "unit", json_get_text(l->doc, "unit", kind == DRAW_BUDGET ? "cents" : "requests"));
	if (start_us)
		json_sets(a, doc, "since", text_time_z(a, start_us));
	json_set(a, doc, "rows", rows);
	json_push(a, to, doc);
}

struct json *limits_view(struct arena *a, const struct limits *l, const struct drawn *drawn, int64_t now_us)
{
	static const struct drawn empty = { 0 };
	struct json *list = json_new(a, JSON_ARRAY);
	const struct drawn *d = drawn ? drawn : &empty;
	int64_t start, length;

	for (size_t i = 0; i < l->budget_count; i++) {
		(void)period_at(l->budgets[i].period, now_us, &start, &length);
		view_one(a, list, &l->budgets[i], DRAW_BUDGET, "budget", d, start, now_us);
	}
	for (size_t i = 0; i < l->risk_count; i++) {
		(void)period_at(l->risks[i].period, now_us, &start, &length);
		view_one(a, list, &l->risks[i], DRAW_BUDGET, "risk", d, start, now_us);
	}
	for (size_t i = 0; i < l->spend_count; i++) {
		(void)period_at(l->spends[i].period, now_us, &start, &length);
		view_one(a, list, &l->spends[i], DRAW_BUDGET, "spend", d, start, now_us);
	}
	for (size_t i = 0; i < l->window_count; i++) {
		length = json_get_int(l->windows[i].doc, "seconds", 1) * 1000000;
		view_one(a, list, &l->windows[i], DRAW_WINDOW, "window", d, now_us - now_us % length, now_us);
	}
	for (size_t i = 0; i < l->bucket_count; i++)
		view_one(a, list, &l->buckets[i], DRAW_BUCKET, "bucket", d, 0, now_us);
	return list;
}

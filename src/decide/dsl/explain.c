/* explain.c — sentences for people, from keys and arguments.
 *
 * The texts are data, one file for each language (share/messages/), and the engine never sees them: what is recorded and compared has keys.  A key
 * that a language does not have is told in English; a code that no text knows is told by its category. */
#include "base/embed.h"
#include "decide/dsl/parts.h"

#include <string.h>

const struct json *dsl_messages(struct arena *a, const char *language)
{
	const char *name = arena_printf(a, "share/messages/%s.json", language);
	struct bytes text;
	struct json *doc = NULL;

	if (!embed_find(name, &text))
		return NULL;
	if (json_parse(a, text, name, NULL, &doc, NULL))
		BUG("a shipped catalogue of messages is not JSON");
	return doc;
}

char *dsl_message_key(struct arena *a, const char *code)
{
	char *key = arena_printf(a, "reason.%s.summary", code), *from = key + strlen("reason.");

	for (char *c = from; c < from + strlen(code); c++)
		*c = *c == '.' ? '_' : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return key;
}

bool dsl_language(struct arena *a, const char *language, const char **ret_all)
{
	const char *name;
	struct bytes text;
	struct buf all;
	bool is_there = false;

	buf_init(&all, a);
	for (size_t i = 0; embed_at(i, &name, &text); i++) {
		if (!text_starts(name, "share/messages/"))
			continue;
		name += strlen("share/messages/");
		const char *one = arena_strndup(a, name, strlen(name) - strlen(".json"));
		buf_addf(&all, "%s%s", all.n ? ", " : "", one);
		is_there |= text_eq(one, language);
	}
	*ret_all = all.p;
	return is_there;
}

/* Minor units as people write amounts: most currencies have two decimals. */
static void add_money(struct buf *b, const struct dsl_value *v)
{
	static const char *const without[] = { "JPY", "KRW", "VND", "CLP", "ISK", "PYG", "UGX", "XAF",
		"XOF" },
				 *const three[] = { "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND" };
	int decimals = 2;
	uint64_t amount = v->number < 0 ? 0 - (uint64_t)v->number : (uint64_t)v->number, unit = 1;

	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		if (text_eq(v->text, without[i]))
			decimals = 0;
	for (size_t i = 0; i < ARRAY_SIZE(three); i++)
		if (text_eq(v->text, three[i]))
			decimals = 3;
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	buf_addf(b, "%s%llu", v->number < 0 ? "-" : "", (unsigned long long)(amount / unit));
	if (decimals)
		buf_addf(b, ".%0*llu", decimals, (unsigned long long)(amount % unit));
	buf_addf(b, " %s", v->text);
}

static void add_value(struct buf *b, const struct json *doc)
{
	struct dsl_value v = dsl_value_of(doc);
	const char *between = "";

	if (v.type == TYPE_STRING) {
		buf_add(b, v.text, v.text_n);
	} else if (v.type == TYPE_MONEY) {
		add_money(b, &v);
	} else if (v.type == TYPE_DURATION) {
		buf_addf(b, "%lld ms", (long long)v.number);
	} else if (v.type == TYPE_LIST) {
		json_each (item, doc) {
			buf_adds(b, between);
			buf_add(b, item->text, item->n);
			between = ", ";
		}
	} else {
		json_write(b, doc, 0);
	}
}

/* {name} becomes the argument of that name; one that is not there stays as it is. */
static void add_text(struct buf *b, const char *text, const struct json *args)
{
	while (*text) {
		const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
		const struct json *value = NULL;

		if (!close) {
			buf_adds(b, text);
			return;
		}
		buf_add(b, text, (size_t)(open - text));
		value = json_get(args, arena_strndup(b->a, open + 1, (size_t)(close - open - 1)));
		if (value && !json_is(value, JSON_NULL))
			add_value(b, value);
		else
			buf_add(b, open, (size_t)(close + 1 - open));
		text = close + 1;
	}
}

/* "reason.<category>.summary" of a code. */
static const char *category_key(struct arena *a, const char *code)
{
	struct bytes rest = bytes_of(code), category;

	(void)text_cut(&rest, '.');
	(void)text_cut(&rest, '.');
	category = text_cut(&rest, '.');
	return dsl_message_key(a, arena_strndup(a, (const char *)category.p, category.n));
}

/* The arguments of the rule, and what every text may use besides: the rule, the target, who approves, which facts. */
static struct json *all_args(struct arena *a, const struct json *subject)
{
	static const char *const members[][2] = { { "rule", "rule" }, { "code", "code" },
		{ "target", "subject" }, { "approver_role", "role" }, { "fact_requests", "facts" },
		{ "rewrites", "rewrites" }, { "error_text", "error" } };
	const struct json *given = json_get(json_get(subject, "explain"), "args");
	struct json *args = given ? json_copy(a, given) : json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!json_get(args, members[i][1]) && json_get(subject, members[i][0]))
			json_set(a, args, members[i][1], json_copy(a, json_get(subject, members[i][0])));
	return args;
}

const char *dsl_explain(struct arena *a, const struct json *subject, const char *language)
{
	const struct json *english = dsl_messages(a, "en"), *own = dsl_messages(a, language);
	const char *code = json_get_text(subject, "code", NULL),
		   *verdict = json_get_text(subject, "verdict", "");
	struct json *args = all_args(a, subject);
	const char *keys[4];
	size_t n = 0;
	struct buf b;

	keys[n++] = text_eq(verdict, "ALLOW")  ? "status.allow.label"
		: text_eq(verdict, "ESCALATE") ? "status.escalate.label"
					       : "status.deny.label";
	if (code) {
		const char *key = json_get_text(json_get(subject, "explain"), "key", "");
		keys[n++] = json_get(english, key) ? key : category_key(a, code);
	}
	if (json_get(subject, "approver_role"))
		keys[n++] = "action.request_approval.button";
	if (json_get(subject, "fact_requests"))
		keys[n++] = "action.request_facts.button";
	if (json_get(subject, "rewrites"))
		keys[n++] = "status.rewritten.label";
	buf_init(&b, a);
	for (size_t i = 0; i < n; i++) {
		const char *text = json_get_text(own, keys[i], json_get_text(english, keys[i], ""));
		buf_adds(&b, i && *text ? " " : "");
		add_text(&b, text, args);
	}
	return b.p;
}

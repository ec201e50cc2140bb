/* value.c — values of the policy language: what JSON means as one, and how two compare.
 *
 * There are no fractions.  Two values are compared only when they have one type; amounts of two currencies are never compared. */
#include "decide/dsl/parts.h"

#include <string.h>

const char *dsl_type_name(enum dsl_type t)
{
	static const char *const names[] = { "something without a type", "a string", "an integer", "a bool",
		"an amount of money", "a duration", "a list" };
	TABLE_COVERS(names, TYPE_COUNT);

	return names[t];
}

static bool is_list(const struct json *doc)
{
	json_each (item, doc) {
		if (!json_is(item, JSON_STRING))
			return false;
	}
	return true;
}

/* {"money": ["EUR", 50000]} and {"duration_ms": 5}; anything else stays OTHER. */
static struct dsl_value object_value(const struct json *doc)
{
	struct dsl_value v = { .doc = doc };
	const struct json *money = json_get(doc, "money"), *currency = json_at(money, 0);

	if (doc->n != 1)
		return v;
	if (json_int(json_get(doc, "duration_ms"), &v.number)) {
		v.type = TYPE_DURATION;
	} else if (json_is(money, JSON_ARRAY) && money->n == 2 && json_is(currency, JSON_STRING) &&
		json_int(json_at(money, 1), &v.number)) {
		v.type = TYPE_MONEY;
		v.text = currency->text;
		v.text_n = currency->n;
	}
	return v;
}

struct dsl_value dsl_value_of(const struct json *doc)
{
	struct dsl_value v = { .doc = doc };

	if (json_is(doc, JSON_OBJECT))
		return object_value(doc);
	if (json_is(doc, JSON_STRING)) {
		v.type = TYPE_STRING;
		v.text = doc->text;
		v.text_n = doc->n;
	} else if (json_is_bool(doc)) {
		v.type = TYPE_BOOL;
		v.number = json_is(doc, JSON_TRUE);
	} else if (json_int(doc, &v.number)) {
		v.type = TYPE_INT;
	} else if (json_is(doc, JSON_ARRAY) && is_list(doc)) {
		v.type = TYPE_LIST;
	}
	return v;
}

struct json *dsl_value_json(struct arena *a, const struct dsl_value *v)
{
	struct json *made = json_new(a, JSON_OBJECT), *pair;

	switch (v->type) {
	case TYPE_STRING:
		return json_stringn(a, v->text, v->text_n);
	case TYPE_INT:
		return json_number(a, v->number);
	case TYPE_BOOL:
		return json_bool(a, v->number != 0);
	case TYPE_DURATION:
		json_seti(a, made, "duration_ms", v->number);
		return made;
	default: /* money; lists are never written in a policy */
		pair = json_new(a, JSON_ARRAY);
		json_push(a, pair, json_stringn(a, v->text, v->text_n));
		json_push(a, pair, json_number(a, v->number));
		json_set(a, made, "money", pair);
		return made;
	}
}

bool dsl_list_has(const struct json *list, const char *text, size_t n)
{
	json_each (item, list) {
		if (item->n == n && memcmp(item->text, text, n) == 0)
			return true;
	}
	return false;
}

static bool same(const struct dsl_value *x, const struct dsl_value *y)
{
	if (x->type == TYPE_STRING)
		return x->text_n == y->text_n && memcmp(x->text, y->text, x->text_n) == 0;
	if (x->type == TYPE_LIST)
		return json_eq(x->doc, y->doc);
	return x->number == y->number;
}

static bool is_ordered(enum dsl_type t)
{
	return t == TYPE_INT || t == TYPE_MONEY || t == TYPE_DURATION;
}

static bool in_order(enum dsl_cmp cmp, int64_t x, int64_t y)
{
	return cmp == CMP_GT ? x > y : cmp == CMP_LT ? x < y : cmp == CMP_GE ? x >= y : x <= y;
}

static const char *contains(const struct dsl_value *x, const struct dsl_value *y, bool *ret_truth)
{
	if ((x->type != TYPE_STRING && x->type != TYPE_LIST) || y->type != TYPE_STRING)
		return "'contains' looks for a string in a string or a list of strings";
	if (x->type == TYPE_LIST)
		*ret_truth = dsl_list_has(x->doc, y->text, y->text_n);
	else
		*ret_truth = memmem(x->text, x->text_n, y->text, y->text_n) != NULL;
	return NULL;
}

const char *dsl_compare(
	enum dsl_cmp cmp, const struct dsl_value *x, const struct dsl_value *y, bool *ret_truth)
{
	if (cmp == CMP_CONTAINS)
		return contains(x, y, ret_truth);
	if (x->type != y->type || x->type == TYPE_OTHER)
		return "only values of one type can be compared";
	if (x->type == TYPE_MONEY && (x->text_n != y->text_n || memcmp(x->text, y->text, x->text_n) != 0))
		return "amounts of two currencies cannot be compared";
	if (cmp == CMP_EQ || cmp == CMP_NE) {
		*ret_truth = same(x, y) == (cmp == CMP_EQ);
		return NULL;
	}
	if (!is_ordered(x->type))
		return "only integers, amounts of money and durations have an order";
	*ret_truth = in_order(cmp, x->number, y->number);
	return NULL;
}

/* value.c — values: reading them from the variables, comparing them, and giving them back as JSON.
 *
 * What lies in the variables is not copied: a list or map of them is a pointer, and each element becomes a value when it is looked
 * at.  Whatever goes through elements is charged for each, since values that share parts can be far larger than their
 * memory. */
#include "decide/expression/parts.h"

#include <string.h>

struct value value_fail(enum failure why, struct word blame)
{
	return (struct value){ .why = (uint8_t)why, .blame = blame };
}

struct value value_clash(struct word blame, unsigned left, unsigned right)
{
	return (struct value){
		.why = FAIL_KIND, .left = (uint8_t)left, .right = (uint8_t)right, .blame = blame
	};
}

struct value value_of_json(const struct json *v, struct word blame)
{
	int64_t number;

	switch ((enum json_type)v->type) {
	case JSON_NULL:
		return (struct value){ .kind = KIND_NULL };
	case JSON_FALSE:
	case JSON_TRUE:
		return value_bool(v->type == JSON_TRUE);
	case JSON_NUMBER:
		return json_int(v, &number) ? value_int(number) : value_fail(FAIL_NUMBER, blame);
	case JSON_STRING:
		return (struct value){ .kind = KIND_STRING, .text = { (const uint8_t *)v->text, v->n } };
	case JSON_ARRAY:
		return (struct value){ .kind = KIND_LIST, .is_json = true, .json = v, .n = v->n };
	default: /* JSON_OBJECT */
		break;
	}
	return (struct value){ .kind = KIND_MAP, .is_json = true, .json = v, .n = v->n };
}

struct value value_item(const struct value *list, size_t i, struct word blame)
{
	return list->is_json ? value_of_json(list->json->items[i], blame) : list->items[i];
}

struct value value_key(const struct value *map, size_t i)
{
	if (!map->is_json)
		return map->pairs[i].key;
	const struct json_member *m = &map->json->members[i];
	return (struct value){ .kind = KIND_STRING, .text = { (const uint8_t *)m->name, m->name_n } };
}

static struct value value_at(const struct value *map, size_t i, struct word blame)
{
	return map->is_json ? value_of_json(map->json->members[i].value, blame) : map->pairs[i].value;
}

int value_compare(const struct value *x, const struct value *y)
{
	if (x->kind == KIND_BOOL)
		return x->truth - y->truth;
	if (x->kind == KIND_INT)
		return (x->number > y->number) - (x->number < y->number);
	size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
	int order = n ? memcmp(x->text.p, y->text.p, n) : 0;
	return order ? order : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

static bool same_key(const struct value *x, const struct value *y)
{
	return x->kind == y->kind && value_compare(x, y) == 0;
}

const struct json *value_member(struct machine *m, const struct json *object, struct bytes name)
{
	for (uint32_t i = 0; i < object->n; i++) {
		const struct json_member *here = &object->members[i];
		if (here->name_n == name.n && memcmp(here->name, name.p, name.n) == 0) {
			m->cost += i / 4;
			return here->value;
		}
	}
	m->cost += object->n / 4;
	return NULL;
}

/* The place of a key of an ordered kind; map->n when it is not there. */
static size_t find_key(struct machine *m, const struct value *map, const struct value *key)
{
	size_t i = 0;

	for (; i < map->n; i++) {
		struct value here = value_key(map, i);
		if (same_key(&here, key))
			break;
	}
	m->cost += i / 4;
	return i;
}

struct value value_get(struct machine *m, const struct value *map, const struct value *key, struct word blame)
{
	size_t i = find_key(m, map, key);

	return i < map->n ? value_at(map, i, blame) : value_fail(FAIL_KEY, blame);
}

struct value value_get_text(struct machine *m, const struct value *map, const struct name *name)
{
	struct value key = { .kind = KIND_STRING, .text = name->text };

	if (map->is_json) {
		const struct json *member = value_member(m, map->json, name->text);
		return member ? value_of_json(member, name->word) : value_fail(FAIL_MEMBER, name->word);
	}
	struct value v = value_get(m, map, &key, name->word);

	/* What stands in a map that was made is no error. */
	if (v.kind == KIND_ERROR)
		v.why = FAIL_MEMBER;
	return v;
}

static struct value equal_lists(
	struct machine *m, const struct value *x, const struct value *y, struct word blame)
{
	for (size_t i = 0; i < x->n; i++) {
		struct value left = value_item(x, i, blame), right = value_item(y, i, blame);
		struct value same = value_equal(m, &left, &right, blame);
		if (same.kind != KIND_BOOL || !same.truth)
			return same;
	}
	return value_bool(true);
}

static struct value equal_maps(
	struct machine *m, const struct value *x, const struct value *y, struct word blame)
{
	for (size_t i = 0; i < x->n; i++) {
		struct value key = value_key(x, i), left = value_at(x, i, blame);
		struct value right = value_get(m, y, &key, blame);
		if (right.kind == KIND_ERROR && right.why == FAIL_KEY)
			return value_bool(false);
		struct value same = value_equal(m, &left, &right, blame);
		if (same.kind != KIND_BOOL || !same.truth)
			return same;
	}
	return value_bool(true);
}

struct value value_equal(struct machine *m, const struct value *x, const struct value *y, struct word blame)
{
	if (!charge(m, 1 + (x->kind == KIND_STRING ? x->text.n / BYTES_PER_COST : 0)))
		return value_fail(FAIL_COST, blame);
	if (x->kind == KIND_ERROR || y->kind == KIND_ERROR)
		return x->kind == KIND_ERROR ? *x : *y;
	if (x->kind != y->kind)
		return value_bool(false);
	if (x->kind == KIND_NULL)
		return value_bool(true);
	if (x->kind & KIND_ORDERED)
		return value_bool(value_compare(x, y) == 0);
	if (x->n != y->n)
		return value_bool(false);
	return x->kind == KIND_LIST ? equal_lists(m, x, y, blame) : equal_maps(m, x, y, blame);
}

/* A part of the variables in full, since it may be there many times.  It is gone through once more than the limit allows, not more: what
 * is looked at next is given up. */
static void charge_json(struct machine *m, const struct json *v)
{
	m->cost += 1 + (v->type == JSON_STRING ? v->n / BYTES_PER_COST : 0);
	json_each (item, v)
		charge_json(m, item);
	json_each_member (member, v) {
		m->cost += member->name_n / BYTES_PER_COST;
		charge_json(m, member->value);
	}
}

static struct json *list_to_json(struct machine *m, const struct value *v, struct value *ret_why)
{
	struct json *list = json_new(m->a, JSON_ARRAY);

	for (size_t i = 0; i < v->n; i++) {
		struct json *item = value_to_json(m, &v->items[i], ret_why);
		if (!item)
			return NULL;
		json_push(m->a, list, item);
	}
	return list;
}

static struct json *map_to_json(struct machine *m, const struct value *v, struct value *ret_why)
{
	struct json *map = json_new(m->a, JSON_OBJECT);

	for (size_t i = 0; i < v->n; i++) {
		const struct value *key = &v->pairs[i].key;
		if (key->kind != KIND_STRING || memchr(key->text.p, 0, key->text.n)) {
			*ret_why = value_fail(FAIL_NOT_JSON, ret_why->blame);
			return NULL;
		}
		struct json *item = value_to_json(m, &v->pairs[i].value, ret_why);
		if (!item)
			return NULL;
		json_set(m->a, map, arena_strndup(m->a, (const char *)key->text.p, key->text.n), item);
	}
	return map;
}

struct json *value_to_json(struct machine *m, const struct value *v, struct value *ret_why)
{
	size_t bytes = v->kind == KIND_STRING ? v->text.n : 0;

	if (v->is_json)
		charge_json(m, v->json);
	if (!charge(m, 1 + bytes / BYTES_PER_COST)) {
		*ret_why = value_fail(FAIL_COST, ret_why->blame);
		return NULL;
	}
	if (v->kind == KIND_BOOL)
		return json_bool(m->a, v->truth);
	if (v->kind == KIND_INT)
		return json_number(m->a, v->number);
	if (v->kind == KIND_STRING)
		return json_stringn(m->a, (const char *)v->text.p, v->text.n);
	if (v->kind == KIND_NULL)
		return json_new(m->a, JSON_NULL);
	if (v->is_json)
		return json_copy(m->a, v->json);
	return v->kind == KIND_LIST ? list_to_json(m, v, ret_why) : map_to_json(m, v, ret_why);
}

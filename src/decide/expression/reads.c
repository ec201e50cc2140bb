/* reads.c — what an expression looks at, for whoever checks policies before they are used. */
#include "decide/expression/parts.h"

#include <string.h>

struct reads {
	struct arena *a;
	struct expression_read *items;
	size_t n, cap;
};

/* input.params.path, with one more name behind it when there is one. */
static const char *path_of(struct arena *a, const struct node *n, const struct name *more)
{
	struct buf b;

	buf_init(&b, a);
	for (uint32_t i = 0; i < n->name_n; i++) {
		if (i > 0)
			buf_addc(&b, '.');
		buf_add(&b, n->names[i].text.p, n->names[i].text.n);
	}
	if (more) {
		buf_addc(&b, '.');
		buf_add(&b, more->text.p, more->text.n);
	}
	return b.p;
}

/* Each path once; one that is read in earnest somewhere counts as read. */
static void add(struct reads *r, const char *path, bool is_asked)
{
	for (size_t i = 0; i < r->n; i++) {
		if (text_eq(r->items[i].path, path)) {
			r->items[i].is_asked |= is_asked;
			r->items[i].is_read |= !is_asked;
			return;
		}
	}
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 8;
		r->items = arena_grow(r->a, r->items, r->n * sizeof(*r->items), cap * sizeof(*r->items));
		r->cap = cap;
	}
	r->items[r->n++] =
		(struct expression_read){ .path = path, .is_asked = is_asked, .is_read = !is_asked };
}

static void walk(struct reads *r, const struct node *n)
{
	if (n->type == NODE_PATH)
		add(r, path_of(r->a, n, NULL), false);
	if (n->type == NODE_HAS && n->kids[0]->type == NODE_PATH) {
		add(r, path_of(r->a, n->kids[0], &n->names[0]), true);
		return;
	}
	for (uint32_t i = 0; i < n->kid_n; i++)
		walk(r, n->kids[i]);
}

const struct expression_read *expression_reads(const struct expression *x, struct arena *a, size_t *ret_n)
{
	struct reads r = { .a = a };

	walk(&r, x->root);
	*ret_n = r.n;
	return r.items;
}

static bool is_text(const struct node *n)
{
	return n->type == NODE_CONSTANT && n->constant.kind == KIND_STRING;
}

static bool is_path(struct arena *a, const struct node *n, const char *path)
{
	return n->type == NODE_PATH && text_eq(path_of(a, n, NULL), path);
}

static bool compares(struct arena *a, const struct node *n, const char *path)
{
	if ((n->type == NODE_EQUAL || n->type == NODE_UNEQUAL) &&
		((is_path(a, n->kids[0], path) && is_text(n->kids[1])) ||
			(is_path(a, n->kids[1], path) && is_text(n->kids[0]))))
		return true;
	for (uint32_t i = 0; i < n->kid_n; i++)
		if (compares(a, n->kids[i], path))
			return true;
	return false;
}

bool expression_compares_text(const struct expression *x, struct arena *a, const char *path)
{
	return compares(a, x->root, path);
}

bool expression_is_constant(const struct expression *x, bool *ret_value)
{
	if (x->root->type != NODE_CONSTANT || x->root->constant.kind != KIND_BOOL)
		return false;
	*ret_value = x->root->constant.truth;
	return true;
}

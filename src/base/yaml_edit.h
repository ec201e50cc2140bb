/* yaml_edit.h — changing somebody else's YAML file without rewriting it: comments, order and spacing stay.
 *
 * Lines are found by their indentation, which is not the whole of YAML; so every change is proven by reading the text before and
 * after it: the trees may differ by the one item and nothing else.  What cannot be proven is refused. */
#ifndef BASE_YAML_EDIT_H
#define BASE_YAML_EDIT_H

#include "base/json.h"
#include "base/json_edit.h"

/* The tree of a file; one that holds nothing but comments is an empty object. */
int yaml_edit_read(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e);

/* Put `item`, an object of scalars, first into the list at `outer` / `inner`; what is missing on the way is made.  The insertion
 * is one span: taking it out (json_edit_cut) gives back the same bytes.  E_INPUT YAML_EDIT_SHAPE when the file is written in a way
 * that cannot be edited like this. */
int yaml_edit_insert(struct arena *a, struct bytes text, const char *name, const char *outer,
	const char *inner, const struct json *item, struct bytes *ret, struct json_span *ret_span,
	struct err *e);

/* Take out the item at `index` of that list, with its own lines only; the list and `outer` too when they hold nothing else and
 * stand right above it. */
int yaml_edit_remove(struct arena *a, struct bytes text, const char *name, const char *outer,
	const char *inner, size_t index, struct bytes *ret, struct err *e);

#endif

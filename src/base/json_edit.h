/* json_edit.h — changing somebody else's JSON file without rewriting it.
 *
 * A settings file belongs to its owner: order, spacing, spelling of numbers and line ends stay as they are.  So a change is
 * an insertion or a removal in the text itself, found by parsing it strictly; a text that does not parse is refused.  What
 * is inserted follows the indentation around it, and is one span, so that taking the span out gives back the same bytes. */
#ifndef BASE_JSON_EDIT_H
#define BASE_JSON_EDIT_H

#include "base/json.h"

/* One step down: the member of that name, or with name NULL the item at `index`. */
struct json_step {
	const char *name;
	size_t index;
};

struct json_span {
	size_t at, n;
};

/* Append `value` to the array that the names in `path` lead to; what is missing on the way is made.  E_INPUT JSON_EDIT_SHAPE
 * when something on the way is no object, or the last no array.  `name` is for messages. */
int json_edit_append(struct arena *a, struct bytes text, const char *name, const char *const *path,
	size_t depth, const struct json *value, struct bytes *ret, struct json_span *ret_span, struct err *e);

/* Take out the value at `path` (at least one step) with its comma, and the member's name.  E_MISSING JSON_EDIT_PATH. */
int json_edit_remove(struct arena *a, struct bytes text, const char *name, const struct json_step *path,
	size_t depth, struct bytes *ret, struct err *e);

/* Another value in the place of the one at `path` (at least one step); everything around it stays.  *ret_old is the text of what was there.
 * E_MISSING JSON_EDIT_PATH. */
int json_edit_replace(struct arena *a, struct bytes text, const char *name, const struct json_step *path,
	size_t depth, const struct json *value, struct bytes *ret, struct bytes *ret_old, struct err *e);

/* The text without these bytes.  A span beyond the text is a BUG. */
struct bytes json_edit_cut(struct arena *a, struct bytes text, struct json_span span);

#endif

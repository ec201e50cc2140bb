/* front_matter.h — the lines between two fences at the beginning of a note or a skill.
 *
 * The grammar is that of the Python Helm, and what people write in such places besides: text whose first line begins with "---", up to
 * the next line that does; lines `key: value`; empty lines, those that begin with '#' and those without a colon say nothing.  A value
 * is empty or null, true or false, an integer, a number with a point, "quoted" (with \" \\ \n), 'quoted', a list [a, "b, c"], or else
 * the text as it stands.  Below a key without a value, lines further in are an object, and lines "- x" a list; behind | or > they
 * are one text.  Without a second fence all of it is body.  Nothing is refused: what cannot be read says nothing. */
#ifndef REMEMBER_FRONT_MATTER_H
#define REMEMBER_FRONT_MATTER_H

#include "base/json.h"

/* Larger ones, or ones with more keys, are somebody's text and no front matter; deeper lines belong to the deepest key. */
enum { FRONT_MATTER_BYTES = 64 << 10, FRONT_MATTER_KEYS = 1000, FRONT_MATTER_DEPTH = 8 };

struct front_matter {
	bool is_there;
	struct json
		*fields; /* object, in the order of the text; of a key that is there twice the last counts */
	struct bytes body; /* behind the second fence, as it is */
};
void front_matter_parse(struct arena *a, struct bytes text, struct front_matter *ret);

/* Fences, fields and the body, its trailing blanks removed and one newline at the end.  Reading it gives the same fields. */
void front_matter_write(struct buf *to, const struct json *fields, struct bytes body);

/* The same text with one field set (NULL: taken out): every other line, and the body, stay as they are to the byte.  A text without
 * front matter gets one. */
void front_matter_set(struct buf *to, struct bytes text, const char *name, const struct json *value);

#endif

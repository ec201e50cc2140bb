/* ontology.h — things and how they belong together: memory/ontology/entities.jsonl and relations.jsonl, one object a line.
 *
 * People and agents write these files, so anything may stand in a row.  A row is read as far as it says something: a member of the
 * wrong kind counts as absent, and only a row that names nothing is none. */
#ifndef REMEMBER_ONTOLOGY_H
#define REMEMBER_ONTOLOGY_H

#include "base/json.h"
#include "base/sys.h"

#define ONTOLOGY_ENTITIES "memory/ontology/entities.jsonl"
#define ONTOLOGY_RELATIONS "memory/ontology/relations.jsonl"

/* Texts are "" where nothing is said; `properties`, `aliases` are NULL when they are no object, no list. */
struct entity {
	const char *id, *type;
	const char *name, *status; /* of the properties */
	const char *notes; /* notes, else description */
	const char *at; /* captured_at, else acquired_date */
	const struct json *aliases; /* of the properties or the row */
	const struct json *properties;
};
/* False: the row has no id.  A number is taken for one, too. */
bool entity_read(struct arena *a, const struct json *row, struct entity *ret);
/* Is this its id, name or one of its aliases?  Case does not count for names. */
bool entity_is(struct arena *a, const struct entity *x, const char *word);

struct relation {
	const char *from, *to, *type;
	const struct json *properties; /* or NULL */
};
/* False: it does not say from what to what. */
bool relation_read(struct arena *a, const struct json *row, struct relation *ret);

/* Every row of one of the two files below `root_fd`, in order.  `row` is NULL for a line that is none: damaged, or no object.  Empty lines are
 * passed over; a file that is not there has none.  A row is valid during the call only.  fn returns 0 to go on; anything else stops, and is returned. */
typedef int ontology_visit(void *arg, uint64_t line, const struct json *row, struct err *e);
int ontology_each(struct sys *s, int root_fd, const char *file, ontology_visit *fn, void *arg, struct err *e);

#endif

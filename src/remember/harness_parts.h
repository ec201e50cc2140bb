/* harness_parts.h — inside remember/: what the two halves of the harness share. */
#ifndef REMEMBER_HARNESS_PARTS_H
#define REMEMBER_HARNESS_PARTS_H

#include "remember/harness.h"

/* Checks as they are made; `ok` falls with the first that does not hold. */
struct checks {
	struct arena *a;
	struct json *list, *warnings;
	bool ok;
};
void check_add(struct checks *c, const char *name, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
struct checks checks_begin(struct arena *a);
void checks_end(const struct checks *c, struct json *doc);

/* Case folded, of any bytes. */
const char *harness_folded(struct arena *a, const char *text);
/* Does one of these words stand anywhere in the folded text? */
bool harness_has_any(const char *folded, const char *const *words);
bool harness_has_text(const struct json *list, const char *text);

/* Is nothing there: null, a blank text, an empty list?  false and 0 are something. */
bool harness_is_missing(const struct json *v);
/* Of what a section wants the names that `evidence` has not, joined; "" when it has all. */
const char *harness_missing_fields(struct arena *a, const struct json *section, const struct json *evidence);
/* A decision of the way, against the contract. */
void harness_check_route(
	struct checks *c, const struct json *contract, const struct json *route, const char *command);
enum harness_level harness_level_of(
	const struct json *policy, const char *tier, const char *profile, const struct json *contract);
enum harness_level harness_level_parse(const char *name, enum harness_level fallback);

#endif

/* intake.h — skills from outside: what class they are by their words. */
#ifndef REMEMBER_INTAKE_H
#define REMEMBER_INTAKE_H

#include "base/json.h"

/* {default_action, matched[], name, rationale, risk_class} by name and description, in whole words. */
struct json *intake_classify(struct arena *a, const char *name, const char *description);
/* {issues[], ok, warnings[]} */
struct json *intake_validate(struct arena *a, const char *name, const char *risk_class, const char *action);

#endif

/* reasons.h — questions about the registry of reason codes that only tests ask. */
#ifndef TOOLS_REASONS_H
#define TOOLS_REASONS_H

#include "model/reason.h"

/* May a decision with this verdict carry the code? */
bool reason_fits(const struct reason *r, enum verdict v);
/* "class_forbidden", ...; NULL when unclassified. */
const char *finality_name(enum finality f);

#endif

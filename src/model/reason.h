/* reason.h — the registry of reason codes: one table (reason.def), known at compile time.
 *
 * A code that is not in the table cannot be emitted: decisions carry enum reason_code, and text that comes from outside is
 * looked up with reason_find() first.  Everything that compares codes compares the `reason_code` of a decision; a finer
 * code (guard rule id, pack code) is its detail. */
#ifndef MODEL_REASON_H
#define MODEL_REASON_H

#include "model/verdict.h"

#include <stdbool.h>
#include <stddef.h>

enum reason_code {
#define REASON(code, family, domain, verdicts, finality, disclosure, meaning, remedy) REASON_##code,
#include "model/reason.def"
#undef REASON
	REASON_COUNT
};

/* What kind of no it was; what a caller may conclude from it. */
enum finality {
	FINALITY_UNCLASSIFIED, /* conclude nothing */
	FINALITY_CLASS_FORBIDDEN, /* stop trying */
	FINALITY_UNGRANTED, /* needs an authority */
	FINALITY_INSTANCE_PARAMETER, /* a bound was exceeded: retry inside it */
	FINALITY_INSTANCE_CONTEXT, /* the surroundings were refused */
	FINALITY_INSTANCE_MEMBERSHIP, /* this target is closed, others may work */
	FINALITY_COUNT
};

enum disclosure { DISCLOSURE_ANY, DISCLOSURE_NONE, DISCLOSURE_BOUND, DISCLOSURE_CAPABILITY };

enum reason_verdicts {
	REASON_DENIES = 1,
	REASON_ESCALATES = 2,
	REASON_ALLOWS = 4, /* informational: an allowing decision may carry it */
	REASON_ALSO_DENIES = 8, /* not registered so, but conforming vectors use it */
	REASON_ALSO_ESCALATES = 16
};

struct reason {
	const char *code;
	const char *family; /* "registry", "envelope", ..., "guard" */
	const char *domain;
	unsigned verdicts; /* enum reason_verdicts */
	enum finality finality;
	enum disclosure disclosure;
	const char *meaning; /* one sentence for a person */
	const char *remedy; /* one sentence: what to do next */
};

/* Never NULL for a member of the enum; out of range is a BUG. */
const struct reason *reason_get(enum reason_code code);
/* By its text, exactly; NULL when there is no such code. */
const struct reason *reason_find(const char *code);

#endif

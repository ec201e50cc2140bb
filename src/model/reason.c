/* reason.c — the table of reason.def, and looking things up in it.
 *
 * The order of the table is the order of the enum (and, for the registry, the published order), so a
 * lookup by text walks the table. That happens only for codes that come from outside: rule files, packs
 * and receipts. A lookup by enum is an index. */
#include "model/reason.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

/* Short words that keep a row of reason.def on few lines. */
#define D REASON_DENIES
#define E REASON_ESCALATES
#define A REASON_ALLOWS
#define WIDE_D REASON_ALSO_DENIES
#define WIDE_E REASON_ALSO_ESCALATES
#define NC FINALITY_UNCLASSIFIED
#define CF FINALITY_CLASS_FORBIDDEN
#define UG FINALITY_UNGRANTED
#define IP FINALITY_INSTANCE_PARAMETER
#define IC FINALITY_INSTANCE_CONTEXT
#define IM FINALITY_INSTANCE_MEMBERSHIP

static const struct reason reasons[] = {
#define REASON(code, family, domain, verdicts, finality, disclosure, meaning, remedy) \
	{ #code, #family, domain, verdicts, finality, DISCLOSURE_##disclosure, meaning, remedy },
#include "model/reason.def"
#undef REASON
};

const struct reason *reason_get(enum reason_code code)
{
	if ((unsigned)code >= ARRAY_SIZE(reasons))
		BUG("reason code out of range");
	return &reasons[code];
}

const struct reason *reason_find(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (text_eq(reasons[i].code, code))
			return &reasons[i];
	return NULL;
}

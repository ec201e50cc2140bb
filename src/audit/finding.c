/* finding.c — one constructor for what a check finds, so that no finding is without its repair; see finding.h. */
#include "audit/finding.h"

enum { MAX_FINDINGS = 1000 };

const struct finding_kind finding_kinds[FINDING_COUNT] = {
#define FINDING_ROW(name, what, severity, repair, remedy) \
	[FINDING_##name] = { what, SEVERITY_##severity, REPAIR_##repair, remedy },
	FINDINGS(FINDING_ROW)
#undef FINDING_ROW
};

struct json *finding_put(
	struct arena *a, struct log_report *report, struct json *list, enum finding kind, const char *text)
{
	static const char *const severities[] = { [SEVERITY_DAMAGE] = "damage",
		[SEVERITY_UNTRUSTED] = "untrusted",
		[SEVERITY_ROWS] = "rows",
		[SEVERITY_NOTICE] = "notice" };
	static const char *const repairs[] = {
		[REPAIR_LOG] = "log repair", [REPAIR_WRITER] = "next writer", [REPAIR_NONE] = "none"
	};
	const struct finding_kind *k = &finding_kinds[kind];
	struct json *f = json_new(a, JSON_OBJECT);

	json_sets(a, f, "severity", severities[k->severity]);
	json_sets(a, f, "what", k->what);
	json_sets(a, f, "text", text);
	json_sets(a, f, "repair", repairs[k->repair]);
	json_sets(a, f, "remedy", k->remedy);
	if (list->n < MAX_FINDINGS)
		json_push(a, list, f);
	else
		report->omitted++;
	report->is_damaged |= k->severity == SEVERITY_DAMAGE;
	report->has_row_damage |=
		k->repair == REPAIR_LOG && (k->severity == SEVERITY_ROWS || kind == FINDING_ROWS_UNREADABLE);
	if (k->severity != SEVERITY_NOTICE)
		report->is_sound = false;
	return f;
}

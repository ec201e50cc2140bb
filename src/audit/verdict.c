/* verdict.c — is the record sound?  One answer, for every entry point and every view.
 *
 * Each step looks at one thing that a record consists of and adds its findings to one report; what follows from them is said once, at the
 * end.  A notice is no reason against a record; every other finding is. */
#include "audit/finding.h"
#include "audit/parts.h"
#include "base/text.h"

#include <string.h>

/* What a step works on. */
struct judging {
	struct sys *s;
	struct arena *a;
	const struct audit_place *at;
	const struct trust *trust;
	const struct log_check_options *options;
	struct log_report *report;
};

static int step_log(struct judging *j, struct err *e)
{
	return log_check(j->s, j->a, j->at->state_fd, j->trust, j->options, j->report, e);
}

static int step_rows(struct judging *j, struct err *e)
{
	return audit_rows(j->s, j->a, j->at->state_fd, j->options->all, j->report, e);
}

static int step_keys(struct judging *j, struct err *e)
{
	return j->at->helm_home ? audit_keys(j->s, j->a, j->at->helm_home, j->report, e) : OK;
}

/* With something else in the place of a file nothing can be checked, and every view says that. */
static bool find_wrong_kinds(struct judging *j)
{
	const struct json *found = audit_wrong_kinds(j->s, j->a, j->at->state_fd);
	struct log_report report = audit_report_new(j->a);

	if (!found->n)
		return false;
	json_each_member (f, found)
		(void)finding_put(j->a, &report, json_get(report.doc, "findings"), FINDING_NOT_A_FILE,
			arena_printf(j->a,
				"%s is %s, and must be a file; nothing is checked before it is put aside",
				f->name, json_text(f->value)));
	json_setb(j->a, report.doc, "sound", false);
	json_seti(j->a, report.doc, "receipts", 0);
	json_seti(j->a, report.doc, "heads", 0);
	json_set(j->a, report.doc, "files", json_new(j->a, JSON_ARRAY));
	json_set(j->a, report.doc, "anchors", json_new(j->a, JSON_ARRAY));
	*j->report = report;
	return true;
}

/* In this order; the first one makes the report. */
static int (*const steps[])(struct judging *j, struct err *e) = { step_log, step_rows, step_keys };

struct json *audit_add_finding(
	struct arena *a, struct log_report *report, const char *severity, const char *what, const char *text)
{
	struct json *f = json_new(a, JSON_OBJECT);

	json_sets(a, f, "severity", severity);
	json_sets(a, f, "what", what);
	json_sets(a, f, "text", text);
	json_push(a, json_get(report->doc, "findings"), f);
	if (!text_eq(severity, "notice")) {
		report->is_sound = false;
		json_setb(a, report->doc, "sound", false);
	}
	return f;
}

/* The first finding that counts: damage before what it may be the cause of. */
static const struct json *first_finding(const struct json *findings)
{
	const struct json *first = NULL;

	json_each (f, findings) {
		const char *severity = json_get_text(f, "severity", "");
		if (text_eq(severity, "damage"))
			return f;
		if (!first && !text_eq(severity, "notice"))
			first = f;
	}
	return first;
}

void audit_conclude(struct arena *a, struct record_verdict *v)
{
	const struct json *f = first_finding(v->findings);
	const char *text = json_get_text(f, "text", "not all of it is what was recorded");

	v->why = v->remedy = "";
	if (v->is_sound)
		return;
	v->why = json_get(f, "receipt")
		? arena_printf(a, "receipt %lld: %s", (long long)json_get_int(f, "receipt", 0), text)
		: text;
	v->remedy = json_get_text(f, "remedy",
		text_eq(json_get_text(f, "severity", ""), "damage")
			? "helm log check, then: helm log repair --yes"
			: "helm log check");
}

int audit_verdict(struct sys *s, struct arena *a, const struct audit_place *at, const struct trust *trust,
	const struct log_check_options *options, struct record_verdict *ret, struct err *e)
{
	struct record_verdict v = { .is_known = true, .is_now = true };
	struct judging j = { s, a, at, trust, options, &v.report };
	int rc = OK;

	v.checked_at = text_time_z(a, s->now_us(s) / 1000000 * 1000000);
	bool is_readable = !find_wrong_kinds(&j);
	for (size_t i = 0; is_readable && rc == OK && i < ARRAY_SIZE(steps); i++)
		rc = steps[i](&j, e);
	if (rc)
		return rc;
	v.is_sound = v.report.is_sound;
	v.receipts = v.report.receipts;
	v.findings = json_get(v.report.doc, "findings");
	audit_conclude(a, &v);
	*ret = v;
	return OK;
}

/* Everything was read for this answer: nothing of it rests on an earlier check. */
static bool is_all_read(const struct record_verdict *v)
{
	return v->is_now && !v->report.before &&
		json_get_int(json_get(v->report.doc, "rows"), "since_receipt", 1) <= 1;
}

struct json *audit_verdict_json(struct arena *a, const struct record_verdict *v)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_setb(a, doc, "sound", v->is_known && v->is_sound);
	json_sets(a, doc, "checked",
		!v->is_known		 ? "no"
			: is_all_read(v) ? "now"
			: v->is_stale	 ? "in part"
					 : "before");
	if (v->is_known) {
		json_sets(a, doc, "checked_at", v->checked_at);
		json_seti(a, doc, "receipts", (int64_t)v->receipts);
	}
	json_seti(a, doc, "unchecked_receipts", (int64_t)v->since);
	if (!v->is_known || !v->is_sound) {
		json_sets(a, doc, "why", v->why);
		json_sets(a, doc, "remedy", v->remedy);
	}
	json_set(a, doc, "findings", v->findings ? json_copy(a, v->findings) : json_new(a, JSON_ARRAY));
	return doc;
}

char *audit_verdict_text(struct arena *a, const struct record_verdict *v)
{
	if (!v->is_known)
		return arena_printf(a, v->is_stale ? "%s: %s" : "%s; %s", v->why, v->remedy);
	const char *upto = v->receipts ? arena_printf(a, "checked up to receipt %llu at %s",
						 (unsigned long long)v->receipts, v->checked_at)
				       : arena_printf(a, "checked at %s, no receipts yet", v->checked_at);
	if (!v->is_stale)
		return arena_strdup(a, upto);
	return v->since ? arena_printf(a, "%s; %s since %s not checked: helm log check", upto,
				  text_count(a, (int64_t)v->since, "receipt"), v->since == 1 ? "is" : "are")
			: arena_printf(a, "%s; its files have changed since: helm log check", upto);
}

/* repair_rows.c — a repair of everything that a check finds: the chain first (repair.c), then the ledgers.
 *
 * Rows are judged by what receipts say, so the chain comes first: a receipt that is taken out says nothing.  What is lost of ledgers is named
 * by a seam of its own.  Who plans for ledgers holds the locks of sealing, of the log and of the ledgers, in this order, so that what was
 * planned for is what is changed. */
#include "audit/planning.h"
#include "audit/rows.h"
#include "base/text.h"

/* The first finding about them, in words. */
static const char *why_rows(const struct log_report *report)
{
	json_each (f, json_get(report->doc, "findings"))
		if (text_eq(json_get_text(f, "severity", ""), "rows"))
			return json_get_text(f, "text", "");
	return "lines of ledgers that cannot be read";
}

/* With the log's lock and those of the ledgers: what is there now is planned for, and done. */
static int repair_rows_locked(struct planning *p, struct log_repaired *ret, struct err *e)
{
	struct log_report now = { .is_sound = true, .doc = json_new(p->a, JSON_OBJECT) };
	struct log_plan rows = { 0 };
	struct rows_kept kept;

	json_set(p->a, now.doc, "findings", json_new(p->a, JSON_ARRAY));
	int rc = audit_rows_keep(p->r->sys, p->a, p->r->state_fd, CUT_LOCKED, &now, &kept, e);
	if (rc == OK && now.has_row_damage)
		rc = rows_plan(p->r->sys, p->a, p->r->state_fd, &kept, &rows, e);
	if (rc || (!rows.ledger_n && !rows.lost))
		return rc;
	now.why = why_rows(&now);
	rc = plan_log(p, CUT_LOCKED, &now, e);
	p->plan.why = now.why;
	p->plan.ledgers = rows.ledgers;
	p->plan.ledger_n = rows.ledger_n;
	p->plan.lost = rows.lost;
	return rc ? rc : log_repair(p->r, p->a, &p->plan, &ret->rows_seam, e);
}

/* The chain is verified beside writers, as for a repair of the chain; then nobody seals, records or appends until it is done. */
static int repair_rows(struct recorder *r, struct arena *a, const struct trust *trust,
	const struct log_report *report, struct log_repaired *ret, struct err *e)
{
	struct planning p = { .sys = r->sys, .a = a, .r = r, .trust = *trust };
	AUTO(close_fd) int leaves_fd = audit_open_nameless(r->sys);
	struct log_report chain = { .why = report->why };
	struct ledger_hold hold;

	p.leaves_fd = leaves_fd;
	(void)plan_log(&p, CUT_MOMENT, &chain, &(struct err){ 0 });
	int rc = ledger_hold_pieces(r, &hold, e);
	if (rc == OK)
		rc = recorder_lock(r, e);
	if (rc == OK) {
		rc = ledger_hold_files(r, audit_ledgers, LEDGERS_OF_ALL, &hold, e);
		if (rc == OK)
			rc = repair_rows_locked(&p, ret, e);
		ledger_hold_end(r, &hold);
		recorder_unlock(r);
	}
	ledger_hold_end(r, &hold);
	return rc;
}

/* Only to be shown, beside writers. */
static int show_rows(struct recorder *r, struct arena *a, struct log_plan *plan, struct err *e)
{
	struct log_report now = { .doc = json_new(a, JSON_OBJECT) };
	struct rows_kept kept;

	json_set(a, now.doc, "findings", json_new(a, JSON_ARRAY));
	int rc = audit_rows_keep(r->sys, a, r->state_fd, CUT_MOMENT, &now, &kept, e);
	return rc ? rc : rows_plan(r->sys, a, r->state_fd, &kept, plan, e);
}

int audit_repair(struct recorder *r, struct arena *a, const struct trust *trust,
	const struct log_check_options *options, bool apply, struct log_repaired *ret, struct err *e)
{
	struct log_report rows = { .is_sound = true, .doc = json_new(a, JSON_OBJECT) };

	*ret = (struct log_repaired){ 0 };
	int rc = log_check(r->sys, a, r->state_fd, trust, options, &ret->report, e);
	if (rc == OK)
		rc = audit_rows(r->sys, a, r->state_fd, true, &ret->report, e);
	bool has_rows = ret->report.has_row_damage, is_damaged = ret->report.is_damaged;
	if (rc == OK)
		rc = repair_chain(r, a, trust, options, apply, ret, e);
	ret->report.has_row_damage |= has_rows;
	if (rc || (!has_rows && !is_damaged))
		return rc;
	if (!apply)
		return has_rows && !is_damaged ? show_rows(r, a, &ret->plan, e) : OK;
	json_set(a, rows.doc, "findings", json_new(a, JSON_ARRAY));
	rc = audit_rows(r->sys, a, r->state_fd, true, &rows, e);
	return rc || !rows.has_row_damage ? rc : repair_rows(r, a, trust, &rows, ret, e);
}

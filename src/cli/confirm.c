/* confirm.c — the one way in which a command that changes something is confirmed.
 *
 * --dry-run shows what would be done.  --yes does it.  Without either it is shown, and asked about at a terminal; where nobody sits at one
 * nothing is changed, and what to type is said.  What an operator decides about agents (approvals, trust, freezes) is another thing: there
 * the operator's own word or key counts, and no option stands for it. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"

#include <unistd.h>

bool confirm_can_ask(const struct cli *r)
{
	return !r->is_json && r->is_tty && isatty(0);
}

bool confirm_asks(struct cli *r, const char *question)
{
	char answer[8] = "";

	out(r, "%s [y/N] ", question);
	out_flush(r);
	return r->sys->read(r->sys, 0, answer, sizeof(answer) - 1) > 0 &&
		(answer[0] == 'y' || answer[0] == 'Y');
}

int confirm_approve(struct cli *r, const char *what, struct err *e)
{
	static const char *const words[] = { "APPROVE", NULL };
	const char *typed;

	if (opt_flag(r, "yes"))
		return OK;
	/* A program that reads JSON cannot type a word. */
	if (!isatty(0) || r->is_json)
		return err_set(e, E_USAGE, "CONFIRM", "nobody is there to approve this; say --yes");
	if (approver_says(r, arena_printf(r->a, "%s%sType APPROVE to go on: ", what, *what ? "\n" : ""),
		    words, &typed))
		return OK;
	return err_set(e, E_INPUT, "CONFIRM", "not approved; nothing was changed");
}

int confirm_and_do(struct cli *r, confirmed_step *fn, const char *question, struct err *e)
{
	bool has_work = false;

	if (opt_flag(r, "yes") && !opt_flag(r, "dry-run"))
		return fn(r, false, &has_work, e);
	int rc = fn(r, true, &has_work, e);
	if (rc < 0 || !has_work)
		return rc;
	if (opt_flag(r, "dry-run"))
		return rc;
	if (confirm_can_ask(r) && confirm_asks(r, question))
		return fn(r, false, &has_work, e);
	if (!r->is_json)
		out(r, "Nothing was changed.  To do it, add --yes\n");
	return EXIT_NO;
}

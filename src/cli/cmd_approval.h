/* cmd_approval.h — inside cli/: what the commands that show and answer requests share. */
#ifndef CLI_CMD_APPROVAL_H
#define CLI_CMD_APPROVAL_H

#include "cli/cli.h"
#include "kernel/approval/approval.h"
#include "kernel/task/task.h"

/* Everything a person needs to answer, as text. */
void approval_describe(struct cli *r, struct buf *to, const struct json *entry);
/* shown_text.c: what the request asked for, redacted, as lines of that text; the document, or NULL with *e when it is not kept; and of a write or an edit
 * one line, or NULL. */
void shown_describe(struct cli *r, struct buf *to, const struct json *request);
const struct json *shown_of(struct cli *r, const struct json *request, struct err *e);
const char *shown_summary(struct cli *r, const struct json *request);
/* Effects that a shape covers, in words. */
void covers_describe(struct cli *r, struct buf *to, struct cover *covers, size_t n);
/* What a grant lets through, in words. */
void grant_describe(struct cli *r, struct buf *to, const struct grant *g);
/* Requests that wait and grants in force; `all`: also those that are settled.  Numbers count the waiting ones from 1. */
void approvals_print(struct cli *r, const struct json *doc, bool all);
/* The n-th request that waits, from 1; NULL when there are not so many. */
const char *approvals_nth(struct cli *r, const struct json *doc, int64_t n);

/* cmd_trust.c: who uses this command: a person at a terminal, or the registered key that --key names.  The second is for what loosens,
 * and refuses while everything is frozen; the third the same for whoever needs no name. */
int person_here(struct cli *r, struct person *ret, struct err *e);
int person_loosens(struct cli *r, struct person *ret, struct err *e);
int person_is_there(struct cli *r, struct err *e);
/* Show `text`, then read a line: true when it is exactly one of the words; *ret_word says which.  Nothing is read before
 * everything was shown. */
bool approver_says(struct cli *r, const char *text, const char *const *words, const char **ret_word);

/* --for and --until of this command into terms. */
int approval_read_end(struct cli *r, struct approval_terms *t, struct err *e);
/* Show a drafted grant, take the word, give it. */
int approval_confirm_and_give(
	struct cli *r, struct kernel *k, struct grant *g, const struct person *who, struct err *e);

/* One request, shown and answered by typed words. */
int approval_ask_person(struct cli *r, const char *id, struct err *e);

/* cmd_run.c: what a person must know about a run, on standard error. */
void run_tell(struct cli *r, const struct run_report *report);
/* Ends what a helm that was killed left: layers of sessions, which is told, and open rows. */
int run_close_left(struct cli *r, bool all, size_t *ret_closed, struct err *e);

#endif

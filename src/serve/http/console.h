/* console.h — inside serve/http/: what the files of the console share. */
#ifndef SERVE_HTTP_CONSOLE_H
#define SERVE_HTTP_CONSOLE_H

#include "actions/action_index.h"
#include "serve/console.h"
#include "serve/http/http.h"

/* What is about the whole installation is its own tenant's: 403. */
int console_only_home(struct call *c, struct err *e);
/* The actions on record, caught up; closed by AUTO(action_index_close). */
int console_acts(struct call *c, struct action_index **ret, bool *ret_is_behind, struct err *e);
/* Rows and documents of actions, pushed to an array. */
struct console_rows {
	struct call *c;
	struct json *list;
};
int console_push(void *arg, struct json *row, struct err *e);
int console_push_action(void *arg, const struct action *row, struct err *e);
/* What the query names: verdict, who, session, tool, rule, kind, q, from, to. */
int console_filter(struct call *c, struct action_filter *ret, struct err *e);
/* Is this the centre of a fleet? */
bool console_has_fleet(struct call *c);
/* The exact line of the receipt with this clock; NULL: there is none. */
int console_line(struct call *c, int64_t clock, const char **ret, struct err *e);
/* What was asked (record/shown.h), by the digest that `from` has, into `to`: shown, or null with shown_problem.  Nothing when `from` has none. */
void console_add_shown(struct call *c, struct json *to, const struct json *from);

#endif

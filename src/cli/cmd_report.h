/* cmd_report.h — inside cli/: the page that `helm report` prints when nobody asks for longer lists. */
#ifndef CLI_CMD_REPORT_H
#define CLI_CMD_REPORT_H

#include "cli/cli.h"

/* What is left of the page.  Without a limit of lines (`left` SIZE_MAX) nothing is cut. */
struct page {
	struct cli *r;
	size_t width, left;
};

/* How many of n rows a list may show, at most `most`, with `frame` lines around them; 0: it is left out. */
size_t page_take(struct page *p, size_t n, size_t most, size_t frame);
/* The text safe and on one line, cut to this many columns. */
const char *page_fit(const struct page *p, const char *text, size_t columns);
/* "15:40": the time of day on the reader's clock. */
const char *page_clock(struct cli *r, const char *stamp);

/* What happened since a moment, in groups (actions/groups.c), on one screen. */
void report_groups(struct page *p, const struct json *doc);
/* The last 24 hours (actions/day.c): what was done, what the walls refused, what left them, what can be undone. */
void report_done(struct page *p, const struct json *day);
void report_walls(struct page *p, const struct json *day);
void report_left(struct page *p, const struct json *day);
void report_undo(struct page *p, const struct json *day);

#endif

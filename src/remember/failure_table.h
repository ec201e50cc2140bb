/* failure_table.h — what tools print when they fail, as a table: share/failures/ (docs/formats/failures.md).
 *
 * Time is bounded by what was printed and by the table: lines are matched without going back, and only those that hold the longest
 * literal of a rule are matched at all. */
#ifndef REMEMBER_FAILURE_TABLE_H
#define REMEMBER_FAILURE_TABLE_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct failure_found {
	const char *error_class;
	const char *line; /* that said so; NULL: it was the exit code */
};

/* By what was printed.  `command` is its text: rules of the programs it names come first.  false: nothing is known. */
bool failure_read(struct arena *a, const char *command, struct bytes said, struct failure_found *ret);

/* By the exit code of the program that `words` call; words NULL: what any program means by it. */
bool failure_exit(
	struct arena *a, const char *const *words, size_t n, int64_t code, struct failure_found *ret);
/* What the program says by this exit code without failing: "no match"; NULL: it is no answer. */
const char *failure_exit_answer(struct arena *a, const char *const *words, size_t n, int64_t code);

/* A mistake in a text of the table, with its line; NULL: there is none. */
const char *failure_table_fault(struct arena *a, struct bytes text);

#endif

/* shell_dump.h — counts of what stands in a parsed text, nested commands included. */
#ifndef TESTS_TOOLS_SHELL_DUMP_H
#define TESTS_TOOLS_SHELL_DUMP_H

#include "propose/shell/shell.h"

struct shell_counts {
	unsigned commands, words, assigns, redirects;
	unsigned subshells, groups, ifs, loops, cases, functions, conditions, arithmetics, coprocs;
	unsigned substitutions, processes, params, expressions;
};

void shell_dump_count(const struct shell_script *s, struct shell_counts *ret);

#endif

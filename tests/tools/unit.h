/* unit.h — what cmocka needs before it can be included, once. */
#ifndef TOOLS_UNIT_H
#define TOOLS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Ends the test as skipped.  ./check lists it with the reason (tools/check_run.py). */
#define skip_because(...) \
	do { \
		print_message("SKIPPED: " __VA_ARGS__); \
		print_message("\n"); \
		skip(); \
	} while (0)

#endif

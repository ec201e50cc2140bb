/* unit.h — what cmocka needs before it can be included, once. */
#ifndef TOOLS_UNIT_H
#define TOOLS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

/* real.c — the outside world of the shipped program.  The tests link their twin instead (tests/tools/fault_sys.c). */
#include "base/sys.h"

struct sys *sys_default(void)
{
	return sys_real();
}

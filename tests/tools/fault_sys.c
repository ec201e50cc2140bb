/* fault_sys.c — the twin of the outside world; see fault_sys.h. */
#include "base/sys.h"

struct sys *sys_default(void)
{
	return sys_real();
}

/* scan_portable_test.c — the same tests over the plain integer arithmetic that other processors get. */
#define HELM_PORTABLE_SCAN
#include "scan_test.c"

/* main.c — the door for people. */
#include "base/sys.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)sys_default();
	printf("helm " HELM_VERSION "\n");
	return 0;
}

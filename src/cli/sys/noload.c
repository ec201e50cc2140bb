/* noload.c — the shipped program loads no code at run time.
 *
 * SQLite can load extensions, and so asks libc for dlopen(). A program with libc inside must not bring
 * another libc in that way, and a guard has no business loading code at all. The linker sends these calls
 * here (cmake/libraries.cmake), and every one of them fails. */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *__wrap_dlerror(void)
{
	static char why[] = "this program loads no code at run time";

	return why;
}

/* test/fake/leave.c - a library that a program preloads: _exit with one more than was said. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) _Noreturn void _exit(int status)
{
	void (*next)(int);

	*(void **)&next = dlsym(RTLD_NEXT, "_exit");
	if (next)
		next(status + 1);
	abort();
}

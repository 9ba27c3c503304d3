/*
 * collect/leave.c - programs that leave by _exit, which runs no handlers:
 * workers of Python's multiprocessing, servers that fork.
 *
 * The collector is preloaded, so that these names are found here first. In the
 * child of a vfork, which lives in its parent's memory, nothing is handed out.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/collect.h"

static _Noreturn void leave(int status)
{
	collector_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORTED _Noreturn void _exit(int status)
{
	leave(status);
}

EXPORTED _Noreturn void _Exit(int status)
{
	leave(status);
}

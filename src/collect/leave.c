/*
 * collect/leave.c - programs that leave by _exit, which runs no handlers:
 * workers of Python's multiprocessing, servers that fork.
 *
 * The collector is preloaded, so that these names are found here first. In the
 * child of a vfork, which lives in its parent's memory, nothing is handed out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/collect.h"

/*
 * Who leaves first gives the status. Neither another thread that leaves while
 * we hand out, nor the handler of a signal, is to come before it.
 */
static void be_first(void)
{
	static _Atomic uint32_t leaving; /* the process, since a fork copies it; a futex */
	const uint32_t pid = (uint32_t)getpid();
	sigset_t all;

	if (!atomic_load(&collector.is_ready) || collector.head->pid != pid)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (atomic_exchange(&leaving, pid) == pid)
		syscall(SYS_futex, &leaving, FUTEX_WAIT_PRIVATE, pid, NULL, NULL, 0);
}

typedef void leave_function(int status);

static leave_function *next_exit, *next_capital_exit;

/* The program may have a library of its own before libc. Looked for early: a handler of a signal may not. */
__attribute__((constructor)) static void find_next(void)
{
	*(void **)&next_exit = dlsym(RTLD_NEXT, "_exit");
	*(void **)&next_capital_exit = dlsym(RTLD_NEXT, "_Exit");
}

static _Noreturn void leave(int status, leave_function *next)
{
	be_first();
	collector_end();
	if (next)
		next(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORTED _Noreturn void _exit(int status)
{
	leave(status, next_exit);
}

EXPORTED _Noreturn void _Exit(int status)
{
	leave(status, next_capital_exit);
}

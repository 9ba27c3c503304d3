/*
 * collect/leave.c - programs that leave by _exit, which runs no handlers:
 * workers of Python's multiprocessing, servers that fork.
 *
 * The collector is preloaded, so that these names are found here first. In the
 * child of a vfork, which lives in its parent's memory, nothing is handed out.
 */
#define _GNU_SOURCE
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

static _Noreturn void leave(int status)
{
	be_first();
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

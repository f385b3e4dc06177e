/* bus_guard.c - see bus_guard.h */
#include "hash/read/bus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

struct guard {
	uintptr_t start;
	size_t len;
	sigjmp_buf back;
};

static __thread struct guard *volatile current; /* of this thread's call */
/* Protects the handler of SIGBUS and `before` while it is installed; innermost. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* the program's own handler */

/* A fault outside of the guarded range is left to the program's own handler. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct guard *g = current;

	(void)context;
	if (g && (uintptr_t)info->si_addr - g->start < g->len)
		siglongjmp(g->back, 1);
	(void)sigaction(sig, &before, NULL);
}

/* The program may have replaced the handler meanwhile. */
static void install(void)
{
	struct sigaction action, now;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	/* The way back does not restore the mask. */
	action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
	(void)pthread_mutex_lock(&lock);
	if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != on_fault) {
		before = now;
		(void)sigaction(SIGBUS, &action, NULL);
	}
	(void)pthread_mutex_unlock(&lock);
}

int bus_guard_call(int (*look)(void *ctx), void *ctx, const void *data,
		   size_t len)
{
	struct guard g = { .start = (uintptr_t)data, .len = len };
	sigset_t bus, old;
	volatile int r = -EFAULT;

	install();
	/* Blocked, it would be the end of the process. */
	(void)sigemptyset(&bus);
	(void)sigaddset(&bus, SIGBUS);
	(void)pthread_sigmask(SIG_UNBLOCK, &bus, &old);
	if (sigsetjmp(g.back, 0) == 0) {
		current = &g;
		r = look(ctx);
	}
	current = NULL;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

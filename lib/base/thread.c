/* thread.c - see thread.h */
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, const pthread_attr_t *attr,
		 void *(*body)(void *arg), void *arg)
{
	sigset_t all, old;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(ret_thread, attr, body, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

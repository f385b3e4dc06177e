/* thread.h - threads of libroar in any program. */
#ifndef ROAR_BASE_THREAD_H
#define ROAR_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked: they are for the threads of the program. `attr`
 * may be NULL.  0 or a negative errno. */
int thread_start(pthread_t *ret_thread, const pthread_attr_t *attr,
		 void *(*body)(void *arg), void *arg);

#endif

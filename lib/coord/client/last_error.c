/* last_error.c - see last_error.h
 *
 * Everything is per thread, so there is no lock.  The list of absent workers may be long,
 * so it is allocated when needed and freed at the end of its thread. */
#include "coord/client/last_error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/client/client.h"

static _Thread_local char sentence[1024];

/* `key` and `key_failed` are written once, by make_key(). */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_failed;

static void make_key(void)
{
	key_failed = pthread_key_create(&key, free);
}

void last_error_set(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
}

void last_error_set_absent(const char *names)
{
	char *copy;

	(void)pthread_once(&once, make_key);
	if (key_failed)
		return;
	free(pthread_getspecific(key));
	copy = names && *names ? strdup(names) : NULL;
	if (pthread_setspecific(key, copy) != 0)
		free(copy);
}

API const char *roar_coord_error(void)
{
	return sentence;
}

API const char *roar_coord_absent(void)
{
	const char *names;

	(void)pthread_once(&once, make_key);
	names = key_failed ? NULL : pthread_getspecific(key);
	return names ? names : "";
}

/* macros.h - two macros that C lacks. */
#ifndef ROAR_BASE_MACROS_H
#define ROAR_BASE_MACROS_H

#include <stddef.h>

/* The number of elements of an array (not of a pointer: gcc warns). */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The `type` whose `member` is at `ptr`. */
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

#endif

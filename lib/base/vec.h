/* vec.h - growing arrays.
 *
 * An array is a pointer, a count and a capacity in the struct that owns it; VEC_PUSH makes
 * room for one more element and yields a pointer to it (zeroed), or NULL when out of
 * memory.  No type is hidden, so loops stay ordinary C. */
#ifndef ROAR_BASE_VEC_H
#define ROAR_BASE_VEC_H

#include <stddef.h>

/* Room for at least `need` elements of `size` bytes.  0 or -ENOMEM. */
int vec_reserve(void *array, size_t *cap, size_t need, size_t size);

#define VEC_PUSH(array, count, cap)                                         \
	(vec_reserve(&(array), &(cap), (count) + 1, sizeof(*(array))) < 0 ? \
		 NULL :                                                     \
		 ((array)[(count)] = (__typeof__(*(array))){ 0 },           \
		  &(array)[(count)++]))

#endif

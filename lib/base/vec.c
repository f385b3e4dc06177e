/* vec.c - see vec.h */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int vec_reserve(void *array, size_t *cap, size_t need, size_t size)
{
	size_t wanted = *cap ? *cap : 8;
	void *old;
	void *grown;

	if (need <= *cap)
		return 0;
	if (need > SIZE_MAX / 2 / size)
		return -ENOMEM;
	while (wanted < need)
		wanted *= 2;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, wanted * size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*cap = wanted;
	return 0;
}

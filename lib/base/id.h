/* id.h - ids of workers and names of jobs: 1 to 128 of A-Z, a-z, 0-9, '_', '.', '-'. */
#ifndef ROAR_BASE_ID_H
#define ROAR_BASE_ID_H

#include <stdbool.h>
#include <stddef.h>

enum { ID_MAX = 128 };

static inline bool id_has_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static inline bool id_is_valid(const char *id, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!id_has_char((unsigned char)id[i]))
			return false;
	return len > 0 && len <= ID_MAX;
}

#endif

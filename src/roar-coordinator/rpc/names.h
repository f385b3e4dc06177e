/* names.h - names of jobs as they come with a call. */
#ifndef COORDINATOR_NAMES_H
#define COORDINATOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_MAX_LEN = 128 };

/* 1 to 128 characters of [A-Za-z0-9_.-]. */
static inline bool name_is_good(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '-')
			return false;
	}
	return len > 0 && len <= NAME_MAX_LEN;
}

#endif

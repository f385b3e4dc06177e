/* install_path.c - see install_path.h */
#include "base/install_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *dir, const char *name, int mode, char *path,
		     size_t size)
{
	int n = snprintf(path, size, "%s%s", dir, name);

	return n >= 0 && (size_t)n < size && access(path, mode) == 0;
}

int install_path_find(const char *const *places, const char *configured,
		      int mode, char *path, size_t size)
{
	char dir[PATH_MAX];
	/* Symbolic links to the program are resolved. */
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	if (n > 0) {
		dir[n] = '\0';
		strrchr(dir, '/')[1] = '\0';
		for (size_t i = 0; places[i]; i++)
			if (is_there(dir, places[i], mode, path, size))
				return 0;
	}
	if (configured && is_there("", configured, mode, path, size))
		return 0;
	return -ENOENT;
}

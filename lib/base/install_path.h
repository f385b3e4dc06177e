/* install_path.h - files that are installed together with the running program.
 *
 * They are searched relative to the program first, so that a copied or unpacked
 * installation works without a rebuild, and then where the build configured them. */
#ifndef ROAR_BASE_INSTALL_PATH_H
#define ROAR_BASE_INSTALL_PATH_H

#include <stddef.h>

/* Stores the first path that access(2) grants `mode`: `places`, ended by NULL, are
 * relative to the directory of the program; `configured` is absolute, or NULL.
 * -ENOENT when there is none; *path is undefined then. */
int install_path_find(const char *const *places, const char *configured,
		      int mode, char *path, size_t size);

#endif

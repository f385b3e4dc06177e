/* environment.h - adds the preload library to the command's environment. */
#ifndef ROAR_TRACE_HYBRID_ENVIRONMENT_H
#define ROAR_TRACE_HYBRID_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

/* Finds libroar-preload.so (base/install_path.h has the search path);
 * ROAR_PRELOAD_LIBRARY overrides it.  0, or -ENOENT when none can be read. */
int environment_find_library(char *path, size_t size);

/* A copy of `envp` with the library, the log and the pass added.  The strings of `envp`
 * are borrowed.  Freed by environment_free(); NULL when out of memory. */
char **environment_new(char *const *envp, const char *library, const char *log,
		       uint64_t pass);
void environment_free(char **envp);

#endif

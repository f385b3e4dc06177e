/* environment.h - the library for the command, by its environment. */
#ifndef ROAR_TRACE_HYBRID_ENVIRONMENT_H
#define ROAR_TRACE_HYBRID_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

/* The path of libroar-preload.so (base/install_path.h says where it is searched).
 * ROAR_PRELOAD_LIBRARY overrides.  0, or -ENOENT when none can be read. */
int environment_find_library(char *path, size_t size);

/* A copy of `envp` with the library, the log and the pass in it.  The strings of `envp` are
 * borrowed.  Freed by environment_free(); NULL without memory. */
char **environment_new(char *const *envp, const char *library, const char *log,
		       uint64_t pass);
void environment_free(char **envp);

#endif

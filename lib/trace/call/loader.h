/* loader.h - what the kernel loads in addition to a program it executes.
 *
 * A script names its interpreter in the first line, an ELF program its loader in a
 * header.  The bytes are untrusted input: each field is checked before it is used. */
#ifndef ROAR_TRACE_CALL_LOADER_H
#define ROAR_TRACE_CALL_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The path that the first `n` bytes of a file name as interpreter or loader.  It is
 * NUL-terminated inside `head`, which has room for one more byte and is changed.  NULL
 * when there is none. */
const char *loader_of(char *head, size_t n);

enum {
	LOADER_HEAD = 4096, /* enough for a first line or an ELF header */
	LOADER_CHAIN = 5, /* the kernel's own limit on nested scripts */
};

/* Reads the beginning of a file for loader_of().  Returns its length or a negative
 * errno. */
ssize_t loader_read(const char *path, char head[LOADER_HEAD]);

/* The same for a file whose `st` is known: the few files that a run executes repeatedly
 * are cached.  The cache is static and belongs to the tracer's thread. */
ssize_t loader_read_known(const char *path, const struct stat *st,
			  char head[LOADER_HEAD]);

/* May we execute the file; does it grant capabilities?  Both answers are cached
 * likewise. */
bool loader_is_executable(const char *path, const struct stat *st);
bool loader_has_capability(const char *path, const struct stat *st);

#endif

/* loader.h - what the kernel loads beside a program it executes.
 *
 * A script names its interpreter in the first line, an ELF program its loader in
 * a header.  The bytes come from files of strangers: nothing in them is
 * believed before it is checked. */
#ifndef ROAR_TRACE_CALL_LOADER_H
#define ROAR_TRACE_CALL_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The path named by the first `n` bytes of a file, NUL-terminated inside `head`,
 * which has room for one byte more and is changed; NULL when it names none. */
const char *loader_of(char *head, size_t n);

enum {
	LOADER_HEAD = 4096, /* enough for a first line or an ELF header */
	LOADER_CHAIN = 5, /* the kernel's own limit on nested scripts */
};

/* Reads the beginning of a file for loader_of(): its length or a negative errno. */
ssize_t loader_read(const char *path, char head[LOADER_HEAD]);

/* The same for a file of which `st` is known: the few that a run executes all the time
 * are remembered.  Not for several threads. */
ssize_t loader_read_known(const char *path, const struct stat *st,
			  char head[LOADER_HEAD]);

/* May we execute it, does it give capabilities?  Both remembered likewise. */
bool loader_is_executable(const char *path, const struct stat *st);
bool loader_has_capability(const char *path, const struct stat *st);

#endif

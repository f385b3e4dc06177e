/* loader.h - what the kernel loads beside a program it executes.
 *
 * A script names its interpreter in the first line, an ELF program its loader in
 * a header.  The bytes come from files of strangers: nothing in them is
 * believed before it is checked. */
#ifndef ROAR_TRACE_CALL_LOADER_H
#define ROAR_TRACE_CALL_LOADER_H

#include <stddef.h>

/* The path named by the first `n` bytes of a file, NUL-terminated inside `head`,
 * which has room for one byte more and is changed; NULL when it names none. */
const char *loader_of(char *head, size_t n);

#endif

/* elf_notes.h - what an ELF file says about itself: its build id and its soname. */
#ifndef ROAR_CAPTURE_ELF_NOTES_H
#define ROAR_CAPTURE_ELF_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_BUILD_ID_MAX = 32, ELF_SONAME_MAX = 128 };

struct elf_notes {
	bool executable; /* it asks for a loader: a program */
	uint8_t build_id_len; /* 0: it has none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	char soname[ELF_SONAME_MAX]; /* "": it has none */
};

/* Reads from an open file by pread(2).  -ENOEXEC: it is not ELF of this machine's byte
 * order; -EBADMSG: it is damaged; *ret is set on success only. */
int elf_notes_read(int fd, struct elf_notes *ret);

/* The version in the name of a library: "libc.so.6" -> "6", "libfoo-2.1.so" -> "2.1".
 * "" when there is none; points into `path`, without a NUL at the end. */
const char *elf_version_of_name(const char *path, size_t *ret_len);

#endif

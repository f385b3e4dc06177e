/* libraries_internal.h - the cache of libraries.c */
#ifndef ROAR_CAPTURE_LIBRARIES_INTERNAL_H
#define ROAR_CAPTURE_LIBRARIES_INTERNAL_H

#include <stdbool.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/stamp.h"
#include "base/str.h"
#include "capture/elf_notes.h"

struct elf_record;

/* What is known of ELF files, by stamp: a file of records, read and written as a whole.
 * Each record has a sum of its own, so that a damaged one is not believed. */
struct elf_cache {
	const char *path; /* NULL: nothing is kept */
	struct str file; /* as it was read */
	struct map known; /* stamp -> struct elf_record */
	struct pool pool;
	struct elf_record **fresh; /* in the order of use */
	size_t n_fresh, cap_fresh;
};

int elf_cache_init(struct elf_cache *c, const char *dir);
void elf_cache_release(struct elf_cache *c);

/* The notes of the file at `path`, if it still has that stamp.  -ENOEXEC: it is not ELF;
 * -ESTALE: it is another file by now; else as open(2). */
int elf_cache_read(struct elf_cache *c, const char *path,
		   const struct stamp *stamp, struct elf_notes *ret);
void elf_cache_save(struct elf_cache *c);

#endif

/* keep_internal.h - shared by the files of lib/keep. */
#ifndef ROAR_KEEP_INTERNAL_H
#define ROAR_KEEP_INTERNAL_H

#include "keep/keep.h"

#define KEEP_FOLDER "objects"

enum { KEEP_HEX_LEN = 2 * BLAKE3_LEN };

/* Makes the new, empty file `to` a reflink of `from`, if the file system can. */
bool keep_clone(int from, int to);

/* Copies to the new, empty file `to`.  -ESTALE: the copy has another digest than `blake3`;
 * or as pread(2) and write(2). */
int keep_copy(int from, int to, const uint8_t blake3[BLAKE3_LEN]);

/* 0, or -ESTALE: the file has another digest; or as file_hash_fd(). */
int keep_compare(int fd, const uint8_t blake3[BLAKE3_LEN]);

#endif

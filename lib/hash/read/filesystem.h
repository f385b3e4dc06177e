/* filesystem.h - what to expect of a file system, by its number from statfs(2).
 *
 * Private to lib/hash. */
#ifndef ROAR_HASH_FILESYSTEM_H
#define ROAR_HASH_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* Somebody else decides what is in it: a server, or a program. */
bool filesystem_is_remote(uint32_t type);

/* Can its stamps be those of other content?  Where inodes or times are made up (FUSE,
 * images that are built and mounted anew, FAT), or are those of a moment ago: another
 * host may have written since. */
bool filesystem_deceives(uint32_t type);

/* Its pages are never written to a disk. */
bool filesystem_is_in_memory(uint32_t type);

/* Do its files get their times from the clock of this machine?  Not where a server, or
 * another machine with the same disk, may set them. */
bool filesystem_has_our_time(uint32_t type);

/* Nobody is told who writes through a mapping: it is one of the file in the layer
 * below. */
bool filesystem_hides_writers(uint32_t type);

/* May a folder tell another inode for a name than stat(2)? */
bool filesystem_has_two_inodes(uint32_t type);

/* Are the holes it tells of holes?  OpenZFS has told of some in files that were just
 * written (its issue 15526). */
bool filesystem_tells_holes(uint32_t type);

#endif

/* filesystem.h - properties of a file system, by its type from statfs(2).
 *
 * Private to lib/hash. */
#ifndef ROAR_HASH_FILESYSTEM_H
#define ROAR_HASH_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* Does a server or another program provide its content? */
bool filesystem_is_remote(uint32_t type);

/* Can different content have the same stamp?  True if inodes or times are artificial (FUSE,
 * images that are rebuilt and mounted again, FAT), or outdated because another host may
 * have written since. */
bool filesystem_deceives(uint32_t type);

/* Are its pages never written to a disk? */
bool filesystem_is_in_memory(uint32_t type);

/* Do its files get their times from the clock of this machine?  Not if a server, or another
 * machine with the same disk, may set them. */
bool filesystem_has_our_time(uint32_t type);

/* Does it hide writers through a mapping?  In an overlay they map the file of the lower
 * layer. */
bool filesystem_hides_writers(uint32_t type);

/* May a directory entry have another inode than stat(2) reports? */
bool filesystem_has_two_inodes(uint32_t type);

/* Can its reported holes be trusted?  OpenZFS has reported holes in files that were just
 * written (its issue 15526). */
bool filesystem_tells_holes(uint32_t type);

#endif

/* index_file.h - the positions of the samples of a file, kept for the next open.
 *
 *	0   8  "roarindx"
 *	8   4  version (2), in the byte order of this machine
 *	12  4  kind (enum reader_kind)
 *	16  8  size of the indexed file
 *	24  8  its modification time, nanoseconds since 1970
 *	32  8  bytes of the body
 *	40  .  the body, which the kind reads and writes
 *	.  32  BLAKE3 of everything before
 *
 * The index lies next to the file, or in a cache directory under a name made from the
 * file's path, or from the URL of an object, whose ETag takes the place of the time.  It can be removed at any time.  An index of another state of the file, a
 * damaged one, or one from a machine with another byte order is ignored. */
#ifndef ROAR_READER_INDEX_FILE_H
#define ROAR_READER_INDEX_FILE_H

struct reader;
struct str;

/* Appends the body to `out`.  0, or -ENOENT when there is no valid index. */
int index_file_load(const struct reader *r, struct str *out);

/* Saves a body if possible: the directory may be read-only, and a file that changed just
 * now may change again without a new timestamp. */
void index_file_save(const struct reader *r, const struct str *body);

#endif

/* index_file.h - where samples are in a file, kept from one reading to the next.
 *
 *	0   8  "roarindx"
 *	8   4  version (2), in the order of bytes of this machine
 *	12  4  kind (enum reader_kind)
 *	16  8  size of the file that it is about
 *	24  8  its time of modification, nanoseconds since 1970
 *	32  8  bytes of the body
 *	40  .  the body, which the kind reads and writes
 *	.  32  BLAKE3 of all before
 *
 * It lies beside the file or in a cache folder, by the name of the file's path.  It can
 * be removed at any time.  One that is about another state of the file, damaged or from
 * another kind of machine is as good as none. */
#ifndef ROAR_READER_INDEX_FILE_H
#define ROAR_READER_INDEX_FILE_H

struct reader;
struct str;

/* Appends the body to `out`.  0, or -ENOENT when there is none that holds. */
int index_file_load(const struct reader *r, struct str *out);

/* Keeps a body, if it can be kept: a folder may be read-only, and a file that was
 * changed only now may change again without showing it. */
void index_file_save(const struct reader *r, const struct str *body);

#endif

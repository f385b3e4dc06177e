/* object_content.h - which objects without a digest have the same content.
 *
 * An object that was read or stored in pieces has no BLAKE3.  Its ETag still tells its
 * contents at one place apart.  So rows with the same path and ETag have one content:
 * the artifact of the one that is identified, or else a negative number, which stands
 * for content without digests and is valid within one call. */
#ifndef ROAR_QUERY_OBJECT_CONTENT_H
#define ROAR_QUERY_OBJECT_CONTENT_H

#include <stddef.h>

struct pool;
struct store_file;

/* Fills in artifact_id, and digests and size where they are known, of objects among the rows
 * that have none.  0 or -ENOMEM. */
int object_content_share(struct pool *pool, struct store_file *rows, size_t n);

#endif

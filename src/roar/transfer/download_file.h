/* download_file.h - one file that is being fetched.
 *
 * Bytes arrive by leaves of 1 MiB, in any order; each is hashed and written to a partial file
 * beside the destination (".roar-HASH.part").  When all are there, the digest is checked and
 * the partial file gets its name: nobody sees half a file.  Of a large file, the leaves are
 * noted in a state file as well, so that the next try goes on.
 *
 * Where the size is not known before, bytes come in order and are hashed as one stream. */
#ifndef ROAR_DOWNLOAD_FILE_H
#define ROAR_DOWNLOAD_FILE_H

#include "base/list.h"
#include "transfer/transfer_internal.h"

struct download_file;

/* Makes the partial file, or opens the one that is there.  Sentences name the file. */
int download_file_open(struct transfer *t, struct transfer_item *item,
		       struct download_file **ret, struct roar_error *err);
/* The partial file stays if it can be continued. */
void download_file_close(struct download_file *f);
/* The partial file is of no use: another try begins anew. */
void download_file_discard(struct download_file *f);

struct transfer_item *download_file_item(const struct download_file *f);

/* The next leaves that are missing and not asked for, at most `max`: their number, 0 when
 * there are none.  They count as asked for. */
uint64_t download_file_take_leaves(struct download_file *f, uint64_t max,
				   uint64_t *ret_first);
size_t download_file_leaf_len(const struct download_file *f, uint64_t index);
/* Hashes and writes a leaf that is complete.  Other threads may store other leaves. */
int download_file_store_leaf(struct download_file *f, uint64_t index,
			     const void *data, size_t len,
			     struct roar_error *err);
/* After that: it counts. */
void download_file_note_leaf(struct download_file *f, uint64_t index);
/* The next bytes of a file whose size is not known. */
int download_file_append(struct download_file *f, const void *data, size_t len,
			 struct roar_error *err);
/* All of them have come; of no effect where the size is known. */
void download_file_end_stream(struct download_file *f);
/* Requests that are under way hold it. */
void download_file_hold(struct download_file *f);
void download_file_release(struct download_file *f);
/* Is everything there, and nobody holds it? */
bool download_file_is_whole(const struct download_file *f);

/* Checks the digest, gives the file its name, and fills in the item.  -EBADMSG: it is not the
 * content that was expected, and is removed. */
int download_file_finish(struct download_file *f, struct roar_error *err);

struct list *download_file_link(struct download_file *f);
struct download_file *download_file_of(struct list *link);

#endif

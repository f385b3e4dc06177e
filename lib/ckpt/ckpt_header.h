/* ckpt_header.h - reads the header of a safetensors file, of any writer.
 *
 * Nothing in it is trusted: all entries have a known type, a shape of that many bytes, and
 * ranges that together are the data of the file, without gaps and overlaps. */
#ifndef ROAR_CKPT_HEADER_H
#define ROAR_CKPT_HEADER_H

#include "base/pool.h"
#include "ckpt/ckpt_layout.h"

struct ckpt_header {
	struct pool pool; /* of names and shapes */
	struct ckpt_item *items; /* in the order of their data */
	size_t n_items;
	uint64_t data_at; /* where the data begin */
};

/* The bytes that the header needs: 8 and the length in the first 8 bytes.  -EBADMSG: more
 * than the file of `file_bytes` has, or than CKPT_MAX_HEADER. */
int ckpt_header_len(const uint8_t first[8], uint64_t file_bytes,
		    size_t *ret_len);

/* Reads a header of ckpt_header_len() bytes.  `path` is for messages.  -EBADMSG with a
 * sentence: it is not one, or not that of a file of this size; -ENOMEM. */
int ckpt_header_read(struct ckpt_header *h, const void *bytes, size_t len,
		     uint64_t file_bytes, const char *path,
		     struct roar_error *err);
void ckpt_header_release(struct ckpt_header *h);

#endif

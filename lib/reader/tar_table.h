/* tar_table.h - the samples of an archive: offsets, lengths and names.
 *
 * A sample is a run of consecutive members with the same key, as in WebDataset:
 * "./a/0001.seg.png" has the key "./a/0001" and is the part "seg.png". */
#ifndef ROAR_READER_TAR_TABLE_H
#define ROAR_READER_TAR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roar_error;
struct str;

struct tar_part {
	uint64_t offset; /* of its data in the archive */
	uint64_t len;
	uint32_t name; /* offset in `names` */
	uint32_t name_len;
};

struct tar_sample {
	/* Its first part; its last is before the next sample's first. */
	uint64_t first;
	uint32_t key; /* offset in `names` */
	uint32_t key_len;
};

struct tar_table {
	struct tar_sample *samples; /* and one more, which ends the last one */
	size_t n_samples, cap_samples;
	struct tar_part *parts;
	size_t n_parts, cap_parts;
	char *names; /* keys and names of parts, concatenated */
	size_t names_len, cap_names;
};

#define TAR_TABLE_INIT ((struct tar_table){ 0 })

void tar_table_release(struct tar_table *t);

/* Adds a member, whose name does not end in a slash, in the order of the archive.  Returns
 * 1 if it belongs to a sample, 0 if it is skipped as by WebDataset: its last path component
 * starts with a dot or has none, or its first one is like "__meta__".  -EEXIST: the sample
 * already has a part of that name; -E2BIG: more parts than READER_PARTS_MAX; -EOVERFLOW:
 * more than 4 GiB of names; -ENOMEM. */
int tar_table_add(struct tar_table *t, const char *name, uint64_t offset,
		  uint64_t len);

/* Removes the last sample, which may be incomplete. */
void tar_table_cut(struct tar_table *t);

/* Ends the last sample.  0 or -ENOMEM. */
int tar_table_end(struct tar_table *t);

/* Serializes the table, and reads it back.  The input is not trusted: -EBADMSG unless all
 * samples lie within `size` bytes of archive, in order. */
void tar_table_encode(const struct tar_table *t, struct str *out);
int tar_table_decode(const void *data, size_t len, uint64_t size,
		     struct tar_table *ret);

#endif

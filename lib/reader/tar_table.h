/* tar_table.h - the samples of an archive: which bytes, under which names.
 *
 * A sample is the members that follow each other and have one key, as WebDataset
 * groups them: "./a/0001.seg.png" has the key "./a/0001" and is the part "seg.png". */
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
	uint32_t name; /* where in the names */
	uint32_t name_len;
};

struct tar_sample {
	uint64_t first; /* its first part; the next sample's ends them */
	uint32_t key; /* where in the names */
	uint32_t key_len;
};

struct tar_table {
	struct tar_sample *samples; /* and one more that ends the last one */
	size_t n_samples, cap_samples;
	struct tar_part *parts;
	size_t n_parts, cap_parts;
	char *names; /* keys and names of parts, one after the other */
	size_t names_len, cap_names;
};

#define TAR_TABLE_INIT ((struct tar_table){ 0 })

void tar_table_release(struct tar_table *t);

/* Adds a member, whose name does not end in a slash, in the order of the archive.  1 when
 * it belongs to a sample, 0 when it is passed over as WebDataset does: its last part
 * begins with a dot or has none, or its first part is like "__meta__".  -EEXIST when
 * the sample has a part of that name already, -E2BIG for more parts than READER_PARTS_MAX, -EOVERFLOW for more
 * than 4 GiB of names, -ENOMEM. */
int tar_table_add(struct tar_table *t, const char *name, uint64_t offset,
		  uint64_t len);

/* Forgets the last sample: more of it may follow. */
void tar_table_cut(struct tar_table *t);

/* Ends the last sample.  0 or -ENOMEM. */
int tar_table_end(struct tar_table *t);

/* The table as bytes, and back.  What is read is checked as if a stranger had written
 * it: -EBADMSG when not all of it lies within `size` bytes of archive, in order. */
void tar_table_encode(const struct tar_table *t, struct str *out);
int tar_table_decode(const void *data, size_t len, uint64_t size,
		     struct tar_table *ret);

#endif

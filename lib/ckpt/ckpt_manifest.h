/* ckpt_manifest.h - what a checkpoint consists of.
 *
 * manifest.json is one JSON object.  A checkpoint exists if and only if it has a manifest,
 * which is written last:
 *
 *	roar_checkpoint	1; a larger number is a format that this version cannot read
 *	step, epoch	of the training
 *	save		id of the save, 8 hex digits
 *	created		"2026-11-18T05:00:00Z"
 *	world_size	number of writers
 *	world_epoch, fencing_token	of the coordinator; 0 without one
 *	job		id of the run that saved it, or null
 *	parent		"step-…" whose unchanged leaves are used, or null
 *	metrics		{"loss": 0.25}
 *	tags		["best"]
 *	state		what is not a tensor, any JSON; {"$tensor": NAME} stands for a tensor
 *	data_position, rng	any JSON
 *	files		one per writer, in the order of ranks
 *	    rank, size, blake3	the logical file: safetensors, ckpt_layout.h
 *	    tree, leaf_bytes	file with its leaf tree, hash/blake3/leaf_tree.h
 *	    name, data_bytes	file with the data that this save wrote; null, 0: none
 *	    extents		[first leaf, leaves, "step-…/data-…", offset of the first], sorted:
 *				where the leaves of the logical file are stored
 *	tensors		NAME: dtype, shape, parts
 *	    parts		file (index), offset and shape in the tensor, at (offset in the
 *				logical file); together each element of the tensor once
 *
 * Members that are not known are ignored.
 *
 * In a sharded save each writer first stores a part, part-….json.  It is the same object, but
 * begins with "roar_checkpoint_part" and has one file, of that rank.  Its tensors have this
 * writer's parts only.  The commit merges all parts to the manifest.  Except for files and
 * tensors, the members of rank 0's part count.
 *
 * A manifest is untrusted.  ckpt_manifest_read() accepts one only if all of it agrees: names
 * have the form of ckpt_name.h, leaves are covered, parts are within their files and fill
 * their tensors without overlap.  The same is checked before one is written.
 *
 * A struct belongs to one thread; once it is read, any number of threads may look at it. */
#ifndef ROAR_CKPT_MANIFEST_H
#define ROAR_CKPT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "ckpt/ckpt_dtype.h"
#include "ckpt/ckpt_name.h"
#include "hash/blake3/b3.h"

struct roar_error;
struct str;

enum {
	CKPT_MANIFEST_VERSION = 1,
	CKPT_MANIFEST_MAX = 512 << 20, /* bytes of its text */
	CKPT_MAX_LIST = 4096, /* metrics, tags */
};

struct ckpt_extent {
	uint64_t first_leaf, n_leaves;
	const char *path; /* "step-…/data-….safetensors" */
	uint64_t offset; /* of the first leaf in that file */
};

struct ckpt_file {
	uint32_t rank;
	const char *name; /* NULL: all leaves are in other checkpoints */
	uint64_t size_bytes; /* of the logical file */
	uint8_t blake3[BLAKE3_LEN]; /* of the logical file */
	const char *tree; /* name of the file with its leaf tree */
	uint32_t leaf_bytes;
	uint64_t data_bytes; /* of the file `name` */
	struct ckpt_extent *extents;
	size_t n_extents;
};

struct ckpt_part {
	uint32_t file; /* index */
	const uint64_t *offset,
		*shape; /* in the tensor, one number per dimension */
	uint64_t at; /* in the logical file */
};

struct ckpt_tensor {
	const char *name;
	enum ckpt_dtype dtype;
	unsigned n_dims;
	const uint64_t *shape;
	struct ckpt_part *parts;
	size_t n_parts;
};

struct ckpt_metric {
	const char *name;
	double value;
};

struct ckpt_manifest {
	bool is_part; /* of one writer */
	uint64_t step, epoch;
	char save[CKPT_SAVE_ID_LEN + 1];
	const char *created; /* text, for people; "" if it is not known */
	uint32_t world_size;
	uint64_t world_epoch, fencing_token;
	const char *job, *parent; /* NULL: none */
	const struct ckpt_metric *metrics;
	size_t n_metrics;
	const char *const *tags;
	size_t n_tags;
	const char *state, *data_position, *rng; /* JSON text; NULL: null */
	struct ckpt_file *files;
	size_t n_files;
	struct ckpt_tensor *tensors;
	size_t n_tensors;
	struct map by_name; /* of tensors; see ckpt_manifest_tensor() */
	struct pool pool; /* of all the above; may be used to fill one in */
};

#define CKPT_MANIFEST_INIT ((struct ckpt_manifest){ .created = "" })

/* Frees all that is in the pool. */
void ckpt_manifest_release(struct ckpt_manifest *m);

/* Reads a manifest, or a part if `is_part`.  `path` is for messages.  -EBADMSG with a sentence
 * that names the path and the member: it is not valid; -ENOTSUP: a newer format; -ENOMEM. */
int ckpt_manifest_read(struct ckpt_manifest *m, const char *text, size_t len,
		       bool is_part, const char *path, struct roar_error *err);

/* Does all of it agree?  -EBADMSG with a sentence; -ENOMEM. */
int ckpt_manifest_check(const struct ckpt_manifest *m, const char *path,
			struct roar_error *err);

/* Appends the text of a manifest or a part, which ckpt_manifest_check() accepts. */
void ckpt_manifest_write(const struct ckpt_manifest *m, struct str *out);

/* Merges the parts of all writers of one save, in any order, and checks the result.  Strings
 * of the result are those of the parts, which must live as long.  -EBADMSG with a sentence:
 * the parts do not belong together, or one is missing; -ENOMEM. */
int ckpt_manifest_merge(struct ckpt_manifest *m,
			const struct ckpt_manifest *parts, size_t n,
			struct roar_error *err);

/* The tensor of that name, or NULL.  Needs ckpt_manifest_index(), which
 * ckpt_manifest_read() has called. */
const struct ckpt_tensor *ckpt_manifest_tensor(const struct ckpt_manifest *m,
					       const char *name);
/* -EEXIST: two tensors have the same name; -ENOMEM. */
int ckpt_manifest_index(struct ckpt_manifest *m);

/* The bytes of a part. */
uint64_t ckpt_part_bytes(const struct ckpt_tensor *tensor,
			 const struct ckpt_part *part);

#endif

/* ckpt_reader_internal.h - what the files of ckpt_reader.h share. */
#ifndef ROAR_CKPT_READER_INTERNAL_H
#define ROAR_CKPT_READER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "ckpt/ckpt_plan.h"
#include "ckpt/ckpt_reader.h"
#include "ckpt/ckpt_sources.h"
#include "hash/blake3/leaf_tree.h"

/* A checkpoint that may have the right bytes of a damaged leaf: the parent, or the copy in a
 * replica.  Its manifest is read when the first damage is found. */
struct ckpt_other {
	struct blob_store *store;
	uint64_t step;
	bool is_parent;
	bool is_tried, is_usable;
	struct ckpt_manifest manifest;
	struct ckpt_sources sources;
};

struct ckpt_map {
	void *memory;
	size_t len;
};

struct ckpt_reader {
	struct blob_store *store;
	struct ckpt_reader_options options;
	struct ckpt_manifest manifest;
	char name[CKPT_NAME_SIZE]; /* "step-…" */
	struct ckpt_plan_file *files; /* as many as the manifest has */
	struct leaf_tree *trees; /* values NULL: not read yet, or damaged */
	struct ckpt_sources sources;
	/* Protects `others`; is held while `damage` of the options is called. */
	pthread_mutex_t lock;
	struct ckpt_other others[1 + CKPT_READER_REPLICAS_MAX];
	size_t n_others;
	uint64_t bytes_read;
	struct ckpt_map *maps;
	size_t n_maps, cap_maps;
};

/* One execution of a plan. */
struct ckpt_run {
	struct ckpt_reader *reader;
	const struct ckpt_plan *plan;
	ckpt_reader_block_fn *block; /* NULL: copy as the plan says */
	void *ctx;
	bool on_caller; /* by the calling thread alone */
	bool only_verify; /* damage is counted and does not end the run */
	_Atomic size_t next; /* step */
	_Atomic int error; /* the first one; ends all threads */
	_Atomic uint64_t bytes_done;
	_Atomic uint64_t n_damaged;
	pthread_mutex_t lock; /* protects `n_threads` and `err` */
	pthread_cond_t ended; /* a thread has ended */
	size_t n_threads; /* still running */
	struct roar_error err; /* of the first error */
};

/* ---- ckpt_reader_repair.c ---- */

/* Reads the leaf trees that the plan needs.  A tree that is damaged here and in all replicas
 * is an error; in a run that only verifies, it is reported and counted. */
int ckpt_reader_trees(struct ckpt_run *run);
int ckpt_reader_tree(struct ckpt_run *run, uint32_t file); /* of one */

/* Reads `n_leaves` of a logical file, which are stored without a gap, through the sources
 * of the same manifest. */
int ckpt_leaves_read(struct ckpt_sources *sources, const struct ckpt_file *f,
		     uint64_t first_leaf, void *to, size_t len);

/* The extent that has this leaf. */
const struct ckpt_extent *ckpt_file_extent(const struct ckpt_file *f,
					   uint64_t leaf);

/* Leaf `leaf` could not be read (`error`), or its bytes are wrong (-EBADMSG).  Reads it from
 * elsewhere to `to`, and reports the damage.  0: these are the right bytes; otherwise an
 * error, with a sentence. */
int ckpt_leaf_repair(struct ckpt_run *run, uint32_t file, uint64_t leaf,
		     int error, void *to, size_t len, struct roar_error *err);

/* Counts a damaged place, and tells the caller. */
void ckpt_damage_report(struct ckpt_run *run, const struct ckpt_damage *d);

/* ---- ckpt_reader_files.c ---- */

/* Verifies what no leaf covers; damage is reported.  -ENOMEM. */
int ckpt_reader_check_files(struct ckpt_run *run);

/* ---- ckpt_reader_map.c ---- */

void ckpt_reader_unmap(struct ckpt_reader *r);

/* ---- ckpt_reader_run.c ---- */

/* Executes the plan.  0 or a negative errno with a sentence. */
int ckpt_run_execute(struct ckpt_run *run, struct roar_error *err);

#endif

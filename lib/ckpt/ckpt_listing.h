/* ckpt_listing.h - the checkpoints of a directory, and what else is there.
 *
 * A listing is taken from names alone, or also from the manifests.  Of a manifest it keeps a
 * summary and the data files that it refers to, not the tensors.  A manifest that cannot be
 * read is an entry with a problem, not a failure.
 *
 * A listing belongs to one thread. */
#ifndef ROAR_CKPT_LISTING_H
#define ROAR_CKPT_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "ckpt/ckpt_manifest.h"

struct blob_store;
struct roar_error;

/* Files in object storage that no manifest names are those of a save for so long. */
#define CKPT_LIVE_NS (INT64_C(24) * 3600 * 1000000000)

/* A file in the directory of a step. */
struct ckpt_stored {
	const char *name; /* without the directory */
	const char *path; /* "step-…/NAME" */
	bool is_known; /* its name has the form of ckpt_name.h; else never touched */
	struct ckpt_name parsed;
	uint64_t size_bytes;
	int64_t modified_ns;
	bool is_needed; /* a manifest refers to it, or it is one */
	bool is_live; /* of a save that goes on, or may go on */
};

struct ckpt_failure {
	const char *save; /* id */
	const char *sentence;
};

struct ckpt_entry {
	uint64_t step;
	const char *name; /* "step-…" */
	struct ckpt_stored *files;
	size_t n_files, cap_files;
	bool is_committed; /* it has a manifest */

	/* With CKPT_LIST_MANIFESTS, of a committed one: */
	const char *problem; /* why the manifest cannot be used; NULL: it can */
	uint64_t epoch;
	const char *save, *created, *parent, *job; /* parent, job: or NULL */
	uint32_t world_size;
	uint64_t size_bytes; /* of all logical files */
	uint64_t stored_bytes; /* of the data files that it wrote itself */
	size_t n_tensors;
	const struct ckpt_metric *metrics;
	size_t n_metrics;
	const char *const *tags;
	size_t n_tags;

	const char **needs; /* paths of all files that it refers to, its own too */
	size_t n_needs, cap_needs;

	/* With CKPT_LIST_MANIFESTS, of any: */
	struct ckpt_failure *failures; /* saves that reported a failure */
	size_t n_failures, cap_failures;
	uint64_t leftover_bytes; /* of files that are neither needed nor live */
	size_t n_leftovers;
	bool is_writing; /* a save goes on */
};

struct ckpt_listing {
	struct ckpt_entry *entries; /* ascending by step */
	size_t n_entries, cap_entries;
	struct pool pool;
};

#define CKPT_LISTING_INIT ((struct ckpt_listing){ 0 })

enum ckpt_list_flags {
	CKPT_LIST_MANIFESTS = 1 << 0, /* read them, and find leftovers */
};

/* Lists a store.  An error of listing, with a sentence; -ENOMEM. */
int ckpt_listing_read(struct ckpt_listing *l, struct blob_store *store,
		      unsigned flags, struct roar_error *err);
void ckpt_listing_release(struct ckpt_listing *l);

/* Finds the leftovers again, as if the checkpoints for which `is_gone` returns true had no
 * manifest.  -ENOMEM. */
int ckpt_listing_mark(struct ckpt_listing *l, struct blob_store *store,
		      bool (*is_gone)(void *ctx, const struct ckpt_entry *e),
		      void *ctx);

/* Does a save go on in this store, as the locks say?  From names alone. */
bool ckpt_listing_is_held(const struct ckpt_listing *l,
			  struct blob_store *store);

/* The latest committed checkpoint, or NULL. */
const struct ckpt_entry *ckpt_listing_latest(const struct ckpt_listing *l);
/* The entry of that step, committed or not, or NULL. */
struct ckpt_entry *ckpt_listing_step(const struct ckpt_listing *l,
				     uint64_t step);

/* The latest step of a store.  -ENOENT with a sentence: it has no checkpoint. */
int ckpt_store_latest(struct blob_store *store, uint64_t *ret_step,
		      struct roar_error *err);

/* The value of a metric; NaN: the checkpoint does not have it. */
double ckpt_entry_metric(const struct ckpt_entry *e, const char *name);

#endif

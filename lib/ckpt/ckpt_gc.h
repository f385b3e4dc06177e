/* ckpt_gc.h - removes checkpoints that no rule keeps, and leftovers of interrupted saves.
 *
 * A checkpoint is removed in this order, so that a crash leaves either the checkpoint or
 * leftovers, which the next gc removes:
 *
 *	1 manifest.json, made durable
 *	2 files that no remaining manifest refers to
 *	3 the directory, if it is empty
 *
 * A save that goes on may use data of the checkpoint that is its parent.  It takes its lock
 * (writing-SAVE) before it reads the parent's manifest, and step 1 comes before gc looks for
 * locks.  So either gc finds the lock, and leaves all data files for the next time; or the
 * save has ended, and its manifest is read before step 2; or it does not find the manifest
 * of the parent any more, and saves everything.  Object storage has no locks: there, files
 * of a save without a manifest are live for 24 hours, and so are unfinished uploads.
 *
 * If any manifest cannot be read, gc removes nothing: that manifest may refer to anything. */
#ifndef ROAR_CKPT_GC_H
#define ROAR_CKPT_GC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ckpt/ckpt_retention.h"

struct blob_store;
struct roar_error;

struct ckpt_gc_options {
	struct ckpt_rules rules;
	bool dry_run; /* report only */
	/* Called for each checkpoint ("step-…") and file ("step-…/NAME") that is, or in a
	 * dry run would be, removed.  May be NULL. */
	void (*removed)(void *ctx, const char *path, uint64_t size_bytes);
	void *ctx;
};

struct ckpt_gc_result {
	size_t n_kept, n_removed; /* checkpoints */
	size_t n_files; /* removed, without manifests */
	uint64_t bytes; /* of these */
	size_t n_postponed; /* files left because a save goes on */
};

/* -EBADMSG with a sentence: a manifest cannot be read, nothing was removed; errors of
 * listing and removing. */
int ckpt_gc_run(struct blob_store *store, const struct ckpt_gc_options *options,
		struct ckpt_gc_result *ret, struct roar_error *err);

#endif

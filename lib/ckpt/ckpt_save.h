/* ckpt_save.h - saves a checkpoint: the order of steps that makes it old or new.
 *
 *	lock writing-ID		so that nobody takes the files for leftovers
 *	data file		blocks, then fsync		ckpt_writer.h
 *	leaf tree		with fsync
 *	directories		fsync: of the step and of the store
 *	[part-….json		in a sharded save, each rank; then all meet]
 *	manifest.json		under a temporary name, fsync; renamed unless the name is
 *				in use, fsync of the directory: the commit
 *	parts, writing-ID	removed
 *
 * All files of a save have its id in their names, so that two saves of one step do not touch
 * each other's; the first commit wins.  A save that fails removes its files. */
#ifndef ROAR_CKPT_SAVE_H
#define ROAR_CKPT_SAVE_H

#include "ckpt/ckpt_writer.h"

struct ckpt_pending;

/* Phase one: writes all but the manifest.  Of a sharded save that includes part-….json. */
int ckpt_save_write(const struct roar_checkpoint_save *save,
		    struct ckpt_progress *progress, struct ckpt_pending **ret,
		    struct roar_error *err);
/* Phase two: publishes the manifest, of all ranks.  -EEXIST: the step was saved before. */
int ckpt_save_commit(struct ckpt_pending *p,
		     roar_checkpoint_confirm_fn *confirm, void *ctx,
		     struct roar_error *err);
/* What a coordinator has agreed on with all ranks; the manifest gets it, and only parts with
 * these digests go into it. */
struct ckpt_agreement {
	uint64_t world_epoch, fencing_token;
	const uint8_t (*digests)[BLAKE3_LEN]; /* of all parts, ascending */
	size_t n_digests;
};

/* For the commit that follows, until which `agreement` stays. */
void ckpt_save_agree(struct ckpt_pending *p,
		     const struct ckpt_agreement *agreement);
/* The BLAKE3 of the writer's part-….json; of a single writer, of what it would be. */
int ckpt_save_digest(const struct ckpt_pending *p, uint8_t ret[BLAKE3_LEN]);
/* Removes what was written, unless it was committed. */
void ckpt_save_abort(struct ckpt_pending *p);
/* Ends the lock. */
void ckpt_save_free(struct ckpt_pending *p); /* NULL is allowed */
DEFINE_CLEANUP(struct ckpt_pending *, ckpt_save_free)

void ckpt_save_result(const struct ckpt_pending *p,
		      struct roar_checkpoint_result *ret);

/* Both phases, for one writer.  After a failure nothing is left. */
int ckpt_save_run(const struct roar_checkpoint_save *save,
		  struct ckpt_progress *progress,
		  struct roar_checkpoint_result *ret, struct roar_error *err);

#endif

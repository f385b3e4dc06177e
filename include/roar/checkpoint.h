/* roar/checkpoint.h - checkpoints: durable, verified, and complete or not there.
 *
 * For C and C++; link with -lroar.  A checkpoint is a directory, or a prefix in object
 * storage, below the URL of a store:
 *
 *	/path, file:///path, s3://bucket/prefix, gs://bucket/prefix
 *
 * Its data are safetensors files, and a manifest that is written last (docs/checkpoint.md).
 * A save that fails, or whose process dies, leaves the checkpoints before it as they were.
 *
 *	struct roar_checkpoint_tensor t[] = {
 *		{ .name = "w", .dtype = "F32", .n_dims = 2, .shape = shape, .data = w },
 *	};
 *	struct roar_checkpoint_save s = {
 *		.url = "checkpoints", .step = 100, .tensors = t, .n_tensors = 1,
 *		.state = "{\"lr\": 0.001, \"w\": {\"$tensor\": \"w\"}}",
 *	};
 *
 *	if (roar_checkpoint_save(&s, NULL) < 0)
 *		fputs(roar_checkpoint_error(), stderr);
 *
 * Functions return 0 or a negative errno; roar_checkpoint_error() returns the error message
 * for the last failure of the calling thread.
 *
 *	-EEXIST		the step was saved before, by this or another writer
 *	-EINVAL		an argument is not valid
 *	-ENOSPC, -EDQUOT, -EIO, …	of the file system or the server
 *	-EBADMSG	what is stored is damaged, or parts do not belong together
 *	-ENOTSUP	this build has no such storage; or a newer format
 *	-ENOMEM */
#ifndef ROAR_CHECKPOINT_H
#define ROAR_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sentence for the last failure in this thread; "" if there was none. */
const char *roar_checkpoint_error(void);

/* ---- save ---- */

struct roar_checkpoint_tensor {
	const char *name; /* UTF-8, unique */
	const char *
		dtype; /* as safetensors has it: "F32", "BF16", "F8_E4M3", "I64", ... */
	uint32_t n_dims; /* up to 32 */
	const uint64_t *shape; /* of the whole tensor */
	/* Which part of it this is; NULL and NULL: all of it.  The writers of a checkpoint
	 * together have each element once. */
	const uint64_t *part_offset, *part_shape;
	const void *data; /* the part in row-major order, without gaps */
	/* Instead of `data`: copies `len` bytes of the part from `offset` on.  Called by
	 * several threads at once.  0 or a negative errno, which ends the save. */
	int (*fill)(void *ctx, uint64_t offset, void *to, size_t len);
	void *ctx;
};

struct roar_checkpoint_metric {
	const char *name;
	double value;
};

struct roar_checkpoint_save {
	const char *url; /* of the store; a directory is made */
	uint64_t step; /* up to 999999999999 */
	uint64_t epoch;
	const struct roar_checkpoint_tensor *tensors;
	size_t n_tensors;
	/* What is not a tensor: JSON texts, or NULL. */
	const char *state, *data_position, *rng;
	const struct roar_checkpoint_metric *metrics;
	size_t n_metrics;
	const char *const *tags;
	size_t n_tags;
	const char *
		parent; /* "step-…" whose unchanged parts are referred to; NULL: none */
	const char *
		job; /* NULL: the `roar run` that observes this process, if any */
	uint64_t world_epoch, fencing_token; /* of the coordinator; else 0 */
	/* Of a sharded save.  `world_size` 0 counts as 1. */
	uint32_t rank, world_size;
	const char *
		save_id; /* 8 hex digits, the same in all ranks; NULL: a random one */
	uint32_t n_threads; /* 0: as many as the storage needs */
	uint64_t budget_bytes; /* memory for buffers; 0: 256 MiB */
};

struct roar_checkpoint_result {
	char name[24]; /* "step-000000000100" */
	char save_id[9];
	uint64_t size_bytes; /* of the checkpoint's data, of this rank */
	uint64_t written_bytes; /* without what the parent has */
	uint8_t blake3[32]; /* of this rank's file */
};

/* Saves a checkpoint of one writer.  When this returns 0, it is on the disk.  `ret` may be
 * NULL. */
int roar_checkpoint_save(const struct roar_checkpoint_save *save,
			 struct roar_checkpoint_result *ret);

/* A sharded save has two phases.  Each rank writes its part; when all have, one of them
 * commits:
 *
 *	r = roar_checkpoint_write_part(&save, &part, NULL);
 *	...	all ranks meet, and tell each other r
 *	if (rank == 0)
 *		r = roar_checkpoint_commit(part, NULL, NULL);
 *	...	all ranks learn that r
 *	roar_checkpoint_part_free(part);
 *
 * A part that is freed without a commit remains as leftover until it is cleaned up;
 * roar_checkpoint_part_abort() removes it at once. */
struct roar_checkpoint_part;

int roar_checkpoint_write_part(const struct roar_checkpoint_save *save,
			       struct roar_checkpoint_part **ret_part,
			       struct roar_checkpoint_result *ret);
/* Called with the BLAKE3 of the manifest before that is published: anything but 0 stops the
 * commit and is its result.  This is where a coordinator is asked. */
typedef int roar_checkpoint_confirm_fn(void *ctx, const uint8_t digest[32]);

/* Merges the parts of all ranks and publishes the checkpoint.  -ENOENT: a rank has not
 * written its part.  `confirm` may be NULL. */
int roar_checkpoint_commit(struct roar_checkpoint_part *part,
			   roar_checkpoint_confirm_fn *confirm, void *ctx);
void roar_checkpoint_part_abort(struct roar_checkpoint_part *part);
void roar_checkpoint_part_free(struct roar_checkpoint_part *part);

/* A random id for `save_id`, to be sent to all ranks. */
int roar_checkpoint_save_id(char ret_id[9]);

/* ---- save in the background ----
 *
 * A saver copies the state, which takes about as long as memcpy() on all CPUs, and saves the
 * copy while the training goes on.  It has memory for one copy, which the next save uses
 * again.  One thread uses a saver. */
struct roar_checkpoint_saver;

int roar_checkpoint_saver_new(struct roar_checkpoint_saver **ret);
/* Waits for the save that is under way. */
void roar_checkpoint_saver_free(struct roar_checkpoint_saver *saver);

/* Begins a save: copies everything, so that `save` and its tensors may change after the
 * return.  While the save before is under way, this waits.  If that save has failed, this
 * returns its error, begins nothing, and a second call begins. */
int roar_checkpoint_saver_start(struct roar_checkpoint_saver *saver,
				const struct roar_checkpoint_save *save);
/* Waits for the save that is under way, at most `timeout_ms` (negative: without limit).
 * -ETIMEDOUT; -ENOENT: nothing was begun; the error of the save, once.  `ret` may be NULL. */
int roar_checkpoint_saver_wait(struct roar_checkpoint_saver *saver,
			       int64_t timeout_ms,
			       struct roar_checkpoint_result *ret);
/* How far the last save is: bytes done of all bytes.  1: it is under way; 0: not. */
int roar_checkpoint_saver_progress(struct roar_checkpoint_saver *saver,
				   uint64_t *ret_done, uint64_t *ret_total);

/* ---- load ----
 *
 * Any slice of any tensor can be loaded, whatever the number of ranks that have saved it:
 *
 *	struct roar_checkpoint *c;
 *	struct roar_checkpoint_slice slice = {
 *		.tensor = "w", .to = w, .to_bytes = sizeof(w),
 *	};
 *
 *	r = roar_checkpoint_open("checkpoints", ROAR_CHECKPOINT_LATEST, NULL, &c);
 *	if (r == 0)
 *		r = roar_checkpoint_load(c, &slice, 1);
 *	roar_checkpoint_close(c);
 *
 * Every byte is verified before the call returns.  Only the parts of files are read that
 * have bytes of the slices, each once, and without a copy where the address of the
 * destination and the offset in the file (`at`) agree modulo 4096.  One thread at a time
 * uses a checkpoint. */
struct roar_checkpoint;

#define ROAR_CHECKPOINT_LATEST UINT64_MAX

/* A damaged place, of usually 1 MiB. */
struct roar_checkpoint_damage {
	const char *file; /* relative to the store: "step-…/data-…" */
	uint64_t offset, len;
	int error; /* -EBADMSG: wrong bytes; otherwise why they were not read */
	const char *repair; /* where the right bytes were found; NULL: nowhere */
};

/* All zero: the defaults. */
struct roar_checkpoint_options {
	uint32_t n_threads; /* 0: 8 */
	int page_cache; /* not 0: several processes of this host load the same */
	const char *const *replicas; /* URLs of stores with copies, up to 16 */
	size_t n_replicas;
	/* Called for each damaged place, by one thread at a time; may be NULL. */
	void (*damage)(void *ctx, const struct roar_checkpoint_damage *damage);
	/* Called about ten times a second; anything but 0 ends the call with -ECANCELED.
	 * May be NULL. */
	int (*progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
	void *ctx;
};

/* Opens the checkpoint of a step.  `options` may be NULL.  -ENOENT: there is none. */
int roar_checkpoint_open(const char *url, uint64_t step,
			 const struct roar_checkpoint_options *options,
			 struct roar_checkpoint **ret);
void roar_checkpoint_close(struct roar_checkpoint *c); /* NULL is allowed */

/* Strings are valid until close; those that may be missing are NULL. */
struct roar_checkpoint_facts {
	uint64_t step, epoch;
	const char *save_id, *created;
	uint32_t world_size;
	uint64_t world_epoch, fencing_token;
	const char *job, *parent; /* or NULL */
	const char *state, *data_position, *rng; /* JSON texts, or NULL */
	const struct roar_checkpoint_metric *metrics;
	size_t n_metrics;
	const char *const *tags;
	size_t n_tags;
	size_t n_tensors;
	uint64_t size_bytes; /* of all ranks */
};

void roar_checkpoint_facts(const struct roar_checkpoint *c,
			   struct roar_checkpoint_facts *ret);

struct roar_checkpoint_stored {
	const char *name, *dtype;
	uint32_t n_dims;
	const uint64_t *shape;
	uint64_t size_bytes;
	uint64_t at; /* offset of its first part in the file */
};

/* The tensors from 0 on, or by name.  -ENOENT. */
int roar_checkpoint_stored(const struct roar_checkpoint *c, size_t index,
			   struct roar_checkpoint_stored *ret);
int roar_checkpoint_find(const struct roar_checkpoint *c, const char *name,
			 struct roar_checkpoint_stored *ret);

struct roar_checkpoint_slice {
	const char *tensor;
	const uint64_t *offset, *shape; /* NULL and NULL: the whole tensor */
	uint32_t n_dims; /* of the two */
	void *to; /* the slice in row-major order, without gaps */
	size_t to_bytes; /* exactly its length */
};

/* Loads all slices.  After a failure their destinations are undefined.  -ENOENT: no such
 * tensor; -EINVAL: not a slice of it, or wrong length; -EBADMSG: damage that no replica
 * and not the parent could repair. */
int roar_checkpoint_load(struct roar_checkpoint *c,
			 const struct roar_checkpoint_slice *slices, size_t n);

/* Maps a tensor that is in one place of a local file, after verifying it.  The memory is
 * read-only and valid until close; if somebody truncates the file, access is SIGBUS.
 * -ENOTSUP: it is stored in parts, or not on this machine. */
int roar_checkpoint_map(struct roar_checkpoint *c, const char *tensor,
			const void **ret, size_t *ret_bytes);

/* Reads everything.  Returns the number of damaged places. */
int64_t roar_checkpoint_verify(struct roar_checkpoint *c);

/* Calls `fn` for the steps of a store, ascending, until it returns anything but 0, which is
 * then returned. */
int roar_checkpoint_list(const char *url, int (*fn)(void *ctx, uint64_t step),
			 void *ctx);

/* Which checkpoints stay: those that any rule names, the latest, and all with a tag.
 * Without a rule all stay. */
struct roar_checkpoint_rules {
	uint64_t keep_last; /* the newest N; 0: not a rule */
	uint64_t keep_every; /* steps that are multiples of K; 0: not a rule */
	const char *
		best_metric; /* the one with the lowest value; NULL: not a rule */
	int best_is_highest; /* not 0: the highest instead */
	int dry_run; /* not 0: count only */
};

struct roar_checkpoint_collected {
	uint64_t n_kept, n_removed; /* checkpoints */
	uint64_t n_files, bytes; /* removed */
	uint64_t n_postponed; /* files that stay because a save goes on */
};

/* Removes the other checkpoints, and leftovers of interrupted saves.  Data that remaining
 * checkpoints refer to stay.  `ret` may be NULL.  -EBADMSG: a manifest cannot be read;
 * nothing was removed. */
int roar_checkpoint_collect(const char *url,
			    const struct roar_checkpoint_rules *rules,
			    struct roar_checkpoint_collected *ret);

#ifdef __cplusplus
}
#endif
#endif

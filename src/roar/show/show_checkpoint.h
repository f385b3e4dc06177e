/* show_checkpoint.h - what is known of a checkpoint: its manifest and the record.
 *
 * A checkpoint is named by its directory (step-000000000100), its manifest or one of its
 * data files.  The manifest says what it consists of; the record says which job committed
 * it, with which code, and which samples had been taken until then (run/checkpoints.h).
 * Either of the two is enough.  show_checkpoint_json.c has the JSON form. */
#ifndef ROAR_SHOW_CHECKPOINT_H
#define ROAR_SHOW_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ckpt/ckpt_manifest.h"

struct json;
struct show_options;
struct store_checkpoint;
struct store_file;
struct store_job;
struct store_shard;
struct view;

enum manifest_state {
	MANIFEST_MISSING,
	MANIFEST_INVALID, /* `error` says why */
	MANIFEST_UNRECORDED, /* the record does not know the checkpoint */
	MANIFEST_RECORDED, /* the record has this digest */
	MANIFEST_CHANGED, /* it has another one */
};

struct show_checkpoint {
	bool found; /* else nothing below is valid */
	bool is_dir; /* the directory itself was named */
	const char *dir; /* absolute path, or URL */
	uint64_t step;
	enum manifest_state state;
	struct roar_error error;
	bool has_manifest; /* neither missing nor invalid: */
	struct ckpt_manifest manifest;
	uint64_t size_bytes; /* of its logical files, together */
	uint64_t written_bytes; /* of the data that this save wrote */
	int64_t world_size; /* -1: not known */
	const char *parent; /* "step-..."; NULL: none */
	struct store_checkpoint *row; /* NULL: its commit is not recorded */
	const struct store_job *job; /* that committed it; NULL: not recorded */
	const struct store_file *tree; /* the directory as artifact; or NULL */
	struct store_shard *shards; /* taken until the commit */
	size_t n_shards;
};

/* Looks for the checkpoint that `word`, an argument of the user, belongs to.  0, also when
 * there is none; or a negative errno. */
int show_checkpoint_find(struct view *v, const char *word,
			 struct show_checkpoint *ret, struct roar_error *err);
void show_checkpoint_release(struct show_checkpoint *c);

/* Appends its block to v->out. */
void show_checkpoint_text(struct view *v, const struct show_checkpoint *c,
			  const struct show_options *o);

/* Appends the member "checkpoint" to an object that is open; null if not found. */
void show_checkpoint_json(struct view *v, struct json *j,
			  const struct show_checkpoint *c);

#endif

/* ckpt_name.h - the names of a checkpoint's files, the same on disk and in object storage.
 *
 *	step-000000000100/                           a checkpoint, its step in 12 digits
 *	    data-00000-of-00004-9f3ac2d1.safetensors  data of rank 0 of 4, by save 9f3ac2d1
 *	    data-00000-of-00004-9f3ac2d1.tree         leaf tree of the same
 *	    part-00000-of-00004-9f3ac2d1.json         what rank 0 wrote, until the commit
 *	    manifest.json                             the commit
 *	    writing-9f3ac2d1                          locked while the save goes on (disk only)
 *	    failed-9f3ac2d1.json                      why a save in the background failed
 *
 * Other names never belong to a checkpoint.  A name that was read from a manifest is accepted
 * only if it has this form, so that no path leads out of the checkpoints' directory. */
#ifndef ROAR_CKPT_NAME_H
#define ROAR_CKPT_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CKPT_NAME_SIZE = 80, /* of a buffer for any name or path */
	CKPT_SAVE_ID_LEN = 8,
	CKPT_MAX_WORLD = 99999,
};

#define CKPT_MAX_STEP UINT64_C(999999999999)
#define CKPT_MANIFEST "manifest.json"

enum ckpt_name_kind {
	CKPT_NAME_DATA,
	CKPT_NAME_TREE,
	CKPT_NAME_PART,
	CKPT_NAME_WRITING, /* rank and world are 0 */
	CKPT_NAME_MANIFEST, /* of no save */
	CKPT_NAME_TEMPORARY, /* manifest.json.SAVE, before it is renamed */
	CKPT_NAME_FAILED, /* note of a save that failed, ckpt_failure.h */
};

struct ckpt_name {
	enum ckpt_name_kind kind;
	uint32_t rank, world; /* 0, 0 where the name has none */
	char save[CKPT_SAVE_ID_LEN + 1]; /* "" likewise */
};

/* "step-000000000100". */
void ckpt_name_step(char ret[CKPT_NAME_SIZE], uint64_t step);
/* The name of a file within the checkpoint's directory. */
void ckpt_name_file(char ret[CKPT_NAME_SIZE], const struct ckpt_name *name);
/* "step-…/NAME". */
void ckpt_name_path(char ret[CKPT_NAME_SIZE], uint64_t step,
		    const struct ckpt_name *name);

/* These return false for any other text, and then leave their outputs alone. */
bool ckpt_name_parse_step(const char *text, uint64_t *ret_step);
bool ckpt_name_parse_file(const char *text, struct ckpt_name *ret);
bool ckpt_name_parse_path(const char *text, uint64_t *ret_step,
			  struct ckpt_name *ret);

/* 8 hex digits, lower case. */
bool ckpt_name_is_save_id(const char *text);
/* A random one.  The errors of getrandom(2). */
int ckpt_name_new_save_id(char ret[CKPT_SAVE_ID_LEN + 1]);

#endif

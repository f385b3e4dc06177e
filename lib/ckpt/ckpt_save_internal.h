/* ckpt_save_internal.h - shared by the two phases of a save */
#ifndef ROAR_CKPT_SAVE_INTERNAL_H
#define ROAR_CKPT_SAVE_INTERNAL_H

#include "ckpt/ckpt_save.h"

struct ckpt_pending {
	struct blob_store *store;
	struct blob_hold *hold; /* of writing-ID; NULL in object storage */
	uint32_t rank;
	struct ckpt_manifest part; /* what this writer wrote */
	const struct ckpt_agreement *agreement; /* NULL: without a coordinator */
	bool is_committed;
	bool is_foreign; /* another writer has this save id and rank: its files stay */
};

/* The path of a file of this save. */
void ckpt_pending_path(const struct ckpt_pending *p, enum ckpt_name_kind kind,
		       uint32_t rank, char ret[CKPT_NAME_SIZE]);

/* -EEXIST with its sentence. */
int ckpt_pending_exists(const struct ckpt_pending *p, struct roar_error *err);

#endif

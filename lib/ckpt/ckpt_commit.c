/* ckpt_commit.c - phase two of a save: its manifest, or its removal */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ckpt/ckpt_manifest_file.h"
#include "ckpt/ckpt_save_internal.h"
#include "event/note.h"

void ckpt_save_result(const struct ckpt_pending *p,
		      struct roar_checkpoint_result *ret)
{
	const struct ckpt_file *f = &p->part.files[0];
	char name[CKPT_NAME_SIZE];

	*ret = (struct roar_checkpoint_result){ .size_bytes = f->size_bytes,
						.written_bytes = f->data_bytes };
	ckpt_name_step(name, p->part.step);
	memcpy(ret->name, name, strlen(name) + 1);
	memcpy(ret->save_id, p->part.save, sizeof(ret->save_id));
	memcpy(ret->blake3, f->blake3, sizeof(ret->blake3));
}

void ckpt_save_agree(struct ckpt_pending *p,
		     const struct ckpt_agreement *agreement)
{
	p->agreement = agreement;
}

int ckpt_save_digest(const struct ckpt_pending *p, uint8_t ret[BLAKE3_LEN])
{
	CLEANUP(str_release) struct str text = STR_INIT;

	ckpt_manifest_write(&p->part, &text);
	if (str_error(&text) < 0)
		return -ENOMEM;
	b3_hash(text.data, text.len, ret);
	return 0;
}

int ckpt_pending_exists(const struct ckpt_pending *p, struct roar_error *err)
{
	return error_set(err, -EEXIST,
			 "step %llu was already saved in '%s'; remove that "
			 "checkpoint, or save another step",
			 (unsigned long long)p->part.step, blob_url(p->store));
}

/* ---- removal ---- */

static void remove_file(struct ckpt_pending *p, enum ckpt_name_kind kind,
			uint32_t rank)
{
	char path[CKPT_NAME_SIZE];

	ckpt_pending_path(p, kind, rank, path);
	(void)blob_remove(p->store, path, NULL);
}

/* Is this save's manifest there, although the commit reported a failure? */
static bool is_published(struct ckpt_pending *p)
{
	CLEANUP(ckpt_manifest_release)
	struct ckpt_manifest m = CKPT_MANIFEST_INIT;
	int r = ckpt_manifest_get(p->store, p->part.step, &m, NULL);

	/* In doubt the files stay; as leftovers they are found later. */
	return r == 0 ? strcmp(m.save, p->part.save) == 0 : r != -ENOENT;
}

void ckpt_save_abort(struct ckpt_pending *p)
{
	char path[CKPT_NAME_SIZE];

	if (p->is_committed || p->is_foreign || is_published(p))
		return;
	remove_file(p, CKPT_NAME_DATA, p->rank);
	remove_file(p, CKPT_NAME_TREE, p->rank);
	if (p->part.world_size > 1)
		remove_file(p, CKPT_NAME_PART, p->rank);
	blob_release(TAKE_PTR(p->hold), true);
	/* The directory stays while another save has files in it. */
	ckpt_name_step(path, p->part.step);
	memcpy(path + strlen(path), "/", 2);
	(void)blob_remove(p->store, path, NULL);
}

void ckpt_save_free(struct ckpt_pending *p)
{
	if (!p)
		return;
	blob_release(p->hold, p->is_committed);
	ckpt_manifest_release(&p->part);
	if (p->store)
		blob_close(p->store);
	free(p);
}

/* ---- the manifest ---- */

static int check_size(struct ckpt_pending *p, enum ckpt_name_kind kind,
		      uint32_t rank, uint64_t size_bytes,
		      struct roar_error *err)
{
	CLEANUP(blob_close_readerp) struct blob_reader *reader = NULL;
	char path[CKPT_NAME_SIZE];
	uint64_t size = 0;
	int r;

	ckpt_pending_path(p, kind, rank, path);
	r = blob_open_reader(p->store, path, BLOB_READ_CACHED, &reader, &size,
			     err);
	/* -ENOENT is a rank that has not written yet, for which callers wait. */
	if (r == -ENOENT)
		r = error_set(err, -EIO,
			      "'%s/%s' was removed before the commit",
			      blob_url(p->store), path);
	if (r == 0 && size != size_bytes)
		r = error_set(err, -EIO,
			      "'%s/%s' has %llu bytes, not the %llu that were "
			      "written",
			      blob_url(p->store), path,
			      (unsigned long long)size,
			      (unsigned long long)size_bytes);
	return r;
}

/* The files may have been removed since they were written, or the directory be another one.
 * Object storage has no directories that could vanish. */
static int check_files(struct ckpt_pending *p, const struct ckpt_manifest *m,
		       struct roar_error *err)
{
	int r = 0;

	if (!blob_is_local(p->store))
		return 0;
	for (size_t i = 0; r == 0 && i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];
		const struct leaf_tree tree = {
			.n_leaves = b3_shape_n_leaves(&(struct b3_shape){
				f->size_bytes, f->leaf_bytes }),
		};

		if (f->name)
			r = check_size(p, CKPT_NAME_DATA, f->rank,
				       f->data_bytes, err);
		if (r == 0)
			r = check_size(p, CKPT_NAME_TREE, f->rank,
				       leaf_tree_stored_len(&tree), err);
	}
	return r;
}

static int digest_cmp(const void *a, const void *b)
{
	return memcmp(a, b, BLAKE3_LEN);
}

/* Is this the part that its rank has told the coordinator of? */
static int check_digest(const struct ckpt_pending *p, uint32_t rank,
			const struct str *text, struct roar_error *err)
{
	const struct ckpt_agreement *a = p->agreement;
	uint8_t digest[BLAKE3_LEN];

	if (!a)
		return 0;
	b3_hash(text->data, text->len, digest);
	if (bsearch(digest, a->digests, a->n_digests, BLAKE3_LEN, digest_cmp))
		return 0;
	return error_set(err, -EBADMSG,
			 "the part of rank %u of step %llu is not the one that "
			 "the coordinator was told of",
			 rank, (unsigned long long)p->part.step);
}

static int read_part(struct ckpt_pending *p, uint32_t rank,
		     struct ckpt_manifest *ret, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char path[CKPT_NAME_SIZE];
	int r;

	ckpt_pending_path(p, CKPT_NAME_PART, rank, path);
	r = blob_get(p->store, path, CKPT_MANIFEST_MAX, &text, err);
	if (r == -ENOENT)
		return error_set(err, r,
				 "rank %u of %u has not written its part of "
				 "step %llu ('%s/%s')",
				 rank, p->part.world_size,
				 (unsigned long long)p->part.step,
				 blob_url(p->store), path);
	if (r == 0)
		r = check_digest(p, rank, &text, err);
	return r < 0 ? r :
		       ckpt_manifest_read(ret, text.data, text.len, true, path,
					  err);
}

static void add_agreement(const struct ckpt_pending *p, struct ckpt_manifest *m)
{
	if (!p->agreement)
		return;
	m->world_epoch = p->agreement->world_epoch;
	m->fencing_token = p->agreement->fencing_token;
}

static int merge_parts(struct ckpt_pending *p, struct ckpt_manifest *parts,
		       struct str *out, struct roar_error *err)
{
	struct ckpt_manifest m;
	uint32_t n = p->part.world_size;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = read_part(p, i, &parts[i], err);
	if (r == 0)
		r = ckpt_manifest_merge(&m, parts, n, err);
	if (r < 0)
		return r;
	add_agreement(p, &m);
	r = check_files(p, &m, err);
	if (r == 0)
		ckpt_manifest_write(&m, out);
	ckpt_manifest_release(&m);
	return r < 0 ? r : str_error(out);
}

/* The text of the manifest. */
static int make_manifest(struct ckpt_pending *p, struct str *out,
			 struct roar_error *err)
{
	struct ckpt_manifest *parts;
	uint32_t n = p->part.world_size;
	int r;

	if (n == 1) {
		p->part.is_part = false;
		add_agreement(p, &p->part);
		r = ckpt_manifest_check(&p->part, "the save", err);
		if (r == 0)
			r = check_files(p, &p->part, err);
		if (r == 0)
			ckpt_manifest_write(&p->part, out);
		return r < 0 ? r : str_error(out);
	}
	parts = calloc(n, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	r = merge_parts(p, parts, out, err);
	for (uint32_t i = 0; i < n; i++)
		ckpt_manifest_release(&parts[i]);
	free(parts);
	return r;
}

static int publish(struct ckpt_pending *p, const struct str *text,
		   struct roar_error *err)
{
	char path[CKPT_NAME_SIZE], temporary[CKPT_NAME_SIZE];
	int r;

	ckpt_pending_path(p, CKPT_NAME_MANIFEST, 0, path);
	ckpt_pending_path(p, CKPT_NAME_TEMPORARY, 0, temporary);
	r = blob_put(p->store, path, temporary, text->data, text->len,
		     BLOB_PUT_EXCLUSIVE, err);
	return r == -EEXIST ? ckpt_pending_exists(p, err) : r;
}

/* The `roar run` that observes this process, if any, records the checkpoint.  Without the
 * report its files are recorded all the same. */
static void report(const struct ckpt_pending *p,
		   const uint8_t digest[BLAKE3_LEN])
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	struct note_checkpoint c = {
		.parent = p->part.parent ? p->part.parent : "",
		.step = (int64_t)p->part.step,
		.world_size = p->part.world_size,
	};
	char name[CKPT_NAME_SIZE];

	ckpt_name_step(name, p->part.step);
	str_addf(&dir, "%s/%s", blob_url(p->store), name);
	if (str_error(&dir) < 0)
		return;
	c.dir = strncmp(dir.data, "file://", 7) ? dir.data : dir.data + 7;
	memcpy(c.manifest, digest, BLAKE3_LEN);
	(void)note_checkpoint_report(&c);
}

static int try_commit(struct ckpt_pending *p,
		      roar_checkpoint_confirm_fn *confirm, void *ctx,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	uint8_t digest[BLAKE3_LEN];
	int r = make_manifest(p, &text, err);

	if (r < 0)
		return r;
	ckpt_seal_add(&text);
	if (str_error(&text) < 0)
		return -ENOMEM;
	b3_hash(text.data, text.len, digest);
	r = confirm ? confirm(ctx, digest) : 0;
	if (r)
		return error_set(err, r < 0 ? r : -ECANCELED,
				 "the commit of step %llu was refused: %s",
				 (unsigned long long)p->part.step,
				 strerror(r < 0 ? -r : ECANCELED));
	r = publish(p, &text, err);
	if (r == 0)
		report(p, digest);
	return r;
}

int ckpt_save_commit(struct ckpt_pending *p,
		     roar_checkpoint_confirm_fn *confirm, void *ctx,
		     struct roar_error *err)
{
	int r;

	if (p->is_committed)
		return error_set(err, -EALREADY, "the part was committed");
	r = try_commit(p, confirm, ctx, err);
	if (r == 0) {
		p->is_committed = true;
		for (uint32_t i = 0;
		     p->part.world_size > 1 && i < p->part.world_size; i++)
			remove_file(p, CKPT_NAME_PART, i);
		return 0;
	}
	/* Ranks of a sharded save may try again, or abort. */
	if (p->part.world_size == 1)
		ckpt_save_abort(p);
	return r;
}

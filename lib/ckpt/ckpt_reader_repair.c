/* ckpt_reader_repair.c - where leaves are stored, and where else their bytes may be
 *
 * A leaf is identified by its value in the tree, so bytes from anywhere can be accepted
 * once they have that value.  The parent and the replicas are asked for the leaf at the
 * same place of the same rank's file. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "blob/blob.h"
#include "ckpt/ckpt_manifest_file.h"
#include "ckpt/ckpt_reader_internal.h"

/* Errors of this process, not of the stored bytes. */
static bool is_own_error(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE ||
	       error == -ECANCELED;
}

/* Is it the stored bytes that are missing or wrong? */
static bool is_damage(int error)
{
	return error == -EBADMSG || error == -EIO || error == -ENOENT ||
	       error == -ENODATA || error == -EINVAL || error == -ELOOP ||
	       error == -EISDIR || error == -EXDEV;
}

/* ---- places of leaves ---- */

const struct ckpt_extent *ckpt_file_extent(const struct ckpt_file *f,
					   uint64_t leaf)
{
	size_t low = 0, high = f->n_extents;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (f->extents[middle].first_leaf <= leaf)
			low = middle;
		else
			high = middle;
	}
	return &f->extents[low];
}

static uint64_t leaf_offset(const struct ckpt_file *f,
			    const struct ckpt_extent *e, uint64_t leaf)
{
	return e->offset + (leaf - e->first_leaf) * f->leaf_bytes;
}

int ckpt_leaves_read(struct ckpt_sources *sources, const struct ckpt_file *f,
		     uint64_t first_leaf, void *to, size_t len)
{
	const struct ckpt_extent *e = ckpt_file_extent(f, first_leaf);

	return ckpt_sources_read(sources, e->path,
				 leaf_offset(f, e, first_leaf), to, len);
}

/* ---- other checkpoints ---- */

static void open_other(struct ckpt_other *o)
{
	o->is_tried = true;
	if (ckpt_manifest_get(o->store, o->step, &o->manifest, NULL) < 0)
		return;
	ckpt_sources_init(&o->sources, o->store, 0);
	o->is_usable = true;
}

/* The other's file of that rank, if its leaves can be compared with ours. */
static const struct ckpt_file *other_file(struct ckpt_reader *r,
					  struct ckpt_other *o,
					  const struct ckpt_file *f)
{
	(void)pthread_mutex_lock(&r->lock);
	if (!o->is_tried)
		open_other(o);
	(void)pthread_mutex_unlock(&r->lock);
	if (!o->is_usable || f->rank >= o->manifest.n_files)
		return NULL;
	if (o->manifest.files[f->rank].leaf_bytes != f->leaf_bytes)
		return NULL;
	return &o->manifest.files[f->rank];
}

/* Reads leaf `leaf` from there.  False: it does not have these bytes. */
static bool read_other(struct ckpt_reader *r, struct ckpt_other *o,
		       const struct ckpt_file *f, uint64_t leaf, void *to,
		       size_t len)
{
	const struct ckpt_extent *own = ckpt_file_extent(f, leaf), *e;
	const struct ckpt_file *g = other_file(r, o, f);

	if (!g || leaf * g->leaf_bytes + len > g->size_bytes)
		return false;
	e = ckpt_file_extent(g, leaf);
	if (o->is_parent && !strcmp(own->path, e->path) &&
	    leaf_offset(f, own, leaf) == leaf_offset(g, e, leaf))
		return false; /* the same bytes of the same file */
	return ckpt_leaves_read(&o->sources, g, leaf, to, len) == 0 &&
	       leaf_tree_check(&r->trees[f->rank], leaf, to, len);
}

/* ---- damage ---- */

/* " (tensor 'w')": what the bytes belong to. */
static void add_tensors(struct str *out, const struct ckpt_manifest *m,
			uint32_t file, uint64_t from, uint64_t end)
{
	const char *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->n_tensors; i++)
		for (size_t k = 0; k < m->tensors[i].n_parts; k++) {
			const struct ckpt_part *p = &m->tensors[i].parts[k];
			uint64_t len = ckpt_part_bytes(&m->tensors[i], p);

			if (p->file != file || p->at >= end ||
			    p->at + len <= from)
				continue;
			if (!n++)
				first = m->tensors[i].name;
		}
	if (n == 1)
		str_addf(out, " (tensor '%.200s')", first);
	else if (n)
		str_addf(out, " (tensor '%.200s' and %zu more)", first, n - 1);
}

static int set_damage(struct roar_error *err, const struct ckpt_reader *r,
		      const struct ckpt_damage *d)
{
	CLEANUP(str_release) struct str tensors = STR_INIT;
	int error = is_damage(d->error) ? -EBADMSG : d->error;
	const char *cause = d->error == -EBADMSG ?
				    "its bytes do not match the hash tree" :
			    d->error == -ENODATA ? "the file is too short" :
						   strerror(-d->error);

	add_tensors(&tensors, &r->manifest, d->file, d->offset,
		    d->offset + d->len);
	return error_set(
		err, error,
		"'%s' is damaged at offset %llu%s: %s; copy it again from "
		"another place, or name a replica of the checkpoints",
		d->source, (unsigned long long)d->source_offset,
		str_cstr(&tensors), cause);
}

void ckpt_damage_report(struct ckpt_run *run, const struct ckpt_damage *d)
{
	struct ckpt_reader *r = run->reader;

	atomic_fetch_add(&run->n_damaged, 1);
	if (!r->options.damage)
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->options.damage(r->options.ctx, d);
	(void)pthread_mutex_unlock(&r->lock);
}

int ckpt_leaf_repair(struct ckpt_run *run, uint32_t file, uint64_t leaf,
		     int error, void *to, size_t len, struct roar_error *err)
{
	struct ckpt_reader *r = run->reader;
	const struct ckpt_file *f = &r->manifest.files[file];
	const struct ckpt_extent *e = ckpt_file_extent(f, leaf);
	struct ckpt_damage d = {
		.file = file,
		.offset = leaf * f->leaf_bytes,
		.len = len,
		.source = e->path,
		.source_offset = leaf_offset(f, e, leaf),
		.error = error,
	};

	if (is_own_error(error))
		return error_set(err, error, "cannot read '%s': %s", e->path,
				 strerror(-error));
	for (size_t i = 0; !d.repair && i < r->n_others; i++)
		if (read_other(r, &r->others[i], f, leaf, to, len))
			d.repair = r->others[i].is_parent ?
					   r->manifest.parent :
					   blob_url(r->others[i].store);
	ckpt_damage_report(run, &d);
	return d.repair ? 0 : set_damage(err, r, &d);
}

/* ---- trees ---- */

static int load_tree(struct blob_store *store, uint64_t step,
		     const struct ckpt_file *g, const struct ckpt_file *f,
		     struct leaf_tree *ret)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	uint64_t n_leaves = (f->size_bytes - 1) / f->leaf_bytes + 1;
	char dir[CKPT_NAME_SIZE];
	char path[2 * CKPT_NAME_SIZE];
	int r;

	ckpt_name_step(dir, step);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, g->tree);
	r = blob_get(store, path, 24 + BLAKE3_LEN * n_leaves, &bytes, NULL);
	if (r < 0)
		return r == -EFBIG ? -EBADMSG : r;
	r = leaf_tree_load((const uint8_t *)bytes.data, bytes.len, f->blake3,
			   ret);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	/* The two sizes are not part of the digest. */
	if (ret->shape.size_bytes == f->size_bytes &&
	    ret->shape.leaf_bytes == f->leaf_bytes)
		return 0;
	leaf_tree_release(ret);
	*ret = (struct leaf_tree){ 0 };
	return -EBADMSG;
}

static bool load_other_tree(struct ckpt_reader *r, struct ckpt_other *o,
			    const struct ckpt_file *f, struct leaf_tree *ret)
{
	const struct ckpt_file *g = other_file(r, o, f);

	return g && !memcmp(g->blake3, f->blake3, BLAKE3_LEN) &&
	       load_tree(o->store, o->step, g, f, ret) == 0;
}

int ckpt_reader_tree(struct ckpt_run *run, uint32_t file)
{
	struct ckpt_reader *r = run->reader;
	const struct ckpt_file *f = &r->manifest.files[file];
	char path[2 * CKPT_NAME_SIZE];
	struct ckpt_damage d = { .file = file, .source = path };

	if (r->trees[file].values)
		return 0;
	d.error = load_tree(r->store, r->manifest.step, f, f, &r->trees[file]);
	if (d.error == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/%s", r->name, f->tree);
	if (is_own_error(d.error))
		return error_set(&run->err, d.error, "cannot read '%s': %s",
				 path, strerror(-d.error));
	for (size_t i = 0; !d.repair && i < r->n_others; i++)
		if (load_other_tree(r, &r->others[i], f, &r->trees[file]))
			d.repair = r->others[i].is_parent ?
					   r->manifest.parent :
					   blob_url(r->others[i].store);
	ckpt_damage_report(run, &d);
	if (d.repair || run->only_verify)
		return 0;
	return set_damage(&run->err, r, &d);
}

int ckpt_reader_trees(struct ckpt_run *run)
{
	uint32_t previous = UINT32_MAX;
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->plan->n_steps; i++) {
		uint32_t file = run->plan->steps[i].file;

		if (file != previous)
			r = ckpt_reader_tree(run, file);
		previous = file;
	}
	return r;
}

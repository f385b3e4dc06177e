/* made_checkpoint.c - see made_checkpoint.h */
#include "made_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "test.h"

#include "blob/blob.h"
#include "ckpt/ckpt_layout.h"
#include "ckpt/ckpt_manifest_file.h"
#include "hash/blake3/leaf_tree.h"

const struct made_tensor made_tensors[MADE_TENSORS] = {
	{ "model.w", CKPT_F32, 2, { 100, 33 }, 100 * 33 * 4 },
	{ "model.b", CKPT_BF16, 1, { 1001 }, 1001 * 2 },
	{ "optim.m", CKPT_F64, 3, { 40, 20, 7 }, 40 * 20 * 7 * 8 },
	{ "bytes", CKPT_U8, 1, { 20001 }, 20001 },
};

void made_state_init(struct made_state *s, uint32_t seed)
{
	for (int i = 0; i < MADE_TENSORS; i++) {
		s->bytes[i] = malloc(made_tensors[i].n_bytes);
		assert_non_null(s->bytes[i]);
		for (uint64_t k = 0; k < made_tensors[i].n_bytes; k++) {
			seed = seed * 1664525 + 1013904223;
			s->bytes[i][k] = (unsigned char)(seed >> 24);
		}
	}
}

void made_state_release(struct made_state *s)
{
	for (int i = 0; i < MADE_TENSORS; i++)
		free(s->bytes[i]);
}

/* ---- the file of a rank ---- */

struct rank_file {
	struct ckpt_layout layout;
	struct ckpt_item items[MADE_TENSORS];
	uint64_t offset[MADE_TENSORS][3], shape[MADE_TENSORS][3];
	unsigned char *bytes; /* the logical file */
	struct leaf_tree tree;
};

static void make_rank(struct rank_file *f, const struct made_state *s,
		      unsigned rank, unsigned world)
{
	memset(f, 0, sizeof(*f));
	for (int i = 0; i < MADE_TENSORS; i++) {
		const struct made_tensor *t = &made_tensors[i];
		uint64_t first = t->shape[0] * rank / world;

		memcpy(f->shape[i], t->shape, sizeof(t->shape));
		f->offset[i][0] = first;
		f->shape[i][0] = t->shape[0] * (rank + 1) / world - first;
		f->items[i] = (struct ckpt_item){
			.name = t->name,
			.dtype = (enum ckpt_dtype)t->dtype,
			.n_dims = t->n_dims,
			.shape = f->shape[i],
			.offset = world > 1 ? f->offset[i] : NULL,
		};
	}
	assert_int_equal(
		ckpt_layout_init(&f->layout, f->items, MADE_TENSORS, NULL), 0);
	f->bytes = calloc(1, f->layout.size_bytes);
	assert_non_null(f->bytes);
	memcpy(f->bytes, f->layout.header.data, f->layout.header.len);
	for (int i = 0; i < MADE_TENSORS; i++) {
		uint64_t row = made_tensors[i].n_bytes /
			       made_tensors[i].shape[0];

		memcpy(f->bytes + f->items[i].at,
		       s->bytes[i] + f->offset[i][0] * row,
		       f->items[i].n_bytes);
	}
	assert_int_equal(
		leaf_tree_init(&f->tree, f->layout.size_bytes, MADE_LEAF), 0);
	for (uint64_t i = 0; i < f->tree.n_leaves; i++)
		assert_int_equal(
			leaf_tree_fill(&f->tree, i, f->bytes + i * MADE_LEAF,
				       b3_shape_leaf_len(&f->tree.shape, i)),
			0);
}

static void release_rank(struct rank_file *f)
{
	ckpt_layout_release(&f->layout);
	leaf_tree_release(&f->tree);
	free(f->bytes);
}

static void write_file(const char *base, const char *path, const void *bytes,
		       size_t len)
{
	char name[512];
	CLEANUP(fclosep) FILE *file = NULL;

	(void)snprintf(name, sizeof(name), "%s/%s", base, path);
	file = fopen(name, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
}

/* ---- manifests ---- */

struct making {
	const char *base;
	const struct made_options *o;
	char save[CKPT_SAVE_ID_LEN + 1];
	struct ckpt_manifest m;
	struct ckpt_manifest parent;
};

static char *file_path(struct making *k, enum ckpt_name_kind kind,
		       unsigned rank)
{
	struct ckpt_name name = { .kind = kind,
				  .rank = rank,
				  .world = k->o->world };
	char path[CKPT_NAME_SIZE];
	char *copy;

	memcpy(name.save, k->save, sizeof(name.save));
	ckpt_name_path(path, k->o->step, &name);
	copy = pool_strdup(&k->m.pool, path);
	assert_non_null(copy);
	return copy;
}

static void write_full(struct making *k, struct ckpt_file *f,
		       const struct rank_file *r)
{
	char *path = file_path(k, CKPT_NAME_DATA, f->rank);

	f->name = strchr(path, '/') + 1;
	f->data_bytes = r->layout.size_bytes;
	f->extents = pool_zalloc(&k->m.pool, sizeof(*f->extents));
	assert_non_null(f->extents);
	f->extents[0] = (struct ckpt_extent){ 0, r->tree.n_leaves, path, 0 };
	f->n_extents = 1;
	write_file(k->base, path, r->bytes, r->layout.size_bytes);
}

static void parent_place(const struct ckpt_file *f, uint64_t leaf,
			 struct ckpt_extent *ret)
{
	for (size_t i = 0; i < f->n_extents; i++) {
		const struct ckpt_extent *e = &f->extents[i];

		if (leaf >= e->first_leaf && leaf < e->first_leaf + e->n_leaves)
			*ret = (struct ckpt_extent){
				leaf, 1, e->path,
				e->offset + (leaf - e->first_leaf) * MADE_LEAF
			};
	}
}

/* One extent per leaf: valid, and the hardest for readers. */
static void write_delta(struct making *k, struct ckpt_file *f,
			const struct rank_file *r, const struct rank_file *old)
{
	CLEANUP(str_release) struct str data = STR_INIT, slots = STR_INIT;
	char *path = file_path(k, CKPT_NAME_DATA, f->rank);

	f->extents = pool_zalloc(&k->m.pool,
				 r->tree.n_leaves * sizeof(*f->extents));
	assert_non_null(f->extents);
	for (uint64_t i = 0; i < r->tree.n_leaves; i++) {
		size_t len = b3_shape_leaf_len(&r->tree.shape, i);

		if (!memcmp(r->tree.values + 32 * i, old->tree.values + 32 * i,
			    32)) {
			parent_place(&k->parent.files[f->rank], i,
				     &f->extents[i]);
			continue;
		}
		f->extents[i] = (struct ckpt_extent){ i, 1, path,
						      4096 + slots.len };
		str_add(&slots, r->bytes + i * MADE_LEAF, len);
		str_pad(&slots, '\0', MADE_LEAF - len);
	}
	f->n_extents = r->tree.n_leaves;
	if (!slots.len)
		return;
	ckpt_layout_leaves_header(&data, slots.len);
	assert_int_equal(data.len, 4096);
	str_add(&data, slots.data, slots.len);
	f->name = strchr(path, '/') + 1;
	f->data_bytes = data.len;
	write_file(k->base, path, data.data, data.len);
}

static void write_rank(struct making *k, const struct made_state *s,
		       unsigned rank)
{
	struct ckpt_file *f = &k->m.files[rank];
	char *tree = file_path(k, CKPT_NAME_TREE, rank);
	struct rank_file r, old;
	CLEANUP(freep) uint8_t *stored = NULL;

	make_rank(&r, s, rank, k->o->world);
	*f = (struct ckpt_file){ .rank = rank,
				 .size_bytes = r.layout.size_bytes,
				 .tree = strchr(tree, '/') + 1,
				 .leaf_bytes = MADE_LEAF };
	leaf_tree_root(&r.tree, f->blake3);
	if (k->o->parent) {
		make_rank(&old, k->o->parent_state, rank, k->o->world);
		write_delta(k, f, &r, &old);
		release_rank(&old);
	} else {
		write_full(k, f, &r);
	}
	stored = malloc(leaf_tree_stored_len(&r.tree));
	assert_non_null(stored);
	leaf_tree_store(&r.tree, stored);
	write_file(k->base, tree, stored, leaf_tree_stored_len(&r.tree));
	for (int i = 0; i < MADE_TENSORS; i++) {
		struct ckpt_part *part = &k->m.tensors[i].parts[rank];
		uint64_t *dims = pool_alloc(&k->m.pool, 6 * sizeof(*dims));

		assert_non_null(dims);
		memcpy(dims, r.offset[i], sizeof(r.offset[i]));
		memcpy(dims + 3, r.shape[i], sizeof(r.shape[i]));
		*part = (struct ckpt_part){ rank, dims, dims + 3,
					    r.items[i].at };
	}
	release_rank(&r);
}

static void make_tensors(struct making *k)
{
	struct ckpt_manifest *m = &k->m;

	m->n_tensors = MADE_TENSORS;
	m->tensors = pool_zalloc(&m->pool, MADE_TENSORS * sizeof(*m->tensors));
	assert_non_null(m->tensors);
	for (int i = 0; i < MADE_TENSORS; i++) {
		m->tensors[i] = (struct ckpt_tensor){
			.name = made_tensors[i].name,
			.dtype = (enum ckpt_dtype)made_tensors[i].dtype,
			.n_dims = made_tensors[i].n_dims,
			.shape = made_tensors[i].shape,
			.n_parts = k->o->world,
			.parts = pool_zalloc(&m->pool,
					     k->o->world *
						     sizeof(struct ckpt_part)),
		};
		assert_non_null(m->tensors[i].parts);
	}
}

static void read_parent(struct making *k)
{
	CLEANUP(blob_closep) struct blob_store *store = NULL;

	assert_int_equal(blob_open(k->base, false, 1, &store, NULL), 0);
	assert_int_equal(
		ckpt_manifest_get(store, k->o->parent, &k->parent, NULL), 0);
}

static void write_manifest(struct making *k, const char *dir)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct ckpt_metric loss = { "loss", k->o->loss };
	struct roar_error err = { 0 };
	char path[128];

	k->m.metrics = &loss;
	k->m.n_metrics = 1;
	k->m.tags = &k->o->tag;
	k->m.n_tags = k->o->tag ? 1 : 0;
	k->m.state = "{\"lr\":0.5}";
	(void)ckpt_manifest_check(&k->m, "made", &err);
	assert_string_equal(err.text, "");
	ckpt_manifest_write(&k->m, &text);
	ckpt_seal_add(&text);
	assert_int_equal(str_error(&text), 0);
	(void)snprintf(path, sizeof(path), "%s/" CKPT_MANIFEST, dir);
	write_file(k->base, path, text.data, text.len);
}

void made_checkpoint_write(const char *base, const struct made_state *s,
			   const struct made_options *o)
{
	struct making k = { .base = base, .o = o, .m = CKPT_MANIFEST_INIT };
	char dir[CKPT_NAME_SIZE], parent[CKPT_NAME_SIZE], path[256];

	(void)snprintf(k.save, sizeof(k.save), "%08x", (unsigned)o->step);
	if (o->save)
		memcpy(k.save, o->save, sizeof(k.save));
	ckpt_name_step(dir, o->step);
	(void)snprintf(path, sizeof(path), "%s/%s", base, dir);
	(void)mkdir(path, 0777);
	k.m.step = o->step;
	k.m.world_size = o->world;
	memcpy(k.m.save, k.save, sizeof(k.save));
	k.m.created = "2026-11-18T05:00:00Z";
	if (o->parent) {
		ckpt_name_step(parent, o->parent);
		k.m.parent = parent;
		read_parent(&k);
	}
	k.m.n_files = o->world;
	k.m.files = pool_zalloc(&k.m.pool, o->world * sizeof(*k.m.files));
	assert_non_null(k.m.files);
	make_tensors(&k);
	for (unsigned rank = 0; rank < o->world; rank++)
		write_rank(&k, s, rank);
	if (!o->uncommitted)
		write_manifest(&k, dir);
	if (o->parent)
		ckpt_manifest_release(&k.parent);
	ckpt_manifest_release(&k.m);
}

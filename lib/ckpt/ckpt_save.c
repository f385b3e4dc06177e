/* ckpt_save.c - see ckpt_save.h; this is phase one */
#include "ckpt/ckpt_save_internal.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "ckpt/ckpt_manifest_file.h"

enum { MAX_PARALLEL = 16 };

#define DEFAULT_BUDGET (UINT64_C(256) << 20)

/* ---- arguments ---- */

static int check_json(const char *text, const char *member,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str nested = STR_INIT;
	json_error_t why;
	json_t *value;
	size_t n;

	if (!text)
		return 0;
	/* One level down, as in the manifest: a parser limits the depth. */
	str_addc(&nested, '[');
	str_adds(&nested, text);
	str_addc(&nested, ']');
	if (str_error(&nested) < 0)
		return -ENOMEM;
	value = json_loadb(nested.data, nested.len,
			   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	n = json_array_size(value);
	json_decref(value);
	if (n == 1)
		return 0;
	if (value)
		(void)strcpy(why.text, "it is not one value");
	return error_set(err, -EINVAL, "%s is not JSON that can be stored: %s",
			 member, why.text);
}

/* Strings of a manifest are JSON strings. */
static int check_text(const char *text, const char *member,
		      struct roar_error *err)
{
	if (text && utf8_is_valid(text))
		return 0;
	return error_set(err, -EINVAL, "%s is %s", member,
			 text ? "not UTF-8" : "missing");
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each metric is a member of an object, so no two have the same name. */
static int check_metric_names(const struct roar_checkpoint_save *s,
			      struct roar_error *err)
{
	CLEANUP(freep)
	const char **names = calloc(s->n_metrics + 1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_metrics; i++)
		names[i] = s->metrics[i].name;
	qsort(names, s->n_metrics, sizeof(*names), compare_names);
	for (size_t i = 1; i < s->n_metrics; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return error_set(err, -EINVAL,
					 "metric '%.80s' is there twice",
					 names[i]);
	return 0;
}

static int check_texts(const struct roar_checkpoint_save *s,
		       struct roar_error *err)
{
	int r = 0;

	if (s->n_tags > CKPT_MAX_LIST || s->n_metrics > CKPT_MAX_LIST)
		return error_set(err, -EINVAL, "too many tags or metrics");
	if (s->job)
		r = check_text(s->job, "the name of the job", err);
	for (size_t i = 0; r == 0 && i < s->n_tags; i++)
		r = check_text(s->tags[i], "a tag", err);
	for (size_t i = 0; r == 0 && i < s->n_metrics; i++)
		r = check_text(s->metrics[i].name, "the name of a metric", err);
	return r ? r : check_metric_names(s, err);
}

static int check_save(const struct roar_checkpoint_save *s,
		      struct roar_error *err)
{
	uint32_t world = s->world_size ? s->world_size : 1;
	uint64_t step;
	int r;

	if (!s->url)
		return error_set(err, -EINVAL, "the save has no URL");
	if (s->step > CKPT_MAX_STEP)
		return error_set(err, -EINVAL, "step %llu is out of range",
				 (unsigned long long)s->step);
	if (s->epoch > INT64_MAX || s->world_epoch > INT64_MAX ||
	    s->fencing_token > INT64_MAX)
		return error_set(err, -EINVAL,
				 "epoch, world_epoch or fencing_token is out "
				 "of range");
	if (world > CKPT_MAX_WORLD || s->rank >= world)
		return error_set(err, -EINVAL, "rank %u of %u is out of range",
				 s->rank, world);
	if (s->save_id ? !ckpt_name_is_save_id(s->save_id) : world > 1)
		return error_set(err, -EINVAL,
				 "a sharded save needs a save_id of 8 hex "
				 "digits that all ranks have");
	if (s->parent &&
	    (!ckpt_name_parse_step(s->parent, &step) || step == s->step))
		return error_set(err, -EINVAL,
				 "parent '%.40s' is not another checkpoint "
				 "(step-<12 digits>)",
				 s->parent);
	r = check_texts(s, err);
	if (r == 0)
		r = check_json(s->state, "state", err);
	if (r == 0)
		r = check_json(s->data_position, "data_position", err);
	return r ? r : check_json(s->rng, "rng", err);
}

/* ---- the base of a delta ---- */

struct base {
	struct ckpt_manifest manifest;
	struct leaf_tree tree;
	struct ckpt_base base;
	bool is_usable;
};

static void base_release(struct base *b)
{
	leaf_tree_release(&b->tree);
	ckpt_manifest_release(&b->manifest);
}

static int load_tree(struct blob_store *store, const struct ckpt_manifest *m,
		     const struct ckpt_file *f, struct leaf_tree *ret)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	char step[CKPT_NAME_SIZE], path[2 * CKPT_NAME_SIZE];
	int r;

	ckpt_name_step(step, m->step);
	(void)snprintf(path, sizeof(path), "%s/%s", step, f->tree);
	r = blob_get(store, path,
		     (size_t)(f->size_bytes / f->leaf_bytes + 2) * BLAKE3_LEN,
		     &bytes, NULL);
	return r < 0 ? r :
		       leaf_tree_load((const uint8_t *)bytes.data, bytes.len,
				      f->blake3, ret);
}

/* A parent that cannot be used, because it is damaged or has other writers, is no reason to
 * fail: then everything is written. */
static void base_load(struct base *b, struct blob_store *store,
		      const struct roar_checkpoint_save *s)
{
	const struct ckpt_file *f;
	uint64_t step;

	if (!s->parent || !ckpt_name_parse_step(s->parent, &step) ||
	    ckpt_manifest_get(store, step, &b->manifest, NULL) < 0 ||
	    s->rank >= b->manifest.n_files)
		return;
	f = &b->manifest.files[s->rank];
	if (f->leaf_bytes != B3_LEAF_DEFAULT ||
	    load_tree(store, &b->manifest, f, &b->tree) < 0)
		return;
	b->base = (struct ckpt_base){ .file = f, .tree = &b->tree };
	b->is_usable = true;
}

/* ---- what was written, as a manifest ---- */

static const uint64_t *copy_dims(struct pool *pool, const uint64_t *dims,
				 unsigned n)
{
	uint64_t *copy = pool_zalloc(pool, ((size_t)n + 1) * sizeof(*copy));

	if (copy && n && dims)
		memcpy(copy, dims, n * sizeof(*copy));
	return copy;
}

static const char *copy_text(struct pool *pool, const char *text, bool *failed)
{
	const char *copy = text ? pool_strdup(pool, text) : NULL;

	*failed |= text && !copy;
	return copy;
}

static bool is_same_tensor(const struct ckpt_tensor *a,
			   const struct roar_checkpoint_tensor *b,
			   enum ckpt_dtype dtype)
{
	return a->dtype == dtype && a->n_dims == b->n_dims &&
	       (!b->n_dims ||
		!memcmp(a->shape, b->shape, b->n_dims * sizeof(*b->shape)));
}

/* Parts of one tensor are neighbours in neither the caller's list nor the file. */
static int add_tensor(struct ckpt_manifest *m,
		      const struct roar_checkpoint_tensor *t,
		      const struct ckpt_item *item, struct roar_error *err)
{
	size_t len = strlen(t->name);
	struct ckpt_tensor *to = map_get(&m->by_name, t->name, len);
	struct ckpt_part *parts;

	if (!to) {
		to = &m->tensors[m->n_tensors++];
		to->name = pool_strdup(&m->pool, t->name);
		to->dtype = item->dtype;
		to->n_dims = t->n_dims;
		to->shape = copy_dims(&m->pool, t->shape, t->n_dims);
		if (!to->name || !to->shape ||
		    map_set(&m->by_name, to->name, len, to) < 0)
			return -ENOMEM;
	}
	if (!is_same_tensor(to, t, item->dtype))
		return error_set(err, -EINVAL,
				 "parts of tensor '%.80s' differ in type or "
				 "shape of the whole",
				 t->name);
	/* Few tensors have a second part in one writer. */
	parts = pool_zalloc(&m->pool, (to->n_parts + 1) * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	if (to->n_parts)
		memcpy(parts, to->parts, to->n_parts * sizeof(*parts));
	to->parts = parts;
	parts[to->n_parts++] = (struct ckpt_part){
		.offset = copy_dims(&m->pool, t->part_offset, t->n_dims),
		.shape = copy_dims(&m->pool, item->shape, t->n_dims),
		.at = item->at,
	};
	return parts[to->n_parts - 1].offset && parts[to->n_parts - 1].shape ?
		       0 :
		       -ENOMEM;
}

static int add_lists(struct ckpt_manifest *m,
		     const struct roar_checkpoint_save *s)
{
	struct ckpt_metric *metrics = pool_zalloc(
		&m->pool, (s->n_metrics + 1) * sizeof(*metrics));
	const char **tags = pool_zalloc(&m->pool,
					(s->n_tags + 1) * sizeof(*tags));
	bool failed = !metrics || !tags;

	for (size_t i = 0; !failed && i < s->n_metrics; i++) {
		metrics[i].name = copy_text(&m->pool, s->metrics[i].name,
					    &failed);
		metrics[i].value = s->metrics[i].value;
	}
	for (size_t i = 0; !failed && i < s->n_tags; i++)
		tags[i] = copy_text(&m->pool, s->tags[i], &failed);
	m->metrics = metrics;
	m->n_metrics = s->n_metrics;
	m->tags = tags;
	m->n_tags = s->n_tags;
	return failed ? -ENOMEM : 0;
}

static int add_facts(struct ckpt_manifest *m,
		     const struct roar_checkpoint_save *s)
{
	CLEANUP(str_release) struct str now = STR_INIT;
	bool failed = false;

	m->is_part = true;
	m->step = s->step;
	m->epoch = s->epoch;
	m->world_size = s->world_size ? s->world_size : 1;
	m->world_epoch = s->world_epoch;
	m->fencing_token = s->fencing_token;
	clock_format_iso(&now, clock_now_ns());
	m->created = copy_text(&m->pool, str_cstr(&now), &failed);
	m->job = copy_text(&m->pool, s->job, &failed);
	m->parent = copy_text(&m->pool, s->parent, &failed);
	m->state = copy_text(&m->pool, s->state, &failed);
	m->data_position = copy_text(&m->pool, s->data_position, &failed);
	m->rng = copy_text(&m->pool, s->rng, &failed);
	return failed ? -ENOMEM : add_lists(m, s);
}

/* The part of this writer, but for its file. */
static int describe(struct ckpt_manifest *m,
		    const struct roar_checkpoint_save *s,
		    const struct ckpt_gather *g, struct roar_error *err)
{
	int r = add_facts(m, s);

	m->files = pool_zalloc(&m->pool, sizeof(*m->files));
	m->n_files = 1;
	m->tensors = pool_zalloc(&m->pool,
				 (s->n_tensors + 1) * sizeof(*m->tensors));
	if (r == 0 && (!m->files || !m->tensors))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->n_tensors; i++)
		r = add_tensor(m, &s->tensors[i], &g->items[i], err);
	return r;
}

/* ---- files ---- */

void ckpt_pending_path(const struct ckpt_pending *p, enum ckpt_name_kind kind,
		       uint32_t rank, char ret[CKPT_NAME_SIZE])
{
	struct ckpt_name name = { .kind = kind,
				  .rank = rank,
				  .world = p->part.world_size };

	memcpy(name.save, p->part.save, sizeof(name.save));
	ckpt_name_path(ret, p->part.step, &name);
}

static int write_file(struct ckpt_pending *p,
		      const struct roar_checkpoint_save *s,
		      const struct ckpt_gather *g, const struct base *base,
		      struct ckpt_progress *progress,
		      struct leaf_tree *ret_tree, struct roar_error *err)
{
	struct ckpt_writer_options o = {
		.store = p->store,
		.source = g,
		.step = s->step,
		.name = { .kind = CKPT_NAME_DATA,
			  .rank = s->rank,
			  .world = p->part.world_size },
		.base = base->is_usable ? &base->base : NULL,
		.n_threads = s->n_threads,
		.budget_bytes = s->budget_bytes ? s->budget_bytes :
						  DEFAULT_BUDGET,
		.progress = progress,
	};

	memcpy(o.name.save, p->part.save, sizeof(o.name.save));
	return ckpt_writer_run(&o, &p->part.pool, &p->part.files[0], ret_tree,
			       err);
}

static int write_tree(struct ckpt_pending *p, const struct leaf_tree *tree,
		      struct roar_error *err)
{
	size_t len = leaf_tree_stored_len(tree);
	CLEANUP(freep) uint8_t *bytes = malloc(len);
	char path[CKPT_NAME_SIZE];

	if (!bytes)
		return -ENOMEM;
	leaf_tree_store(tree, bytes);
	ckpt_pending_path(p, CKPT_NAME_TREE, p->rank, path);
	return blob_put(p->store, path, NULL, bytes, len, BLOB_PUT_UNSEEN, err);
}

/* Each rank stores its part; a single writer has no need to. */
static int write_part(struct ckpt_pending *p, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char path[CKPT_NAME_SIZE];

	if (p->part.world_size == 1)
		return 0;
	ckpt_manifest_write(&p->part, &text);
	if (str_error(&text) < 0)
		return -ENOMEM;
	ckpt_pending_path(p, CKPT_NAME_PART, p->rank, path);
	return blob_put(p->store, path, NULL, text.data, text.len,
			BLOB_PUT_EXCLUSIVE, err);
}

static int write_all(struct ckpt_pending *p,
		     const struct roar_checkpoint_save *s,
		     const struct ckpt_gather *g,
		     struct ckpt_progress *progress, struct roar_error *err)
{
	CLEANUP(base_release) struct base base = { .is_usable = false };
	CLEANUP(leaf_tree_release) struct leaf_tree tree = { 0 };
	char path[CKPT_NAME_SIZE];
	int r;

	base_load(&base, p->store, s);
	r = write_file(p, s, g, &base, progress, &tree, err);
	p->is_foreign = r == -EEXIST;
	if (r == 0)
		r = write_tree(p, &tree, err);
	if (r == 0)
		r = ckpt_manifest_check(&p->part, "the save", err);
	ckpt_name_step(path, p->part.step);
	if (r == 0)
		r = blob_make_durable(p->store, path, err);
	if (r == 0)
		r = blob_make_durable(p->store, "", err);
	return r ? r : write_part(p, err);
}

/* A step that exists is refused before anything is written.  The commit looks again.  A GET is
 * asked, because the reply to a HEAD does not tell why it failed. */
static int check_step(struct ckpt_pending *p, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char path[CKPT_NAME_SIZE];
	int r;

	ckpt_pending_path(p, CKPT_NAME_MANIFEST, 0, path);
	r = blob_get(p->store, path, 1, &text, err);
	if (r == 0 || r == -EFBIG)
		return ckpt_pending_exists(p, err);
	return r == -ENOENT ? 0 : r;
}

static int prepare(struct ckpt_pending *p, const struct roar_checkpoint_save *s,
		   const struct ckpt_gather *g, struct roar_error *err)
{
	char path[CKPT_NAME_SIZE];
	int r = 0;

	if (s->save_id)
		memcpy(p->part.save, s->save_id, sizeof(p->part.save));
	else
		r = ckpt_name_new_save_id(p->part.save);
	if (r == 0)
		r = describe(&p->part, s, g, err);
	if (r == 0)
		r = blob_open(s->url, true, MAX_PARALLEL, &p->store, err);
	if (r == 0)
		r = check_step(p, err);
	if (r < 0)
		return r;
	ckpt_pending_path(p, CKPT_NAME_WRITING, 0, path);
	return blob_hold(p->store, path, &p->hold, err);
}

int ckpt_save_write(const struct roar_checkpoint_save *save,
		    struct ckpt_progress *progress, struct ckpt_pending **ret,
		    struct roar_error *err)
{
	CLEANUP(ckpt_save_freep)
	struct ckpt_pending *p = calloc(1, sizeof(*p));
	CLEANUP(ckpt_gather_release) struct ckpt_gather g = { 0 };
	int r = p ? check_save(save, err) : -ENOMEM;

	if (r < 0)
		return r;
	p->part = CKPT_MANIFEST_INIT;
	p->rank = save->rank;
	r = ckpt_gather_init(&g, save->tensors, save->n_tensors, err);
	if (r == 0)
		r = prepare(p, save, &g, err);
	if (r < 0)
		return r;
	r = write_all(p, save, &g, progress, err);
	if (r < 0)
		ckpt_save_abort(p);
	else
		*ret = TAKE_PTR(p);
	return r;
}

int ckpt_save_run(const struct roar_checkpoint_save *save,
		  struct ckpt_progress *progress,
		  struct roar_checkpoint_result *ret, struct roar_error *err)
{
	CLEANUP(ckpt_save_freep) struct ckpt_pending *p = NULL;
	int r;

	if (save->world_size > 1)
		return error_set(err, -EINVAL,
				 "this call saves for one writer: each rank of "
				 "a sharded save writes its part");
	r = ckpt_save_write(save, progress, &p, err);
	if (r == 0)
		r = ckpt_save_commit(p, NULL, NULL, err);
	if (r == 0 && ret)
		ckpt_save_result(p, ret);
	return r;
}

/* ckpt_listing.c - see ckpt_listing.h */
#include "ckpt/ckpt_listing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "blob/blob.h"
#include "ckpt/ckpt_failure.h"
#include "ckpt/ckpt_manifest_file.h"

/* Object storage has no locks: files of a save that has not ended are recognised by age. */

void ckpt_listing_release(struct ckpt_listing *l)
{
	for (size_t i = 0; i < l->n_entries; i++) {
		free(l->entries[i].files);
		free(l->entries[i].failures);
		free(l->entries[i].needs);
	}
	free(l->entries);
	pool_release(&l->pool);
	*l = CKPT_LISTING_INIT;
}

/* ---- names ---- */

struct names {
	struct ckpt_listing *l;
	struct ckpt_entry *last; /* entry of the previous name */
};

static struct ckpt_entry *get_entry(struct names *n, uint64_t step)
{
	struct ckpt_listing *l = n->l;
	char name[CKPT_NAME_SIZE];

	if (n->last && n->last->step == step)
		return n->last;
	for (size_t i = 0; i < l->n_entries; i++)
		if (l->entries[i].step == step)
			return n->last = &l->entries[i];
	n->last = VEC_PUSH(l->entries, l->n_entries, l->cap_entries);
	if (!n->last)
		return NULL;
	ckpt_name_step(name, step);
	n->last->step = step;
	n->last->name = pool_strdup(&l->pool, name);
	return n->last->name ? n->last : NULL;
}

static int add_file(struct ckpt_listing *l, struct ckpt_entry *e,
		    const struct blob_entry *found, const char *name)
{
	struct ckpt_stored *f = VEC_PUSH(e->files, e->n_files, e->cap_files);

	if (!f)
		return -ENOMEM;
	f->path = pool_strdup(&l->pool, found->name);
	if (!f->path)
		return -ENOMEM;
	f->name = f->path + (name - found->name);
	f->size_bytes = found->size_bytes;
	f->modified_ns = found->modified_ns;
	f->is_known = ckpt_name_parse_file(f->name, &f->parsed);
	if (f->is_known && f->parsed.kind == CKPT_NAME_MANIFEST)
		e->is_committed = true;
	return 0;
}

/* "step-…/" or "step-…/NAME"; anything else is not ours. */
static int on_name(void *ctx, const struct blob_entry *found)
{
	struct names *n = ctx;
	const char *slash = strchr(found->name, '/');
	char step_name[CKPT_NAME_SIZE];
	struct ckpt_entry *e;
	uint64_t step;
	size_t len;

	len = slash ? (size_t)(slash - found->name) : 0;
	if (len == 0 || len >= sizeof(step_name))
		return 0;
	memcpy(step_name, found->name, len);
	step_name[len] = '\0';
	if (!ckpt_name_parse_step(step_name, &step))
		return 0;
	e = get_entry(n, step);
	if (!e)
		return -ENOMEM;
	return slash[1] ? add_file(n->l, e, found, slash + 1) : 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct ckpt_entry *x = a, *y = b;

	return x->step < y->step ? -1 : x->step > y->step;
}

static int list_names(struct ckpt_listing *l, struct blob_store *store,
		      struct roar_error *err)
{
	struct names n = { .l = l };
	int r = blob_list(store, "", on_name, &n, err);

	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	if (r < 0)
		return r;
	if (l->n_entries)
		qsort(l->entries, l->n_entries, sizeof(*l->entries),
		      compare_entries);
	return 0;
}

/* ---- manifests ---- */

static int need_path(struct ckpt_listing *l, struct ckpt_entry *e,
		     struct map *known, const char *path)
{
	const char **place;
	char *copy;

	if (map_get(known, path, strlen(path)))
		return 0;
	copy = pool_strdup(&l->pool, path);
	place = VEC_PUSH(e->needs, e->n_needs, e->cap_needs);
	if (!copy || !place)
		return -ENOMEM;
	*place = copy;
	return map_set(known, copy, strlen(copy), copy);
}

static int need_own(struct ckpt_listing *l, struct ckpt_entry *e,
		    struct map *known, const char *name)
{
	char path[2 * CKPT_NAME_SIZE];

	(void)snprintf(path, sizeof(path), "%s/%s", e->name, name);
	return need_path(l, e, known, path);
}

static int need_files(struct ckpt_listing *l, struct ckpt_entry *e,
		      const struct ckpt_manifest *m)
{
	CLEANUP(map_release) struct map known = MAP_INIT;
	int r = need_own(l, e, &known, CKPT_MANIFEST);

	for (size_t i = 0; r == 0 && i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];

		r = need_own(l, e, &known, f->tree);
		if (r == 0 && f->name)
			r = need_own(l, e, &known, f->name);
		for (size_t k = 0; r == 0 && k < f->n_extents; k++)
			r = need_path(l, e, &known, f->extents[k].path);
	}
	return r;
}

static const char *copy_text(struct ckpt_listing *l, const char *text)
{
	return text ? pool_strdup(&l->pool, text) : NULL;
}

static int copy_lists(struct ckpt_listing *l, struct ckpt_entry *e,
		      const struct ckpt_manifest *m)
{
	struct ckpt_metric *metrics = pool_alloc(
		&l->pool, (m->n_metrics + 1) * sizeof(*metrics));
	const char **tags = pool_alloc(&l->pool,
				       (m->n_tags + 1) * sizeof(*tags));

	if (!metrics || !tags)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_metrics; i++) {
		metrics[i] = m->metrics[i];
		metrics[i].name = copy_text(l, m->metrics[i].name);
		if (!metrics[i].name)
			return -ENOMEM;
	}
	for (size_t i = 0; i < m->n_tags; i++) {
		tags[i] = copy_text(l, m->tags[i]);
		if (!tags[i])
			return -ENOMEM;
	}
	e->metrics = metrics;
	e->n_metrics = m->n_metrics;
	e->tags = tags;
	e->n_tags = m->n_tags;
	return 0;
}

static int summarize(struct ckpt_listing *l, struct ckpt_entry *e,
		     const struct ckpt_manifest *m)
{
	e->epoch = m->epoch;
	e->world_size = m->world_size;
	e->n_tensors = m->n_tensors;
	e->save = copy_text(l, m->save);
	e->created = copy_text(l, m->created);
	e->parent = copy_text(l, m->parent);
	e->job = copy_text(l, m->job);
	for (size_t i = 0; i < m->n_files; i++) {
		e->size_bytes += m->files[i].size_bytes;
		e->stored_bytes += m->files[i].data_bytes;
	}
	if (!e->save || !e->created || !e->parent != !m->parent ||
	    !e->job != !m->job)
		return -ENOMEM;
	return copy_lists(l, e, m);
}

/* 0: it was read, or has a problem. */
static int read_manifest(struct ckpt_listing *l, struct blob_store *store,
			 struct ckpt_entry *e)
{
	struct ckpt_manifest m;
	struct roar_error why = { 0 };
	int r = ckpt_manifest_get(store, e->step, &m, &why);

	if (r == -ENOENT) { /* removed since the names were listed */
		e->is_committed = false;
		return 0;
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		e->problem = pool_strdup(&l->pool, why.text);
		return e->problem ? 0 : -ENOMEM;
	}
	r = summarize(l, e, &m);
	if (r == 0)
		r = need_files(l, e, &m);
	ckpt_manifest_release(&m);
	return r;
}

/* A note that cannot be read is one all the same. */
static int read_failures(struct ckpt_listing *l, struct blob_store *store,
			 struct ckpt_entry *e)
{
	for (size_t i = 0; i < e->n_files; i++) {
		CLEANUP(str_release) struct str sentence = STR_INIT;
		const struct ckpt_stored *f = &e->files[i];
		struct ckpt_failure *failure;

		if (!f->is_known || f->parsed.kind != CKPT_NAME_FAILED)
			continue;
		if (ckpt_failure_get(store, f->path, &sentence) < 0)
			str_adds(&sentence, "the cause cannot be read");
		failure = VEC_PUSH(e->failures, e->n_failures, e->cap_failures);
		if (!failure)
			return -ENOMEM;
		failure->save = f->parsed.save;
		failure->sentence = copy_text(l, str_cstr(&sentence));
		if (!failure->sentence)
			return -ENOMEM;
	}
	return 0;
}

/* ---- leftovers ---- */

static bool is_held(struct blob_store *store, const struct ckpt_entry *e,
		    const char *save)
{
	struct ckpt_name writing = { .kind = CKPT_NAME_WRITING };
	char path[CKPT_NAME_SIZE];

	memcpy(writing.save, save, sizeof(writing.save));
	ckpt_name_path(path, e->step, &writing);
	return blob_is_held(store, path);
}

/* May the save that this file belongs to still go on?  On a disk it holds a lock; asked
 * once per save, as all its files have the same answer. */
static bool is_live(struct blob_store *store, const struct ckpt_entry *e,
		    const struct ckpt_stored *f)
{
	if (!blob_is_local(store))
		return clock_now_ns() - f->modified_ns < CKPT_LIVE_NS;
	for (const struct ckpt_stored *g = e->files; g < f; g++)
		if (g->is_known && !g->is_needed &&
		    !strcmp(g->parsed.save, f->parsed.save))
			return g->is_live;
	return is_held(store, e, f->parsed.save);
}

bool ckpt_listing_is_held(const struct ckpt_listing *l,
			  struct blob_store *store)
{
	for (size_t i = 0; i < l->n_entries; i++) {
		const struct ckpt_entry *e = &l->entries[i];

		for (size_t k = 0; k < e->n_files; k++)
			if (e->files[k].is_known &&
			    e->files[k].parsed.kind == CKPT_NAME_WRITING &&
			    is_held(store, e, e->files[k].parsed.save))
				return true;
	}
	return false;
}

/* Is it a manifest, or the note of a failure that no later checkpoint has overtaken? */
static bool is_fact(const struct ckpt_listing *l, const struct ckpt_entry *e,
		    const struct ckpt_stored *f)
{
	const struct ckpt_entry *latest = ckpt_listing_latest(l);

	return f->parsed.kind == CKPT_NAME_MANIFEST ||
	       (f->parsed.kind == CKPT_NAME_FAILED &&
		(!latest || latest->step < e->step));
}

static void find_leftovers(const struct ckpt_listing *l,
			   const struct map *needed, struct blob_store *store,
			   struct ckpt_entry *e)
{
	e->n_leftovers = 0;
	e->leftover_bytes = 0;
	e->is_writing = false;
	for (size_t i = 0; i < e->n_files; i++) {
		struct ckpt_stored *f = &e->files[i];

		if (!f->is_known)
			continue;
		f->is_needed = is_fact(l, e, f) ||
			       map_get(needed, f->path, strlen(f->path));
		if (f->is_needed)
			continue;
		f->is_live = is_live(store, e, f);
		if (f->is_live) {
			e->is_writing = true;
		} else {
			e->n_leftovers++;
			e->leftover_bytes += f->size_bytes;
		}
	}
}

int ckpt_listing_mark(struct ckpt_listing *l, struct blob_store *store,
		      bool (*is_gone)(void *ctx, const struct ckpt_entry *e),
		      void *ctx)
{
	CLEANUP(map_release) struct map needed = MAP_INIT;

	for (size_t i = 0; i < l->n_entries; i++) {
		struct ckpt_entry *e = &l->entries[i];

		for (size_t k = 0; k < e->n_needs; k++)
			if (!(is_gone && is_gone(ctx, e)) &&
			    map_set(&needed, e->needs[k], strlen(e->needs[k]),
				    e) < 0)
				return -ENOMEM;
	}
	for (size_t i = 0; i < l->n_entries; i++)
		find_leftovers(l, &needed, store, &l->entries[i]);
	return 0;
}

int ckpt_listing_read(struct ckpt_listing *l, struct blob_store *store,
		      unsigned flags, struct roar_error *err)
{
	int r = list_names(l, store, err);

	if (r < 0 || !(flags & CKPT_LIST_MANIFESTS))
		return r;
	for (size_t i = 0; r == 0 && i < l->n_entries; i++) {
		r = read_failures(l, store, &l->entries[i]);
		if (r == 0 && l->entries[i].is_committed)
			r = read_manifest(l, store, &l->entries[i]);
	}
	if (r == 0)
		r = ckpt_listing_mark(l, store, NULL, NULL);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}

/* ---- questions ---- */

const struct ckpt_entry *ckpt_listing_latest(const struct ckpt_listing *l)
{
	for (size_t i = l->n_entries; i-- > 0;)
		if (l->entries[i].is_committed)
			return &l->entries[i];
	return NULL;
}

struct ckpt_entry *ckpt_listing_step(const struct ckpt_listing *l,
				     uint64_t step)
{
	for (size_t i = 0; i < l->n_entries; i++)
		if (l->entries[i].step == step)
			return &l->entries[i];
	return NULL;
}

int ckpt_store_latest(struct blob_store *store, uint64_t *ret_step,
		      struct roar_error *err)
{
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	const struct ckpt_entry *latest;
	int r = ckpt_listing_read(&l, store, 0, err);

	if (r < 0)
		return r;
	latest = ckpt_listing_latest(&l);
	if (!latest)
		return error_set(err, -ENOENT, "there is no checkpoint in '%s'",
				 blob_url(store));
	*ret_step = latest->step;
	return 0;
}

double ckpt_entry_metric(const struct ckpt_entry *e, const char *name)
{
	for (size_t i = 0; i < e->n_metrics; i++)
		if (!strcmp(e->metrics[i].name, name))
			return e->metrics[i].value;
	return NAN;
}

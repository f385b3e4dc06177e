/* ckpt_gc.c - see ckpt_gc.h */
#include "ckpt/ckpt_gc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "blob/blob.h"
#include "ckpt/ckpt_listing.h"

struct gc {
	struct blob_store *store;
	const struct ckpt_gc_options *options;
	struct ckpt_gc_result result;
	struct ckpt_candidate *candidates; /* of the first listing */
	size_t n_candidates;
	bool is_writing; /* a save goes on somewhere */
	struct roar_error *err;
};

static void gc_release(struct gc *g)
{
	free(g->candidates);
}

static void tell(struct gc *g, const char *path, uint64_t size_bytes)
{
	if (g->options->removed)
		g->options->removed(g->options->ctx, path, size_bytes);
}

static bool is_doomed(const struct gc *g, uint64_t step)
{
	for (size_t i = 0; i < g->n_candidates; i++)
		if (g->candidates[i].step == step)
			return !g->candidates[i].keep;
	return false;
}

/* ---- which checkpoints ---- */

static int check_manifests(struct gc *g, const struct ckpt_listing *l)
{
	for (size_t i = 0; i < l->n_entries; i++)
		if (l->entries[i].problem)
			return error_set(
				g->err, -EBADMSG,
				"nothing was removed, because a manifest that "
				"cannot be read may refer to any file: %s",
				l->entries[i].problem);
	return 0;
}

static int choose(struct gc *g, const struct ckpt_listing *l)
{
	const struct ckpt_rules *rules = &g->options->rules;

	g->candidates = calloc(l->n_entries + 1, sizeof(*g->candidates));
	if (!g->candidates)
		return error_set(g->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < l->n_entries; i++) {
		const struct ckpt_entry *e = &l->entries[i];

		if (!e->is_committed)
			continue;
		g->candidates[g->n_candidates++] = (struct ckpt_candidate){
			.step = e->step,
			.is_tagged = e->n_tags > 0,
			.metric = rules->metric ?
					  ckpt_entry_metric(e, rules->metric) :
					  NAN,
		};
	}
	ckpt_retention_apply(rules, g->candidates, g->n_candidates);
	for (size_t i = 0; i < g->n_candidates; i++)
		if (g->candidates[i].keep)
			g->result.n_kept++;
		else
			g->result.n_removed++;
	return 0;
}

static int remove_manifests(struct gc *g, const struct ckpt_listing *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n_entries; i++) {
		const struct ckpt_entry *e = &l->entries[i];
		char path[CKPT_NAME_SIZE];

		if (!e->is_committed || !is_doomed(g, e->step))
			continue;
		tell(g, e->name, e->stored_bytes);
		if (g->options->dry_run)
			continue;
		ckpt_name_path(
			path, e->step,
			&(struct ckpt_name){ .kind = CKPT_NAME_MANIFEST });
		r = blob_remove(g->store, path, g->err);
		if (r == 0 || r == -ENOENT)
			r = blob_make_durable(g->store, e->name, g->err);
	}
	return r;
}

/* ---- which files ---- */

static bool is_gone(void *ctx, const struct ckpt_entry *e)
{
	return is_doomed(ctx, e->step);
}

/* Files of a checkpoint that this gc removes are not those of a save that goes on, however
 * young they are. */
static bool may_be_live(const struct gc *g, const struct ckpt_entry *e,
			const struct ckpt_stored *f)
{
	return f->is_live &&
	       (blob_is_local(g->store) || !is_doomed(g, e->step));
}

/* Locks first, then names and manifests: a save that ends in between has released its lock
 * after its manifest was there. */
static int take_survey(struct gc *g, struct ckpt_listing *l)
{
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing names = CKPT_LISTING_INIT;
	int r = ckpt_listing_read(&names, g->store, 0, g->err);

	if (r < 0)
		return r;
	g->is_writing = ckpt_listing_is_held(&names, g->store);
	r = ckpt_listing_read(l, g->store, CKPT_LIST_MANIFESTS, g->err);
	if (r == 0)
		r = check_manifests(g, l);
	if (r < 0)
		return r;
	/* In a dry run the manifests of removed checkpoints are still there. */
	if (ckpt_listing_mark(l, g->store, is_gone, g) < 0)
		return error_set(g->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < l->n_entries; i++)
		for (size_t k = 0; k < l->entries[i].n_files; k++)
			g->is_writing |= may_be_live(g, &l->entries[i],
						     &l->entries[i].files[k]);
	return 0;
}

static int remove_file(struct gc *g, const struct ckpt_stored *f)
{
	int r;

	g->result.n_files++;
	g->result.bytes += f->size_bytes;
	tell(g, f->path, f->size_bytes);
	if (g->options->dry_run)
		return 0;
	r = blob_remove(g->store, f->path, g->err);
	return r == -ENOENT ? 0 : r;
}

/* Was it written by a save that has no manifest, or by one that lost its manifest? */
static bool is_removable(struct gc *g, const struct ckpt_entry *e,
			 const struct ckpt_stored *f)
{
	if (!f->is_known || f->is_needed || may_be_live(g, e, f))
		return false;
	if (!g->is_writing || f->parsed.kind != CKPT_NAME_DATA)
		return true;
	g->result.n_postponed++;
	return false;
}

static bool has_manifest_now(struct gc *g, const struct ckpt_entry *e)
{
	CLEANUP(blob_close_readerp) struct blob_reader *reader = NULL;
	char path[CKPT_NAME_SIZE];
	uint64_t size;

	ckpt_name_path(path, e->step,
		       &(struct ckpt_name){ .kind = CKPT_NAME_MANIFEST });
	return blob_open_reader(g->store, path, BLOB_READ_CACHED, &reader,
				&size, NULL) != -ENOENT;
}

/* A save may have ended between the list of names and the question for its lock: then its
 * manifest is there now, and was not in the list. */
static int sweep_entry(struct gc *g, const struct ckpt_entry *e)
{
	size_t n_left = 0;
	char dir[CKPT_NAME_SIZE + 1];
	int r = 0;

	if (!e->is_committed && has_manifest_now(g, e))
		return 0;
	for (size_t i = 0; r == 0 && i < e->n_files; i++)
		if (is_removable(g, e, &e->files[i]))
			r = remove_file(g, &e->files[i]);
		else
			n_left++;
	if (r < 0 || n_left || g->options->dry_run || !blob_is_local(g->store))
		return r;
	(void)snprintf(dir, sizeof(dir), "%s/", e->name);
	/* A save of this step may have begun: then the directory stays. */
	(void)blob_remove(g->store, dir, NULL);
	return 0;
}

/* ---- uploads ---- */

static bool is_upload_of_ours(void *ctx, const char *name)
{
	struct gc *g = ctx;
	struct ckpt_name parsed;
	uint64_t step;

	if (!ckpt_name_parse_path(name, &step, &parsed))
		return false;
	g->result.n_files++;
	tell(g, name, 0);
	return true;
}

/* Of writers that were killed.  Who may not list uploads, or whose server cannot, has a rule
 * of the bucket for them. */
static int end_uploads(struct gc *g)
{
	const struct blob_unfinished what = {
		.before_ns = clock_now_ns() - CKPT_LIVE_NS,
		.dry_run = g->options->dry_run,
		.wanted = is_upload_of_ours,
		.ctx = g,
	};
	int r = blob_end_unfinished(g->store, &what, g->err);

	return r == -EACCES || r == -EPERM || r == -ENOTSUP ? 0 : r;
}

int ckpt_gc_run(struct blob_store *store, const struct ckpt_gc_options *options,
		struct ckpt_gc_result *ret, struct roar_error *err)
{
	CLEANUP(gc_release)
	struct gc g = { .store = store, .options = options, .err = err };
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing before = CKPT_LISTING_INIT;
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing after = CKPT_LISTING_INIT;
	int r = ckpt_listing_read(&before, store, CKPT_LIST_MANIFESTS, err);

	if (r == 0)
		r = check_manifests(&g, &before);
	if (r == 0)
		r = choose(&g, &before);
	if (r == 0)
		r = remove_manifests(&g, &before);
	if (r == 0)
		r = take_survey(&g, &after);
	for (size_t i = 0; r == 0 && i < after.n_entries; i++)
		r = sweep_entry(&g, &after.entries[i]);
	if (r == 0)
		r = end_uploads(&g);
	*ret = g.result;
	return r;
}

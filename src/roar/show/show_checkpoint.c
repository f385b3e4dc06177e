/* show_checkpoint.c - see show_checkpoint.h */
#include "show/show_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/quote.h"
#include "ckpt/ckpt_manifest_file.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "show/show.h"
#include "show/show_shards.h"
#include "ui/view.h"

enum { UID_DIGITS = 8 };

/* ---- which directory ---- */

static bool is_url(const char *word)
{
	return strstr(word, "://") != NULL;
}

static const char *resolve_dir(struct view *v, const char *dir)
{
	CLEANUP(freep) char *real = is_url(dir) ? NULL : realpath(dir, NULL);

	return pool_strdup(&v->pool, real ? real : dir);
}

/* The directory of a checkpoint, if the name is that of one or of a file in one. */
static int find_dir(struct view *v, const char *word,
		    struct show_checkpoint *ret)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str parent = STR_INIT;
	struct ckpt_name name;

	if (is_url(word))
		str_adds(&path, word);
	else
		path_normalize(&path, v->project.cwd, word);
	while (path.len > 1 && path.data[path.len - 1] == '/')
		path.data[--path.len] = '\0';
	if (str_error(&path) < 0)
		return -ENOMEM;
	if (ckpt_name_parse_step(path_basename(path.data), &ret->step)) {
		ret->is_dir = true;
		ret->dir = resolve_dir(v, path.data);
		return ret->dir ? 0 : -ENOMEM;
	}
	path_dirname(&parent, path.data);
	if (str_error(&parent) < 0)
		return -ENOMEM;
	if (!ckpt_name_parse_file(path_basename(path.data), &name) ||
	    !ckpt_name_parse_step(path_basename(parent.data), &ret->step))
		return -ENOENT;
	ret->dir = resolve_dir(v, parent.data);
	return ret->dir ? 0 : -ENOMEM;
}

/* ---- what there is ---- */

static int parse_manifest(struct show_checkpoint *c, const char *text,
			  size_t len, const char *path)
{
	int r = ckpt_manifest_read(&c->manifest, text, len, false, path,
				   &c->error);

	if (r == 0)
		r = ckpt_seal_check(text, len, path, &c->error);
	if (r == 0 && c->manifest.step != c->step)
		r = error_set(&c->error, -EBADMSG,
			      "'%s' is the manifest of step %llu", path,
			      (unsigned long long)c->manifest.step);
	return r;
}

static int read_manifest(struct show_checkpoint *c, uint8_t digest[BLAKE3_LEN])
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct digests d = { 0 };
	int r;

	if (is_url(c->dir))
		return 0;
	str_addf(&path, "%s/" CKPT_MANIFEST, c->dir);
	r = str_error(&path);
	if (r == 0)
		r = fd_read_file(AT_FDCWD, path.data, CKPT_MANIFEST_MAX, &text);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	c->state = MANIFEST_UNRECORDED;
	r = parse_manifest(c, str_cstr(&text), text.len, path.data);
	if (r == 0)
		r = digest_buffer(str_cstr(&text), text.len, DIGEST_SET_BLAKE3,
				  &d);
	if (r < 0 && r != -ENOMEM) {
		c->state = MANIFEST_INVALID;
		return 0;
	}
	memcpy(digest, d.blake3, BLAKE3_LEN);
	c->has_manifest = r == 0;
	return r;
}

/* Of several commits at this path: that of the manifest, else the newest. */
static int find_row(struct view *v, struct show_checkpoint *c,
		    const uint8_t digest[BLAKE3_LEN], struct roar_error *err)
{
	struct store_checkpoint *rows;
	size_t n;
	int r = store_checkpoints_of_path(v->store, &v->pool, c->dir, &rows, &n,
					  err);

	if (r < 0 || !n)
		return r;
	c->row = &rows[0];
	if (c->state != MANIFEST_UNRECORDED)
		return 0;
	c->state = MANIFEST_CHANGED;
	for (size_t i = 0; i < n; i++) {
		if (memcmp(rows[i].manifest, digest, BLAKE3_LEN) != 0)
			continue;
		c->row = &rows[i];
		c->state = MANIFEST_RECORDED;
		break;
	}
	return 0;
}

/* The job that the record names, else the one that the manifest names. */
static int find_job(struct view *v, struct show_checkpoint *c,
		    struct roar_error *err)
{
	struct store_job_query query = { .limit = 2 };
	struct store_job *jobs;
	size_t n;
	int r;

	if (c->row)
		return query_job(&v->query, c->row->job_id, &c->job, err);
	if (!c->has_manifest || !c->manifest.job ||
	    strlen(c->manifest.job) != UID_DIGITS)
		return 0;
	query.uid_prefix = c->manifest.job;
	r = store_jobs(v->store, &v->pool, &query, &jobs, &n, err);
	if (r >= 0 && n == 1)
		c->job = &jobs[0];
	return r < 0 ? r : 0;
}

static int find_tree(struct view *v, struct show_checkpoint *c,
		     struct roar_error *err)
{
	struct store_file *rows;
	size_t n;
	int r = store_path_uses(v->store, &v->pool, c->dir, &rows, &n, err);

	for (size_t i = 0; r >= 0 && !c->tree && i < n; i++)
		if (rows[i].ftype == EVENT_FTYPE_DIRECTORY &&
		    rows[i].artifact_id &&
		    (!c->row || rows[i].job_id == c->row->job_id))
			c->tree = &rows[i];
	return r < 0 ? r : 0;
}

/* What both may know; the manifest is what readers use. */
static void sum_up(struct show_checkpoint *c)
{
	const struct ckpt_manifest *m = &c->manifest;

	c->world_size = c->row ? c->row->world_size : -1;
	c->parent = c->row && *c->row->parent ? c->row->parent : NULL;
	if (!c->has_manifest)
		return;
	c->world_size = m->world_size;
	c->parent = m->parent;
	for (size_t i = 0; i < m->n_files; i++) {
		c->size_bytes += m->files[i].size_bytes;
		c->written_bytes += m->files[i].data_bytes;
	}
}

int show_checkpoint_find(struct view *v, const char *word,
			 struct show_checkpoint *ret, struct roar_error *err)
{
	uint8_t digest[BLAKE3_LEN] = { 0 };
	int r;

	*ret = (struct show_checkpoint){ .manifest = CKPT_MANIFEST_INIT };
	r = find_dir(v, word, ret);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = read_manifest(ret, digest);
	if (r == 0)
		r = find_row(v, ret, digest, err);
	if (r == 0)
		r = find_job(v, ret, err);
	if (r == 0)
		r = find_tree(v, ret, err);
	if (r == 0 && ret->row)
		r = store_checkpoint_shards(v->store, &v->pool, ret->row,
					    &ret->shards, &ret->n_shards, err);
	if (r < 0)
		return r;
	sum_up(ret);
	ret->found = ret->row || ret->state != MANIFEST_MISSING;
	return 0;
}

void show_checkpoint_release(struct show_checkpoint *c)
{
	ckpt_manifest_release(&c->manifest);
}

/* ---- text ---- */

static void add_line(struct view *v, const char *label, const char *text)
{
	view_label(v, label);
	quote_printable(&v->out, text, strlen(text));
	str_addc(&v->out, '\n');
}

static void add_identity(struct view *v, const struct show_checkpoint *c)
{
	static const char *const states[] = {
		[MANIFEST_MISSING] = "missing",
		[MANIFEST_INVALID] = "not valid: ",
		[MANIFEST_UNRECORDED] = "its commit is not in the record",
		[MANIFEST_RECORDED] = "as recorded",
		[MANIFEST_CHANGED] = "not the one that was recorded",
	};

	term_add(&v->out, &v->term, COLOR_BOLD, "Checkpoint ");
	str_addf(&v->out, "%llu\n", (unsigned long long)c->step);
	view_label(v, "Directory:");
	view_path(v, &v->out, c->dir);
	str_addc(&v->out, '\n');
	view_label(v, "Manifest:");
	str_adds(&v->out, states[c->state]);
	if (c->state == MANIFEST_INVALID)
		view_cut(&v->out, c->error.text, 400);
	str_addc(&v->out, '\n');
	if (c->row) {
		view_label(v, "Committed:");
		clock_format(&v->out, c->row->committed_ns);
		str_addc(&v->out, '\n');
	} else if (c->has_manifest && *c->manifest.created) {
		add_line(v, "Created:", c->manifest.created);
	}
}

static void add_job(struct view *v, const struct show_checkpoint *c)
{
	const struct store_job *job = c->job;

	view_label(v, "Job:");
	if (!job) {
		if (c->has_manifest && c->manifest.job) {
			view_cut(&v->out, c->manifest.job, 40);
			str_adds(&v->out, " (not in this record)\n");
		} else {
			str_adds(&v->out, "not known\n");
		}
		return;
	}
	view_step_full(v, &v->out, job);
	str_addf(&v->out, " %s  ", job->uid);
	view_cut(&v->out, job->command, 400);
	str_addc(&v->out, '\n');
	if (!job->git_root[0])
		return;
	view_label(v, "Git:");
	view_cut(&v->out, job->git_branch[0] ? job->git_branch : "(detached)",
		 200);
	str_addf(&v->out, " @ %.12s", job->git_commit);
	if (job->git_dirty == TRI_YES)
		str_adds(&v->out, ", uncommitted changes");
	str_addc(&v->out, '\n');
	if (job->git_snapshot[0])
		add_line(v, "Snapshot:", job->git_snapshot);
}

static void add_content(struct view *v, const struct show_checkpoint *c)
{
	const struct ckpt_manifest *m = &c->manifest;

	view_label(v, "Content:");
	format_count(&v->out, m->n_tensors, "tensor");
	str_adds(&v->out, ", ");
	format_size(&v->out, c->size_bytes);
	str_adds(&v->out, ", of which ");
	format_size(&v->out, c->written_bytes);
	str_adds(&v->out, " were written by this save\n");
	view_label(v, "Epoch:");
	str_addf(&v->out, "%llu\n", (unsigned long long)m->epoch);
	if (m->n_metrics) {
		view_label(v, "Metrics:");
		for (size_t i = 0; i < m->n_metrics; i++) {
			str_adds(&v->out, i ? ", " : "");
			view_cut(&v->out, m->metrics[i].name, 60);
			str_addf(&v->out, " %g", m->metrics[i].value);
		}
		str_addc(&v->out, '\n');
	}
	if (m->n_tags) {
		view_label(v, "Tags:");
		for (size_t i = 0; i < m->n_tags; i++) {
			str_adds(&v->out, i ? ", " : "");
			view_cut(&v->out, m->tags[i], 60);
		}
		str_addc(&v->out, '\n');
	}
}

static size_t count_ranks(const struct show_checkpoint *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_shards; i++) /* ordered by rank */
		n += c->shards[i].rank >= 0 &&
		     (!i || c->shards[i].rank != c->shards[i - 1].rank);
	return n;
}

static void add_shards(struct view *v, const struct show_checkpoint *c,
		       const struct show_options *o)
{
	enum { SHOWN = 10 };
	size_t shown = o->all || c->n_shards < SHOWN ? c->n_shards : SHOWN;
	size_t n_ranks = count_ranks(c);

	if (!c->row)
		return;
	str_addc(&v->out, '\n');
	if (c->row->n_shards == 0) {
		str_adds(&v->out, "The job had reported no samples when it was "
				  "committed\n");
		return;
	}
	term_add(&v->out, &v->term, COLOR_BOLD, "Fed by");
	str_addc(&v->out, ' ');
	format_count(&v->out, (uint64_t)c->row->n_samples, "sample");
	str_adds(&v->out, " of ");
	format_count(&v->out, (uint64_t)c->row->n_shards, "shard");
	if (n_ranks) {
		str_adds(&v->out, " on ");
		format_count(&v->out, n_ranks, "rank");
	}
	str_adds(&v->out, ", as the job had reported when it was committed\n");
	for (size_t i = 0; i < shown; i++)
		show_shard_line(v, &c->shards[i]);
	show_more(v, (uint64_t)c->row->n_shards, shown);
}

void show_checkpoint_text(struct view *v, const struct show_checkpoint *c,
			  const struct show_options *o)
{
	char hex[2 * BLAKE3_LEN + 1];

	add_identity(v, c);
	add_job(v, c);
	if (c->world_size >= 0) {
		view_label(v, "Ranks:");
		str_addf(&v->out, "%lld\n", (long long)c->world_size);
		add_line(v, "Parent:", c->parent ? c->parent : "none");
	}
	if (c->has_manifest)
		add_content(v, c);
	if (c->tree) {
		digest_hex(hex, c->tree->digests.blake3, BLAKE3_LEN);
		add_line(v, "Artifact:", hex);
	}
	add_shards(v, c, o);
}

/* show_checkpoint_json.c - a checkpoint as JSON; man/show.txt documents the members. */
#include <string.h>

#include "show/show.h"
#include "show/show_checkpoint.h"
#include "show/show_shards.h"
#include "ui/view.h"

static void json_raw(struct json *j, const char *key, const char *text)
{
	json_put_key(j, key);
	if (text)
		json_put_raw(j, text, strlen(text));
	else
		json_put_null(j);
}

static void json_files(struct json *j, const struct ckpt_manifest *m)
{
	char hex[2 * BLAKE3_LEN + 1];

	json_put_key(j, "files");
	json_put_array(j);
	for (size_t i = 0; i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];

		digest_hex(hex, f->blake3, BLAKE3_LEN);
		json_put_object(j);
		view_json_int(j, "rank", f->rank);
		view_json_text(j, "name", f->name);
		view_json_int(j, "size_bytes", (int64_t)f->size_bytes);
		view_json_int(j, "written_bytes", (int64_t)f->data_bytes);
		view_json_text(j, "blake3", hex);
		json_end(j);
	}
	json_end(j);
}

/* {"epoch", ...}: what only the manifest knows; null without one. */
static void json_content(struct json *j, const struct show_checkpoint *c)
{
	const struct ckpt_manifest *m = &c->manifest;

	json_put_key(j, "content");
	if (!c->has_manifest) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_int(j, "epoch", (int64_t)m->epoch);
	view_json_text(j, "save", m->save);
	view_json_text(j, "created", m->created);
	view_json_int(j, "world_epoch", (int64_t)m->world_epoch);
	view_json_int(j, "fencing_token", (int64_t)m->fencing_token);
	view_json_int(j, "tensors", (int64_t)m->n_tensors);
	view_json_int(j, "size_bytes", (int64_t)c->size_bytes);
	view_json_int(j, "written_bytes", (int64_t)c->written_bytes);
	json_put_key(j, "metrics");
	json_put_object(j);
	for (size_t i = 0; i < m->n_metrics; i++) {
		json_put_key(j, m->metrics[i].name);
		json_put_double(j, m->metrics[i].value);
	}
	json_end(j);
	json_put_key(j, "tags");
	json_put_array(j);
	for (size_t i = 0; i < m->n_tags; i++)
		json_put_string(j, m->tags[i]);
	json_end(j);
	json_raw(j, "data_position", m->data_position);
	json_files(j, m);
	json_end(j);
}

static void json_job(struct view *v, struct json *j,
		     const struct show_checkpoint *c)
{
	const struct store_job *job = c->job;

	view_json_text(j, "job_uid",
		       job	       ? job->uid :
		       c->has_manifest ? c->manifest.job :
					 NULL);
	view_json_text(j, "step_ref", job ? view_step_ref(v, job) : NULL);
	view_json_text(j, "command", job ? job->command : NULL);
	view_json_text(j, "git_commit",
		       job && job->git_commit[0] ? job->git_commit : NULL);
	view_json_text(j, "git_snapshot",
		       job && job->git_snapshot[0] ? job->git_snapshot : NULL);
	view_json_tri(j, "git_dirty", job ? job->git_dirty : TRI_UNKNOWN);
}

static void json_members(struct view *v, struct json *j,
			 const struct show_checkpoint *c)
{
	static const char *const states[] = {
		[MANIFEST_MISSING] = "missing",
		[MANIFEST_INVALID] = "invalid",
		[MANIFEST_UNRECORDED] = "unrecorded",
		[MANIFEST_RECORDED] = "recorded",
		[MANIFEST_CHANGED] = "changed",
	};

	view_json_text(j, "path", c->dir);
	view_json_int(j, "step", (int64_t)c->step);
	view_json_text(j, "manifest", states[c->state]);
	view_json_text(j, "manifest_error",
		       c->state == MANIFEST_INVALID ? c->error.text : NULL);
	view_json_time(j, "committed_at", c->row ? c->row->committed_ns : 0);
	json_job(v, j, c);
	view_json_count(j, "ranks", c->world_size);
	view_json_text(j, "parent", c->parent);
	view_json_digests(j, "digests",
			  c->tree ? &c->tree->digests : &(struct digests){ 0 });
	json_content(j, c);
	view_json_count(j, "samples", c->row ? c->row->n_samples : -1);
	view_json_count(j, "shard_count", c->row ? c->row->n_shards : -1);
	show_shards_json(j, "shards", c->shards, c->n_shards);
}

void show_checkpoint_json(struct view *v, struct json *j,
			  const struct show_checkpoint *c)
{
	json_put_key(j, "checkpoint");
	if (!c || !c->found) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	json_members(v, j, c);
	json_end(j);
}

int show_checkpoint(struct view *v, const struct show_checkpoint *c,
		    const struct show_options *o)
{
	struct json j = json_writer(&v->out, true);

	if (!o->json) {
		show_checkpoint_text(v, c, o);
		return 0;
	}
	json_put_object(&j);
	view_json_text(&j, "type", "checkpoint");
	json_members(v, &j, c);
	json_end(&j);
	str_addc(&v->out, '\n');
	return 0;
}

/* show_job_json.c - one job as JSON; the fields are documented in man/show.txt. */
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "query/producer.h"
#include "show/show.h"
#include "show/show_code.h"
#include "show/show_collection.h"
#include "show/show_job.h"
#include "show/show_processes.h"
#include "show/show_shards.h"
#include "show/show_situation.h"
#include "show/show_variants.h"
#include "ui/view.h"
#include "ui/view_nodes.h"

static int json_file(struct job_block *b, struct json *j,
		     const struct store_file *f, struct roar_error *err)
{
	const struct store_object *object;
	const struct store_job *maker = NULL;
	struct view *v = b->view;
	bool implied = f->seen & LINEAGE_IMPLIED;
	int r = show_object_find(v, &b->objects, f, &object, err);

	if (r >= 0 && f->role & LINEAGE_INPUT)
		r = producer_find(&v->query, f, &maker, err);
	json_put_object(j);
	view_json_text(j, "path", f->path);
	view_json_text(j, "role", view_role_word(f->role));
	view_json_digests(j, "digests", &f->digests);
	view_json_text(j, "digest_by", view_digest_source(f));
	view_json_int(j, "size_bytes", (int64_t)f->stamp.size);
	view_json_text(j, "type", view_ftype_word(f->ftype));
	view_json_bool(j, "intermediate", f->intermediate);
	view_json_text(j, "filter", f->filter ? filter_name(f->filter) : NULL);
	view_json_int(j, "read_order", f->read_order);
	view_json_int(j, "write_order", f->write_order);
	view_json_int(j, "reader_pid", f->reader);
	view_json_int(j, "writer_pid", f->writer);
	view_json_count(j, "read_bytes", f->bytes_read);
	view_json_count(j, "written_bytes", f->bytes_written);
	view_json_text(j, "renamed_from",
		       f->origin[0] && !implied ? f->origin : NULL);
	view_json_text(j, "implied_by", implied ? f->origin : NULL);
	show_object_json(j, "object", object);
	if (f->role & LINEAGE_INPUT)
		view_json_job_ref(v, j, "made_by", maker);
	json_end(j);
	return r;
}

static void json_gaps(struct job_block *b, struct json *j)
{
	json_put_key(j, "gaps");
	json_put_array(j);
	for (size_t i = 0; i < b->n_gaps; i++) {
		unsigned code = (unsigned)b->gaps[i].code;

		json_put_object(j);
		view_json_text(j, "reason", event_gap_name(code));
		view_json_text(j, "text", event_gap_text(code));
		view_json_text(j, "detail", b->gaps[i].detail);
		view_json_int(j, "count", b->gaps[i].count);
		json_end(j);
	}
	json_end(j);
}

static void json_left_out(struct job_block *b, struct json *j)
{
	view_json_int(j, "left_out_count", b->job->git_n_left_out);
	json_put_key(j, "left_out");
	json_put_array(j);
	for (size_t i = 0; i < b->n_left_out; i++) {
		json_put_object(j);
		view_json_text(j, "path", b->left_out[i].path);
		view_json_text(j, "reason", b->left_out[i].reason);
		json_end(j);
	}
	json_end(j);
}

static void json_git(struct job_block *b, struct json *j)
{
	const struct store_job *job = b->job;

	json_put_key(j, "git");
	if (!job->git_root[0]) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_text(j, "root", job->git_root);
	view_json_text(j, "commit",
		       job->git_commit[0] ? job->git_commit : NULL);
	view_json_text(j, "branch",
		       job->git_branch[0] ? job->git_branch : NULL);
	view_json_text(j, "remote",
		       job->git_remote[0] ? job->git_remote : NULL);
	view_json_tri(j, "dirty", job->git_dirty);
	view_json_text(j, "snapshot",
		       job->git_snapshot[0] ? job->git_snapshot : NULL);
	json_left_out(b, j);
	view_json_text(j, "note", job->git_note[0] ? job->git_note : NULL);
	json_end(j);
}

/* Names, which stand in the record one after the other. */
static void json_names(struct json *j, const char *key, const char *names)
{
	json_put_key(j, key);
	json_put_array(j);
	while (*names) {
		size_t len = strcspn(names, " ");

		json_put_bytes(j, names, len);
		names += len;
		names += strspn(names, " ");
	}
	json_end(j);
}

static void json_resources(const struct store_job *job, struct json *j)
{
	static const char *const names[] = { "cpu_user_s", "cpu_system_s",
					     "max_rss_bytes" };

	json_put_key(j, "resources");
	json_put_object(j);
	if (job->max_rss_kib) {
		view_json_seconds(j, names[0], job->cpu_user_ns);
		view_json_seconds(j, names[1], job->cpu_system_ns);
		view_json_int(j, names[2], job->max_rss_kib * 1024);
	}
	for (size_t i = 0; !job->max_rss_kib && i < ARRAY_SIZE(names); i++) {
		json_put_key(j, names[i]);
		json_put_null(j);
	}
	view_json_int(j, "processes", job->n_processes);
	json_end(j);
}

static void json_observation(const struct store_job *job, struct json *j)
{
	json_put_key(j, "observation");
	json_put_object(j);
	view_json_text(j, "tracer", job->tracer);
	json_put_key(j, "attach_s");
	if (job->attach_ns > 0)
		json_put_double(j, (double)job->attach_ns / 1e9);
	else
		json_put_null(j);
	json_names(j, "filters", job->filters);
	json_names(j, "environment", job->environment);
	view_json_int(j, "processes_seen", job->n_processes);
	view_json_int(j, "processes_escaped", job->n_escaped);
	view_json_int(j, "events_lost", job->n_lost);
	view_json_int(j, "io_uring_rings", job->n_rings);
	view_json_int(j, "byte_counts_lost", job->n_sums_lost);
	view_json_int(j, "foreign_namespace_files", job->n_namespaces);
	json_end(j);
}

static void json_facts(struct job_block *b, struct json *j)
{
	const struct store_job *job = b->job;

	view_json_job(b->view, j, job);
	view_json_group(b->view, j, job);
	view_json_int(j, "executions", b->n_executions);
	view_json_text(j, "script", job->script[0] ? job->script : NULL);
	view_json_text(j, "cwd", job->cwd);
	json_gaps(b, j);
	view_json_text(j, "tracer", job->tracer);
	json_observation(job, j);
	view_json_text(j, "roar_version", job->version);
	view_json_text(j, "host", job->host);
	view_json_text(j, "user", job->user);
	json_git(b, j);
	show_code_json(b->view, j, job, b->files, b->n_files);
	json_resources(job, j);
}

static void json_filtered(struct job_block *b, struct json *j)
{
	json_put_key(j, "filtered");
	json_put_array(j);
	for (size_t i = 0; i < b->n_filters; i++) {
		json_put_object(j);
		view_json_text(j, "filter", filter_name(b->filters[i].filter));
		view_json_int(j, "read", b->filters[i].n_read);
		view_json_int(j, "written", b->filters[i].n_written);
		json_end(j);
	}
	json_end(j);
}

int show_job_json(struct job_block *b, struct roar_error *err)
{
	static const char *const keys[] = {
		[LINEAGE_INPUT] = "inputs",
		[LINEAGE_OUTPUT] = "outputs",
		[LINEAGE_TEMPORARY] = "temporaries",
		[LINEAGE_TOUCHED] = "touched",
	};
	struct json j = json_writer(&b->view->out, true);
	int r;

	json_put_object(&j);
	view_json_text(&j, "type", "job");
	json_facts(b, &j);
	r = show_situation_json(b->view, &j, b->job->id, err);
	if (r >= 0)
		r = show_tags_json(b->view, &b->tags, &j, err);
	if (r >= 0)
		r = show_variants_json(b->view, &j, b->job, b->options, err);
	show_tags_json_blocked(&b->tags, &j);
	for (size_t i = 0; i < JOB_BLOCK_ROLES; i++) {
		json_put_key(&j, keys[job_block_roles[i]]);
		json_put_array(&j);
		for (size_t k = 0; r >= 0 && k < b->n_files; k++)
			if (b->files[k].role == job_block_roles[i])
				r = json_file(b, &j, &b->files[k], err);
		json_end(&j);
	}
	if (r >= 0)
		r = show_collections_json(b->view, &j, b->job->id, err);
	show_shards_json(&j, "shards", b->shards, b->n_shards);
	json_filtered(b, &j);
	show_ranks_json(b, &j);
	show_processes_json(b, &j);
	json_end(&j);
	str_addc(&b->view->out, '\n');
	return r;
}

/* transfer_record.c - the step in the record
 *
 *	put	inputs are the files, outputs the objects
 *	get	outputs are the files; their origin is the object.  There are no inputs: it is
 *		where the lineage begins
 *
 * A directory is one more row on each side, whose content is the hash of the tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/quote.h"
#include "base/str.h"
#include "commands.h"
#include "event/event.h"
#include "git/git.h"
#include "hash/dir/dir_hash.h"
#include "lineage/fold.h"
#include "lineage/redact.h"
#include "lineage/step.h"
#include "project/project.h"
#include "run/argv_json.h"
#include "store/store.h"
#include "transfer/transfer.h"

extern char **environ;

struct recording {
	struct transfer *t;
	const struct transfer_step *step;
	struct store *store;
	struct pool pool;
	struct store_job job;
	char **argv; /* without secrets */
	struct redact *redact;
	bool is_put;
	int64_t order;
	struct roar_error *err;
};

static const char *text(const char *s)
{
	return s ? s : "";
}

/* ---- trees ---- */

static int hash_tree(const struct transfer *t, struct transfer_tree *tree)
{
	CLEANUP(dir_hash_freep) struct dir_hash *hash = NULL;
	int r = dir_hash_new(&hash);

	for (size_t i = tree->first; i < tree->end && r == 0; i++) {
		const struct transfer_item *item = &t->items[i];

		r = dir_hash_add_digest(hash, item->name, strlen(item->name),
					item->blake3);
	}
	return r < 0 ? r : dir_hash_root(hash, tree->blake3);
}

static int64_t tree_bytes(const struct transfer *t,
			  const struct transfer_tree *tree)
{
	int64_t sum = 0;

	for (size_t i = tree->first; i < tree->end; i++)
		sum += t->items[i].size_bytes;
	return sum;
}

/* ---- the job ---- */

static int fill_command(struct recording *r)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	CLEANUP(str_release) struct str json = STR_INIT;
	CLEANUP(str_release) struct str message = STR_INIT;
	const struct config *config = &r->t->project->config;
	int e = config_redact_new(config, environ, &r->redact);

	if (e == 0)
		e = redact_words(r->redact, r->step->argv, &r->pool, &r->argv);
	if (e < 0)
		return e;
	quote_argv(&line, r->argv);
	argv_json_encode(r->argv, &json);
	redact_text(r->redact, r->step->message, strlen(r->step->message),
		    &message);
	if (line.failed || json.failed || message.failed)
		return -ENOMEM;
	r->job.command = pool_dup(&r->pool, line.data, line.len);
	r->job.argv = pool_dup(&r->pool, json.data, json.len);
	r->job.name = pool_strdup(&r->pool, str_cstr(&message));
	return r->job.command && r->job.argv && r->job.name ? 0 : -ENOMEM;
}

static int64_t timeval_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void fill_usage(struct store_job *job)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return;
	job->cpu_user_ns = timeval_ns(usage.ru_utime);
	job->cpu_system_ns = timeval_ns(usage.ru_stime);
	job->max_rss_kib = usage.ru_maxrss;
	job->n_processes = 1;
}

static void fill_git(struct store_job *job, const struct git_facts *git)
{
	job->git_root = text(git->root);
	job->git_commit = text(git->commit);
	job->git_branch = text(git->branch);
	job->git_remote = text(git->remote);
	job->git_snapshot = text(git->snapshot);
	job->git_note = text(git->note);
	job->git_dirty = git->dirty;
	job->git_n_left_out = git->left_out.n;
}

static int fill_outputs(struct recording *r)
{
	const struct transfer *t = r->t;
	CLEANUP(freep) const char **outputs = NULL;

	outputs = calloc(t->n + 1, sizeof(*outputs));
	if (!outputs)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		outputs[i] = r->is_put ? t->items[i].place : t->items[i].path;
	step_command_id("run", t->project->cwd, r->argv, r->job.command_id);
	return step_output_id("run", t->project->cwd, r->argv, outputs, t->n,
			      r->job.output_id);
}

static int fill_job(struct recording *r)
{
	struct store_job *job = &r->job;
	const struct transfer *t = r->t;
	static char host[256];
	uint8_t uid[4];
	const char *user = getenv("USER");

	if (getrandom(uid, sizeof(uid), 0) != sizeof(uid))
		return -EIO;
	(void)gethostname(host, sizeof(host) - 1);
	digest_hex(job->uid, uid, sizeof(uid));
	job->kind = "run";
	job->script = "";
	job->cwd = t->project->cwd;
	job->duration_ns = clock_mono_ns() - t->start_ns;
	job->started_ns = clock_now_ns() - job->duration_ns;
	job->status = STORE_DONE;
	job->complete = true;
	job->tracer = "transfer";
	job->filters = "";
	job->environment = "";
	job->version = roar_program.version;
	job->host = host;
	job->user = user ? user :
			   pool_printf(&r->pool, "uid %u", (unsigned)getuid());
	job->n_outputs = (int64_t)(t->n + t->n_trees);
	job->n_inputs = r->is_put ? job->n_outputs : 0;
	fill_git(job, r->step->git);
	fill_usage(job);
	if (!job->user || fill_command(r) < 0)
		return -ENOMEM;
	return fill_outputs(r);
}

/* ---- rows ---- */

/* Where a file was fetched from.  A URL may have a secret, as presigned ones do. */
static void add_origin(struct recording *r, const char *place, struct str *out)
{
	if (!r->is_put)
		redact_text(r->redact, place, strlen(place), out);
}

static int add_file_row(struct recording *r, const struct transfer_item *item)
{
	CLEANUP(str_release) struct str origin = STR_INIT;
	struct store_file row = {
		.job_id = r->job.id,
		.path = item->path,
		.role = r->is_put ? LINEAGE_INPUT : LINEAGE_OUTPUT,
		.ftype = EVENT_FTYPE_REGULAR,
		.stamp = item->stamp,
		.bytes_read = -1,
		.bytes_written = -1,
		.digests = { .have = DIGEST_SET_BLAKE3 },
	};

	add_origin(r, item->place, &origin);
	if (origin.failed)
		return error_set(r->err, -ENOMEM, "out of memory");
	row.origin = str_cstr(&origin);
	if (r->is_put)
		row.read_order = ++r->order;
	else
		row.write_order = ++r->order;
	if (!r->is_put && !item->was_there)
		row.seen = LINEAGE_FRESH;
	memcpy(row.digests.blake3, item->blake3, BLAKE3_LEN);
	return store_file_add(r->store, &row, r->err);
}

/* What `roar put` has made: an object, or for file:// a file. */
static int add_place_row(struct recording *r, const struct transfer_item *item)
{
	struct store_file row = {
		.job_id = r->job.id,
		.path = item->place,
		.role = LINEAGE_OUTPUT,
		.ftype = EVENT_FTYPE_REGULAR,
		.stamp = { .size = (uint64_t)item->size_bytes },
		.write_order = ++r->order,
		.bytes_read = -1,
		.bytes_written = item->size_bytes,
		.origin = "",
		.digests = { .have = DIGEST_SET_BLAKE3 },
	};
	const struct store_object object = {
		.op = item->n_parts ? "complete-upload" : "put",
		.endpoint = r->t->endpoint,
		.version = item->version,
		.etag = item->etag,
		.ranges = "",
		.copy_source = "",
		.n_parts = item->n_parts,
		.n_requests = item->n_requests,
		.pid = (int32_t)getpid(),
	};

	memcpy(row.digests.blake3, item->blake3, BLAKE3_LEN);
	return item->bucket ?
		       store_object_add(r->store, &row, &object, r->err) :
		       store_file_add(r->store, &row, r->err);
}

static int add_tree_row(struct recording *r, const struct transfer_tree *tree,
			bool is_place)
{
	bool is_object = is_place && r->t->endpoint[0];
	struct store_file row = {
		.job_id = r->job.id,
		.path = is_place ? tree->place : tree->path,
		.role = is_place || !r->is_put ? LINEAGE_OUTPUT : LINEAGE_INPUT,
		.ftype = EVENT_FTYPE_DIRECTORY,
		.stamp = { .size = (uint64_t)tree_bytes(r->t, tree) },
		.read_order = r->is_put && !is_place ? ++r->order : 0,
		.write_order = r->is_put && !is_place ? 0 : ++r->order,
		.bytes_read = -1,
		.bytes_written = -1,
		.origin = r->is_put ? "" : tree->place,
		.digests = { .have = DIGEST_SET_BLAKE3 },
	};
	const struct store_object object = { .op = "put",
					     .endpoint = r->t->endpoint,
					     .version = "",
					     .etag = "",
					     .ranges = "",
					     .copy_source = "" };

	memcpy(row.digests.blake3, tree->blake3, BLAKE3_LEN);
	return is_object ? store_object_add(r->store, &row, &object, r->err) :
			   store_file_add(r->store, &row, r->err);
}

static int add_rows(struct recording *r)
{
	struct transfer *t = r->t;
	int e = store_job_add(r->store, &r->job, r->err);

	for (size_t i = 0; i < t->n && e == 0; i++)
		e = add_file_row(r, &t->items[i]);
	for (size_t i = 0; i < t->n_trees && e == 0; i++)
		e = add_tree_row(r, &t->trees[i], false);
	for (size_t i = 0; r->is_put && i < t->n && e == 0; i++)
		e = add_place_row(r, &t->items[i]);
	for (size_t i = 0; r->is_put && i < t->n_trees && e == 0; i++)
		e = add_tree_row(r, &t->trees[i], true);
	return e;
}

static int write_job(struct recording *r)
{
	struct store_session session;
	int e = store_begin(r->store, r->err);

	if (e < 0)
		return e;
	e = store_session_active(r->store, true, &session, r->err);
	r->job.session_id = session.id;
	if (e == 0)
		e = store_job_place(r->store, &r->job, r->err);
	if (e == 0)
		e = add_rows(r);
	if (e == 0)
		e = store_commit(r->store, r->err);
	if (e < 0)
		store_rollback(r->store);
	return e;
}

int transfer_record(struct transfer *t, const struct transfer_step *step,
		    int64_t *ret_step, struct roar_error *err)
{
	struct recording r = { .t = t,
			       .step = step,
			       .is_put = !strcmp(step->kind, "put"),
			       .err = err };
	int e = 0;

	for (size_t i = 0; i < t->n_trees && e == 0; i++)
		e = hash_tree(t, &t->trees[i]);
	if (e == 0)
		e = fill_job(&r);
	if (e < 0)
		(void)error_set(err, e, "cannot describe the step: %s",
				strerror(-e));
	if (e == 0)
		e = project_store_create(t->project, &r.store, err);
	if (e == 0)
		e = write_job(&r);
	*ret_step = r.job.step;
	store_close(r.store);
	redact_free(r.redact);
	pool_release(&r.pool);
	return e;
}

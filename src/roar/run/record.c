/* record.c - the facts of a run into the store, in one transaction */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/quote.h"
#include "commands.h"
#include "hash/digest/digest_cache.h"
#include "hash/file/file_hash.h"
#include "hash/file/stability.h"
#include "lineage/step.h"
#include "run/argv_json.h"
#include "run/checkpoints.h"
#include "run/collections.h"
#include "run/contents.h"
#include "run/edges.h"
#include "run/objects.h"
#include "run/run.h"
#include "run/shards.h"
#include "run/situation.h"
#include "run/verdict.h"

/* ---- the job row ---- */

static const char *text(const char *s)
{
	return s ? s : "";
}

static int64_t timeval_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void fill_git(struct run *run, struct store_job *job)
{
	const struct git_facts *git = &run->git;

	job->git_root = text(git->root);
	job->git_commit = text(git->commit);
	job->git_branch = text(git->branch);
	job->git_remote = text(git->remote);
	job->git_snapshot = text(git->snapshot);
	job->git_note = text(git->note);
	job->git_dirty = git->dirty;
	job->git_n_left_out = git->left_out.n;
}

static int fill_command(struct run *run, struct store_job *job)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	CLEANUP(str_release) struct str json = STR_INIT;
	const char *script = step_script(run->meta.argv);

	quote_argv(&line, run->meta.argv);
	argv_json_encode(run->meta.argv, &json);
	if (line.failed || json.failed)
		return -ENOMEM;
	job->command = pool_dup(&run->pool, line.data, line.len);
	job->argv = pool_dup(&run->pool, json.data, json.len);
	job->script = text(script);
	return job->command && job->argv ? 0 : -ENOMEM;
}

static int fill_identity(struct run *run, struct store_job *job)
{
	CLEANUP(freep) const char **outputs = NULL;
	const struct run_meta *m = &run->meta;
	size_t n = 0;

	outputs = calloc((size_t)run->n_outputs + 1, sizeof(*outputs));
	if (!outputs)
		return -ENOMEM;
	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		if (!e->filter && (e->roles & LINEAGE_OUTPUT))
			outputs[n++] = e->file->path;
	}
	n += objects_outputs(run, outputs + n);
	step_command_id(m->kind, m->cwd, m->argv, job->command_id);
	return step_output_id(m->kind, m->cwd, m->argv, outputs, n,
			      job->output_id);
}

static int fill_job(struct run *run, struct store_job *job)
{
	const struct run_meta *m = &run->meta;
	size_t n_processes;
	int r;

	(void)fold_processes(run->fold, &n_processes);
	memcpy(job->uid, m->uid, sizeof(job->uid));
	job->kind = m->kind;
	job->name = m->name;
	job->rerun_of = m->rerun_of;
	job->cwd = m->cwd;
	job->started_ns = m->started_ns;
	job->duration_ns = run->duration_ns;
	job->status = run->interrupted ? STORE_INTERRUPTED : STORE_DONE;
	job->exit_code = verdict_command_code(run);
	job->environment = m->environment;
	job->version = roar_program.version;
	job->host = m->host;
	job->user = m->user;
	job->n_inputs = run->n_inputs;
	job->n_outputs = run->n_outputs + checkpoints_count_outputs(run);
	job->n_filtered = run->n_filtered;
	job->n_processes = (int64_t)n_processes;
	job->n_edges_left_out = edges_left_out(run);
	job->cpu_user_ns = timeval_ns(run->result.usage.ru_utime);
	job->cpu_system_ns = timeval_ns(run->result.usage.ru_stime);
	job->max_rss_kib = run->result.usage.ru_maxrss;
	fill_git(run, job);
	r = fill_command(run, job);
	return r < 0 ? r : fill_identity(run, job);
}

/* ---- file rows ---- */

/* A symbolic link is its text. */
static void fill_link(const char *path, struct store_file *row)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target));
	struct stat st;

	if (n < 0 || lstat(path, &st) < 0)
		return;
	(void)digest_buffer(target, (size_t)n, DIGEST_SET_BLAKE3,
			    &row->digests);
	row->stamp = stamp_of(&st);
}

/* The stamp of a hashed output: kept, or still there to be asked for. */
static struct stamp output_stamp(const struct lineage_file *f,
				 const struct content *c)
{
	struct stamp now = { 0 };
	struct stat st;

	if (c->extra)
		return c->extra->stamp;
	if (lstat(f->path, &st) == 0)
		now = stamp_of(&st);
	if (stamp_mark(&now) != c->mark)
		now.ino = 0; /* good for the size, not for the cache */
	return now;
}

static void fill_content(const struct run_file *e, enum content_side side,
			 struct store_file *row)
{
	const struct content *c = contents_find(e->file, side);

	if (!c || c->pending || c->result < 0)
		return;
	contents_get(c, &row->digests);
	if (c->reported)
		row->seen |= LINEAGE_REPORTED;
	row->stamp = side == CONTENT_INPUT ? e->file->first :
					     output_stamp(e->file, c);
}

/* May others believe the digest as long as the stamp is the same?  Somebody outside
 * of the run may have mapped even what the run has made. */
static bool is_lasting(struct run *run, const struct run_file *e,
		       const struct stamp *stamp, int64_t taken_ns)
{
	return !run->recovered && stamp_exists(stamp) &&
	       !stamp_is_racy(stamp, taken_ns) &&
	       stability_is_proven(&run->stability, e->file->path, stamp,
				   taken_ns);
}

/* Reading a small output again costs about as much as proving that it need not be read,
 * and happens in parallel to the command that reads it; the shell waits for this here.
 * So of many outputs only the first are added to the cache. */
static bool is_worth_it(struct run *run, enum content_side side,
			const struct stamp *stamp)
{
	enum { SMALL_BYTES = 64 * 1024, MANY = 100 };

	return side == CONTENT_INPUT || stamp->size >= SMALL_BYTES ||
	       run->n_small_outputs++ < MANY;
}

/* Digests that roar read itself, not looked up, are worth remembering. */
static void remember(struct run *run, const struct run_file *e,
		     enum content_side side, const struct store_file *row)
{
	const struct content *c = contents_find(e->file, side);
	int64_t taken_ns = c ? contents_taken_ns(run, c) : 0;

	/* An early digest that the look after the end has found true. */
	if (side == CONTENT_OUTPUT && e->out_true)
		taken_ns = run->looked_ns;
	if (!run->cache || !c || c->pending || c->result < 0 || c->cached ||
	    c->reported || !is_worth_it(run, side, &row->stamp) ||
	    !is_lasting(run, e, &row->stamp, taken_ns))
		return;
	(void)digest_cache_put(run->cache, &row->stamp, taken_ns,
			       &row->digests);
}

/* What was read had the name it was read under, unless it was not opened. */
static const char *origin(const struct lineage_file *f, unsigned role)
{
	bool implied = f->seen & LINEAGE_IMPLIED;

	if (!f->origin || implied != (role == LINEAGE_INPUT))
		return "";
	return f->origin->path;
}

/* What was read is what the name stood for when it was opened. */
static void fill_sums(const struct run *run, const struct run_file *e,
		      unsigned role, struct store_file *row)
{
	const struct lineage_file *f = e->file;
	const struct sum *sum = role == LINEAGE_INPUT ?
					sums_find(&run->sums, f->first.dev,
						  f->first.ino, f->first_ns) :
					e->sum;

	row->bytes_read = sum ? (int64_t)sum->bytes_read : -1;
	row->bytes_written = sum ? (int64_t)sum->bytes_written : -1;
}

static int add_row(struct run *run, struct store *store,
		   const struct run_file *e, unsigned role,
		   struct roar_error *err)
{
	const struct lineage_file *f = e->file;
	enum content_side side = role == LINEAGE_INPUT ? CONTENT_INPUT :
							 CONTENT_OUTPUT;
	struct store_file row = {
		.job_id = run->job.id,
		.path = f->path,
		.role = (uint8_t)role,
		.intermediate = role != LINEAGE_INPUT &&
				(e->roles & LINEAGE_INTERMEDIATE),
		.filter = e->filter,
		.ftype = role == LINEAGE_OUTPUT ? e->after_ftype : f->ftype,
		.seen = (uint16_t)(f->seen & ~RUN_BITS),
		.read_order = f->read_order,
		.write_order = f->write_order,
		.reader = f->reader,
		.writer = f->writer,
		.origin = origin(f, role),
	};
	int r;

	fill_sums(run, e, role, &row);
	if (role == LINEAGE_OUTPUT && e->prior)
		row.seen |= LINEAGE_PRIOR;
	if (role == LINEAGE_OUTPUT && e->fresh)
		row.seen |= LINEAGE_FRESH;
	if (!e->filter)
		fill_content(e, side, &row);
	if (!e->filter && role == LINEAGE_OUTPUT && !e->foreign &&
	    row.ftype == EVENT_FTYPE_SYMLINK)
		fill_link(f->path, &row);
	r = store_file_add(store, &row, err);
	if (r == 0)
		remember(run, e, side, &row);
	return r;
}

static int add_files(struct run *run, struct store *store,
		     struct roar_error *err)
{
	static const unsigned roles[] = { LINEAGE_INPUT, LINEAGE_OUTPUT,
					  LINEAGE_TEMPORARY, LINEAGE_TOUCHED };

	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		for (size_t k = 0; k < ARRAY_SIZE(roles); k++) {
			int r;

			if (!(e->roles & roles[k]))
				continue;
			r = add_row(run, store, e, roles[k], err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- the rest ---- */

static int add_processes(struct run *run, struct store *store,
			 struct roar_error *err)
{
	size_t n;
	const struct lineage_process *p = fold_processes(run->fold, &n);

	for (size_t i = 0; i < n; i++) {
		struct store_process row = {
			.pid = p[i].pid,
			.parent = p[i].parent,
			.command = p[i].command,
			.start_ns = p[i].start_ns,
			.end_ns = p[i].end_ns,
			.status = p[i].status,
			.n_execs = p[i].n_execs,
		};
		int r = store_process_add(store, run->job.id, &row, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_gaps(struct run *run, struct store *store,
		    struct roar_error *err)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);

	for (size_t i = 0; i < n; i++) {
		struct store_gap row = { gaps[i].code, gaps[i].detail,
					 gaps[i].count };
		int r = store_gap_add(store, run->job.id, &row, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_left_out(struct run *run, struct store *store,
			struct roar_error *err)
{
	const struct git_left_outs *list = &run->git.left_out;

	for (uint32_t i = 0; i < list->n_items; i++) {
		const struct store_left_out row = {
			.path = list->items[i].path,
			.reason = git_reason_text(list->items[i].reason),
		};
		int r = store_left_out_add(store, run->job.id, &row, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_tags(struct run *run, struct store *store,
		    struct roar_error *err)
{
	const struct run_tags *tags = &run->meta.tags;

	for (size_t i = 0; i < tags->n; i++) {
		int r = store_tag_add(store, run->job.id, &tags->list[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int record_begin(struct run *run, struct store *store, struct roar_error *err)
{
	struct store_session session;
	int64_t start = clock_mono_ns();
	int r = fill_job(run, &run->job);

	if (r < 0)
		return error_set(err, r, "out of memory");
	r = store_begin(store, err);
	if (r < 0)
		return r;
	r = store_session_active(store, true, &session, err);
	if (r == 0) {
		run->job.session_id = session.id;
		r = store_job_place(store, &run->job, err);
	}
	if (r < 0)
		store_rollback(store);
	run->record_ns = clock_mono_ns() - start;
	return r;
}

static int write_rows(struct run *run, struct store *store,
		      struct roar_error *err)
{
	static int (*const parts[])(struct run * run, struct store * store,
				    struct roar_error * err) = {
		add_processes,	  add_gaps,	    add_left_out,
		add_tags,	  shards_record,    add_files,
		edges_record,	  objects_record,   checkpoints_record,
		ranks_record,	  situation_record, collections_record,
		run_group_record,
	};
	int r = store_job_add(store, &run->job, err);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
		r = parts[i](run, store, err);
	return r;
}

int record_commit(struct run *run, struct store *store, struct roar_error *err)
{
	int64_t start = clock_mono_ns();
	/* There may be gaps that record_begin() did not know of. */
	int r = verdict_fill(run, &run->job);

	assert(run->job.step);
	if (r < 0)
		(void)error_set(err, r, "out of memory");
	else
		r = write_rows(run, store, err);
	if (r == 0)
		r = store_commit(store, err);
	if (r < 0)
		store_rollback(store);
	run->record_ns += clock_mono_ns() - start;
	return r;
}

/* show_job.c - the block of one job: facts, verdict, files, processes. */
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "event/event.h"
#include "lineage/filter.h"
#include "query/producer.h"
#include "query/variant.h"
#include "show/show.h"
#include "show/show_code.h"
#include "show/show_collection.h"
#include "show/show_job.h"
#include "show/show_processes.h"
#include "show/show_shards.h"
#include "show/show_situation.h"
#include "show/show_variants.h"
#include "ui/view.h"
#include "ui/view_labels.h"
#include "ui/view_nodes.h"

static int read_block(struct job_block *b, struct roar_error *err)
{
	struct view *v = b->view;
	int64_t id = b->job->id;
	struct store_job_query query = {
		.session_id = b->job->session_id,
		.kind = b->job->kind,
		.step = b->job->step,
		.limit = 1,
	};
	struct store_job *latest;
	size_t n;
	int r;

	r = store_files(v->store, &v->pool, id, b->options->all, &b->files,
			&b->n_files, err);
	if (r >= 0)
		r = store_gaps(v->store, &v->pool, id, &b->gaps, &b->n_gaps,
			       err);
	if (r >= 0)
		r = store_filter_counts(v->store, &v->pool, id, &b->filters,
					&b->n_filters, err);
	if (r >= 0)
		r = show_processes_read(b, err);
	if (r >= 0 && b->job->git_n_left_out)
		r = store_left_out(v->store, &v->pool, id, &b->left_out,
				   &b->n_left_out, err);
	if (r >= 0)
		r = store_shards(v->store, &v->pool, id, &b->shards,
				 &b->n_shards, err);
	if (r >= 0)
		r = show_tags_read(v, b->job, &b->tags, err);
	if (r >= 0)
		r = store_jobs(v->store, &v->pool, &query, &latest, &n, err);
	if (r < 0)
		return r;
	b->n_executions = n ? latest->attempt : b->job->attempt;
	return 0;
}

/* ---- facts ---- */

static void add_text_line(struct view *v, const char *label, const char *text)
{
	view_label(v, label);
	quote_printable(&v->out, text, strlen(text));
	str_addc(&v->out, '\n');
}

static void add_identity(struct job_block *b)
{
	struct view *v = b->view;
	const struct store_job *job = b->job;

	term_add(&v->out, &v->term, COLOR_BOLD, "Job ");
	term_add(&v->out, &v->term, COLOR_YELLOW, job->uid);
	str_addc(&v->out, '\n');
	view_label(v, "Step:");
	view_step_full(v, &v->out, job);
	if (job->name[0]) {
		str_addc(&v->out, ' ');
		quote_printable(&v->out, job->name, strlen(job->name));
	}
	if (b->n_executions > 1)
		str_addf(&v->out, " (execution %lld of %lld)",
			 (long long)job->attempt, (long long)b->n_executions);
	str_addc(&v->out, '\n');
	view_label(v, "Command:");
	if (b->options->all)
		quote_printable(&v->out, job->command, strlen(job->command));
	else
		view_cut(&v->out, job->command, 1000);
	str_addc(&v->out, '\n');
	add_text_line(v, "Directory:", job->cwd);
}

static void add_outcome(struct job_block *b)
{
	struct view *v = b->view;
	const struct store_job *job = b->job;

	view_label(v, "Started:");
	clock_format(&v->out, job->started_ns);
	str_addc(&v->out, '\n');
	view_label(v, "Duration:");
	clock_format_duration(&v->out, job->duration_ns);
	str_addc(&v->out, '\n');
	view_label(v, "Exit:");
	str_addf(&v->out, "%d ", job->exit_code);
	term_add(&v->out, &v->term, view_status_color(job), view_outcome(job));
	str_addc(&v->out, '\n');
}

static void add_verdict(struct job_block *b)
{
	struct view *v = b->view;

	view_label(v, "Record:");
	term_add(&v->out, &v->term,
		 b->job->complete ? COLOR_GREEN : COLOR_YELLOW,
		 view_verdict_word(b->job));
	str_addc(&v->out, '\n');
	for (size_t i = 0; i < b->n_gaps; i++) {
		const struct store_gap *gap = &b->gaps[i];

		str_adds(&v->out, "                  - ");
		str_adds(&v->out, event_gap_text((unsigned)gap->code));
		if (gap->detail[0]) {
			str_adds(&v->out, ": ");
			view_cut(&v->out, gap->detail, 400);
		}
		if (gap->count > 1)
			str_addf(&v->out, " (%lld times)",
				 (long long)gap->count);
		str_addc(&v->out, '\n');
	}
}

static void add_repository(struct view *v, const struct store_job *job)
{
	static const char *const states[] = {
		[TRI_UNKNOWN] = "state unknown",
		[TRI_NO] = "clean",
		[TRI_YES] = "uncommitted changes",
	};

	view_label(v, "Git:");
	view_cut(&v->out, job->git_branch[0] ? job->git_branch : "(detached)",
		 200);
	if (job->git_commit[0])
		str_addf(&v->out, " @ %.12s", job->git_commit);
	else
		str_adds(&v->out, ", no commit yet");
	str_addf(&v->out, ", %s\n", states[job->git_dirty]);
	if (job->git_snapshot[0])
		add_text_line(v, "Snapshot:", job->git_snapshot);
	if (job->git_remote[0])
		add_text_line(v, "Remote:", job->git_remote);
}

/* There may be a note and nothing else, when git itself failed. */
static void add_git(struct view *v, const struct store_job *job)
{
	if (job->git_root[0])
		add_repository(v, job);
	if (job->git_note[0])
		add_text_line(v, "Note:", job->git_note);
}

/* "3 processes escaped", "no event lost" */
static void add_counted(struct str *out, int64_t n, const char *noun,
			const char *what)
{
	if (n)
		format_count(out, (uint64_t)n, noun);
	else
		str_addf(out, "no %s", noun);
	str_adds(out, what);
}

static void add_restored(struct view *v, const struct store_job *job)
{
	const struct store_job *from = NULL;
	struct roar_error err = { 0 };

	(void)variant_restored_from(&v->query, job, &from, &err);
	view_label(v, "Tracer:");
	str_adds(&v->out,
		 "restore: the command did not run; the outputs, verified, "
		 "are those of ");
	if (from) {
		show_variant_ref(&v->out, from);
		str_addf(&v->out, " %s\n", from->uid);
	} else {
		str_adds(&v->out, "an earlier execution\n");
	}
}

static void add_observation(struct view *v, const struct store_job *job)
{
	if (variant_is_restored(job)) {
		add_restored(v, job);
		return;
	}
	view_label(v, "Tracer:");
	view_cut(&v->out, job->tracer, 40);
	if (job->attach_ns > 0) {
		str_adds(&v->out, ", attached in ");
		clock_format_duration(&v->out, job->attach_ns);
	}
	str_addc(&v->out, '\n');
	view_label(v, "Seen:");
	add_counted(&v->out, job->n_processes, "process", ", ");
	add_counted(&v->out, job->n_escaped, "process", " escaped, ");
	add_counted(&v->out, job->n_lost, "event", " lost, ");
	add_counted(&v->out, job->n_rings, "io_uring ring", ", ");
	add_counted(&v->out, job->n_namespaces, "file",
		    " in a foreign namespace\n");
	if (job->environment[0])
		add_text_line(v, "Environment:", job->environment);
	view_label(v, "Filters:");
	view_cut(&v->out, job->filters[0] ? job->filters : "none", 400);
	str_addc(&v->out, '\n');
}

static void add_machine(struct view *v, const struct store_job *job)
{
	view_label(v, "Recorded by:");
	view_cut(&v->out, job->user, 100);
	str_addc(&v->out, '@');
	view_cut(&v->out, job->host, 100);
	str_adds(&v->out, ", roar ");
	view_cut(&v->out, job->version, 40);
	str_addc(&v->out, '\n');
	view_label(v, "Resources:");
	if (job->max_rss_kib) {
		clock_format_duration(&v->out, job->cpu_user_ns);
		str_adds(&v->out, " user, ");
		clock_format_duration(&v->out, job->cpu_system_ns);
		str_adds(&v->out, " system, ");
		format_size(&v->out, (uint64_t)job->max_rss_kib * 1024);
		str_adds(&v->out, " peak memory, ");
	} else {
		str_adds(&v->out, "not measured, ");
	}
	str_addf(&v->out, "%lld %s\n", (long long)job->n_processes,
		 job->n_processes == 1 ? "process" : "processes");
}

/* ---- files ---- */

static void add_order(struct view *v, const struct store_file *f)
{
	int64_t order = f->role & LINEAGE_INPUT ? f->read_order :
						  f->write_order;

	if (order)
		str_addf(&v->out, "#%lld", (long long)order);
	else
		str_addc(&v->out, '-');
}

static int add_source(struct view *v, const struct store_file *f,
		      struct roar_error *err)
{
	const struct store_job *maker;
	int r;

	r = producer_find(&v->query, f, &maker, err);
	if (r < 0)
		return r;
	if (!maker)
		return 0;
	str_adds(&v->out, "  from ");
	view_step_full(v, &v->out, maker);
	str_addf(&v->out, " %s", maker->uid);
	return 0;
}

/* Of an input the run may have needed a part only; or it read it several times. */
static void add_part(struct view *v, const struct store_file *f)
{
	if (!(f->role & LINEAGE_INPUT) || f->bytes_read <= 0 ||
	    (uint64_t)f->bytes_read == f->stamp.size)
		return;
	str_adds(&v->out, "  ");
	format_size(&v->out, (uint64_t)f->bytes_read);
	str_adds(&v->out, " read");
}

static int add_file(struct job_block *b, const struct store_file *f,
		    struct roar_error *err)
{
	const struct store_object *object;
	struct view *v = b->view;
	struct str cell = STR_INIT;
	size_t start = v->out.len;
	int r = show_object_find(v, &b->objects, f, &object, err);

	str_adds(&v->out, "  ");
	add_order(v, f);
	view_pad(&v->out, start, 9);
	view_hash(&cell, &f->digests);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	if (stamp_exists(&f->stamp) || f->artifact_id || f->stamp.size)
		format_size(&cell, f->stamp.size);
	else
		str_addc(&cell, '-');
	view_cell_str(v, COLOR_NONE, &cell, 12);
	view_path(v, &v->out, f->path);
	if (f->filter)
		str_addf(&v->out, "  [%s]", filter_name(f->filter));
	if (f->ftype != EVENT_FTYPE_REGULAR && f->ftype != EVENT_FTYPE_NONE)
		str_addf(&v->out, "  (%s)", view_ftype_word(f->ftype));
	if (f->intermediate)
		str_adds(&v->out, "  read again by the run");
	if (f->seen & LINEAGE_REPORTED)
		str_adds(&v->out, "  digest by writer");
	add_part(v, f);
	if (f->origin[0]) {
		str_adds(&v->out, f->seen & LINEAGE_IMPLIED ?
					  "  through its compiled " :
				  strstr(f->origin, "://") ? "  fetched from " :
							     "  renamed from ");
		view_path(v, &v->out, f->origin);
	}
	show_object_text(v, object);
	if (r >= 0 && f->role & LINEAGE_INPUT)
		r = add_source(v, f, err);
	str_addc(&v->out, '\n');
	str_release(&cell);
	return r;
}

static int add_role(struct job_block *b, unsigned role, struct roar_error *err)
{
	static const char *const titles[] = {
		[LINEAGE_INPUT] = "Inputs",
		[LINEAGE_OUTPUT] = "Outputs",
		[LINEAGE_TEMPORARY] = "Temporaries",
		[LINEAGE_TOUCHED] = "Touched, unchanged",
	};
	uint64_t limit = b->options->all ? UINT64_MAX : SHOW_ROWS;
	uint64_t n = 0;
	uint64_t shown = 0;
	int r = 0;

	for (size_t i = 0; i < b->n_files; i++)
		n += b->files[i].role == role;
	if (!n && role != LINEAGE_INPUT && role != LINEAGE_OUTPUT)
		return 0;
	str_addc(&b->view->out, '\n');
	term_add(&b->view->out, &b->view->term, COLOR_BOLD, titles[role]);
	str_addf(&b->view->out, " (%llu)\n", (unsigned long long)n);
	for (size_t i = 0; r >= 0 && i < b->n_files && shown < limit; i++) {
		if (b->files[i].role != role)
			continue;
		r = add_file(b, &b->files[i], err);
		shown++;
	}
	show_more(b->view, n, shown);
	return r;
}

static void add_filtered(struct job_block *b)
{
	struct view *v = b->view;

	if (!b->n_filters)
		return;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Filtered");
	str_addf(&v->out, " (%lld%s)\n", (long long)b->job->n_filtered,
		 b->options->all ? "" : "; --all lists them");
	for (size_t i = 0; i < b->n_filters; i++) {
		const struct store_filter_count *f = &b->filters[i];

		view_label(v, filter_name(f->filter));
		str_addf(&v->out, "  %lld read, %lld written\n",
			 (long long)f->n_read, (long long)f->n_written);
	}
}

/* ---- shards ---- */

/* Said by its processes, not seen. */
static void add_shards(struct job_block *b)
{
	enum { SHOWN = 10 };
	struct view *v = b->view;
	size_t shown = b->options->all || b->n_shards < SHOWN ? b->n_shards :
								SHOWN;

	if (!b->n_shards)
		return;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Shards");
	str_addf(&v->out, " (%zu, as reported by its processes)\n",
		 b->n_shards);
	for (size_t i = 0; i < shown; i++)
		show_shard_line(v, &b->shards[i]);
	show_more(v, b->n_shards, shown);
}

static int add_text(struct job_block *b, struct roar_error *err)
{
	int r;

	add_identity(b);
	add_outcome(b);
	add_verdict(b);
	add_observation(b->view, b->job);
	add_git(b->view, b->job);
	show_code_text(b->view, b->job, b->files, b->n_files);
	add_machine(b->view, b->job);
	show_ranks_text(b);
	r = show_situation_text(b->view, b->job->id, err);
	if (r < 0)
		return r;
	view_nodes(b->view, b->job);
	view_labels(b->view, LABEL_JOB, b->job->id);
	r = show_tags_text(b->view, &b->tags, b->job->id, b->options, err);
	if (r >= 0)
		r = show_variants_text(b->view, b->job, b->options, err);
	for (size_t i = 0; r >= 0 && i < JOB_BLOCK_ROLES; i++)
		r = add_role(b, job_block_roles[i], err);
	if (r >= 0)
		r = show_collections_text(b->view, b->job->id, err);
	add_shards(b);
	add_filtered(b);
	if (r >= 0 && b->options->all)
		r = show_situation_lists(b->view, b->job->id, err);
	return r < 0 ? r : show_processes_text(b);
}

int show_job(struct view *v, const struct store_job *job,
	     const struct show_options *o, struct roar_error *err)
{
	struct job_block b = { .view = v, .job = job, .options = o };
	int r;

	r = read_block(&b, err);
	if (r < 0)
		return r;
	return o->json ? show_job_json(&b, err) : add_text(&b, err);
}

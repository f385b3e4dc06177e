/* verdict.c - see verdict.h */
#include "run/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/quote.h"
#include "cli/cli.h"
#include "project/project.h"
#include "run/contents.h"
#include "run/run.h"

bool verdict_is_complete(const struct run *run)
{
	size_t n;

	(void)fold_gaps(run->fold, &n);
	return n == 0;
}

/* ---- reasons against it ---- */

/* Is it a digest of what was read?  An equal stamp does not prove it if the run itself
 * wrote to the file and the stamp was too young, when the file was opened, to show such
 * a write; then the digest must have been taken before. */
static bool is_of_input(const struct lineage_file *f, const struct content *c)
{
	unsigned wrote = LINEAGE_OPENED_WRITE | LINEAGE_TRUNCATED;

	if (!contents_is_of_first(c, f))
		return false;
	return !(f->seen & wrote) || c->firm ||
	       !stamp_is_racy(&f->first, f->first_ns);
}

static void judge_content(struct run *run, struct run_file *e,
			  enum content_side side)
{
	struct content *c = contents_find(e->file, side);

	if (!c || c->result < 0) {
		int r = c ? c->result : -ENOMEM;

		fold_add_gap(run->fold,
			     r == -EAGAIN ? EVENT_GAP_CHANGED :
					    EVENT_GAP_UNREADABLE,
			     e->file->path);
		return;
	}
	if (side == CONTENT_INPUT && !is_of_input(e->file, c)) {
		c->result = -ESTALE;
		fold_add_gap(run->fold, EVENT_GAP_CHANGED, e->file->path);
	}
}

void verdict_judge(struct run *run)
{
	for (size_t i = 0; i < run->n_files; i++) {
		struct run_file *e = &run->files[i];

		if (run_file_needs_input(e))
			judge_content(run, e, CONTENT_INPUT);
		if (run_file_needs_output(e))
			judge_content(run, e, CONTENT_OUTPUT);
		if (!e->filter && ((e->file->seen & LINEAGE_UNSTABLE) ||
				   e->changed || e->foreign))
			fold_add_gap(run->fold, EVENT_GAP_CHANGED,
				     e->file->path);
	}
}

/* ---- what was counted ---- */

/* How often something was the matter; gaps are also what a recovered run has. */
static int64_t count(const struct run *run, enum event_gap code)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (gaps[i].code == (int)code)
			sum += gaps[i].count;
	return sum;
}

static int64_t larger(int64_t a, uint64_t b)
{
	return b > (uint64_t)a ? (int64_t)b : a;
}

static int list_filters(struct run *run, const char **ret)
{
	CLEANUP(str_release) struct str names = STR_INIT;

	for (int id = FILTER_NONE + 1; id < FILTER_END; id++) {
		if (run->filters.off[id] ||
		    (id == FILTER_PATTERNS && !run->filters.n_patterns))
			continue;
		str_addf(&names, "%s%s", names.len ? " " : "",
			 filter_name((enum filter_id)id));
	}
	if (str_error(&names) < 0)
		return -ENOMEM;
	*ret = pool_dup(&run->pool, str_cstr(&names), names.len);
	return *ret ? 0 : -ENOMEM;
}

int verdict_fill(struct run *run, struct store_job *job)
{
	job->complete = verdict_is_complete(run);
	job->tracer = run->meta.tracer;
	job->attach_ns = run->attach_ns;
	job->n_escaped = larger(count(run, EVENT_GAP_ESCAPED),
				run->result.n_escaped);
	job->n_lost = larger(count(run, EVENT_GAP_LOST), run->result.n_lost);
	job->n_rings = larger(count(run, EVENT_GAP_IO_URING),
			      run->result.n_rings);
	job->n_sums_lost = (int64_t)run->sums.n_lost;
	job->n_namespaces = count(run, EVENT_GAP_NAMESPACE);
	return list_filters(run, &job->filters);
}

/* ---- what follows from it ---- */

int verdict_command_code(const struct run *run)
{
	int status = run->result.status;

	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

int verdict_code(const struct run *run, int code, bool recorded)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);
	const char *why = "there is none";

	if (code || !run->project->config.require_complete || (recorded && !n))
		return code;
	if (recorded)
		why = event_gap_text((unsigned)gaps[0].code);
	(void)cli_fail("run.require_complete is set and the record is not "
		       "complete (%s): the exit status is %d",
		       why, EXIT_INCOMPLETE);
	return EXIT_INCOMPLETE;
}

void verdict_add_advice(struct str *out, const struct run *run)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);

	for (size_t i = 0; i < n; i++) {
		if (gaps[i].code != EVENT_GAP_SETUID)
			continue;
		str_adds(out, "roar: ");
		quote_name(out, gaps[i].detail, strlen(gaps[i].detail));
		str_adds(
			out,
			" ran without its set-user-id privilege; use --tracer "
			"preload or eBPF ('roar tracer enable ebpf') to keep it\n");
	}
}

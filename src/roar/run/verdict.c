/* verdict.c - see verdict.h */
#include "run/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "cli/cli.h"
#include "project/project.h"
#include "run/run.h"

bool verdict_is_complete(const struct run *run)
{
	size_t n;

	(void)fold_gaps(run->fold, &n);
	return n == 0;
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
		str_adds(out, " had to run without its set-user-id privilege; "
			      "it keeps it with --tracer preload, or with eBPF "
			      "('roar tracer enable ebpf')\n");
	}
}

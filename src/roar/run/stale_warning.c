/* stale_warning.c - see stale_warning.h */
#include "run/stale_warning.h"

#include <stdio.h>

#include "query/pipeline.h"
#include "query/query.h"
#include "query/stale_steps.h"
#include "ui/view.h"

enum { NAMED = 4 }; /* steps a sentence has room for */

static void add_steps(struct str *out, const struct pipeline *p,
		      const uint32_t *nodes, size_t n, const char *before,
		      const char *between, const char *after)
{
	for (size_t i = 0; i < n; i++) {
		const struct store_outline *o = pipeline_outline(p, nodes[i]);

		str_adds(out, i ? between : "");
		str_adds(out, before);
		view_step_number(out, o->is_build, o->step);
		str_adds(out, after);
	}
}

static int print(const struct pipeline *p, const struct stale_steps *stale)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	size_t n = stale->n;
	size_t named = n > NAMED ? NAMED : n;
	int r;

	str_adds(&out, "roar: warning: ");
	add_steps(&out, p, stale->nodes, named, "", ", ", "");
	if (n > named)
		str_addf(&out, " and %zu more", n - named);
	str_addf(&out, ", which this step depends on, %s stale: ",
		 n == 1 ? "is" : "are");
	if (n > named) {
		str_adds(&out, "'roar dag --stale-only' lists them\n");
	} else {
		add_steps(&out, p, stale->nodes, named, "'roar run ", ", then ",
			  "'");
		str_addf(&out, " %s up to date\n",
			 n == 1 ? "brings it" : "bring them");
	}
	r = str_error(&out);
	if (r >= 0)
		(void)fputs(str_cstr(&out), stderr);
	return r;
}

int stale_warning_print(struct store *s, const struct store_job *job)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct query q = { .store = s, .pool = &pool };
	struct stale_steps stale = { 0 };
	struct roar_error err = { 0 };
	int r;

	if (!job->n_inputs && !job->n_outputs)
		return 0;
	r = pipeline_load(&q, job->session_id, PIPELINE_NO_JOBS, &p, &err);
	if (r >= 0)
		r = stale_steps_above(&p, &pool, job, &stale);
	if (r >= 0 && stale.n)
		r = print(&p, &stale);
	return r < 0 ? r : (int)stale.n;
}

/* site_reason.c - why an output may differ
 *
 * Evidence first: what differs between the recorded execution and the new one, and what the
 * new content itself shows (the date, the new directory).  Then what the record says of the
 * step that makes results vary: random numbers, hash seeds, threads, GPUs, the network. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/pool.h"
#include "base/vec.h"
#include "lineage/fold.h"
#include "query/job_diff.h"
#include "query/query.h"
#include "reproduce/enclosure.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "store/store_situation.h"
#include "ui/view.h"

enum { CONTENT_READ = 4 << 20, DIFFERENCES_SHOWN = 8 };

static int add(struct site *s, struct site_reasons *reasons, const char *fmt,
	       ...) __attribute__((format(printf, 3, 4)));

static int add(struct site *s, struct site_reasons *reasons, const char *fmt,
	       ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	if (reasons->n == ARRAY_SIZE(reasons->list))
		return 0;
	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	reasons->list[reasons->n] = str_error(&text) < 0 ?
					    NULL :
					    pool_strdup(&s->p->view->pool,
							text.data);
	return reasons->list[reasons->n] ? (reasons->n++, 0) : -ENOMEM;
}

/* ---- the two executions ---- */

/* What a difference of that kind is called; NULL: it is none of the reasons. */
static const char *const kinds[JOB_DIFF_KIND_END] = {
	[JOB_DIFF_CODE] = "code",	  [JOB_DIFF_INPUT] = "input",
	[JOB_DIFF_PACKAGE] = "package",	  [JOB_DIFF_LIBRARY] = "library",
	[JOB_DIFF_VARIABLE] = "variable", [JOB_DIFF_MACHINE] = "machine",
};

static int add_differences(struct site *s, const struct job_diff *diff,
			   struct site_reasons *reasons)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < diff->n && r == 0; i++) {
		const struct job_diff_item *item = &diff->items[i];

		if (!kinds[item->kind] || item->is_incidental ||
		    ++n > DIFFERENCES_SHOWN)
			continue;
		r = add(s, reasons, "%s %.100s: %.80s when recorded, %.80s now",
			kinds[item->kind], item->name,
			item->a ? item->a : "none", item->b ? item->b : "none");
	}
	if (r == 0 && n > DIFFERENCES_SHOWN)
		r = add(s, reasons, "%zu more differences of the situation",
			n - DIFFERENCES_SHOWN);
	return r;
}

/* Compares the recorded job with that of the new record: steps are there in the order in
 * which they ran. */
static int compare_jobs(struct site *s, size_t step,
			struct site_reasons *reasons, struct roar_error *err)
{
	struct view *v = s->p->view;
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(query_release) struct query q = { .pool = &v->pool };
	const char *dir = pool_printf(&v->pool, "%s/.roar", s->dir);
	const struct recipe_roots *roots = &s->p->recipe.roots;
	const struct store_job_query all = { 0 };
	struct store_job *jobs = NULL;
	struct job_diff diff;
	size_t n = 0;
	size_t at = 0;
	int r = dir ? store_open(dir, STORE_READONLY, &store, err) : -ENOMEM;

	if (r < 0)
		return r;
	q.store = store;
	r = store_jobs(store, &v->pool, &all, &jobs, &n, err);
	/* Downloads of inputs are in between. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (recipe_is_transfer(&jobs[i]) || at++ != step)
			continue;
		r = job_diff_make(
			&(struct job_diff_side){ &v->query,
						 s->p->recipe.steps[step].job,
						 roots->base },
			&(struct job_diff_side){ &q, &jobs[i], s->dir },
			&v->pool, &diff, err);
		if (r == 0)
			r = add_differences(s, &diff, reasons);
	}
	return r;
}

/* ---- the content ---- */

static int look_into(struct site *s, const struct site_proof *proof,
		     struct site_reasons *reasons)
{
	CLEANUP(closep) int fd = enclosure_open_file(s->dirfd, proof->place);
	CLEANUP(freep) char *text = malloc(CONTENT_READ);
	char today[32];
	time_t now = time(NULL);
	struct tm tm;
	ssize_t n;
	int r = 0;

	if (!text)
		return -ENOMEM;
	n = fd < 0 ? 0 : fd_read_all(fd, text, CONTENT_READ);
	if (n <= 0)
		return 0;
	if (memmem(text, (size_t)n, s->dir, strlen(s->dir)))
		r = add(s, reasons,
			"path: the file has the name of the new directory in "
			"it");
	(void)strftime(today, sizeof(today), "%Y-%m-%d",
		       localtime_r(&now, &tm));
	if (r == 0 && memmem(text, (size_t)n, today, strlen(today)))
		r = add(s, reasons,
			"time: the file has the date of today in "
			"it");
	(void)snprintf(today, sizeof(today), "%lld", (long long)now / 10000);
	if (r == 0 && memmem(text, (size_t)n, today, strlen(today)))
		r = add(s, reasons,
			"time: the file has a time in seconds in "
			"it");
	return r;
}

/* ---- the record ---- */

/* What a file that the step used says about it. */
static const struct {
	const char *part; /* of its path */
	const char *reason;
} signs[] = {
	{ "/dev/urandom", "randomness: the step read /dev/urandom" },
	{ "/dev/random", "randomness: the step read /dev/random" },
	{ "/dev/nvidia", "GPU: the step used one, and sums of floating-point "
			 "numbers may be in another order each time" },
	{ "/dev/kfd", "GPU: the step used one, and sums of floating-point "
		      "numbers may be in another order each time" },
	{ "/etc/resolv.conf", "network: the step looked up the name of a host" },
	{ "libgomp", "threads: the step has libgomp loaded, and the number of "
		     "threads changes the order of sums" },
	{ "libmkl", "threads: the step has MKL loaded, and the number of "
		    "threads changes the order of sums" },
	{ "libopenblas", "threads: the step has OpenBLAS loaded, and the "
			 "number of threads changes the order of sums" },
};

static int add_signs(struct site *s, const struct store_file *files, size_t n,
		     const char *libraries, struct site_reasons *reasons)
{
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(signs) && r == 0; k++) {
		bool seen = libraries && strstr(libraries, signs[k].part);

		for (size_t i = 0; i < n && !seen; i++)
			seen = strstr(files[i].path, signs[k].part) != NULL;
		if (seen)
			r = add(s, reasons, "%s", signs[k].reason);
	}
	return r;
}

/* Was PYTHONHASHSEED set?  Without it, the order of sets of strings varies. */
static bool has_hash_seed(const char *variables)
{
	return variables && strstr(variables, "\"PYTHONHASHSEED\"");
}

static int look_at_record(struct site *s, size_t step,
			  struct site_reasons *reasons, struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	struct view *v = s->p->view;
	const char *variables = NULL;
	const char *libraries = NULL;
	struct store_file *files;
	size_t n;
	int r = store_files(v->store, &v->pool, t->job->id, true, &files, &n,
			    err);

	if (r == 0)
		r = store_situation(v->store, &v->pool, t->job->id,
				    SITUATION_LIBRARIES, &libraries, err);
	if (r == 0)
		r = store_situation(v->store, &v->pool, t->job->id,
				    SITUATION_VARIABLES, &variables, err);
	if (r == 0)
		r = add_signs(s, files, n, libraries, reasons);
	if (r == 0 && variables && requirements_python(&t->needs) &&
	    !has_hash_seed(variables))
		r = add(s, reasons,
			"hash seed: PYTHONHASHSEED was not set, so the order "
			"of Python's sets of strings varies");
	return r;
}

int site_reasons_find(struct site *s, const struct site_proof *proof,
		      struct site_reasons *ret)
{
	struct roar_error err = { 0 };
	int r = compare_jobs(s, proof->step, ret, &err);

	if (r == 0)
		r = look_into(s, proof, ret);
	if (r == 0)
		r = look_at_record(s, proof->step, ret, &err);
	if (r == 0 && !ret->n)
		r = add(s, ret,
			"nothing in the record explains it: unseeded random "
			"numbers, the clock and the order of threads leave no "
			"trace");
	return r;
}

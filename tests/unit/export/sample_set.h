/* sample_set.h - a set of three jobs: prepare, train, evaluate.
 *
 *	raw.csv ─▶ @1 ─▶ features.bin ─▶ @2 ─▶ model.pt ─▶ (copied by hand) best.pt ─▶ @3
 *
 * @3 writes no file, and updates log.txt in place. */
#ifndef ROAR_TEST_EXPORT_SAMPLE_SET_H
#define ROAR_TEST_EXPORT_SAMPLE_SET_H

#include <string.h>

#include "export/export.h"
#include "export/export_set.h"
#include "query/query.h"
#include "record.h"

static inline void record_sample(struct fixture *f)
{
	put(f, "raw.csv", "raw");
	put(f, "log.txt", "before");
	record_made(f, "aaaa0001", "python prepare.py", "raw.csv",
		    "features.bin", "features");
	record_made(f, "bbbb0002", "python train.py --name 'a $b'",
		    "features.bin", "model.pt", "model");
	put(f, "best.pt", "model");
	job(f, "cccc0003", "python evaluate.py");
	input(f, "best.pt");
	input(f, "log.txt");
	output(f, "log.txt", "after");
	record(f);
}

static inline struct export_set sample_set(struct fixture *f, struct query *q)
{
	const struct store_job_query latest = { .latest_only = true };
	struct roar_error err = { 0 };
	struct store_job *jobs;
	struct export_set set;
	int64_t ids[16];
	size_t n;

	*q = (struct query){ .store = f->store, .pool = &f->pool };
	assert_int_equal(
		store_jobs(f->store, &f->pool, &latest, &jobs, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		ids[i] = jobs[i].id;
	if (export_set_load(q, f->dir, ids, n, &set, &err) < 0)
		fail_msg("%s", err.text);
	return set;
}

/* What the format makes of the set. */
static inline const char *exported(struct fixture *f, struct export_set *set,
				   int (*format)(const struct export_set *set,
						 struct str *out,
						 struct roar_error *err))
{
	struct roar_error err = { 0 };
	struct str out = STR_INIT;
	const char *text;

	if (format(set, &out, &err) < 0)
		fail_msg("%s", err.text);
	text = pool_strdup(&f->pool, str_cstr(&out));
	str_release(&out);
	return text;
}

#endif

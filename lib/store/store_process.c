/* process.c - the processes of a job, and the gaps in what was seen of it. */
#include "store/store_internal.h"

#include <errno.h>

int store_process_add(struct store *s, int64_t job_id,
		      const struct store_process *p, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = query_open(s, SQL_PROCESS_ADD, &q, err);
	if (r < 0)
		return r;
	query_int(&q, job_id);
	query_int(&q, p->pid);
	query_int(&q, p->parent);
	query_int(&q, p->start_ns);
	query_int(&q, p->end_ns);
	query_int(&q, p->status);
	query_text(&q, p->command);
	return query_run(&q, err);
}

int store_processes(struct store *s, struct pool *pool, int64_t job_id,
		    struct store_process **ret, size_t *ret_n,
		    struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_open(s, SQL_PROCESSES, &q, err);

	if (r < 0)
		return r;
	query_int(&q, job_id);
	while ((r = query_next(&q, err)) > 0) {
		struct store_process *p = rows_push(&rows);

		if (!p)
			return error_set(err, -ENOMEM, "out of memory");
		p->pid = (int32_t)column_int(&q);
		p->parent = (int32_t)column_int(&q);
		p->start_ns = column_int(&q);
		p->end_ns = column_int(&q);
		p->status = (int)column_int(&q);
		p->command = column_text(&q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_process *)rows.data;
	*ret_n = rows.n;
	return 0;
}

int store_gap_add(struct store *s, int64_t job_id, const struct store_gap *gap,
		  struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = query_open(s, SQL_GAP_ADD, &q, err);
	if (r < 0)
		return r;
	query_int(&q, job_id);
	query_int(&q, gap->code);
	query_int(&q, gap->count);
	query_text(&q, gap->detail);
	return query_run(&q, err);
}

int store_gaps(struct store *s, struct pool *pool, int64_t job_id,
	       struct store_gap **ret, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_open(s, SQL_GAPS, &q, err);

	if (r < 0)
		return r;
	query_int(&q, job_id);
	while ((r = query_next(&q, err)) > 0) {
		struct store_gap *gap = rows_push(&rows);

		if (!gap)
			return error_set(err, -ENOMEM, "out of memory");
		gap->code = (int)column_int(&q);
		gap->count = column_int(&q);
		gap->detail = column_text(&q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_gap *)rows.data;
	*ret_n = rows.n;
	return 0;
}

/* store_process.c - the processes of a job, and the gaps in what was seen of it. */
#include "store/store_internal.h"

#include <errno.h>

int store_process_add(struct store *s, int64_t job_id,
		      const struct store_process *p, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_PROCESS_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, p->pid);
	statement_int(&q, p->parent);
	statement_int(&q, p->start_ns);
	statement_int(&q, p->end_ns);
	statement_int(&q, p->status);
	statement_int(&q, p->n_execs);
	statement_text(&q, p->command);
	return statement_run(&q, err);
}

int store_processes(struct store *s, struct pool *pool, int64_t job_id,
		    struct store_process **ret, size_t *ret_n,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_PROCESSES, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_process *p = rows_push(&rows);

		if (!p)
			return error_set(err, -ENOMEM, "out of memory");
		p->pid = (int32_t)column_int(&q);
		p->parent = (int32_t)column_int(&q);
		p->start_ns = column_int(&q);
		p->end_ns = column_int(&q);
		p->status = (int)column_int(&q);
		p->n_execs = column_int(&q);
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
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_GAP_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, gap->code);
	statement_int(&q, gap->count);
	statement_text(&q, gap->detail);
	return statement_run(&q, err);
}

int store_gaps(struct store *s, struct pool *pool, int64_t job_id,
	       struct store_gap **ret, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_GAPS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
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

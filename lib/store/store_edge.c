/* store_edge.c - edges between the processes and the files of a job; ranks. */
#include "store/store_edge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pool.h"
#include "lineage/fold.h"
#include "store/store_internal.h"

/* ---- adding ---- */

static int insert(struct store *s, enum store_sql id, int64_t job_id,
		  int64_t first, const struct store_edge *edges, size_t n,
		  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, id, &q, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		statement_int(&q, job_id);
		statement_int(&q, first + (int64_t)i);
		statement_int(&q, edges[i].process);
		statement_int(&q, edges[i].file);
		statement_int(&q, edges[i].kind);
		statement_int(&q, edges[i].event);
	}
	return statement_run(&q, err);
}

int store_edges_add(struct store *s, int64_t job_id, int64_t first,
		    const struct store_edge *edges, size_t n,
		    struct roar_error *err)
{
	int r = store_must_write(s, err);

	while (r == 0 && n) {
		bool many = n >= STORE_EDGE_BATCH;
		size_t step = many ? STORE_EDGE_BATCH : 1;

		r = insert(s, many ? SQL_EDGE_ADD_MANY : SQL_EDGE_ADD, job_id,
			   first, edges, step, err);
		edges += step;
		n -= step;
		first += (int64_t)step;
	}
	return r;
}

/* ---- what the rows of files say ---- */

struct pid {
	int32_t pid;
	int64_t process; /* its number; 0: several processes had the pid */
};

/* The processes of a job, by pid. */
struct pids {
	struct pid *list;
	size_t n;
};

static int by_pid(const void *a, const void *b)
{
	const struct pid *x = a;
	const struct pid *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static int read_pids(struct store *s, struct pool *pool, int64_t job_id,
		     struct pids *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(*ret->list) };
	int r = statement_open(s, SQL_PROCESS_PIDS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct pid *pid = rows_push(&rows);

		if (!pid)
			return error_set(err, -ENOMEM, "out of memory");
		pid->process = column_int(&q);
		pid->pid = (int32_t)column_int(&q);
	}
	if (r < 0)
		return r;
	*ret = (struct pids){ (struct pid *)rows.data, rows.n };
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_pid);
	for (size_t i = 1; i < ret->n; i++)
		if (ret->list[i].pid == ret->list[i - 1].pid)
			ret->list[i].process = ret->list[i - 1].process = 0;
	return 0;
}

static int find_pid(const void *key, const void *element)
{
	const int32_t *pid = key;
	const struct pid *p = element;

	return (*pid > p->pid) - (*pid < p->pid);
}

/* Adds the edge to a process that the row of a file names, if it is on record. */
static int add_named(struct rows *rows, const struct pids *pids, int32_t pid,
		     int64_t file, enum lineage_edge_kind kind, int64_t event)
{
	const struct pid *p = pids->n ? bsearch(&pid, pids->list, pids->n,
						sizeof(*p), find_pid) :
					NULL;
	struct store_edge *edge;

	if (!pid || !p || !p->process)
		return 0;
	edge = rows_push(rows);
	if (!edge)
		return -ENOMEM;
	*edge = (struct store_edge){ p->process, file, event, (uint8_t)kind };
	return 0;
}

/* A row of role input names the first reader; another one names the first writer, and the
 * first reader if the run read nothing but its own content there. */
static int add_named_by(struct rows *rows, const struct pids *pids,
			const struct store_file *f)
{
	bool is_input = f->role & LINEAGE_INPUT;
	enum lineage_edge_kind kind = lineage_first_read(f->seen);
	bool was_read = is_input || (f->seen & LINEAGE_READ_OWN &&
				     kind == LINEAGE_EDGE_READ_OWN);
	int r = 0;

	if (f->filter && is_input)
		return 0;
	if (was_read)
		r = add_named(rows, pids, f->reader, f->n, kind, f->read_order);
	if (r == 0 && !is_input)
		r = add_named(rows, pids, f->writer, f->n, LINEAGE_EDGE_WRITTEN,
			      f->write_order);
	return r;
}

static int read_named(struct store *s, struct pool *pool, int64_t job_id,
		      struct rows *rows, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct pids pids = { 0 };
	int r = read_pids(s, pool, job_id, &pids, err);

	if (r == 0)
		r = statement_open(s, SQL_EDGES_OF_FILES, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_file f = { .n = column_int(&q) };

		f.role = (uint8_t)column_int(&q);
		f.filter = (uint8_t)column_int(&q);
		f.seen = (uint32_t)column_int(&q);
		f.reader = (int32_t)column_int(&q);
		f.read_order = column_int(&q);
		f.writer = (int32_t)column_int(&q);
		f.write_order = column_int(&q);
		if (add_named_by(rows, &pids, &f) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return r;
}

/* ---- reading ---- */

static int read_rows(struct store *s, int64_t job_id, struct rows *rows,
		     struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_EDGES, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_edge *edge = rows_push(rows);

		if (!edge)
			return error_set(err, -ENOMEM, "out of memory");
		edge->process = column_int(&q);
		edge->file = column_int(&q);
		edge->kind = (uint8_t)column_int(&q);
		edge->event = column_int(&q);
	}
	return r;
}

int store_edge_rows(struct store *s, struct pool *pool, int64_t job_id,
		    struct store_edge **ret, size_t *ret_n,
		    struct roar_error *err)
{
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = read_rows(s, job_id, &rows, err);

	if (r < 0)
		return r;
	*ret = (struct store_edge *)rows.data;
	*ret_n = rows.n;
	return 0;
}

static int by_process(const void *a, const void *b)
{
	const struct store_edge *x = a;
	const struct store_edge *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

int store_edges(struct store *s, struct pool *pool, int64_t job_id,
		struct store_edge **ret, size_t *ret_n, struct roar_error *err)
{
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = read_named(s, pool, job_id, &rows, err);

	if (r == 0)
		r = read_rows(s, job_id, &rows, err);
	if (r < 0)
		return r;
	if (rows.n)
		qsort(rows.data, rows.n, rows.size, by_process);
	*ret = (struct store_edge *)rows.data;
	*ret_n = rows.n;
	return 0;
}

/* ---- ranks ---- */

int store_rank_add(struct store *s, int64_t job_id,
		   const struct store_rank *rank, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_RANK_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, rank->process);
	statement_count(&q, rank->rank);
	statement_count(&q, rank->local_rank);
	statement_count(&q, rank->world_size);
	statement_text(&q, rank->launcher);
	statement_text(&q, rank->group);
	return statement_run(&q, err);
}

int store_ranks(struct store *s, struct pool *pool, int64_t job_id,
		struct store_rank **ret, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_RANKS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_rank *rank = rows_push(&rows);

		if (!rank)
			return error_set(err, -ENOMEM, "out of memory");
		rank->process = column_int(&q);
		rank->rank = column_count(&q);
		rank->local_rank = column_count(&q);
		rank->world_size = column_count(&q);
		rank->launcher = column_text(&q, pool);
		rank->group = column_text(&q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_rank *)rows.data;
	*ret_n = rows.n;
	return 0;
}

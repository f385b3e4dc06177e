/* edges.c - see edges.h.  The rows of files are numbered as record.c adds them: by file,
 * and for each the input first. */
#include "run/edges.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/process_rank.h"
#include "run/run.h"
#include "store/store_edge.h"

enum { BATCH = 256 };

struct edge_rows {
	const struct run *run;
	struct store *store;
	struct place {
		uint32_t row; /* of its first role; 0: none */
		uint32_t file; /* index in run->files */
	} * places; /* by index in fold_files() */
	struct store_edge batch[BATCH];
	size_t n;
	int64_t next; /* number of the first row of the batch */
};

/* ---- which row of a file ---- */

enum { OTHERS = LINEAGE_OUTPUT | LINEAGE_TEMPORARY | LINEAGE_TOUCHED };

static unsigned rows_of(const struct run_file *e)
{
	return (unsigned)__builtin_popcount(e->roles & (LINEAGE_INPUT | OTHERS));
}

static int find_places(struct edge_rows *rows)
{
	const struct run *run = rows->run;
	uint32_t row = 1;
	size_t n;

	(void)fold_files(run->fold, &n);
	rows->places = calloc(n + 1, sizeof(*rows->places));
	if (!rows->places)
		return -ENOMEM;
	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		rows->places[fold_file_index(e->file)] = (struct place){
			row, (uint32_t)i
		};
		row += rows_of(e);
	}
	return 0;
}

static bool has_content(const struct run_file *e)
{
	return e->file->ftype <= EVENT_FTYPE_REGULAR ||
	       e->file->ftype == EVENT_FTYPE_SYMLINK;
}

/* The number of the row that an edge belongs to; 0: it is not recorded. */
static uint32_t row_of(const struct edge_rows *rows, uint32_t file,
		       unsigned kind)
{
	const struct place *at = &rows->places[file];
	const struct run_file *e = &rows->run->files[at->file];
	bool is_input = kind == LINEAGE_EDGE_READ;

	if (!at->row || !kind || !has_content(e))
		return 0;
	if (is_input)
		return e->roles & LINEAGE_INPUT && !e->filter ? at->row : 0;
	return e->roles & OTHERS ? at->row + !!(e->roles & LINEAGE_INPUT) : 0;
}

/* ---- writing ---- */

static int flush(struct edge_rows *rows, struct roar_error *err)
{
	int r = store_edges_add(rows->store, rows->run->job.id, rows->next,
				rows->batch, rows->n, err);

	rows->next += (int64_t)rows->n;
	rows->n = 0;
	return r;
}

static int add(struct edge_rows *rows, const struct lineage_edge *edge,
	       struct roar_error *err)
{
	uint32_t row = row_of(rows, edge->file, edge->kind);

	if (!row)
		return 0;
	rows->batch[rows->n++] = (struct store_edge){
		.process = edge->process + 1,
		.file = row,
		.event = edge->order,
		.kind = edge->kind,
	};
	return rows->n < BATCH ? 0 : flush(rows, err);
}

/* The row of a file names a process by its pid.  That is not enough if other processes of
 * the run had the same pid. */
static int add_reused(struct edge_rows *rows, const struct lineage_file *f,
		      enum lineage_edge_kind kind, struct roar_error *err)
{
	bool is_write = kind == LINEAGE_EDGE_WRITTEN;
	uint32_t order = is_write ? f->write_order : f->read_order;
	struct lineage_edge edge = { .kind = (uint8_t)kind, .order = order };
	bool unique;
	int64_t process = fold_process_at(rows->run->fold,
					  is_write ? f->writer : f->reader,
					  order, &unique);

	if (!order || unique || process < 0)
		return 0;
	edge.file = fold_file_index(f);
	edge.process = (uint32_t)process;
	return add(rows, &edge, err);
}

static int add_all(struct edge_rows *rows, struct roar_error *err)
{
	const struct run *run = rows->run;
	uint64_t left_out;
	size_t n = fold_n_edges(run->fold, &left_out);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct lineage_edge edge = fold_edge(run->fold, i);

		r = add(rows, &edge, err);
	}
	for (size_t i = 0;
	     r == 0 && fold_has_reused_pids(run->fold) && i < run->n_files;
	     i++) {
		const struct lineage_file *f = run->files[i].file;

		r = add_reused(rows, f, lineage_first_read(f->seen), err);
		if (r == 0)
			r = add_reused(rows, f, LINEAGE_EDGE_WRITTEN, err);
	}
	return r == 0 ? flush(rows, err) : r;
}

int edges_record(struct run *run, struct store *store, struct roar_error *err)
{
	struct edge_rows rows = { .run = run, .store = store, .next = 1 };
	uint64_t left_out;
	int r;

	if (!fold_n_edges(run->fold, &left_out) &&
	    !fold_has_reused_pids(run->fold))
		return 0;
	r = find_places(&rows);
	r = r < 0 ? error_set(err, r, "out of memory") : add_all(&rows, err);
	free(rows.places);
	return r;
}

int64_t edges_left_out(const struct run *run)
{
	uint64_t left_out;

	(void)fold_n_edges(run->fold, &left_out);
	return (int64_t)left_out;
}

/* ---- ranks ---- */

int ranks_record(struct run *run, struct store *store, struct roar_error *err)
{
	size_t n;
	const struct lineage_process *p = fold_processes(run->fold, &n);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct process_rank rank;
		struct store_rank row;

		if (!process_rank_find(run->process_environments, p[i].pid,
				       &rank))
			continue;
		row = (struct store_rank){
			.process = (int64_t)i + 1,
			.rank = rank.rank,
			.local_rank = rank.local_rank,
			.world_size = rank.world_size,
			.launcher = rank.launcher,
			.group = rank.group,
		};
		r = store_rank_add(store, run->job.id, &row, err);
	}
	return r;
}

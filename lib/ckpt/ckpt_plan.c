/* ckpt_plan.c - see ckpt_plan.h */
#include "ckpt/ckpt_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

void ckpt_plan_init(struct ckpt_plan *p, const struct ckpt_plan_file *files,
		    size_t n_files)
{
	*p = (struct ckpt_plan){ .files = files, .n_files = n_files };
}

void ckpt_plan_release(struct ckpt_plan *p)
{
	free(p->pieces);
	free(p->dims);
	free(p->steps);
	*p = (struct ckpt_plan){ 0 };
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- pieces ---- */

/* One dimension of the common box. */
struct common {
	uint64_t first, n; /* first index in the tensor, number of indexes */
};

static struct common common_range(const struct ckpt_box *a,
				  const struct ckpt_box *b, unsigned d)
{
	uint64_t first = max(a->offset[d], b->offset[d]);
	uint64_t end = min(a->offset[d] + a->shape[d],
			   b->offset[d] + b->shape[d]);

	return (struct common){ first, first < end ? end - first : 0 };
}

/* Does the common box have all indexes of this dimension, on both sides?  Then the
 * dimension before it is contiguous as well. */
static bool is_whole(const struct ckpt_box *part, const struct ckpt_box *want,
		     unsigned d)
{
	uint64_t n = common_range(part, want, d).n;

	return n == part->shape[d] && n == want->shape[d];
}

static int push_dim(struct ckpt_plan *p, struct ckpt_piece *piece,
		    struct ckpt_dim dim)
{
	struct ckpt_dim *place;

	if (dim.n == 1)
		return 0;
	place = VEC_PUSH(p->dims, p->n_dims, p->cap_dims);
	if (!place)
		return -ENOMEM;
	*place = dim;
	piece->n_dims++;
	return 0;
}

/* From the last dimension to the first: dimensions that are contiguous on both sides make
 * the row longer, the others are counted.  Their list has the innermost one first. */
static int fill_piece(struct ckpt_plan *p, struct ckpt_piece *piece,
		      const struct ckpt_box *part, const struct ckpt_box *want,
		      uint64_t element_bytes)
{
	uint64_t from_step = element_bytes, to_step = element_bytes;
	bool contiguous = true;
	int r = 0;

	for (unsigned d = part->n_dims; r == 0 && d-- > 0;) {
		struct common c = common_range(part, want, d);

		piece->from += (c.first - part->offset[d]) * from_step;
		piece->to += (c.first - want->offset[d]) * to_step;
		if (contiguous) {
			piece->row_bytes *= c.n;
		} else {
			r = push_dim(p, piece,
				     (struct ckpt_dim){ c.n, from_step,
							to_step });
			piece->n_rows *= c.n;
		}
		contiguous = contiguous && is_whole(part, want, d);
		from_step *= part->shape[d];
		to_step *= want->shape[d];
	}
	return r;
}

/* Where a row begins, relative to the first. */
static void find_row(const struct ckpt_plan *p, const struct ckpt_piece *piece,
		     uint64_t row, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = piece->from;
	*ret_to = 0;
	for (uint32_t d = 0; d < piece->n_dims; d++) {
		const struct ckpt_dim *dim = &p->dims[piece->dims + d];

		*ret_from += row % dim->n * dim->from_step;
		*ret_to += row % dim->n * dim->to_step;
		row /= dim->n;
	}
}

int ckpt_plan_add(struct ckpt_plan *p, uint32_t file, uint64_t at,
		  const struct ckpt_box *part, const struct ckpt_box *want,
		  uint64_t element_bytes, void *to)
{
	struct ckpt_piece piece = {
		.file = file,
		.dims = p->n_dims,
		.n_rows = 1,
		.row_bytes = element_bytes,
		.from = at,
		.to = to,
	};
	struct ckpt_piece *place;
	uint64_t last, unused;

	assert(file < p->n_files && part->n_dims == want->n_dims);
	for (unsigned d = 0; d < part->n_dims; d++)
		if (!common_range(part, want, d).n)
			return 0;
	if (fill_piece(p, &piece, part, want, element_bytes) < 0)
		return -ENOMEM;
	find_row(p, &piece, piece.n_rows - 1, &last, &unused);
	piece.end = last + piece.row_bytes;
	place = VEC_PUSH(p->pieces, p->n_pieces, p->cap_pieces);
	if (!place)
		return -ENOMEM;
	*place = piece;
	p->bytes_wanted += piece.n_rows * piece.row_bytes;
	return 0;
}

/* The first row that ends after byte `at` of the file; n_rows: none.  Rows ascend in the
 * file, so halving the interval finds it. */
static uint64_t first_row_after(const struct ckpt_plan *p,
				const struct ckpt_piece *piece, uint64_t at)
{
	uint64_t low = 0, high = piece->n_rows;

	if (piece->end <= at)
		return high;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		uint64_t from, to;

		find_row(p, piece, middle, &from, &to);
		if (from + piece->row_bytes > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* ---- pieces by place ---- */

static int compare_pieces(const void *a, const void *b)
{
	const struct ckpt_piece *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void sort_pieces(struct ckpt_plan *p)
{
	uint64_t reach = 0;

	if (p->n_pieces)
		qsort(p->pieces, p->n_pieces, sizeof(*p->pieces),
		      compare_pieces);
	for (size_t i = 0; i < p->n_pieces; i++) {
		struct ckpt_piece *piece = &p->pieces[i];

		if (i && p->pieces[i - 1].file != piece->file)
			reach = 0;
		reach = max(reach, piece->end);
		piece->reach = reach;
	}
}

/* The pieces that may touch bytes before `end` of a file are those before this index. */
static size_t pieces_before(const struct ckpt_plan *p, uint32_t file,
			    uint64_t end)
{
	size_t low = 0, high = p->n_pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ckpt_piece *piece = &p->pieces[middle];

		if (piece->file < file ||
		    (piece->file == file && piece->from < end))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Goes back from there: the next piece with a byte in `from` .. end - 1, or NULL.
 * `reach` says when no earlier piece can have one. */
static const struct ckpt_piece *previous_piece(const struct ckpt_plan *p,
					       uint32_t file, uint64_t from,
					       size_t *index)
{
	while (*index > 0) {
		const struct ckpt_piece *piece = &p->pieces[--*index];

		if (piece->file != file || piece->reach <= from)
			return NULL;
		if (piece->end > from)
			return piece;
	}
	return NULL;
}

/* ---- leaves ---- */

static uint64_t n_leaves(const struct ckpt_plan_file *f)
{
	return f->size_bytes ? (f->size_bytes - 1) / f->leaf_bytes + 1 : 1;
}

static uint64_t leaf_end(const struct ckpt_plan_file *f, uint64_t leaf)
{
	return min((leaf + 1) * f->leaf_bytes, f->size_bytes);
}

static void mark(uint64_t *needed, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		needed[i / 64] |= UINT64_C(1) << i % 64;
}

static bool is_marked(const uint64_t *needed, uint64_t i)
{
	return needed[i / 64] >> i % 64 & 1;
}

/* From a row to the first one that ends after the row's last leaf: the rows between
 * them need no other leaf. */
static void mark_piece(const struct ckpt_plan *p,
		       const struct ckpt_piece *piece, uint64_t *needed)
{
	uint64_t leaf_bytes = p->files[piece->file].leaf_bytes;
	uint64_t row = 0;

	while (row < piece->n_rows) {
		uint64_t from, to, last;

		find_row(p, piece, row, &from, &to);
		last = (from + piece->row_bytes - 1) / leaf_bytes;
		mark(needed, from / leaf_bytes, last);
		row = first_row_after(p, piece, (last + 1) * leaf_bytes);
	}
}

/* The destination of bytes `from` .. end - 1 if they are in one row of one piece. */
static char *only_destination(const struct ckpt_plan *p, uint32_t file,
			      uint64_t from, uint64_t end)
{
	size_t index = pieces_before(p, file, end);
	const struct ckpt_piece *piece = previous_piece(p, file, from, &index);
	uint64_t row_from, row_to;

	if (!piece || previous_piece(p, file, from, &index))
		return NULL;
	find_row(p, piece, first_row_after(p, piece, from), &row_from, &row_to);
	if (row_from > from || row_from + piece->row_bytes < end)
		return NULL;
	return piece->to + row_to + (from - row_from);
}

/* ---- steps ---- */

size_t ckpt_step_bytes(const struct ckpt_plan *p, const struct ckpt_step *s)
{
	const struct ckpt_plan_file *f = &p->files[s->file];

	return leaf_end(f, s->first_leaf + s->n_leaves - 1) -
	       s->first_leaf * f->leaf_bytes;
}

/* Can the leaf after the last step be read with it? */
static bool is_next(const struct ckpt_plan *p, const struct ckpt_step *s,
		    uint64_t span_end, uint64_t leaf, const char *in_place)
{
	uint64_t leaf_bytes = p->files[s->file].leaf_bytes;
	uint64_t len = s->n_leaves * leaf_bytes;

	if (leaf != s->first_leaf + s->n_leaves || leaf >= span_end ||
	    len + leaf_bytes > CKPT_STEP_BYTES)
		return false;
	return s->in_place ? in_place == s->in_place + len : !in_place;
}

/* The steps of one file are made in the order of its leaves. */
struct step_maker {
	struct ckpt_plan *p;
	uint32_t file;
	struct ckpt_step *last; /* NULL: the file has none yet */
	uint64_t span_end; /* leaves before it are stored beside each other */
	ckpt_plan_span_fn *span;
	void *ctx;
};

static int make_step(struct step_maker *m, uint64_t leaf, char *in_place)
{
	struct ckpt_plan *p = m->p;
	uint64_t total = n_leaves(&p->files[m->file]);

	if (m->last && is_next(p, m->last, m->span_end, leaf, in_place)) {
		m->last->n_leaves++;
		return 0;
	}
	m->last = VEC_PUSH(p->steps, p->n_steps, p->cap_steps);
	if (!m->last)
		return -ENOMEM;
	*m->last = (struct ckpt_step){ .file = m->file,
				       .n_leaves = 1,
				       .first_leaf = leaf,
				       .in_place = in_place };
	m->span_end = m->span ? leaf + m->span(m->ctx, m->file, leaf) : total;
	return 0;
}

static int plan_file(struct step_maker *m, const uint64_t *needed,
		     uint64_t alignment)
{
	const struct ckpt_plan_file *f = &m->p->files[m->file];
	uint64_t n = n_leaves(f);
	int r = 0;

	for (uint64_t leaf = 0; r == 0 && leaf < n; leaf++) {
		char *to = NULL;

		if (!needed[leaf / 64]) {
			leaf |= 63; /* none of 64 */
			continue;
		}
		if (!is_marked(needed, leaf))
			continue;
		if (alignment)
			to = only_destination(m->p, m->file,
					      leaf * f->leaf_bytes,
					      leaf_end(f, leaf));
		if (to && (uintptr_t)to % alignment)
			to = NULL;
		r = make_step(m, leaf, to);
	}
	return r;
}

static void sum_steps(struct ckpt_plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		p->bytes_read += ckpt_step_bytes(p, &p->steps[i]);
}

int ckpt_plan_finish(struct ckpt_plan *p, uint64_t alignment,
		     ckpt_plan_span_fn *span, void *ctx)
{
	size_t i = 0;
	int r = 0;

	sort_pieces(p);
	while (r == 0 && i < p->n_pieces) {
		uint32_t file = p->pieces[i].file;
		struct step_maker m = { .p = p,
					.file = file,
					.span = span,
					.ctx = ctx };
		CLEANUP(freep)
		uint64_t *needed = calloc(n_leaves(&p->files[file]) / 64 + 1,
					  8);

		if (!needed)
			return -ENOMEM;
		for (; i < p->n_pieces && p->pieces[i].file == file; i++)
			mark_piece(p, &p->pieces[i], needed);
		r = plan_file(&m, needed, alignment);
	}
	sum_steps(p);
	return r;
}

int ckpt_plan_everything(struct ckpt_plan *p, ckpt_plan_span_fn *span,
			 void *ctx)
{
	int r = 0;

	for (uint32_t file = 0; file < p->n_files; file++) {
		struct step_maker m = { .p = p,
					.file = file,
					.span = span,
					.ctx = ctx };
		uint64_t n = n_leaves(&p->files[file]);

		if (p->files[file].is_skipped)
			continue;
		for (uint64_t leaf = 0; r == 0 && leaf < n; leaf++)
			r = make_step(&m, leaf, NULL);
	}
	sum_steps(p);
	return r;
}

/* ---- copying ---- */

/* The position of a row, moved to the next row without a division. */
struct row_cursor {
	uint64_t row, from, to;
};

static void next_row(const struct ckpt_plan *p, const struct ckpt_piece *piece,
		     struct row_cursor *c)
{
	const struct ckpt_dim *inner = piece->n_dims ? &p->dims[piece->dims] :
						       NULL;

	c->row++;
	if (inner && c->row % inner->n) {
		c->from += inner->from_step;
		c->to += inner->to_step;
	} else {
		find_row(p, piece, c->row, &c->from, &c->to);
	}
}

static void copy_piece(const struct ckpt_plan *p,
		       const struct ckpt_piece *piece, uint64_t from,
		       const char *bytes, size_t len)
{
	struct row_cursor c = { .row = first_row_after(p, piece, from) };

	find_row(p, piece, c.row, &c.from, &c.to);
	for (; c.row < piece->n_rows && c.from < from + len;
	     next_row(p, piece, &c)) {
		uint64_t first = max(c.from, from);
		uint64_t end = min(c.from + piece->row_bytes, from + len);

		memcpy(piece->to + c.to + (first - c.from),
		       bytes + (first - from), end - first);
	}
}

void ckpt_plan_copy(const struct ckpt_plan *p, uint32_t file, uint64_t from,
		    const void *bytes, size_t len)
{
	size_t index = pieces_before(p, file, from + len);
	const struct ckpt_piece *piece;

	while ((piece = previous_piece(p, file, from, &index)))
		copy_piece(p, piece, from, bytes, len);
}

/* Random tensors are cut into random parts and stored in random files; random slices of
 * them are loaded by a plan and compared with the tensor, element by element. */
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "ckpt/ckpt_plan.h"

enum {
	DIMS = 4,
	EDGE = 7, /* longest dimension */
	FILES = 3,
	PARTS = 64,
	WANTS = 5,
	FILE_BYTES = 1 << 16,
};

static uint32_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * n >> 32);
}

struct box {
	uint64_t offset[DIMS], shape[DIMS];
};

struct world {
	unsigned n_dims;
	uint64_t element_bytes;
	struct box whole;
	struct box parts[PARTS];
	uint32_t part_file[PARTS];
	uint64_t part_at[PARTS];
	unsigned n_parts;
	struct ckpt_plan_file files[FILES];
	unsigned char bytes[FILES][FILE_BYTES];
	struct box wants[WANTS];
	unsigned char *to[WANTS];
	unsigned n_wants;
	uint64_t span_leaves; /* stored beside each other */
};

static uint64_t volume(const struct world *w, const struct box *b)
{
	uint64_t n = 1;

	for (unsigned d = 0; d < w->n_dims; d++)
		n *= b->shape[d];
	return n;
}

static struct ckpt_box as_box(const struct world *w, const struct box *b)
{
	return (struct ckpt_box){ w->n_dims, b->offset, b->shape };
}

/* The index in the tensor of the i-th element of a box. */
static uint64_t index_in_tensor(const struct world *w, const struct box *b,
				uint64_t i)
{
	uint64_t index = 0, scale = 1;

	for (unsigned d = w->n_dims; d-- > 0;) {
		index += (b->offset[d] + i % b->shape[d]) * scale;
		scale *= w->whole.shape[d];
		i /= b->shape[d];
	}
	return index;
}

static bool contains(const struct world *w, const struct box *b, uint64_t index)
{
	for (unsigned d = w->n_dims; d-- > 0;) {
		uint64_t at = index % w->whole.shape[d];

		if (at < b->offset[d] || at >= b->offset[d] + b->shape[d])
			return false;
		index /= w->whole.shape[d];
	}
	return true;
}

/* The byte of the tensor: no two elements have the same. */
static unsigned char tensor_byte(const struct world *w, uint64_t index,
				 uint64_t byte)
{
	uint64_t n = index * w->element_bytes + byte + 1;

	return (unsigned char)(n * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static void split(struct world *w, struct box b, int depth)
{
	unsigned d = w->n_dims ? below(w->n_dims) : 0;

	if (w->n_dims && depth && b.shape[d] > 1 && below(4)) {
		struct box low = b, high = b;
		uint64_t cut = 1 + below((uint32_t)b.shape[d] - 1);

		low.shape[d] = cut;
		high.offset[d] += cut;
		high.shape[d] -= cut;
		split(w, low, depth - 1);
		split(w, high, depth - 1);
		return;
	}
	assert_true(w->n_parts < PARTS);
	w->parts[w->n_parts++] = b;
}

static void store_parts(struct world *w)
{
	for (int f = 0; f < FILES; f++)
		w->files[f] = (struct ckpt_plan_file){ below(40),
						       1u << (3 + below(5)),
						       false };
	for (unsigned i = 0; i < w->n_parts; i++) {
		uint32_t f = below(FILES);
		uint64_t at = w->files[f].size_bytes + below(2) * below(50);
		uint64_t n = volume(w, &w->parts[i]);

		w->part_file[i] = f;
		w->part_at[i] = at;
		assert_true(at + n * w->element_bytes <= FILE_BYTES);
		for (uint64_t e = 0; e < n; e++)
			for (uint64_t k = 0; k < w->element_bytes; k++)
				w->bytes[f][at + e * w->element_bytes + k] =
					tensor_byte(w,
						    index_in_tensor(
							    w, &w->parts[i], e),
						    k);
		w->files[f].size_bytes = at + n * w->element_bytes;
	}
}

static void choose_slices(struct world *w)
{
	w->n_wants = 1 + below(WANTS);
	for (unsigned i = 0; i < w->n_wants; i++) {
		for (unsigned d = 0; d < w->n_dims; d++) {
			uint32_t n = (uint32_t)w->whole.shape[d];
			uint32_t first = below(3) ? below(n) : 0;

			w->wants[i].offset[d] = first;
			w->wants[i].shape[d] = below(3) ? 1 + below(n - first) :
							  n - first;
		}
		w->to[i] = calloc(volume(w, &w->wants[i]) + 1,
				  w->element_bytes);
		assert_non_null(w->to[i]);
	}
}

static struct world *make_world(uint32_t number)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	seed = number * 2654435761u;
	w->n_dims = below(DIMS + 1);
	w->element_bytes = 1u << below(4);
	w->span_leaves = 1 + below(9);
	for (unsigned d = 0; d < w->n_dims; d++)
		w->whole.shape[d] = 1 + below(EDGE);
	split(w, w->whole, 5);
	store_parts(w);
	choose_slices(w);
	return w;
}

static void free_world(struct world *w)
{
	for (unsigned i = 0; i < w->n_wants; i++)
		free(w->to[i]);
	free(w);
}

static int add_pieces(struct world *w, struct ckpt_plan *p)
{
	int r = 0;

	for (unsigned i = 0; i < w->n_wants; i++)
		for (unsigned k = 0; r == 0 && k < w->n_parts; k++) {
			struct ckpt_box part = as_box(w, &w->parts[k]);
			struct ckpt_box want = as_box(w, &w->wants[i]);

			r = ckpt_plan_add(p, w->part_file[k], w->part_at[k],
					  &part, &want, w->element_bytes,
					  w->to[i]);
		}
	return r;
}

static uint64_t span(void *ctx, uint32_t file, uint64_t leaf)
{
	const struct world *w = ctx;

	(void)file;
	return w->span_leaves - leaf % w->span_leaves;
}

/* Which leaves hold a wanted element, found by looking at every element. */
static void find_needed(const struct world *w, bool needed[FILES][FILE_BYTES])
{
	for (unsigned k = 0; k < w->n_parts; k++) {
		const struct box *part = &w->parts[k];
		uint32_t f = w->part_file[k];

		for (uint64_t e = 0; e < volume(w, part); e++) {
			uint64_t index = index_in_tensor(w, part, e);
			uint64_t at = w->part_at[k] + e * w->element_bytes;
			bool wanted = false;

			for (unsigned i = 0; i < w->n_wants; i++)
				wanted |= contains(w, &w->wants[i], index);
			for (uint64_t b = 0; wanted && b < w->element_bytes;
			     b++)
				needed[f][(at + b) / w->files[f].leaf_bytes] =
					true;
		}
	}
}

/* Every needed leaf is in one step and no other leaf is in any. */
static void check_leaves(const struct world *w, const struct ckpt_plan *p)
{
	static bool needed[FILES][FILE_BYTES];

	memset(needed, 0, sizeof(needed));
	find_needed(w, needed);
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct ckpt_step *s = &p->steps[i];

		assert_true(s->first_leaf / w->span_leaves ==
			    (s->first_leaf + s->n_leaves - 1) / w->span_leaves);
		for (uint32_t k = 0; k < s->n_leaves; k++) {
			assert_true(needed[s->file][s->first_leaf + k]);
			needed[s->file][s->first_leaf + k] = false;
		}
	}
	for (int f = 0; f < FILES; f++)
		for (int i = 0; i < FILE_BYTES; i++)
			assert_false(needed[f][i]);
}

static void execute(const struct world *w, const struct ckpt_plan *p,
		    uint64_t alignment)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct ckpt_step *s = &p->steps[i];
		uint64_t from = s->first_leaf * w->files[s->file].leaf_bytes;
		size_t len = ckpt_step_bytes(p, s);

		if (!s->in_place) {
			ckpt_plan_copy(p, s->file, from,
				       w->bytes[s->file] + from, len);
			continue;
		}
		assert_true(alignment &&
			    (uintptr_t)s->in_place % alignment == 0);
		memcpy(s->in_place, w->bytes[s->file] + from, len);
	}
}

static void check_slices(const struct world *w)
{
	for (unsigned i = 0; i < w->n_wants; i++) {
		uint64_t n = volume(w, &w->wants[i]);

		for (uint64_t e = 0; e < n; e++)
			for (uint64_t k = 0; k < w->element_bytes; k++)
				assert_int_equal(
					w->to[i][e * w->element_bytes + k],
					tensor_byte(w,
						    index_in_tensor(
							    w, &w->wants[i], e),
						    k));
		/* Nothing is written after the slice. */
		for (uint64_t k = 0; k < w->element_bytes; k++)
			assert_int_equal(w->to[i][n * w->element_bytes + k], 0);
	}
}

static void random_slices_of_random_tilings_are_exact(void **state)
{
	size_t n_in_place = 0;

	(void)state;
	for (uint32_t number = 1; number <= 2000; number++) {
		struct world *w = make_world(number);
		uint64_t alignment = (uint64_t[]){ 0, 1, 8 }[number % 3];
		struct ckpt_plan p;

		ckpt_plan_init(&p, w->files, FILES);
		assert_int_equal(add_pieces(w, &p), 0);
		assert_int_equal(ckpt_plan_finish(&p, alignment, span, w), 0);
		check_leaves(w, &p);
		execute(w, &p, alignment);
		check_slices(w);
		for (size_t i = 0; i < p.n_steps; i++)
			n_in_place += p.steps[i].in_place != NULL;
		ckpt_plan_release(&p);
		free_world(w);
	}
	assert_true(n_in_place > 100);
}

/* A whole matrix of 64 MiB, cut by rows over four files. */
static void a_whole_tensor_is_read_in_place_in_large_steps(void **state)
{
	uint64_t shape[] = { 4096, 4096 }, part_shape[] = { 1024, 4096 };
	uint64_t zero[] = { 0, 0 };
	struct ckpt_box want = { 2, zero, shape };
	struct ckpt_plan_file files[4];
	CLEANUP(freep) char *to = aligned_alloc(4096, 4096 * 4096 * 4);
	struct ckpt_plan p;

	(void)state;
	assert_non_null(to);
	for (int i = 0; i < 4; i++)
		files[i] = (struct ckpt_plan_file){ 16 << 20, 1 << 20, false };
	ckpt_plan_init(&p, files, 4);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t offset[] = { 1024 * i, 0 };
		struct ckpt_box part = { 2, offset, part_shape };

		assert_int_equal(ckpt_plan_add(&p, i, 0, &part, &want, 4, to),
				 0);
	}
	assert_int_equal(ckpt_plan_finish(&p, 4096, NULL, NULL), 0);
	assert_int_equal(p.n_steps, 16);
	assert_int_equal(p.bytes_read, 64 << 20);
	assert_int_equal(p.bytes_wanted, 64 << 20);
	for (size_t i = 0; i < p.n_steps; i++)
		assert_ptr_equal(p.steps[i].in_place, to + (i << 22));
	ckpt_plan_release(&p);
}

/* 2^24 rows of one element: a plan that listed them would need 400 MB. */
static void a_thin_column_needs_no_list_of_rows(void **state)
{
	uint64_t shape[] = { 1 << 24, 1024 }, thin[] = { 1 << 24, 1 };
	uint64_t zero[] = { 0, 0 }, at[] = { 0, 700 };
	struct ckpt_box part = { 2, zero, shape }, want = { 2, at, thin };
	struct ckpt_plan_file file = { UINT64_C(1) << 36, 1 << 20, false };
	struct ckpt_plan p;
	char to[1];

	(void)state;
	ckpt_plan_init(&p, &file, 1);
	assert_int_equal(ckpt_plan_add(&p, 0, 0, &part, &want, 4, to), 0);
	assert_int_equal(ckpt_plan_finish(&p, 4096, NULL, NULL), 0);
	assert_int_equal(p.n_pieces, 1);
	assert_int_equal(p.bytes_wanted, 1 << 26);
	assert_int_equal(p.bytes_read, UINT64_C(1) << 36);
	ckpt_plan_release(&p);
}

/* Rows of 4 MiB of which 16 bytes are wanted: three leaves of four are not read. */
static void leaves_between_rows_are_not_read(void **state)
{
	uint64_t shape[] = { 100, 1 << 20 }, thin[] = { 100, 4 };
	uint64_t zero[] = { 0, 0 };
	struct ckpt_box part = { 2, zero, shape }, want = { 2, zero, thin };
	struct ckpt_plan_file file = { UINT64_C(400) << 20, 1 << 20, false };
	struct ckpt_plan p;
	char to[1600];

	(void)state;
	ckpt_plan_init(&p, &file, 1);
	assert_int_equal(ckpt_plan_add(&p, 0, 0, &part, &want, 4, to), 0);
	assert_int_equal(ckpt_plan_finish(&p, 4096, NULL, NULL), 0);
	assert_int_equal(p.bytes_read, 100 << 20);
	ckpt_plan_release(&p);
}

static void everything_is_each_leaf_once(void **state)
{
	struct ckpt_plan_file files[] = {
		{ 0, 1024, false },
		{ (10 << 20) + 1, 1 << 20, false },
		{ 5000, 1024, false },
		{ 70000, 1024, true },
	};
	struct ckpt_plan p;

	(void)state;
	ckpt_plan_init(&p, files, 4);
	assert_int_equal(ckpt_plan_everything(&p, NULL, NULL), 0);
	assert_int_equal(p.bytes_read, (10 << 20) + 1 + 5000);
	assert_int_equal(p.n_steps, 1 + 3 + 1);
	assert_int_equal(p.steps[4].n_leaves, 5);
	ckpt_plan_release(&p);
}

static void every_allocation_may_fail(void **state)
{
	struct world *w = make_world(17);
	int n = 0;
	int r;

	(void)state;
	do {
		struct ckpt_plan p;

		ckpt_plan_init(&p, w->files, FILES);
		alloc_fail_after(n++);
		r = add_pieces(w, &p);
		if (r == 0)
			r = ckpt_plan_finish(&p, 8, span, w);
		alloc_fail_never();
		assert_true(r == 0 || r == -ENOMEM);
		ckpt_plan_release(&p);
	} while (r < 0);
	assert_true(n > 3);
	free_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_slices_of_random_tilings_are_exact),
		cmocka_unit_test(a_whole_tensor_is_read_in_place_in_large_steps),
		cmocka_unit_test(a_thin_column_needs_no_list_of_rows),
		cmocka_unit_test(leaves_between_rows_are_not_read),
		cmocka_unit_test(everything_is_each_leaf_once),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

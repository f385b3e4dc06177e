/* test_geometry.c - sizes that are none, and headers that lie */
#include "arena/protocol/geometry.h"

#include "helpers.h"

static int from(struct roar_arena_config c, struct arena_geometry *g)
{
	return geometry_from_config(&c, g);
}

#define CONFIG(...) ((struct roar_arena_config){ __VA_ARGS__ })

static void sizes_that_are_none_are_refused(void **state)
{
	struct arena_geometry g;

	(void)state;
	assert_int_equal(from(CONFIG(0), &g), -EINVAL);
	assert_int_equal(from(CONFIG(.size_bytes = (1ULL << 46) + 1), &g),
			 -EINVAL);
	assert_int_equal(from(CONFIG(.size_bytes = UINT64_MAX), &g), -EINVAL);
	assert_int_equal(from(CONFIG(.segment_bytes = UINT64_MAX, .n_units = 2),
			      &g),
			 -EINVAL);
	assert_int_equal(
		from(CONFIG(.segment_bytes = 1ULL << 40, .n_units = 1 << 20),
		     &g),
		-EINVAL);
	assert_int_equal(from(CONFIG(.size_bytes = 1, .n_units = UINT32_MAX),
			      &g),
			 -EINVAL);
	assert_int_equal(
		from(CONFIG(.size_bytes = 1, .inline_bytes = UINT32_MAX), &g),
		-EINVAL);
	assert_int_equal(from(CONFIG(.size_bytes = 1, .flags = 64), &g),
			 -EINVAL);
	assert_int_equal(from(CONFIG(.size_bytes = 1 << 20,
				     .flags = ROAR_ARENA_PARTITION),
			      &g),
			 -EINVAL);
	assert_int_equal(from(CONFIG(.size_bytes = 1 << 20, .n_units = 2,
				     .n_producers = 3,
				     .flags = ROAR_ARENA_PARTITION),
			      &g),
			 -EINVAL);
	assert_true(strlen(roar_arena_error()) > 20);
}

static void make_header(const struct arena_geometry *g, struct arena_header *h)
{
	void *memory = calloc(1, g->total_bytes);
	struct arena_map m;

	assert_non_null(memory);
	geometry_map(g, memory, &m);
	geometry_format(&m, 4096);
	*h = *m.header;
	free(memory);
}

static void a_header_gives_the_geometry_of_its_config(void **state)
{
	static const uint64_t sizes[] = {
		1, 64, 16384 * 64ULL, 16384 * 64ULL + 1, 1 << 20, 100000007
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct arena_geometry a;
		struct arena_geometry b;
		struct arena_header h;

		assert_int_equal(from(CONFIG(.size_bytes = sizes[i]), &a), 0);
		assert_true(a.size_bytes >= sizes[i]);
		assert_true(a.n_cells > 2 * a.n_units);
		make_header(&a, &h);
		assert_int_equal(geometry_from_header(&h, a.total_bytes, &b),
				 0);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void the_largest_arena_has_a_geometry(void **state)
{
	struct arena_geometry g;

	(void)state;
	assert_int_equal(from(CONFIG(.size_bytes = 1ULL << 46), &g), 0);
	assert_true(g.total_bytes > 1ULL << 46);
	assert_int_equal(
		from(CONFIG(.segment_bytes = 1ULL << 45, .n_units = 2), &g), 0);
}

/* Each byte of the sizes, turned each way: refused, or the same arena. */
static void a_header_that_lies_is_refused(void **state)
{
	struct arena_geometry g;
	struct arena_geometry seen;
	struct arena_header h;

	(void)state;
	assert_int_equal(
		from(CONFIG(.size_bytes = 1 << 20, .n_units = 100), &g), 0);
	make_header(&g, &h);
	for (size_t i = 0; i < offsetof(struct arena_header, page_bytes); i++)
		for (int bit = 0; bit < 8; bit++) {
			struct arena_header bad = h;
			int r;

			((unsigned char *)&bad)[i] ^= (unsigned char)(1 << bit);
			r = geometry_from_header(&bad, g.total_bytes, &seen);
			assert_true(
				r == -EINVAL || r == -EPROTO ||
				(r == 0 && seen.total_bytes == g.total_bytes));
		}
	assert_int_equal(geometry_from_header(&h, g.total_bytes - 1, &seen),
			 -EINVAL);
}

static void shares_are_apart_and_cover_all(void **state)
{
	struct arena_geometry g;
	uint32_t units = 0;
	uint32_t blocks = 0;

	(void)state;
	assert_int_equal(from(CONFIG(.size_bytes = 1 << 20, .n_units = 100,
				     .n_producers = 7,
				     .flags = ROAR_ARENA_PARTITION),
			      &g),
			 0);
	for (unsigned i = 0; i < 7; i++) {
		struct arena_share s = geometry_share(&g, i);

		assert_int_equal(s.first_unit, units);
		assert_int_equal(s.first_block, blocks);
		units = s.end_unit;
		blocks = s.end_block;
	}
	assert_int_equal(units, g.n_units);
	assert_int_equal(blocks, g.n_blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_that_are_none_are_refused),
		cmocka_unit_test(a_header_gives_the_geometry_of_its_config),
		cmocka_unit_test(the_largest_arena_has_a_geometry),
		cmocka_unit_test(a_header_that_lies_is_refused),
		cmocka_unit_test(shares_are_apart_and_cover_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

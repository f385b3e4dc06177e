/* test_copy.c - copies of all lengths and positions, up to the edge of the memory */
#include "helpers.h"

#include <sys/mman.h>

enum { MOST = (4 << 20) + 4096 };

/* Memory whose end is the end of what may be touched. */
static unsigned char *guarded(size_t len)
{
	unsigned char *p = mmap(NULL, len + 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + len, 4096, PROT_NONE), 0);
	return p;
}

static void copy_of(unsigned char *to, unsigned char *from, size_t len,
		    size_t whole)
{
	unsigned char before = to[-1];

	memset(to, 0xaa, len);
	roar_arena_copy(to, from, len, whole);
	assert_int_equal(memcmp(to, from, len), 0);
	assert_int_equal(to[-1], before);
}

static void copy(unsigned char *to, unsigned char *from, size_t len)
{
	copy_of(to, from, len, len);
	copy_of(to, from, len, len + (16 << 20));
}

static void copies_are_exact_up_to_the_edge(void **state)
{
	static const size_t lens[] = { 0,
				       1,
				       63,
				       64,
				       4096,
				       (16 << 10) - 1,
				       16 << 10,
				       (16 << 10) + 63,
				       100001,
				       1 << 20,
				       (1 << 20) + 1,
				       (1 << 20) + 255,
				       (1 << 20) + 256,
				       (4 << 20) - 7 };
	unsigned char *from = guarded(MOST);
	unsigned char *to = guarded(MOST);

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		from[i] = (unsigned char)(i * 37 + i / 4099);
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (size_t shift = 0; shift < 70; shift += 23) {
			copy(to + MOST - lens[i], from + MOST - lens[i] - shift,
			     lens[i]);
			copy(to + MOST - lens[i] - shift, from + MOST - lens[i],
			     lens[i]);
		}
	(void)munmap(from, MOST + 4096);
	(void)munmap(to, MOST + 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_exact_up_to_the_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

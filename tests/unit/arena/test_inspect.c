/* test_inspect.c - an arena seen from outside */
#include "helpers.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "arena/arena_inspect.h"

static const struct roar_arena_config blocks = { .size_bytes = 1 << 20,
						 .n_units = 16 };
static const struct roar_arena_config segments = { .segment_bytes = 65536,
						   .n_units = 4 };

/* As the command line has it: for reading alone. */
static int read_only(const struct roar_arena *a)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
		       roar_arena_fd(a));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void look(const struct roar_arena *a, struct arena_inspection *ret)
{
	int fd = read_only(a);

	if (arena_inspect(fd, ret) < 0)
		fail_msg("%s", roar_arena_error());
	(void)close(fd);
}

static void an_empty_arena_has_nobody_and_nothing(void **state)
{
	struct roar_arena *a = make(segments);
	struct arena_inspection l;

	(void)state;
	look(a, &l);
	assert_int_equal(l.n_parties, 0);
	assert_int_equal(l.n_units, 0);
	assert_int_equal(l.segment_bytes, 65536);
	assert_int_equal(l.stats.n_units, 4);
	assert_int_equal(l.stats.used_bytes, 0);
	arena_inspection_release(&l);
	roar_arena_close(a);
}

static void parties_and_units_are_seen(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	struct roar_arena_unit *held;
	struct arena_inspection l;

	(void)state;
	put(a, 5000, 1, 7);
	put(a, 6000, 2, 8);
	held = get(a);
	look(a, &l);
	assert_int_equal(l.n_parties, 1);
	assert_int_equal(l.parties[0].pid, getpid());
	assert_int_equal(l.parties[0].roles, BOTH);
	assert_false(l.parties[0].dead);
	assert_int_equal(l.parties[0].counts.committed, 2);
	assert_int_equal(l.n_units, 2);
	assert_int_equal(l.units[0].state, UNIT_HELD);
	assert_int_equal(l.units[0].tag, 7);
	assert_int_equal(l.units[0].bytes, 5000);
	assert_int_equal(l.units[0].owner, l.parties[0].place);
	assert_int_equal(l.units[1].state, UNIT_READY);
	assert_true(l.stats.used_bytes >= 11000);
	arena_inspection_release(&l);
	roar_arena_release(held);
	roar_arena_close(a);
}

static void what_is_released_is_gone(void **state)
{
	struct roar_arena *a = make_joined(segments);
	struct arena_inspection l;

	(void)state;
	put(a, 100, 1, 1);
	roar_arena_release(get(a));
	look(a, &l);
	assert_int_equal(l.n_units, 0);
	assert_int_equal(l.stats.released, 1);
	arena_inspection_release(&l);
	roar_arena_close(a);
}

static void a_shutdown_is_seen(void **state)
{
	struct roar_arena *a = make(segments);
	struct arena_inspection l;

	(void)state;
	look(a, &l);
	assert_int_equal(l.stats.shut_down, 0);
	assert_int_equal(roar_arena_shutdown(a), 0);
	look(a, &l);
	assert_int_equal(l.stats.shut_down, 1);
	roar_arena_close(a);
}

static void what_is_no_arena_is_refused(void **state)
{
	int fd = memfd_create("roar-arena", MFD_CLOEXEC);
	struct arena_inspection l;

	(void)state;
	assert_int_equal(arena_inspect(-1, &l), -EBADF);
	assert_int_equal(arena_inspect(fd, &l), -EINVAL);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(arena_inspect(fd, &l), -EINVAL);
	assert_true(strlen(roar_arena_error()) > 0);
	(void)close(fd);
}

/* A copy may be cut off anywhere: its header tells of more. */
static void what_is_cut_off_is_refused(void **state)
{
	struct roar_arena *a = make_joined(segments);
	int fd = memfd_create("roar-arena", MFD_CLOEXEC);
	char bytes[16384];
	struct arena_inspection l;

	(void)state;
	assert_int_equal(pread(roar_arena_fd(a), bytes, sizeof(bytes), 0),
			 sizeof(bytes));
	for (size_t n = 0; n <= sizeof(bytes); n += 512) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bytes, n, 0), n);
		assert_int_equal(arena_inspect(fd, &l), -EINVAL);
	}
	(void)close(fd);
	roar_arena_close(a);
}

/* Whatever the memory holds, a look ends, with an answer or with an error. */
static void noise_harms_nobody(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	unsigned seed = 1;
	struct arena_inspection l;

	(void)state;
	put(a, 5000, 1, 7);
	for (int i = 0; i < 4000; i++) {
		uint32_t noise = (uint32_t)rand_r(&seed) * 2654435761U;
		off_t at = i % 4 ? rand_r(&seed) % 65536 & ~3 :
				   rand_r(&seed) % 128 & ~3;
		uint32_t before;
		int r;

		assert_int_equal(pread(roar_arena_fd(a), &before, 4, at), 4);
		assert_int_equal(pwrite(roar_arena_fd(a), &noise, 4, at), 4);
		r = arena_inspect(roar_arena_fd(a), &l);
		assert_true(r == 0 || r == -EINVAL || r == -EPROTO);
		if (r == 0)
			arena_inspection_release(&l);
		assert_int_equal(pwrite(roar_arena_fd(a), &before, 4, at), 4);
	}
	roar_arena_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_arena_has_nobody_and_nothing),
		cmocka_unit_test(parties_and_units_are_seen),
		cmocka_unit_test(what_is_released_is_gone),
		cmocka_unit_test(a_shutdown_is_seen),
		cmocka_unit_test(what_is_no_arena_is_refused),
		cmocka_unit_test(what_is_cut_off_is_refused),
		cmocka_unit_test(noise_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

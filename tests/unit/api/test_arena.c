/* test_arena.c - the C API of the arena, as a program outside sees it. */
#include <roar/arena.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 3 << 20 };

static int worker(int fd)
{
	static unsigned char large[LARGE];
	struct roar_arena *a = NULL;
	struct roar_arena_part part = { .len = 100000 };
	struct roar_arena_unit *u = NULL;
	struct roar_arena_buffer b = { large, LARGE };

	if (roar_arena_attach(fd, &a) < 0 ||
	    roar_arena_join(a, ROAR_ARENA_PRODUCER, 0) < 0 ||
	    roar_arena_reserve(a, &part, 1, 5, ROAR_ARENA_FOREVER, &u) < 0)
		return 1;
	memset(u->buffers[0].data, 1, part.len);
	memcpy(u->envelope, "hello", 5);
	if (roar_arena_commit(u, 42) < 0)
		return 2;
	memset(large, 2, LARGE);
	if (roar_arena_send(a, NULL, 0, &b, 1, 43, ROAR_ARENA_FOREVER) < 0)
		return 3;
	roar_arena_close(a);
	return 0;
}

static void a_worker_hands_its_units_over(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 20 };
	struct roar_arena_stats stats;
	struct roar_arena *a = NULL;
	struct roar_arena_unit *u = NULL;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_create(&config, &a), 0);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	pid = fork();
	if (pid == 0)
		_exit(worker(roar_arena_fd(a)));
	assert_int_equal(roar_arena_expect(a, pid), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY,
					    ROAR_ARENA_FOREVER, &u),
			 0);
	assert_int_equal(u->tag, 42);
	assert_memory_equal(u->envelope, "hello", 5);
	assert_int_equal(((char *)u->buffers[0].data)[99999], 1);
	roar_arena_release(u);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY,
					    ROAR_ARENA_FOREVER, &u),
			 0);
	assert_int_equal(u->buffers[0].len, LARGE);
	assert_int_equal(((char *)u->buffers[0].data)[LARGE - 1], 2);
	roar_arena_release(u);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.in_pieces, 1);
	assert_int_equal(stats.n_used, 0);
	assert_int_equal(roar_arena_shutdown(a), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY,
					    ROAR_ARENA_FOREVER, &u),
			 -EPIPE);
	assert_true(strlen(roar_arena_error()) > 10);
	roar_arena_close(a);
}

static void a_spin_and_a_copy_are_there(void **state)
{
	struct roar_arena_config config = { .segment_bytes = 1000,
					    .n_units = 2 };
	struct roar_arena_death death;
	struct roar_arena *a = NULL;
	char to[10];

	(void)state;
	assert_int_equal(roar_arena_create(&config, &a), 0);
	roar_arena_spin(a, 1000);
	roar_arena_copy(to, "123456789", 10, 10);
	assert_string_equal(to, "123456789");
	assert_int_equal(roar_arena_death(a, &death), -ENOENT);
	roar_arena_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_hands_its_units_over),
		cmocka_unit_test(a_spin_and_a_copy_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_threads.c - handles in many hands: for ThreadSanitizer */
#include "helpers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { EACH = 2000, PRODUCERS = 3, CONSUMERS = 3 };

struct crew {
	struct roar_arena *a; /* one handle for all, or NULL: one for each */
	int fd;
	uint32_t from;
	_Atomic uint64_t n_received;
	_Atomic uint64_t sum;
};

static struct roar_arena *handle(struct crew *c, unsigned role)
{
	return c->a ? c->a : attach(c->fd, role, 0);
}

static void *produce(void *arg)
{
	struct crew *c = arg;
	struct roar_arena *a = handle(c, ROAR_ARENA_PRODUCER);

	for (uint64_t i = 1; i <= EACH; i++) {
		unsigned char bytes[5000];
		struct roar_arena_buffer b = { bytes, i % 8 ? 300 : 5000 };

		memset(bytes, (int)(i & 0xff), b.len);
		if (roar_arena_send(a, &i, sizeof(i), &b, 1, i,
				    ROAR_ARENA_FOREVER) < 0)
			abort();
	}
	if (!c->a)
		roar_arena_close(a);
	return NULL;
}

static void *consume(void *arg)
{
	struct crew *c = arg;
	struct roar_arena *a = handle(c, ROAR_ARENA_CONSUMER);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_unit *last = NULL;
	int r;

	while ((r = roar_arena_receive(a, c->from, ROAR_ARENA_FOREVER, &u)) ==
	       0) {
		unsigned char *p = u->buffers[0].data;

		for (size_t i = 0; i < u->buffers[0].len; i++)
			if (p[i] != (u->tag & 0xff))
				abort();
		atomic_fetch_add(&c->n_received, 1);
		atomic_fetch_add(&c->sum, u->tag);
		roar_arena_retain(u);
		roar_arena_release(last);
		roar_arena_release(u);
		last = u;
	}
	roar_arena_release(last);
	if (r != -EPIPE)
		abort();
	if (!c->a)
		roar_arena_close(a);
	return NULL;
}

static void run(struct crew *c, struct roar_arena *a, uint64_t copies)
{
	pthread_t threads[PRODUCERS + CONSUMERS];
	struct roar_arena_stats stats;

	for (int i = 0; i < CONSUMERS; i++)
		assert_int_equal(pthread_create(&threads[PRODUCERS + i], NULL,
						consume, c),
				 0);
	do {
		(void)usleep(1000);
		assert_int_equal(roar_arena_stats(a, &stats), 0);
	} while (stats.n_consumers < (c->a ? 1 : CONSUMERS));
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, produce, c),
				 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(roar_arena_shutdown(a), 0);
	for (int i = 0; i < CONSUMERS; i++)
		assert_int_equal(pthread_join(threads[PRODUCERS + i], NULL), 0);
	assert_int_equal(c->n_received, copies * PRODUCERS * EACH);
	assert_int_equal(c->sum, copies * PRODUCERS * EACH * (EACH + 1ULL) / 2);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 0);
}

static void with(uint32_t flags, bool one_handle, uint32_t from)
{
	/* Messages of 5000 bytes go in pieces. */
	struct roar_arena_config config = { .size_bytes = 4096,
					    .n_units = 8,
					    .flags = flags };
	struct roar_arena *a = make(config);
	struct crew c = { .fd = roar_arena_fd(a), .from = from };

	if (one_handle) {
		assert_int_equal(roar_arena_join(a, BOTH, 0), 0);
		c.a = a;
	}
	run(&c, a, flags & ROAR_ARENA_BROADCAST && !one_handle ? CONSUMERS : 1);
	roar_arena_close(a);
}

static void threads_share_one_handle(void **state)
{
	(void)state;
	with(0, true, ROAR_ARENA_ANY);
	with(0, true, 0);
}

static void threads_have_handles_of_their_own(void **state)
{
	(void)state;
	with(0, false, ROAR_ARENA_ANY);
}

static void threads_share_a_broadcast(void **state)
{
	(void)state;
	with(ROAR_ARENA_BROADCAST, true, ROAR_ARENA_ANY);
	with(ROAR_ARENA_BROADCAST, false, ROAR_ARENA_ANY);
}

static void *join_now(void *arg)
{
	struct roar_arena *a = arg;
	struct roar_arena_death death;

	(void)roar_arena_death(a, &death);
	return (void *)(intptr_t)roar_arena_join(a, BOTH, 0);
}

static void one_of_many_threads_joins(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		struct roar_arena *a = make(
			(struct roar_arena_config){ .size_bytes = 1 << 12 });
		pthread_t threads[4];
		struct roar_arena_stats stats;
		int n = 0;

		for (int t = 0; t < 4; t++)
			assert_int_equal(pthread_create(&threads[t], NULL,
							join_now, a),
					 0);
		for (int t = 0; t < 4; t++) {
			void *r = NULL;

			assert_int_equal(pthread_join(threads[t], &r), 0);
			n += r == NULL;
		}
		assert_int_equal(roar_arena_stats(a, &stats), 0);
		assert_int_equal(n, 1);
		assert_int_equal(stats.n_producers, 1);
		roar_arena_close(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_one_handle),
		cmocka_unit_test(threads_have_handles_of_their_own),
		cmocka_unit_test(threads_share_a_broadcast),
		cmocka_unit_test(one_of_many_threads_joins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

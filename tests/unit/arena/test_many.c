/* test_many.c - several producers, several consumers, parts of other units */
#include "helpers.h"

/* ---- broadcast ---- */

enum { MANY = 3000 };

static int take_all(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_unit *u = NULL;
	uint64_t next = 0;

	(void)arg;
	while (roar_arena_receive(a, ROAR_ARENA_ANY, ROAR_ARENA_FOREVER, &u) ==
	       0) {
		if (u->tag != next++ ||
		    *(unsigned char *)u->buffers[0].data != (u->tag & 0xff))
			return 1;
		roar_arena_release(u);
	}
	roar_arena_close(a);
	return next == MANY ? 0 : 2;
}

static void wait_for_consumers(struct roar_arena *a, unsigned n)
{
	struct roar_arena_stats stats;

	do {
		(void)usleep(1000);
		assert_int_equal(roar_arena_stats(a, &stats), 0);
	} while (stats.n_consumers < n);
}

static void in_a_broadcast_each_consumer_gets_each_unit(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16,
					    .n_units = 8,
					    .flags = ROAR_ARENA_BROADCAST };
	struct roar_arena *a = make(config);
	struct roar_arena_stats stats;
	pid_t pids[3];

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	for (int i = 0; i < 3; i++)
		pids[i] = start(take_all, roar_arena_fd(a), NULL);
	wait_for_consumers(a, 3);
	for (uint64_t i = 0; i < MANY; i++) {
		struct roar_arena_unit *u = NULL;

		assert_int_equal(reserve(a, 1500, 5000 * MS, &u), 0);
		memset(u->buffers[0].data, (int)(i & 0xff), 1500);
		assert_int_equal(roar_arena_commit(u, i), 0);
	}
	assert_int_equal(roar_arena_shutdown(a), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(finish(pids[i]), 0);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 0);
	assert_int_equal(stats.received, 3 * MANY);
	roar_arena_close(a);
}

static void a_broadcast_waits_for_its_first_consumer(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16,
					    .flags = ROAR_ARENA_BROADCAST };
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;
	struct roar_arena *b;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	assert_int_equal(reserve(a, 1, 0, &u), -EAGAIN);
	b = attach(roar_arena_fd(a), ROAR_ARENA_CONSUMER, 0);
	put(a, 1, 1, 5);
	u = get(b);
	assert_int_equal(u->tag, 5);
	roar_arena_release(u);
	roar_arena_close(b);
	roar_arena_close(a);
}

static void who_joins_late_gets_what_comes_later(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16,
					    .n_units = 4,
					    .flags = ROAR_ARENA_BROADCAST };
	struct roar_arena *a = make_joined(config);
	struct roar_arena *b;
	struct roar_arena_unit *u;
	struct roar_arena_stats stats;

	(void)state;
	put(a, 1, 1, 1);
	b = attach(roar_arena_fd(a), ROAR_ARENA_CONSUMER, 0);
	put(a, 1, 1, 2);
	put(a, 1, 1, 3);
	u = get(b);
	assert_int_equal(u->tag, 2);
	/* It leaves with one in hand and one not taken. */
	roar_arena_close(b);
	for (uint64_t i = 1; i < 4; i++) {
		struct roar_arena_unit *own = get(a);

		assert_int_equal(own->tag, i);
		roar_arena_release(own);
	}
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 1);
	assert_bytes(&u->buffers[0], 1);
	roar_arena_release(u);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 0);
	roar_arena_close(a);
}

static int take_one_and_wait(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);

	(void)arg;
	(void)get(a);
	(void)pause();
	return 0;
}

static void a_dead_consumer_of_a_broadcast_holds_nothing(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16,
					    .n_units = 4,
					    .flags = ROAR_ARENA_BROADCAST };
	struct roar_arena *a = make_joined(config);
	struct roar_arena_stats stats;
	struct roar_arena_unit *u = NULL;
	pid_t pid = start(take_one_and_wait, roar_arena_fd(a), NULL);

	(void)state;
	wait_for_consumers(a, 2);
	for (int i = 0; i < 4; i++)
		put(a, 100, 1, 0);
	for (int i = 0; i < 4; i++)
		roar_arena_release(get(a));
	assert_int_equal(reserve(a, 1, 0, &u), -EAGAIN);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(reserve(a, 1, 5000 * MS, &u), 0);
	roar_arena_release(u);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 0);
	(void)finish(pid);
	roar_arena_close(a);
}

/* ---- several producers ---- */

struct maker {
	unsigned share;
	uint64_t n;
};

static int make_units(int fd, void *arg)
{
	const struct maker *m = arg;
	struct roar_arena *a = attach(fd, ROAR_ARENA_PRODUCER, m->share);

	for (uint64_t i = 0; i < m->n; i++) {
		struct roar_arena_unit *u = NULL;

		if (reserve(a, 2000, ROAR_ARENA_FOREVER, &u) < 0)
			return 1;
		memset(u->buffers[0].data, (int)(i & 0xff), 2000);
		if (roar_arena_commit(u, (uint64_t)m->share << 32 | i) < 0)
			return 1;
	}
	roar_arena_close(a);
	return 0;
}

static void each_producers_units_stay_in_order(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16,
					    .n_units = 8 };
	struct roar_arena *a = make(config);
	uint64_t next[ROAR_ARENA_MAX_PARTIES] = { 0 };
	pid_t pids[4];

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	for (int i = 0; i < 4; i++)
		pids[i] = start(make_units, roar_arena_fd(a),
				&(struct maker){ 0, 1000 });
	for (int i = 0; i < 4000; i++) {
		struct roar_arena_unit *u = get(a);

		assert_int_equal(u->sequence, u->tag);
		assert_int_equal(u->tag % 1000, next[u->producer]++ % 1000);
		assert_bytes(&u->buffers[0], (int)(u->tag & 0xff));
		roar_arena_release(u);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(finish(pids[i]), 0);
	roar_arena_close(a);
}

/* Round and round, though all are ready in any order and the arena is small. */
static void units_come_in_the_order_that_is_asked_for(void **state)
{
	struct roar_arena_config config = { .size_bytes = 3 * 8192,
					    .n_units = 6,
					    .n_producers = 3,
					    .flags = ROAR_ARENA_PARTITION };
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;
	pid_t pids[3];

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	assert_int_equal(roar_arena_receive(a, 64, 0, &u), -EINVAL);
	for (unsigned i = 0; i < 3; i++)
		pids[i] = start(make_units, roar_arena_fd(a),
				&(struct maker){ i, 500 });
	for (uint32_t i = 0; i < 1500; i++) {
		assert_int_equal(roar_arena_receive(a, i % 3, 5000 * MS, &u),
				 0);
		assert_int_equal(u->producer, i % 3);
		assert_int_equal(u->tag, (uint64_t)(i % 3) << 32 | i / 3);
		roar_arena_release(u);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(finish(pids[i]), 0);
	roar_arena_close(a);
}

static void what_waits_for_another_from_comes_first_later(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16 };
	struct roar_arena *a = make_joined(config);
	struct roar_arena *b = attach(roar_arena_fd(a), ROAR_ARENA_PRODUCER, 0);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_stats stats;

	(void)state;
	put(a, 1, 1, 10);
	put(a, 1, 1, 11);
	put(b, 1, 1, 20);
	put(a, 1, 1, 12);
	assert_int_equal(roar_arena_receive(a, 1, 0, &u), 0);
	assert_int_equal(u->tag, 20);
	roar_arena_release(u);
	assert_int_equal(roar_arena_receive(a, 1, 0, &u), -EAGAIN);
	for (uint64_t i = 10; i < 12; i++) {
		u = get(a);
		assert_int_equal(u->tag, i);
		roar_arena_release(u);
	}
	/* The third is kept when the handle is closed. */
	assert_int_equal(roar_arena_stats(b, &stats), 0);
	assert_int_equal(stats.n_used, 1);
	roar_arena_close(a);
	assert_int_equal(roar_arena_stats(b, &stats), 0);
	assert_int_equal(stats.n_used, 0);
	roar_arena_close(b);
}

/* ---- parts of other units ---- */

static struct roar_arena_unit *reserve_filled(struct roar_arena *a, size_t len,
					      int byte)
{
	struct roar_arena_unit *u = NULL;

	assert_int_equal(reserve(a, len, 0, &u), 0);
	memset(u->buffers[0].data, byte, len);
	return u;
}

static uint32_t n_used(struct roar_arena *a)
{
	struct roar_arena_stats stats;

	assert_int_equal(roar_arena_stats(a, &stats), 0);
	return stats.n_used;
}

static void a_part_is_handed_on_without_a_copy(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 18,
					    .n_units = 8 };
	struct roar_arena *a = make_joined(config);
	struct roar_arena_unit *x = reserve_filled(a, 50000, 1);
	struct roar_arena_unit *y = reserve_filled(a, 3000, 2);
	void *where = x->buffers[0].data;
	struct roar_arena_part parts[] = { { .in = x, .len = 50000 },
					   { .len = 10 },
					   { .in = y, .offset = 64, .len = 100 },
					   { .in = x, .offset = 9, .len = 1 } };
	struct roar_arena_unit *u = NULL;

	(void)state;
	assert_int_equal(roar_arena_reserve(a, parts, 4, 3, 0, &u), 0);
	memset(u->buffers[1].data, 3, 10);
	assert_int_equal(roar_arena_commit(u, 4), 0);
	u = get(a);
	assert_ptr_equal(u->buffers[0].data, where);
	assert_ptr_equal(u->buffers[3].data, (char *)where + 9);
	assert_bytes(&u->buffers[0], 1);
	assert_bytes(&u->buffers[1], 3);
	assert_bytes(&u->buffers[2], 2);
	assert_int_equal(u->buffers[2].len, 100);
	assert_int_equal(n_used(a), 3);
	roar_arena_release(u);
	assert_int_equal(n_used(a), 0);
	roar_arena_close(a);
}

static void a_retained_part_stays_the_producers(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 18,
					    .n_units = 8 };
	struct roar_arena *a = make_joined(config);
	struct roar_arena_unit *x = reserve_filled(a, 50000, 1);
	struct roar_arena_part part = { .in = x, .len = 50000 };
	struct roar_arena_unit *u = NULL;

	(void)state;
	roar_arena_retain(x);
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), 0);
	assert_int_equal(roar_arena_commit(u, 0), 0);
	/* A second time it would be two owners'. */
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), -EINVAL);
	u = get(a);
	roar_arena_release(u);
	assert_int_equal(n_used(a), 1);
	assert_bytes(&x->buffers[0], 1);
	roar_arena_release(x);
	assert_int_equal(n_used(a), 0);
	roar_arena_close(a);
}

static void parts_that_are_none_are_refused(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 18,
					    .n_units = 8 };
	struct roar_arena *a = make_joined(config);
	struct roar_arena *b = make_joined(config);
	struct roar_arena_unit *x = reserve_filled(a, 100, 1);
	struct roar_arena_part part = { .in = x, .offset = 1, .len = 100 };
	struct roar_arena_unit *u = NULL;

	(void)state;
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), -EINVAL);
	part.offset = SIZE_MAX;
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), -EINVAL);
	part.offset = 0;
	assert_int_equal(roar_arena_reserve(b, &part, 1, 0, 0, &u), -EINVAL);
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), 0);
	/* Released before what it is part of. */
	roar_arena_release(x);
	assert_int_equal(roar_arena_commit(u, 0), -EINVAL);
	roar_arena_release(u);
	/* A part of a part. */
	x = reserve_filled(a, 100, 1);
	part = (struct roar_arena_part){ .in = x, .len = 10 };
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), 0);
	part.in = u;
	assert_int_equal(roar_arena_reserve(a, &part, 1, 0, 0, &u), -EINVAL);
	roar_arena_release(part.in);
	roar_arena_release(x);
	/* A unit that others hold as well. */
	u = reserve_filled(a, 10, 1);
	roar_arena_retain(u);
	assert_int_equal(roar_arena_commit(u, 0), -EBUSY);
	roar_arena_release(u);
	assert_int_equal(roar_arena_commit(u, 0), 0);
	assert_int_equal(n_used(a), 1);
	roar_arena_close(a);
	roar_arena_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_broadcast_each_consumer_gets_each_unit),
		cmocka_unit_test(a_broadcast_waits_for_its_first_consumer),
		cmocka_unit_test(who_joins_late_gets_what_comes_later),
		cmocka_unit_test(a_dead_consumer_of_a_broadcast_holds_nothing),
		cmocka_unit_test(each_producers_units_stay_in_order),
		cmocka_unit_test(units_come_in_the_order_that_is_asked_for),
		cmocka_unit_test(what_waits_for_another_from_comes_first_later),
		cmocka_unit_test(a_part_is_handed_on_without_a_copy),
		cmocka_unit_test(a_retained_part_stays_the_producers),
		cmocka_unit_test(parts_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_task_ring.c - the queue, with takers that fall asleep half-way. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hash/jobs/hasher.h"
#include "hash/jobs/task_ring.h"

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct task_ring));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* What a taker does before it is preempted. */
static void fall_asleep_taking(struct task_ring *ring)
{
	atomic_fetch_add(&ring->head, 1);
}

static void tasks_come_out_in_order(void **state)
{
	struct task_ring *ring = *state;
	struct hash_task a, b;

	assert_true(task_ring_is_empty(ring));
	assert_null(task_ring_put(ring, &a));
	assert_null(task_ring_put(ring, &b));
	assert_false(task_ring_is_empty(ring));
	assert_ptr_equal(task_ring_take(ring), &a);
	assert_ptr_equal(task_ring_take(ring), &b);
	assert_null(task_ring_take(ring));
}

static void a_removed_task_is_skipped(void **state)
{
	struct task_ring *ring = *state;
	struct hash_task a, b;

	(void)task_ring_put(ring, &a);
	(void)task_ring_put(ring, &b);
	assert_true(task_ring_remove(ring, &a));
	assert_false(task_ring_remove(ring, &a));
	assert_ptr_equal(task_ring_take(ring), &b);
	assert_false(task_ring_remove(ring, &b));
}

static void a_full_ring_says_so_and_has_room_after_one_take(void **state)
{
	struct task_ring *ring = *state;
	struct hash_task a;

	for (int round = 0; round < RING_SLOTS; round++) {
		assert_false(task_ring_is_full(ring));
		assert_null(task_ring_put(ring, &a));
	}
	assert_true(task_ring_is_full(ring));
	assert_ptr_equal(task_ring_take(ring), &a);
	assert_false(task_ring_is_full(ring));
}

static void a_task_left_by_a_sleeping_taker_can_be_had_back(void **state)
{
	struct task_ring *ring = *state;
	struct hash_task a, b;

	(void)task_ring_put(ring, &a);
	(void)task_ring_put(ring, &b);
	fall_asleep_taking(ring);
	fall_asleep_taking(ring);
	assert_null(task_ring_take(ring));
	assert_true(task_ring_remove(ring, &b));
	assert_ptr_equal(task_ring_rescue(ring), &a);
	assert_null(task_ring_rescue(ring));
}

static void a_lap_later_put_returns_what_a_sleeping_taker_left(void **state)
{
	struct task_ring *ring = *state;
	struct hash_task a, b;

	(void)task_ring_put(ring, &a);
	fall_asleep_taking(ring);
	for (int i = 1; i < RING_SLOTS; i++) {
		(void)task_ring_put(ring, &b);
		assert_ptr_equal(task_ring_take(ring), &b);
	}
	assert_ptr_equal(task_ring_put(ring, &b), &a);
	assert_ptr_equal(task_ring_take(ring), &b);
}

enum { N_TASKS = 20000, N_TAKERS = 3 };

struct crowd {
	struct task_ring *ring;
	atomic_bool closed;
	_Atomic int *times; /* each task was taken */
	struct hash_task *tasks;
};

static void *taker(void *arg)
{
	struct crowd *c = arg;

	for (;;) {
		bool closed = atomic_load(&c->closed);
		struct hash_task *task = task_ring_take(c->ring);

		if (task)
			atomic_fetch_add(&c->times[task - c->tasks], 1);
		else if (closed)
			return NULL;
		else
			(void)sched_yield();
	}
}

static void each_task_is_taken_once_by_many_threads(void **state)
{
	struct crowd c = { .ring = *state,
			   .times = calloc(N_TASKS, sizeof(*c.times)),
			   .tasks = calloc(N_TASKS, sizeof(*c.tasks)) };
	pthread_t threads[N_TAKERS];

	for (int i = 0; i < N_TAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, taker, &c),
				 0);
	for (int i = 0; i < N_TASKS; i++) {
		struct hash_task *left = &c.tasks[i];

		while (left) {
			while (task_ring_is_full(c.ring))
				(void)sched_yield();
			left = task_ring_put(c.ring, left);
		}
		if (i % 7 == 0 && task_ring_remove(c.ring, &c.tasks[i]))
			atomic_fetch_add(&c.times[i], 1);
	}
	atomic_store(&c.closed, true);
	for (int i = 0; i < N_TAKERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < N_TASKS; i++)
		assert_int_equal(c.times[i], 1);
	free(c.times);
	free(c.tasks);
}

#define RING_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(tasks_come_out_in_order),
		RING_TEST(a_removed_task_is_skipped),
		RING_TEST(a_full_ring_says_so_and_has_room_after_one_take),
		RING_TEST(a_task_left_by_a_sleeping_taker_can_be_had_back),
		RING_TEST(a_lap_later_put_returns_what_a_sleeping_taker_left),
		RING_TEST(each_task_is_taken_once_by_many_threads),
	};

	return cmocka_run_group_tests_name("task_ring", tests, NULL, NULL);
}

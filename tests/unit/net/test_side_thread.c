/* test_side_thread.c - jobs beside a loop. */
#include "test.h"

#include <pthread.h>
#include <sched.h>

#include "net/side_thread.h"

enum { N_JOBS = 100 };

struct count {
	struct side_job job;
	unsigned number;
	pthread_t ran_on;
};

static struct loop *loop;
static struct side_thread *side;
static struct count counts[N_JOBS];
static unsigned n_run, n_done; /* the former: the side thread's */

static void run(struct side_job *j)
{
	struct count *c = (struct count *)j;

	assert_int_equal(c->number, n_run);
	n_run++;
	c->ran_on = pthread_self();
}

static void done(struct side_job *j)
{
	struct count *c = (struct count *)j;

	assert_int_equal(c->number, n_done);
	n_done++;
}

static int setup(void **state)
{
	(void)state;
	n_run = n_done = 0;
	for (unsigned i = 0; i < N_JOBS; i++)
		counts[i] = (struct count){ .job = { .run = run, .done = done },
					    .number = i };
	return loop_new(&loop) < 0 || side_thread_new(loop, N_JOBS, &side) < 0;
}

static int teardown(void **state)
{
	(void)state;
	side_thread_free(side);
	loop_free(loop);
	return 0;
}

static void add_all(void)
{
	for (unsigned i = 0; i < N_JOBS; i++)
		if (!side_thread_add(side, &counts[i].job))
			skip(); /* one CPU */
}

static void jobs_run_elsewhere_and_end_in_the_loop_in_order(void **state)
{
	(void)state;
	add_all();
	while (n_done < N_JOBS)
		assert_int_equal(loop_round(loop, 10000), 0);
	assert_int_equal(n_run, N_JOBS);
	assert_false(pthread_equal(counts[0].ran_on, pthread_self()));
}

static void all_jobs_end_before_the_thread(void **state)
{
	(void)state;
	add_all();
	side_thread_free(side);
	assert_int_equal(n_done, N_JOBS);
	assert_int_equal(side_thread_new(loop, 1, &side), 0);
}

static void a_job_without_an_end_is_asked_for(void **state)
{
	(void)state;
	counts[0].job.done = NULL;
	if (!side_thread_add(side, &counts[0].job))
		skip();
	side_thread_finish(side);
	assert_true(side_job_is_run(&counts[0].job));
	assert_int_equal(n_run, 1);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(struct side_job *j)
{
	(void)j;
	(void)pthread_mutex_lock(&gate);
	(void)pthread_mutex_unlock(&gate);
}

static void more_than_the_limit_are_not_taken(void **state)
{
	(void)state;
	side_thread_free(side);
	assert_int_equal(side_thread_new(loop, 2, &side), 0);
	(void)pthread_mutex_lock(&gate);
	counts[0].job.run = counts[1].job.run = wait_at_gate;
	counts[0].job.done = counts[1].job.done = NULL;
	if (side_thread_add(side, &counts[0].job)) {
		assert_true(side_thread_add(side, &counts[1].job));
		assert_false(side_thread_add(side, &counts[2].job));
		assert_false(side_job_is_run(&counts[0].job));
	}
	(void)pthread_mutex_unlock(&gate);
	side_thread_finish(side);
}

static void with_one_cpu_no_job_is_taken(void **state)
{
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	side_thread_free(side);
	assert_int_equal(side_thread_new(loop, 2, &side), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_false(side_thread_add(side, &counts[0].job));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			jobs_run_elsewhere_and_end_in_the_loop_in_order, setup,
			teardown),
		cmocka_unit_test_setup_teardown(all_jobs_end_before_the_thread,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_job_without_an_end_is_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(
			more_than_the_limit_are_not_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(with_one_cpu_no_job_is_taken,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

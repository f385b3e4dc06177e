/* Meetings of a client: what they tell, who reads while several wait, and event loops. */
#include "fixture.h"

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

/* ---- meetings ---- */

static void an_empty_group_is_not_everybody(void **state)
{
	struct fixture *x = *state;
	const char *none[] = { NULL };
	struct roar_coord_meet m = { .id = "b", .group = none };

	assert_int_equal(roar_coord_meet(x->c, &m, NULL), -EINVAL);
	assert_non_null(strstr(roar_coord_error(), "is empty: pass NULL"));
}

static void a_barrier_tells_who_was_late(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 0);
	assert_int_equal(pthread_join(w.thread, NULL), 0);
	assert_int_equal(w.result, 0);
	assert_int_equal(w.m.participants, 2);
	assert_int_equal(w.m.arrival_order, 1);
	assert_string_equal(w.m.late, "other=7");
	assert_int_equal(w.m.n_values, 1);
	assert_string_equal(w.m.values[0].data, "hi");
	roar_coord_meeting_release(&w.m);
	assert_true(fake_get(&x->fake, timeout_ms) > 20000);
}

static void generations_are_counted_from_the_coordinators_answer(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", -1);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(fake_get(&x->fake, generation), 0);
	assert_int_equal(fake_get(&x->fake, timeout_ms), 0);
	fake_release(&x->fake, 57);
	assert_int_equal(end(&w), 0);

	begin(&w, x->c, "b", -1);
	fake_await(&x->fake, n_meets, 2);
	assert_int_equal(fake_get(&x->fake, generation), 58);
	fake_refuse(&x->fake, 10, "w-2 died", "w-2");
	assert_int_equal(end(&w), -ECONNABORTED);

	begin(&w, x->c, "b", -1); /* what failed is tried again as the same */
	fake_await(&x->fake, n_meets, 3);
	assert_int_equal(fake_get(&x->fake, generation), 58);
	fake_refuse(&x->fake, 9, "that is over", NULL);
	assert_int_equal(end(&w), -ESTALE);

	begin(&w, x->c, "b", -1); /* we had lost count: ask */
	fake_await(&x->fake, n_meets, 4);
	assert_int_equal(fake_get(&x->fake, generation), 0);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_failed_barrier_names_the_absent(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_refuse(&x->fake, 4, "2 have not come", "w-7,w-9");
	assert_int_equal(end(&w), -ETIMEDOUT);
	assert_string_equal(w.error, "2 have not come");
	assert_string_equal(w.absent, "w-7,w-9");
	assert_string_equal(roar_coord_absent(), ""); /* of this thread */
}

static void an_arrival_is_sent_again_with_its_generation(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 4);
	assert_int_equal(end(&w), 0);
	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 2);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_meets, 3);
	assert_int_equal(fake_get(&x->fake, generation), 5);
	assert_int_equal(fake_get(&x->fake, session), 77);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_first_arrival_says_that_its_answer_may_be_lost(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_false(fake_get(&x->fake, again));
	fake_drop(&x->fake);
	fake_await(&x->fake, n_meets, 2);
	assert_true(fake_get(&x->fake, again));
	assert_int_equal(fake_get(&x->fake, generation), 0);
	fake_release(&x->fake, 3);
	assert_int_equal(end(&w), 0);
	begin(&w, x->c, "b", 30000); /* from now on there is a number */
	fake_await(&x->fake, n_meets, 3);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_meets, 4);
	assert_false(fake_get(&x->fake, again));
	assert_int_equal(fake_get(&x->fake, generation), 4);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void
a_barrier_outlives_a_coordinator_that_is_gone_for_a_while(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world world;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_halt(&x->fake);
	for (int i = 0; i < 5000; i++) {
		roar_coord_world(x->c, &world);
		if (!world.connected)
			break;
		usleep(1000);
	}
	assert_false(world.connected);
	fake_restart(&x->fake);
	fake_await(&x->fake, n_meets, 2);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_server_that_stops_is_asked_again(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_refuse(&x->fake, 14, "stopping", NULL);
	fake_await(&x->fake, n_meets, 2);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
	fake_set(&x->fake, key_status, 14);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
}

static void without_a_connection_the_deadline_is_enotconn(void **state)
{
	struct fixture *x = *state;

	fake_halt(&x->fake);
	assert_int_equal(roar_coord_barrier(x->c, "b", 0, 50, NULL), -ENOTCONN);
	assert_true(strlen(roar_coord_error()) > 10);
}

static void two_threads_in_one_meeting_are_told(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(roar_coord_barrier(x->c, "b", 0, 50, NULL), -EBUSY);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void many_threads_wait_at_once(void **state)
{
	enum { N = 32 };
	struct fixture *x = *state;
	struct work w[N];
	char ids[N][8];

	for (int i = 0; i < N; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "b%d", i);
		begin(&w[i], x->c, ids[i], 30000);
	}
	fake_await(&x->fake, n_meets, N);
	fake_release(&x->fake, 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(end(&w[i]), 0);
}

/* ---- who waits reads ---- */

/* A thread of ours that is not among those, or 0; those are listed where `n` is 0. */
static pid_t other_task(pid_t *known, size_t *n)
{
	DIR *d = opendir("/proc/self/task");
	bool list = *n == 0;
	pid_t found = 0;
	struct dirent *e;

	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);
		bool is_known = tid == 0;

		for (size_t i = 0; !list && i < *n; i++)
			is_known |= known[i] == tid;
		if (list && tid && *n < 16)
			known[(*n)++] = tid;
		else if (!is_known)
			found = tid;
	}
	closedir(d);
	return list ? 0 : found;
}

/* How often the thread has gone to sleep. */
static unsigned long n_sleeps(pid_t tid)
{
	char path[64], line[128];
	unsigned long n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &n);
	if (f)
		(void)fclose(f);
	return n;
}

static void await_reader(struct roar_coord *c)
{
	bool reads = false;

	for (int i = 0; !reads && i < 10000; i++) {
		pthread_mutex_lock(&c->lock);
		reads = c->driver_sleeps;
		pthread_mutex_unlock(&c->lock);
		if (!reads)
			usleep(1000);
	}
	assert_true(reads);
}

static void a_release_does_not_wake_the_thread_of_the_client(void **state)
{
	enum { N = 20 };
	struct fixture *x = *state;
	struct roar_coord *c;
	pid_t known[16], tid;
	size_t n_known = 0;
	unsigned long before;

	fake_set(&x->fake, interval_ms, 60000);
	(void)other_task(known, &n_known);
	c = join(&x->fake, 0);
	tid = other_task(known, &n_known);
	assert_int_not_equal(tid, 0);
	before = n_sleeps(tid);
	for (unsigned i = 0; i < N; i++) {
		struct work w;

		begin(&w, c, "b", 30000);
		fake_await(&x->fake, n_meets, i + 1);
		await_reader(c);
		fake_release(&x->fake, 0);
		assert_int_equal(end(&w), 0);
	}
	assert_true(n_sleeps(tid) - before < N / 2);
	roar_coord_free(c);
}

static void who_reads_for_all_goes_on_waiting_when_another_is_told(void **state)
{
	struct fixture *x = *state;
	struct work reads = { .c = x->c, .timeout_ms = 30000 };
	struct work other;

	assert_int_equal(pthread_create(&reads.thread, NULL, get_body, &reads),
			 0);
	fake_await(&x->fake, n_gets, 1);
	begin(&other, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&other), 0);
	fake_answer_keys(&x->fake, "value");
	assert_int_equal(end(&reads), 0);
	assert_string_equal(reads.error, "value");
}

static void others_wait_on_when_the_one_who_read_is_done(void **state)
{
	struct fixture *x = *state;
	struct work reads, other = { .c = x->c, .timeout_ms = 30000 };

	begin(&reads, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(pthread_create(&other.thread, NULL, get_body, &other),
			 0);
	fake_await(&x->fake, n_gets, 1);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&reads), 0);
	fake_answer_keys(&x->fake, "value");
	assert_int_equal(end(&other), 0);
	assert_string_equal(other.error, "value");
}

/* ---- event loops ---- */

struct told {
	int n, error;
	uint64_t generation;
};

static void done(void *data, int error, const struct roar_coord_meeting *m)
{
	struct told *t = data;

	t->n++;
	t->error = error;
	t->generation = m ? m->generation : 0;
}

static void turn_until(struct roar_coord *c, const struct told *t)
{
	struct pollfd p = { .fd = roar_coord_fd(c), .events = POLLIN };
	int64_t ms;

	for (int i = 0; i < 10000 && !t->n; i++) {
		assert_int_equal(roar_coord_turn(c, &ms), 0);
		if (!t->n)
			(void)poll(&p, 1, ms < 0 || ms > 10 ? 10 : (int)ms);
	}
}

static void without_a_thread_turns_do_everything(void **state)
{
	struct fixture *x = *state;
	struct roar_coord *c = join(&x->fake, ROAR_COORD_NO_THREAD);
	struct roar_coord_meet m = { .id = "b", .timeout_ms = -1 };
	struct told t = { 0 };
	struct told none = { 0 };
	unsigned beats = fake_get(&x->fake, n_beats);

	assert_int_equal(roar_coord_set(c, "k", "v", 1, 0), 0);
	assert_int_equal(roar_coord_begin_meet(c, &m, NULL, 0, done, &t), 0);
	assert_int_equal(roar_coord_begin_meet(c, &m, NULL, 0, done, &none),
			 -EBUSY);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 3);
	turn_until(c, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.error, 0);
	assert_int_equal(t.generation, 3);
	for (int i = 0; i < 2000 && fake_get(&x->fake, n_beats) < beats + 2;
	     i++) {
		int64_t ms;

		assert_int_equal(roar_coord_turn(c, &ms), 0);
		usleep(1000);
	}
	assert_true(fake_get(&x->fake, n_beats) >= beats + 2);
	assert_int_equal(roar_coord_begin_meet(c, &m, "v", 1, done, &none), 0);
	roar_coord_free(c); /* while it waits: nothing is told, nothing leaks */
	assert_int_equal(none.n, 0);
}

static void a_begun_meeting_outlives_the_connection(void **state)
{
	struct fixture *x = *state;
	struct roar_coord *c = join(&x->fake, ROAR_COORD_NO_THREAD);
	struct roar_coord_meet m = { .id = "b",
				     .generation = 6,
				     .timeout_ms = 30000 };
	struct told t = { 0 };
	int64_t ms;

	assert_int_equal(roar_coord_begin_meet(c, &m, NULL, 0, done, &t), 0);
	fake_await(&x->fake, n_meets, 1);
	fake_drop(&x->fake);
	for (int i = 0; i < 5000 && fake_get(&x->fake, n_meets) < 2; i++) {
		assert_int_equal(roar_coord_turn(c, &ms), 0);
		usleep(1000);
	}
	assert_int_equal(fake_get(&x->fake, generation), 6);
	fake_release(&x->fake, 0);
	turn_until(c, &t);
	assert_int_equal(t.error, 0);
	assert_int_equal(roar_coord_leave(c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(an_empty_group_is_not_everybody),
		WITH(a_barrier_tells_who_was_late),
		WITH(generations_are_counted_from_the_coordinators_answer),
		WITH(a_failed_barrier_names_the_absent),
		WITH(an_arrival_is_sent_again_with_its_generation),
		WITH(a_first_arrival_says_that_its_answer_may_be_lost),
		WITH(a_barrier_outlives_a_coordinator_that_is_gone_for_a_while),
		WITH(a_server_that_stops_is_asked_again),
		WITH(without_a_connection_the_deadline_is_enotconn),
		WITH(two_threads_in_one_meeting_are_told),
		WITH(many_threads_wait_at_once),
		WITH(a_release_does_not_wake_the_thread_of_the_client),
		WITH(who_reads_for_all_goes_on_waiting_when_another_is_told),
		WITH(others_wait_on_when_the_one_who_read_is_done),
		WITH(without_a_thread_turns_do_everything),
		WITH(a_begun_meeting_outlives_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_death.c - parties that die, and those who are left */
#include "helpers.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "arena/arena.h"

static const struct roar_arena_config config = { .size_bytes = 1 << 20,
						 .n_units = 8 };

static long long now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static struct roar_arena_stats stats_of(struct roar_arena *a)
{
	struct roar_arena_stats s;

	assert_int_equal(roar_arena_stats(a, &s), 0);
	return s;
}

/* Reserves one, commits three, then waits to be killed. */
static int produce_three(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_PRODUCER, 0);
	struct roar_arena_unit *u = NULL;

	(void)arg;
	if (reserve(a, 100000, 0, &u) < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		put(a, 5000, i, (uint64_t)i);
	(void)pause();
	return 0;
}

static void
what_a_dead_producer_committed_is_received_then_its_death(void **state)
{
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_death death;
	long long began;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	assert_int_equal(roar_arena_death(a, &death), -ENOENT);
	pid = start(produce_three, roar_arena_fd(a), NULL);
	u = get(a);
	assert_int_equal(u->tag, 0);
	roar_arena_release(u);
	while (stats_of(a).committed < 3)
		(void)usleep(1000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	began = now_ms();
	for (int i = 1; i < 3; i++) {
		u = get(a);
		assert_int_equal(u->tag, i);
		roar_arena_release(u);
	}
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY,
					    ROAR_ARENA_FOREVER, &u),
			 -ECONNRESET);
	assert_true(now_ms() - began < 100);
	assert_non_null(strstr(roar_arena_error(), "signal 9 (SIGKILL)"));
	assert_int_equal(roar_arena_death(a, &death), 0);
	assert_int_equal(death.pid, pid);
	assert_int_equal(death.roles, ROAR_ARENA_PRODUCER);
	assert_true(death.known && WTERMSIG(death.status) == SIGKILL);
	/* Once. */
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 100 * MS, &u),
			 -ETIMEDOUT);
	/* What it had reserved is free again. */
	assert_int_equal(stats_of(a).n_used, 0);
	assert_int_equal(stats_of(a).used_bytes, 0);
	assert_int_equal(stats_of(a).reclaimed, 1);
	assert_int_equal(stats_of(a).n_producers, 0);
	assert_int_equal(finish(pid), 128 + SIGKILL);
	roar_arena_close(a);
}

static int end_without_leaving(int fd, void *arg)
{
	(void)attach(fd, ROAR_ARENA_PRODUCER, 0);
	(void)arg;
	return 3;
}

static void an_end_without_leaving_is_told_with_its_status(void **state)
{
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_death death;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	pid = start(end_without_leaving, roar_arena_fd(a), NULL);
	assert_int_equal(roar_arena_expect(a, pid), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 5000 * MS, &u),
			 -ECONNRESET);
	assert_int_equal(roar_arena_death(a, &death), 0);
	assert_int_equal(death.pid, pid);
	assert_int_equal(death.roles, ROAR_ARENA_PRODUCER);
	assert_int_equal(WEXITSTATUS(death.status), 3);
	assert_int_equal(finish(pid), 3);
	roar_arena_close(a);
}

static int take_and_wait(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);

	(void)arg;
	(void)get(a);
	(void)get(a);
	(void)pause();
	return 0;
}

static void what_a_dead_consumer_held_is_free_again(void **state)
{
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_death death;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	pid = start(take_and_wait, roar_arena_fd(a), NULL);
	put(a, 1 << 19, 1, 0);
	put(a, 1 << 19, 1, 1);
	while (stats_of(a).received < 2)
		(void)usleep(1000);
	assert_int_equal(reserve(a, 1 << 20, 5 * MS, &u), -ETIMEDOUT);
	assert_int_equal(kill(pid, SIGKILL), 0);
	/* Room, but nobody to receive it: whichever is seen first. */
	if (reserve(a, 1 << 20, 5000 * MS, &u) == -ECONNRESET) {
		assert_int_equal(roar_arena_death(a, &death), 0);
		assert_int_equal(death.pid, pid);
		assert_int_equal(reserve(a, 1 << 20, 0, &u), 0);
	}
	roar_arena_release(u);
	assert_int_equal(stats_of(a).n_used, 0);
	(void)finish(pid);
	roar_arena_close(a);
}

static void a_full_arena_without_consumers_says_who_died(void **state)
{
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;
	long long began;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	pid = start(take_and_wait, roar_arena_fd(a), NULL);
	for (int i = 0; i < 8; i++)
		assert_int_equal(reserve(a, 1, 5000 * MS, &u) ||
					 roar_arena_commit(u, 0),
				 0);
	while (stats_of(a).received < 2)
		(void)usleep(1000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	began = now_ms();
	/* Two places come back from the dead. */
	while (reserve(a, 1, ROAR_ARENA_FOREVER, &u) == 0)
		assert_int_equal(roar_arena_commit(u, 0), 0);
	assert_true(now_ms() - began < 200);
	assert_int_equal(reserve(a, 1, ROAR_ARENA_FOREVER, &u), -ECONNRESET);
	assert_non_null(strstr(roar_arena_error(), "consumer"));
	(void)finish(pid);
	roar_arena_close(a);
}

static int do_nothing(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	return 5;
}

static void the_death_of_an_expected_process_is_told(void **state)
{
	struct roar_arena *a = make_joined(config);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_death death;
	pid_t pid = start(do_nothing, 0, NULL);

	(void)state;
	assert_int_equal(roar_arena_expect(a, 0), -EINVAL);
	assert_int_equal(roar_arena_expect(a, pid), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 5000 * MS, &u),
			 -ECONNRESET);
	assert_int_equal(roar_arena_death(a, &death), 0);
	assert_int_equal(death.pid, pid);
	assert_int_equal(death.roles, 0);
	assert_true(death.known);
	assert_int_equal(WEXITSTATUS(death.status), 5);
	(void)finish(pid);
	/* One that is gone already. */
	assert_int_equal(roar_arena_expect(a, pid), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 5000 * MS, &u),
			 -ECONNRESET);
	roar_arena_close(a);
}

static int join_share(int fd, void *arg)
{
	struct roar_arena *a = NULL;

	(void)arg;
	if (roar_arena_attach(fd, &a) < 0)
		return 100;
	return -roar_arena_join(a, ROAR_ARENA_PRODUCER, 1);
}

static int join_and_leave(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_PRODUCER, 0);

	(void)arg;
	put(a, 100, 1, 1);
	roar_arena_close(a);
	return 0;
}

static void who_was_expected_and_has_left_is_not_missed(void **state)
{
	struct roar_arena *a = make(config);
	struct roar_arena_unit *u = NULL;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	/* One after the other in the same place. */
	for (int i = 0; i < 3; i++) {
		pid_t pid = start(join_and_leave, roar_arena_fd(a), NULL);

		assert_int_equal(roar_arena_expect(a, pid), 0);
		assert_int_equal(finish(pid), 0);
	}
	for (int i = 0; i < 3; i++)
		roar_arena_release(get(a));
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 100 * MS, &u),
			 -ETIMEDOUT);
	roar_arena_close(a);
}

static int end_at_once(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	return 3;
}

static void the_share_of_one_killed_while_it_joined_is_free_again(void **state)
{
	struct roar_arena_config parted = config;
	struct roar_arena *a;
	pid_t pid = start(end_at_once, 0, NULL);

	(void)state;
	parted.flags = ROAR_ARENA_PARTITION;
	parted.n_producers = 2;
	a = make(parted);
	assert_int_equal(
		party_claim(&a->map, 1, false, pid, ROAR_ARENA_PRODUCER), 1);
	(void)finish(pid);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 1), 0);
	roar_arena_close(a);
}

/* No descriptor can be opened any more until this is undone. */
static struct rlimit use_up_descriptors(void)
{
	struct rlimit was;
	struct rlimit none;
	int fd = dup(0);

	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){ (rlim_t)fd, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	return was;
}

static void a_death_is_told_to_who_has_no_descriptors_left(void **state)
{
	static int (*const bodies[])(int fd, void *arg) = { produce_three,
							    end_at_once };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct roar_arena *a = make(config);
		struct roar_arena_unit *u = NULL;
		struct roar_arena_death death;
		struct rlimit was;
		pid_t pid;
		int r;

		assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
		pid = start(bodies[i], roar_arena_fd(a), NULL);
		was = use_up_descriptors();
		assert_int_equal(roar_arena_expect(a, pid), 0);
		for (int n = 0; i == 0 && n < 3; n++)
			roar_arena_release(get(a));
		if (i == 0)
			assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY,
							    50 * MS, &u),
					 -ETIMEDOUT);
		(void)kill(pid, SIGKILL);
		r = roar_arena_receive(a, ROAR_ARENA_ANY, 1000 * MS, &u);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		assert_int_equal(r, -ECONNRESET);
		assert_int_equal(roar_arena_death(a, &death), 0);
		assert_int_equal(death.pid, pid);
		(void)finish(pid);
		roar_arena_close(a);
	}
}

static void the_share_of_a_dead_producer_is_free_again(void **state)
{
	struct roar_arena_config parted = { .size_bytes = 1 << 20,
					    .n_units = 8,
					    .n_producers = 2,
					    .flags = ROAR_ARENA_PARTITION };
	struct roar_arena *a = make(parted);
	struct roar_arena *b;

	(void)state;
	assert_int_equal(finish(start(join_share, roar_arena_fd(a), NULL)), 0);
	assert_int_equal(finish(start(join_share, roar_arena_fd(a), NULL)), 0);
	b = attach(roar_arena_fd(a), ROAR_ARENA_PRODUCER, 1);
	assert_int_equal(finish(start(join_share, roar_arena_fd(a), NULL)),
			 EADDRINUSE);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 1),
			 -EADDRINUSE);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	roar_arena_close(b);
	roar_arena_close(a);
}

static int only_join(int fd, void *arg)
{
	struct roar_arena *a = NULL;

	(void)arg;
	if (roar_arena_attach(fd, &a) < 0)
		return 100;
	return -roar_arena_join(a, ROAR_ARENA_CONSUMER, 0);
}

static void places_of_the_dead_are_no_end_of_joining(void **state)
{
	struct roar_arena *a = make(config);
	struct roar_arena *all[ROAR_ARENA_MAX_PARTIES];

	(void)state;
	for (int i = 0; i < 200; i++)
		assert_int_equal(
			finish(start(only_join, roar_arena_fd(a), NULL)), 0);
	for (int i = 0; i < ROAR_ARENA_MAX_PARTIES; i++)
		all[i] = attach(roar_arena_fd(a), BOTH, 0);
	assert_int_equal(roar_arena_join(a, BOTH, 0), -EUSERS);
	for (int i = 0; i < ROAR_ARENA_MAX_PARTIES; i++)
		roar_arena_close(all[i]);
	assert_int_equal(roar_arena_join(a, BOTH, 0), 0);
	roar_arena_close(a);
}

/* As after a look from another pid namespace, where its pid is nobody's. */
static void who_is_taken_for_dead_leaves_its_successor_alone(void **state)
{
	struct roar_arena *a = make_joined(
		(struct roar_arena_config){ .size_bytes = 1 << 20,
					    .flags = ROAR_ARENA_BROADCAST });
	const struct arena_map *m = &a->map;
	unsigned roles = ROAR_ARENA_CONSUMER;
	uint64_t head;

	(void)state;
	assert_int_equal(party_claim(m, 1, false, 1, roles), 1);
	assert_true(sweep_party(m, 0, 1, shared_load(&m->parties[1].word)) >= 0);
	assert_int_equal(party_claim(m, 1, false, 2, roles), 1);
	assert_int_equal(party_enter(m, 1), 0);
	head = shared_load(&m->parties[1].head);
	put(a, 100, 'x', 0);
	/* The first one, now. */
	assert_int_equal(party_enter(m, 1), -ESTALE);
	assert_int_equal(shared_load(&m->parties[1].head), head);
	assert_int_equal(shared_load(&m->parties[1].joined_at), head);
	roar_arena_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_a_dead_producer_committed_is_received_then_its_death),
		cmocka_unit_test(an_end_without_leaving_is_told_with_its_status),
		cmocka_unit_test(what_a_dead_consumer_held_is_free_again),
		cmocka_unit_test(a_full_arena_without_consumers_says_who_died),
		cmocka_unit_test(the_death_of_an_expected_process_is_told),
		cmocka_unit_test(who_was_expected_and_has_left_is_not_missed),
		cmocka_unit_test(
			the_share_of_one_killed_while_it_joined_is_free_again),
		cmocka_unit_test(a_death_is_told_to_who_has_no_descriptors_left),
		cmocka_unit_test(the_share_of_a_dead_producer_is_free_again),
		cmocka_unit_test(places_of_the_dead_are_no_end_of_joining),
		cmocka_unit_test(
			who_is_taken_for_dead_leaves_its_successor_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_kill.c - SIGKILL at any moment: nothing is lost, leaked or waited for
 *
 * Each round a worker is killed after a random time, with timers of microseconds so that it
 * is anywhere in its calls.  Whoever is left must hear of it within 100 ms, must have
 * received whole units in order, and must find every unit and every block free again.
 * ARENA_KILL_ROUNDS sets how many rounds each test makes. */
#include "helpers.h"

#include <pthread.h>
#include <time.h>

#include "arena/arena.h"

static unsigned rounds(unsigned usual)
{
	const char *text = getenv("ARENA_KILL_ROUNDS");

	return text ? (unsigned)strtoul(text, NULL, 10) : usual;
}

static long long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static unsigned seed = 1;

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* Dies `us` microseconds after it has joined. */
static void set_fuse(unsigned us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value.tv_nsec = us * 1000L + 1 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &when, NULL) < 0)
		_exit(99);
}

/* A thread that hears of a death from the kernel: on a busy machine neither the end of
 * who is killed nor the start of who is told comes at once. */
struct witness {
	pthread_t thread;
	pid_t pid;
	long long heard_us;
};

static void *watch(void *arg)
{
	struct witness *w = arg;
	siginfo_t info;

	while (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT) < 0 &&
	       errno == EINTR)
		;
	w->heard_us = now_us();
	return NULL;
}

static void witness_begin(struct witness *w, pid_t pid)
{
	w->pid = pid;
	assert_int_equal(pthread_create(&w->thread, NULL, watch, w), 0);
}

enum { SOON_US = 100000, EVER_US = 5000000 };

/* We have heard of the death at `heard_us`.  Returns whether that was much later than the
 * witness did: of many deaths few are, on a machine that has others to serve. */
static bool witness_end(struct witness *w, long long heard_us)
{
	long long late_us;

	assert_int_equal(pthread_join(w->thread, NULL), 0);
	late_us = heard_us - w->heard_us;
	if (late_us > EVER_US)
		fail_msg("heard of it %lld us after the kernel said so",
			 late_us);
	assert_int_equal(finish(w->pid), 128 + SIGKILL);
	return late_us > SOON_US;
}

static void assert_few_late(unsigned n_late, unsigned n)
{
	if (n_late > 2 + n / 10)
		fail_msg("of %u deaths %u were heard of after %d us", n, n_late,
			 SOON_US);
}

static void fill_pattern(struct roar_arena_unit *u, uint64_t tag)
{
	for (size_t i = 0; i < u->n_buffers; i++)
		memset(u->buffers[i].data, (int)(tag & 0xff),
		       u->buffers[i].len);
}

static bool is_whole(const struct roar_arena_unit *u)
{
	for (size_t i = 0; i < u->n_buffers; i++) {
		const unsigned char *p = u->buffers[i].data;

		for (size_t k = 0; k < u->buffers[i].len; k++)
			if (p[k] != (u->tag & 0xff))
				return false;
	}
	return true;
}

/* Sizes that go inline, into one block, into many; each fifth with a part in another
 * unit, each seventh larger than the arena. */
static int produce_one(struct roar_arena *a, uint64_t tag)
{
	static unsigned char large[100000];
	static const size_t lens[] = { 10, 500, 3000, 20000 };
	struct roar_arena_part parts[2] = { { .len = lens[tag % 4] } };
	struct roar_arena_unit *u = NULL;
	struct roar_arena_unit *part = NULL;
	int r;

	if (tag % 7 == 6) {
		struct roar_arena_buffer b = { large, sizeof(large) };

		memset(large, (int)(tag & 0xff), sizeof(large));
		return roar_arena_send(a, NULL, 0, &b, 1, tag, 2000 * MS);
	}
	if (tag % 5 == 0) {
		r = reserve(a, 2000, 2000 * MS, &part);
		if (r < 0)
			return r;
		parts[1] = (struct roar_arena_part){ .in = part, .len = 2000 };
	}
	r = roar_arena_reserve(a, parts, part ? 2 : 1, 0, 2000 * MS, &u);
	if (r < 0) {
		roar_arena_release(part);
		return r;
	}
	fill_pattern(u, tag);
	return roar_arena_commit(u, tag);
}

static int producer(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_PRODUCER, 0);

	set_fuse(*(unsigned *)arg);
	for (uint64_t i = 0; produce_one(a, i) == 0; i++)
		;
	return 1;
}

/* Keeps up to two units, as consumers do. */
static int consumer(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_unit *held[3] = { NULL };
	struct roar_arena_unit *u = NULL;

	set_fuse(*(unsigned *)arg);
	for (unsigned i = 0;
	     roar_arena_receive(a, ROAR_ARENA_ANY, 2000 * MS, &u) == 0; i++) {
		if (!is_whole(u))
			abort();
		roar_arena_release(held[i % 3]);
		held[i % 3] = u;
	}
	return 1;
}

static void assert_all_free(struct roar_arena *a)
{
	struct roar_arena_stats stats;

	assert_int_equal(roar_arena_stats(a, &stats), 0);
	if (stats.n_used) {
		for (uint32_t i = 0; i < a->map.g.n_units; i++) {
			struct arena_unit *u = &a->map.units[i];

			if (unit_state(u->word) != UNIT_FREE)
				print_message(
					"unit %u: state %u, owner %u, holders %llx, flags %llx\n",
					i, unit_state(u->word),
					unit_owner(u->word),
					(unsigned long long)u->holders,
					(unsigned long long)u->flags);
		}
		fail_msg("%u units leaked", stats.n_used);
	}
	for (uint32_t i = 0; i < a->map.g.n_blocks; i++)
		assert_int_equal(a->map.owners[i], 0);
	assert_int_equal(stats.n_producers + stats.n_consumers,
			 __builtin_popcount(a->roles));
}

static const struct roar_arena_config shared = { .size_bytes = 1 << 16,
						 .n_units = 8 };
static const struct roar_arena_config broadcast = {
	.size_bytes = 1 << 16,
	.n_units = 8,
	.flags = ROAR_ARENA_BROADCAST
};

/* ---- a producer is killed ---- */

static bool drain(struct roar_arena *a, pid_t pid)
{
	struct roar_arena_unit *u = NULL;
	struct witness witness;
	uint64_t next = 0;
	int r;

	witness_begin(&witness, pid);
	while ((r = roar_arena_receive(a, ROAR_ARENA_ANY, 5000 * MS, &u)) == 0) {
		assert_int_equal(u->tag, next++);
		assert_true(is_whole(u));
		roar_arena_release(u);
	}
	assert_int_equal(r, -ECONNRESET);
	return witness_end(&witness, now_us());
}

static void producers_die(struct roar_arena_config config, unsigned n)
{
	struct roar_arena *a = make(config);
	unsigned n_late = 0;

	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	for (unsigned i = 0; i < n; i++) {
		unsigned fuse = pick(1500);

		n_late += drain(a, start(producer, roar_arena_fd(a), &fuse));
		assert_all_free(a);
	}
	assert_few_late(n_late, n);
	roar_arena_close(a);
}

static void a_producer_is_killed_anywhere(void **state)
{
	(void)state;
	producers_die(shared, rounds(150));
	producers_die(broadcast, rounds(100));
}

/* ---- a consumer is killed ---- */

static bool feed(struct roar_arena *a, pid_t pid)
{
	struct witness witness;
	uint64_t tag = 0;
	int r;

	witness_begin(&witness, pid);
	while ((r = produce_one(a, tag)) == 0)
		tag++;
	assert_int_equal(r, -ECONNRESET);
	return witness_end(&witness, now_us());
}

/* What nobody has received stays for the next one. */
static void empty(struct roar_arena *a)
{
	struct roar_arena *b = attach(roar_arena_fd(a), ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_unit *u = NULL;

	while (roar_arena_receive(b, ROAR_ARENA_ANY, 0, &u) == 0)
		roar_arena_release(u);
	roar_arena_close(b);
}

static void consumers_die(struct roar_arena_config config, unsigned n)
{
	struct roar_arena *a = make(config);
	unsigned n_late = 0;

	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	for (unsigned i = 0; i < n; i++) {
		unsigned fuse = pick(1500);
		struct roar_arena_stats stats;
		pid_t pid = start(consumer, roar_arena_fd(a), &fuse);

		/* One that died before it joined is nobody's consumer. */
		do
			assert_int_equal(roar_arena_stats(a, &stats), 0);
		while (!stats.n_consumers &&
		       waitpid(pid, NULL, WNOHANG | WNOWAIT) == 0);
		n_late += feed(a, pid);
		empty(a);
		assert_all_free(a);
	}
	assert_few_late(n_late, n);
	roar_arena_close(a);
}

static void a_consumer_is_killed_anywhere(void **state)
{
	(void)state;
	consumers_die(shared, rounds(100));
	consumers_die(broadcast, rounds(100));
}

/* ---- several of each, of which any may die, also in the middle of a sweep ---- */

static void crowd(struct roar_arena_config config, unsigned n)
{
	struct roar_arena *a = make(config);

	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	for (unsigned i = 0; i < n; i++) {
		struct roar_arena_unit *u = NULL;
		pid_t pids[6];
		unsigned left = 6;
		long long began = now_us();

		for (unsigned k = 0; k < 6; k++) {
			unsigned fuse = pick(60000);

			pids[k] = start(k % 2 ? consumer : producer,
					roar_arena_fd(a), &fuse);
		}
		while (left && now_us() - began < 5000000) {
			int r = roar_arena_receive(a, ROAR_ARENA_ANY, 20 * MS,
						   &u);

			if (r == 0) {
				assert_true(is_whole(u));
				roar_arena_release(u);
			}
			while (left && waitpid(pids[6 - left], NULL, WNOHANG))
				left--;
		}
		assert_int_equal(left, 0);
		/* Until the last of them has been found and told of. */
		do {
			int r = roar_arena_receive(a, ROAR_ARENA_ANY, 150 * MS,
						   &u);

			if (r == -ETIMEDOUT)
				break;
			if (r == 0)
				roar_arena_release(u);
		} while (now_us() - began < 10000000);
		assert_all_free(a);
	}
	roar_arena_close(a);
}

static void of_a_crowd_any_may_be_killed(void **state)
{
	(void)state;
	crowd(shared, rounds(12));
	crowd(broadcast, rounds(12));
}

/* ---- both are killed: the memory is gone with them ---- */

static int make_and_wait(int fd, void *arg)
{
	struct roar_arena_config config = { .size_bytes = 64 << 20 };
	struct roar_arena *a = make_joined(config);

	(void)arg;
	put(a, 1000, 1, 0);
	(void)!write(fd, "x", 1);
	(void)pause();
	return 0;
}

static long long shmem_kb(void)
{
	char line[256];
	long long kb = -1;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Shmem: %lld", &kb) == 1)
			break;
	if (f)
		(void)fclose(f);
	return kb;
}

static void nothing_is_left_of_an_arena_when_all_are_killed(void **state)
{
	int fds[2];
	char byte;
	long long before = shmem_kb();
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 8; i++) {
		pid = start(make_and_wait, fds[1], NULL);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(finish(pid), 128 + SIGKILL);
	}
	/* Eight times 64 MiB, had it stayed; others use memory as well. */
	assert_true(shmem_kb() - before < 256 * 1024);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_producer_is_killed_anywhere),
		cmocka_unit_test(a_consumer_is_killed_anywhere),
		cmocka_unit_test(of_a_crowd_any_may_be_killed),
		cmocka_unit_test(
			nothing_is_left_of_an_arena_when_all_are_killed),
	};
	const char *text = getenv("ARENA_KILL_SEED");

	seed = text ? (unsigned)strtoul(text, NULL, 10) : (unsigned)now_us();
	print_message("ARENA_KILL_SEED=%u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

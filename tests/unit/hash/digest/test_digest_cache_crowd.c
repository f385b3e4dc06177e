/* test_digest_cache_crowd.c - many at once, some of them killed. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "known_digests.h"

enum { N_THREADS = 4, N_ROUNDS = 3000, N_SHARED = 40 };

struct crowd {
	struct digest_cache *cache;
	_Atomic uint32_t next; /* which one a thread is */
	_Atomic int n_wrong;
	_Atomic int n_hits;
};

/* A few files that share one bucket of 16, each with changing content. */
static struct stamp crowd_stamp(uint32_t *seed)
{
	struct stamp s;

	*seed = *seed * 1664525 + 1013904223;
	s = stamp_of_file(*seed / 65536 % N_SHARED);
	s.size = *seed >> 30;
	return s;
}

/* 1: known and right, 0: not known, -1: wrong.  No asserts: these fail in the
 * main thread only. */
static int look(struct digest_cache *cache, const struct stamp *s)
{
	struct digests found, expected;

	if (!digest_cache_get(cache, s, 0, &found))
		return 0;
	expected = digests_of(s, found.have);
	return memcmp(&found, &expected, sizeof(found)) == 0 ? 1 : -1;
}

static void *join_in(void *arg)
{
	struct crowd *crowd = arg;
	uint32_t seed = atomic_fetch_add(&crowd->next, 1);

	for (int i = 0; i < N_ROUNDS; i++) {
		struct stamp s = crowd_stamp(&seed);
		struct digests d = digests_of(&s, BLAKE3 | SHA512);
		int known;

		if (digest_cache_put(crowd->cache, &s, LATER, &d) < 0)
			atomic_fetch_add(&crowd->n_wrong, 1);
		s = crowd_stamp(&seed);
		known = look(crowd->cache, &s);
		atomic_fetch_add(&crowd->n_wrong, known < 0);
		atomic_fetch_add(&crowd->n_hits, known > 0);
	}
	return NULL;
}

static void threads_at_once_find_nothing_wrong(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	struct crowd crowd = { .cache = cache };
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, join_in, &crowd), 0);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(crowd.n_wrong, 0);
	assert_true(crowd.n_hits > 0);
}

static pid_t start_writer(struct temp_dir *dir, uint32_t seed)
{
	struct digest_cache *cache;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should a test fail */
	if (digest_cache_open(path_in(dir), SMALL, &cache) < 0)
		_exit(2);
	for (;;) {
		struct stamp s = crowd_stamp(&seed);
		struct digests d = digests_of(&s, BLAKE3 | SHA512);

		if (digest_cache_put(cache, &s, LATER, &d) < 0)
			_exit(3);
		s = crowd_stamp(&seed);
		if (look(cache, &s) < 0)
			_exit(4);
	}
}

static void killed_writers_leave_nothing_wrong(void **state)
{
	CLEANUP(digest_cache_closep)
	struct digest_cache *cache = open_cache(*state, SMALL);
	uint32_t seed = 99;

	for (int round = 0; round < 60; round++) {
		pid_t pids[2];

		for (int i = 0; i < 2; i++)
			pids[i] = start_writer(*state, seed * 2 + (uint32_t)i);
		seed = seed * 1664525 + 1013904223;
		(void)usleep(1000 + seed / 65536 % 5000);
		for (int i = 0; i < 2; i++) {
			int status;

			assert_int_equal(kill(pids[i], SIGKILL), 0);
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFSIGNALED(status));
		}
		for (int i = 0; i < 200; i++) {
			struct stamp s = crowd_stamp(&seed);

			assert_true(look(cache, &s) >= 0);
		}
	}
	assert_true(count(cache) <= CACHE_BUCKET_ENTRIES);
	assert_true(count(cache) > 0);
}

/* Who opens it while somebody else makes it new gets one that works. */
static void makers_at_once_all_get_a_cache(void **state)
{
	for (int round = 0; round < 30; round++) {
		pid_t pids[3];

		(void)unlink(path_in(*state));
		for (int i = 0; i < 3; i++)
			pids[i] = start_writer(*state, (uint32_t)i);
		(void)usleep(2000);
		for (int i = 0; i < 3; i++) {
			int status;

			assert_int_equal(kill(pids[i], SIGKILL), 0);
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFSIGNALED(status));
		}
		digest_cache_close(open_cache(*state, SMALL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(threads_at_once_find_nothing_wrong),
		DIR_TEST(killed_writers_leave_nothing_wrong),
		DIR_TEST(makers_at_once_all_get_a_cache),
	};

	return cmocka_run_group_tests_name("digest_cache_crowd", tests, NULL,
					   NULL);
}

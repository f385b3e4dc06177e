/* test_hasher.c - many files, a cache, waiting, cancelling, idle threads.
 *
 * Tests look inside where only that shows the rare case: threads that cannot
 * be raised (`stuck`), as for most users and never for root. */
#include <errno.h>
#include <sched.h>
#include <sys/wait.h>

#include "alloc_fail.h"
#include "hash/jobs/hasher_internal.h"
#include "temp_dir.h"

enum { N_FILES = 1000 };

struct batch {
	struct hash_task tasks[N_FILES];
	char paths[N_FILES][96];
};

static struct batch *batch_new(struct temp_dir *dir, int n, size_t len)
{
	struct batch *b = calloc(1, sizeof(*b));

	for (int i = 0; i < n; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "f%d", i);
		write_pattern(dir, name, len + (size_t)i, (size_t)i);
		(void)snprintf(b->paths[i], sizeof(b->paths[i]), "%s/%s",
			       dir->path, name);
		b->tasks[i].path = b->paths[i];
		b->tasks[i].fd = -1;
	}
	(void)usleep(30000); /* no stamp is racy: a cache is asked about them */
	return b;
}

static void assert_hashed(struct hash_task *task)
{
	struct file_hash expected;

	assert_int_equal(task->state, HASH_DONE);
	assert_int_equal(task->result, 0);
	assert_int_equal(task->fd, -1);
	assert_int_equal(file_hash(AT_FDCWD, task->path, task->hash.digests.have,
				   NULL, NULL, &expected),
			 0);
	assert_memory_equal(&expected.digests, &task->hash.digests,
			    sizeof(expected.digests));
	assert_true(stamp_equal(&expected.stamp, &task->hash.stamp));
}

static struct hasher *make_hasher(unsigned n_threads, digest_set want)
{
	struct hasher_options options = { .n_threads = n_threads,
					  .want = want };
	struct hasher *h = NULL;

	assert_int_equal(hasher_new(&options, &h), 0);
	return h;
}

static void drain_hashes_a_thousand_files(void **state)
{
	digest_set want = 1 << DIGEST_SHA256;
	CLEANUP(freep) struct batch *b = batch_new(*state, N_FILES, 100);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(4, want);

	for (int i = 0; i < N_FILES; i++)
		hasher_submit(h, &b->tasks[i]);
	hasher_drain(h, NULL, NULL);
	for (int i = 0; i < N_FILES; i++) {
		assert_hashed(&b->tasks[i]);
		assert_false(b->tasks[i].cached);
		assert_int_equal(b->tasks[i].hash.digests.have,
				 want | DIGEST_SET_BLAKE3);
	}
}

static void tasks_are_done_in_the_background(void **state)
{
	CLEANUP(freep) struct batch *b = batch_new(*state, 20, 10);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(2, 0);

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++)
			hasher_submit(h, &b->tasks[i]);
		for (int i = 0; i < 20; i++)
			while (b->tasks[i].state != HASH_DONE)
				(void)usleep(1000);
		(void)usleep(30000);
	}
	for (int i = 0; i < 20; i++)
		assert_hashed(&b->tasks[i]);
}

static void more_tasks_than_the_ring_holds_are_done(void **state)
{
	enum { N = RING_SLOTS + 1000 };
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 10);
	CLEANUP(freep) struct hash_task *tasks = calloc(N, sizeof(*tasks));
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(2, 0);

	for (int i = 0; i < N; i++) {
		tasks[i].path = b->paths[0];
		tasks[i].fd = -1;
		hasher_submit(h, &tasks[i]);
	}
	hasher_wait(h, &tasks[N - 1]);
	assert_int_equal(tasks[N - 1].state, HASH_DONE);
	hasher_wait(h, &tasks[N - 500]);
	hasher_drain(h, NULL, NULL);
	for (int i = 0; i < N; i++)
		assert_int_equal(tasks[i].state, HASH_DONE);
	assert_hashed(&tasks[N - 1]);
}

static void failures_are_results(void **state)
{
	struct temp_dir *dir = *state;
	char long_path[5000];
	struct hash_task tasks[] = {
		{ .path = "/nonexistent/file", .fd = -1 },
		{ .path = dir->path, .fd = -1 },
		{ .path = "/dev/null", .fd = -1 },
		{ .path = long_path, .fd = -1 },
	};
	const int expected[] = { -ENOENT, -EISDIR, -EINVAL, -ENAMETOOLONG };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(2, 0);

	memset(long_path, '/', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4; i++)
			hasher_submit(h, &tasks[i]);
		if (round == 0) /* the first on the threads, if they like */
			(void)usleep(30000);
		hasher_drain(h, NULL, NULL);
		for (int i = 0; i < 4; i++)
			assert_int_equal(tasks[i].result, expected[i]);
	}
}

static void a_done_task_can_be_hashed_again(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(freep) struct batch *b = batch_new(dir, 1, 10);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(1, 0);

	hasher_submit(h, &b->tasks[0]);
	hasher_drain(h, NULL, NULL);
	write_pattern(dir, "f0", 5000, 9);
	hasher_submit(h, &b->tasks[0]);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&b->tasks[0]);
	assert_int_equal(b->tasks[0].hash.stamp.size, 5000);
}

static void a_descriptor_is_read_and_closed(void **state)
{
	CLEANUP(freep) struct batch *b = batch_new(*state, 8, 1000);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(2, 0);
	int fds[8];

	for (int i = 0; i < 8; i++) {
		fds[i] = open(b->paths[i], O_RDONLY | O_CLOEXEC);
		b->tasks[i].fd = fds[i];
		hasher_submit(h, &b->tasks[i]);
	}
	hasher_drain(h, NULL, NULL);
	hasher_free(TAKE_PTR(h));
	for (int i = 0; i < 8; i++) {
		assert_hashed(&b->tasks[i]);
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	}
}

struct cache {
	atomic_int n_calls;
	atomic_bool misused; /* a call without BLAKE3 */
	uint64_t hit_size; /* files of this size and above are known */
	digest_set have;
	int delay_us;
};

static bool cache_lookup(void *ctx, const struct stamp *stamp, digest_set want,
			 struct digests *ret)
{
	struct cache *c = ctx;

	if (!(want & DIGEST_SET_BLAKE3))
		atomic_store(&c->misused, true);
	atomic_fetch_add(&c->n_calls, 1);
	if (c->delay_us)
		(void)usleep((useconds_t)c->delay_us);
	ret->have = c->have ? c->have : want;
	memset(ret->blake3, 0xcc, sizeof(ret->blake3));
	return stamp->size >= c->hit_size;
}

static void known_stamps_come_from_the_cache(void **state)
{
	struct cache cache = { .hit_size = 600 };
	struct hasher_options options = { .n_threads = 3,
					  .lookup = cache_lookup,
					  .ctx = &cache };
	CLEANUP(freep) struct batch *b = batch_new(*state, N_FILES, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;

	assert_int_equal(hasher_new(&options, &h), 0);
	for (int i = 0; i < N_FILES; i++)
		hasher_submit(h, &b->tasks[i]);
	hasher_drain(h, NULL, NULL);
	assert_int_equal(atomic_load(&cache.n_calls), N_FILES);
	assert_false(atomic_load(&cache.misused));
	for (int i = 0; i < N_FILES; i++) {
		struct hash_task *task = &b->tasks[i];

		assert_int_equal(task->cached, i >= 500);
		if (task->cached)
			assert_int_equal(task->hash.digests.blake3[31], 0xcc);
		else
			assert_hashed(task);
		assert_int_equal(task->hash.stamp.size, 100 + i);
		assert_true(task->hash.taken_ns > 0);
	}
}

static void a_cache_that_lacks_a_digest_is_a_miss(void **state)
{
	struct cache cache = { .have = DIGEST_SET_BLAKE3 };
	struct hasher_options options = { .n_threads = 1,
					  .want = 1 << DIGEST_MD5,
					  .lookup = cache_lookup,
					  .ctx = &cache };
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;

	assert_int_equal(hasher_new(&options, &h), 0);
	hasher_submit(h, &b->tasks[0]);
	hasher_wait(h, &b->tasks[0]);
	assert_false(b->tasks[0].cached);
	assert_hashed(&b->tasks[0]);
}

static void a_stamp_too_young_to_tell_is_not_looked_up(void **state)
{
	struct cache cache = { 0 };
	struct hasher_options options = { .n_threads = 1,
					  .lookup = cache_lookup,
					  .ctx = &cache };
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;
	/* A clock that is ahead: as young as can be. */
	const struct timespec times[2] = { { .tv_sec = INT32_MAX },
					   { .tv_sec = INT32_MAX } };

	assert_int_equal(utimensat(AT_FDCWD, b->paths[0], times, 0), 0);
	assert_int_equal(hasher_new(&options, &h), 0);
	hasher_submit(h, &b->tasks[0]);
	hasher_drain(h, NULL, NULL);
	assert_int_equal(atomic_load(&cache.n_calls), 0);
	assert_hashed(&b->tasks[0]);
}

static void a_file_without_a_name_is_looked_up(void **state)
{
	struct cache cache = { 0 };
	struct hasher_options options = { .n_threads = 1,
					  .lookup = cache_lookup,
					  .ctx = &cache };
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;

	b->tasks[0].fd = open(b->paths[0], O_RDONLY | O_CLOEXEC);
	assert_int_equal(unlink(b->paths[0]), 0);
	(void)usleep(30000);
	assert_int_equal(hasher_new(&options, &h), 0);
	hasher_submit(h, &b->tasks[0]);
	hasher_drain(h, NULL, NULL);
	assert_true(b->tasks[0].cached);
}

static void wait_runs_a_queued_task_and_leaves_the_rest(void **state)
{
	struct cache cache = { .hit_size = UINT64_MAX, .delay_us = 40000 };
	struct hasher_options options = { .n_threads = 1,
					  .lookup = cache_lookup,
					  .ctx = &cache };
	CLEANUP(freep) struct batch *b = batch_new(*state, 10, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;

	assert_int_equal(hasher_new(&options, &h), 0);
	for (int i = 0; i < 10; i++)
		hasher_submit(h, &b->tasks[i]);
	hasher_wait(h, &b->tasks[9]);
	assert_hashed(&b->tasks[9]);
	assert_int_not_equal(b->tasks[8].state, HASH_DONE);
	hasher_drain(h, NULL, NULL);
	for (int i = 0; i < 10; i++)
		assert_hashed(&b->tasks[i]);
}

static void wait_joins_a_running_task(void **state)
{
	struct temp_dir *dir = *state;
	struct hash_task task = { .fd = -1 };
	CLEANUP(hasher_freep)
	struct hasher *h = make_hasher(1, 1 << DIGEST_SHA512 | 1 << DIGEST_MD5);
	char path[96];

	write_pattern(dir, "big", 20 << 20, 0);
	(void)snprintf(path, sizeof(path), "%s/big", dir->path);
	task.path = path;
	hasher_submit(h, &task);
	while (task.state == HASH_QUEUED)
		(void)usleep(100);
	hasher_wait(h, &task);
	assert_hashed(&task);
	hasher_wait(h, &task);
}

/* A worker that never gets the CPU: it stands in its lookup.  Those who come later
 * pass. */
struct gate {
	atomic_bool entered, open;
	atomic_int n_calls;
};

static bool gate_lookup(void *ctx, const struct stamp *stamp, digest_set want,
			struct digests *ret)
{
	struct gate *g = ctx;

	(void)stamp, (void)want, (void)ret;
	atomic_fetch_add(&g->n_calls, 1);
	if (atomic_exchange(&g->entered, true))
		return false;
	while (!atomic_load(&g->open))
		(void)usleep(1000);
	return false;
}

static struct hasher *make_gated(struct gate *gate, struct hash_task *task)
{
	struct hasher_options options = { .n_threads = 1,
					  .lookup = gate_lookup,
					  .ctx = gate };
	struct hasher *h = NULL;

	assert_int_equal(hasher_new(&options, &h), 0);
	hasher_submit(h, task);
	while (!atomic_load(&gate->entered))
		(void)usleep(100);
	atomic_store(&h->stuck, true);
	return h;
}

static void wait_overtakes_a_worker_that_is_stuck_at_idle(void **state)
{
	struct gate gate = { 0 };
	CLEANUP(freep) struct batch *b = batch_new(*state, 2, 300000);
	CLEANUP(hasher_freep)
	struct hasher *h = make_gated(&gate, &b->tasks[0]);

	hasher_wait(h, &b->tasks[0]);
	assert_false(atomic_load(&gate.open));
	assert_hashed(&b->tasks[0]);
	b->tasks[0].path = NULL; /* the worker does not need it any more */
	b->paths[0][0] = '\0';
	atomic_store(&gate.open, true);
	hasher_submit(h, &b->tasks[1]);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&b->tasks[1]);
}

/* The first question stands at the gate, the others are answered at once. */
static bool first_waits_lookup(void *ctx, const struct stamp *stamp,
			       digest_set want, struct digests *ret)
{
	struct gate *gate = ctx;

	if (!atomic_load(&gate->entered))
		return gate_lookup(gate, stamp, want, ret);
	atomic_fetch_add(&gate->n_calls, 1);
	ret->have = want;
	memset(ret->blake3, 0xcc, sizeof(ret->blake3));
	return true;
}

static void who_overtakes_a_worker_asks_the_cache_before_reading(void **state)
{
	struct gate gate = { 0 };
	struct hasher_options options = { .n_threads = 1,
					  .lookup = first_waits_lookup,
					  .ctx = &gate };
	CLEANUP(freep) struct batch *b = batch_new(*state, 2, 300000);
	CLEANUP(hasher_freep) struct hasher *h = NULL;

	assert_int_equal(hasher_new(&options, &h), 0);
	hasher_submit(h, &b->tasks[0]);
	while (!atomic_load(&gate.entered))
		(void)usleep(100);
	atomic_store(&h->stuck, true);
	hasher_submit(h, &b->tasks[1]);
	hasher_drain(h, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		assert_true(b->tasks[i].cached);
		assert_int_equal(b->tasks[i].hash.digests.blake3[0], 0xcc);
	}
	assert_int_equal(atomic_load(&gate.n_calls), 3);
	atomic_store(&gate.open, true);
}

static void drain_overtakes_by_descriptor_as_well(void **state)
{
	struct gate gate = { 0 };
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 300000);
	CLEANUP(hasher_freep) struct hasher *h = NULL;
	int fd = open(b->paths[0], O_RDONLY | O_CLOEXEC);

	b->tasks[0].fd = fd;
	h = make_gated(&gate, &b->tasks[0]);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&b->tasks[0]);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	atomic_store(&gate.open, true);
	hasher_free(TAKE_PTR(h));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_lost_race_leaves_the_result_to_the_worker(void **state)
{
	struct gate gate = { 0 };
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 10);
	CLEANUP(hasher_freep)
	struct hasher *h = make_gated(&gate, &b->tasks[0]);
	const char *path = b->tasks[0].path;

	b->tasks[0].path = "/nonexistent"; /* the race must fail */
	atomic_store(&gate.open, true);
	hasher_wait(h, &b->tasks[0]);
	b->tasks[0].path = path;
	assert_hashed(&b->tasks[0]);
}

static void stuck_workers_under_load_lose_nothing(void **state)
{
	CLEANUP(freep) struct batch *b = batch_new(*state, N_FILES, 100);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(4, 0);

	atomic_store(&h->stuck, true);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N_FILES; i++)
			hasher_submit(h, &b->tasks[i]);
		for (int i = 0; i < N_FILES; i += 97)
			hasher_wait(h, &b->tasks[i]);
		hasher_drain(h, NULL, NULL);
	}
	for (int i = 0; i < N_FILES; i++)
		assert_hashed(&b->tasks[i]);
}

static void free_cancels_what_is_queued(void **state)
{
	struct gate gate = { 0 };
	CLEANUP(freep) struct batch *b = batch_new(*state, 20, 10);
	struct hasher *h;
	int fd;

	h = make_gated(&gate, &b->tasks[0]);
	fd = b->tasks[19].fd = open(b->paths[19], O_RDONLY | O_CLOEXEC);
	for (int i = 1; i < 20; i++)
		hasher_submit(h, &b->tasks[i]);
	atomic_store(&gate.open, true);
	hasher_free(h);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(b->tasks[i].state, HASH_DONE);
		if (b->tasks[i].result != -ECANCELED)
			assert_hashed(&b->tasks[i]);
	}
	assert_int_equal(b->tasks[19].result, -ECANCELED);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void free_stops_a_running_task_soon(void **state)
{
	enum { SIZE = 1 << 30 };
	struct temp_dir *dir = *state;
	struct hash_task task = { .fd = -1 };
	struct hasher *h = make_hasher(1, 1 << DIGEST_MD5);
	char path[96];

	write_pattern(dir, "big", 1, 0);
	(void)snprintf(path, sizeof(path), "%s/big", dir->path);
	assert_int_equal(truncate(path, SIZE), 0);
	task.path = path;
	hasher_submit(h, &task);
	while (atomic_load(&h->bytes_done) == 0)
		(void)usleep(100);
	hasher_free(h);
	assert_int_equal(task.state, HASH_DONE);
	assert_int_equal(task.result, -ECANCELED);
}

/* How many of our descriptors are that file. */
static int n_open(const char *path)
{
	struct stat file, st;
	int n = 0;

	assert_int_equal(stat(path, &file), 0);
	for (int fd = 0; fd < 256; fd++)
		n += fstat(fd, &st) == 0 && st.st_dev == file.st_dev &&
		     st.st_ino == file.st_ino;
	return n;
}

static void give_up_running(struct temp_dir *dir, digest_set want, off_t size)
{
	struct hash_task task = { .fd = -1 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(1, want);
	char path[96];

	write_pattern(dir, "big", 1, 0);
	(void)snprintf(path, sizeof(path), "%s/big", dir->path);
	assert_int_equal(truncate(path, size), 0);
	task.path = path;
	for (int i = 0; i < 2; i++) {
		if (i)
			task.fd = open(path, O_RDONLY | O_CLOEXEC);
		atomic_store(&h->bytes_done, 0);
		hasher_submit(h, &task);
		while (atomic_load(&h->bytes_done) == 0)
			(void)usleep(100);
		hasher_cancel(h, &task);
		assert_int_equal(task.state, HASH_DONE);
		assert_int_equal(task.result, -ECANCELED);
		assert_int_equal(n_open(path), 0);
	}
	hasher_cancel(h, &task);
	hasher_drain(h, NULL, NULL);
}

/* Sizes that take long. */
static void a_running_task_is_given_up_with_its_file(void **state)
{
	give_up_running(*state, 1 << DIGEST_MD5, 1 << 30);
	give_up_running(*state, 0, INT64_C(1) << 36);
}

static void a_queued_task_is_given_up_with_its_file(void **state)
{
	struct gate gate = { 0 };
	CLEANUP(freep) struct batch *b = batch_new(*state, 3, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;

	h = make_gated(&gate, &b->tasks[0]);
	b->tasks[1].fd = open(b->paths[1], O_RDONLY | O_CLOEXEC);
	hasher_submit(h, &b->tasks[1]);
	hasher_submit(h, &b->tasks[2]);
	hasher_cancel(h, &b->tasks[1]);
	assert_int_equal(b->tasks[1].result, -ECANCELED);
	assert_int_equal(n_open(b->paths[1]), 0);
	atomic_store(&gate.open, true);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&b->tasks[2]);
}

static void note_bytes(void *ctx, const struct hasher_progress *p)
{
	struct hasher_progress *last = ctx;

	assert_true(p->bytes_done >= last->bytes_done &&
		    p->bytes_done <= p->bytes_submitted);
	*last = *p;
}

static void progress_counts_the_bytes_of_a_file_that_is_being_read(void **state)
{
	enum { SIZE = 400 << 20 };
	struct temp_dir *dir = *state;
	struct hash_task task = { .fd = -1, .size_bytes = SIZE };
	CLEANUP(hasher_freep)
	struct hasher *h = make_hasher(1, 1 << DIGEST_MD5);
	struct hasher_progress last = { 0 };
	char path[96];

	write_pattern(dir, "big", 1, 0);
	(void)snprintf(path, sizeof(path), "%s/big", dir->path);
	assert_int_equal(truncate(path, SIZE), 0);
	task.path = path;
	hasher_submit(h, &task);
	hasher_drain(h, note_bytes, &last);
	assert_true(last.n_done == 1 ||
		    (last.bytes_done > 0 && last.bytes_done < SIZE));
	hasher_get_progress(h, &last);
	assert_int_equal(last.bytes_done, SIZE);
	assert_int_equal(last.bytes_submitted, SIZE);
	assert_int_equal(last.bytes_read, SIZE);
}

static void an_unused_hasher_starts_no_thread(void **state)
{
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(0, 0);

	(void)state;
	hasher_drain(h, NULL, NULL);
	assert_int_equal(h->n_workers, 0);
	hasher_free(NULL);
}

static void an_unknown_algorithm_is_refused(void **state)
{
	struct hasher_options options = { .want = 1 << DIGEST_ALGO_END };
	struct hasher *h = NULL;

	(void)state;
	assert_int_equal(hasher_new(&options, &h), -EINVAL);
	assert_null(h);
}

static void new_without_memory_says_so(void **state)
{
	struct hasher_options options = { 0 };
	struct hasher *h = NULL;
	int r;

	(void)state;
	alloc_fail_after(0);
	r = hasher_new(&options, &h);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_null(h);
}

static void note_progress(void *ctx, const struct hasher_progress *p)
{
	struct hasher_progress *last = ctx;

	assert_int_equal(p->n_submitted, 20);
	assert_true(p->n_done >= last->n_done && p->n_done <= p->n_submitted);
	*last = *p;
}

static void progress_is_told_about_ten_times_a_second(void **state)
{
	struct cache cache = { .hit_size = UINT64_MAX, .delay_us = 20000 };
	struct hasher_options options = { .n_threads = 2,
					  .lookup = cache_lookup,
					  .ctx = &cache };
	CLEANUP(freep) struct batch *b = batch_new(*state, 20, 100);
	CLEANUP(hasher_freep) struct hasher *h = NULL;
	struct hasher_progress last = { 0 };

	assert_int_equal(hasher_new(&options, &h), 0);
	for (int i = 0; i < 20; i++)
		hasher_submit(h, &b->tasks[i]);
	hasher_drain(h, note_progress, &last);
	assert_int_equal(last.n_submitted, 20);
}

static int policy_of_worker(struct hasher *h)
{
	while (!atomic_load(&h->workers[0].tid))
		(void)usleep(100);
	(void)usleep(2000);
	return sched_getscheduler(atomic_load(&h->workers[0].tid));
}

static void workers_are_idle_except_while_the_caller_waits(void **state)
{
	CLEANUP(freep) struct batch *b = batch_new(*state, 1, 10);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(1, 0);

	hasher_submit(h, &b->tasks[0]);
	if (policy_of_worker(h) != SCHED_IDLE)
		skip(); /* a sandbox without scheduling calls */
	hasher_pool_set_background(h, false);
	if (!atomic_load(&h->stuck))
		assert_int_equal(policy_of_worker(h), sched_getscheduler(0));
	hasher_pool_set_background(h, true);
	assert_int_equal(policy_of_worker(h), SCHED_IDLE);
	assert_int_not_equal(sched_getscheduler(0), SCHED_IDLE);
}

static void the_parent_may_fork_before_and_after_the_first_task(void **state)
{
	CLEANUP(freep) struct batch *b = batch_new(*state, 40, 10);
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(2, 0);

	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		int status = -1;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(0);
		hasher_submit(h, &b->tasks[i]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	hasher_drain(h, NULL, NULL);
	for (int i = 0; i < 40; i++)
		assert_hashed(&b->tasks[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(drain_hashes_a_thousand_files),
		DIR_TEST(tasks_are_done_in_the_background),
		DIR_TEST(more_tasks_than_the_ring_holds_are_done),
		DIR_TEST(failures_are_results),
		DIR_TEST(a_done_task_can_be_hashed_again),
		DIR_TEST(a_descriptor_is_read_and_closed),
		DIR_TEST(known_stamps_come_from_the_cache),
		DIR_TEST(a_cache_that_lacks_a_digest_is_a_miss),
		DIR_TEST(a_stamp_too_young_to_tell_is_not_looked_up),
		DIR_TEST(a_file_without_a_name_is_looked_up),
		DIR_TEST(wait_runs_a_queued_task_and_leaves_the_rest),
		DIR_TEST(wait_joins_a_running_task),
		DIR_TEST(wait_overtakes_a_worker_that_is_stuck_at_idle),
		DIR_TEST(who_overtakes_a_worker_asks_the_cache_before_reading),
		DIR_TEST(drain_overtakes_by_descriptor_as_well),
		DIR_TEST(a_lost_race_leaves_the_result_to_the_worker),
		DIR_TEST(stuck_workers_under_load_lose_nothing),
		DIR_TEST(free_cancels_what_is_queued),
		DIR_TEST(free_stops_a_running_task_soon),
		DIR_TEST(a_running_task_is_given_up_with_its_file),
		DIR_TEST(a_queued_task_is_given_up_with_its_file),
		DIR_TEST(progress_counts_the_bytes_of_a_file_that_is_being_read),
		DIR_TEST(an_unused_hasher_starts_no_thread),
		DIR_TEST(an_unknown_algorithm_is_refused),
		DIR_TEST(new_without_memory_says_so),
		DIR_TEST(progress_is_told_about_ten_times_a_second),
		DIR_TEST(workers_are_idle_except_while_the_caller_waits),
		DIR_TEST(the_parent_may_fork_before_and_after_the_first_task),
	};

	return cmocka_run_group_tests_name("hasher", tests, NULL, NULL);
}

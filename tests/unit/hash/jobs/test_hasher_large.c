/* test_hasher_large.c - large files in the background and after the end: who reads
 * them, how often, and what is left in the page cache.
 *
 * Reads are counted and one of them can be made to wait; so are new threads. */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "alloc_fail.h"
#include "cached_file.h"
#include "hash/blake3/leaf_tree.h"
#include "hash/jobs/hasher_internal.h"

enum { MIB = 1 << 20, N_LEAVES = 64, BIG = N_LEAVES * MIB };

static struct {
	atomic_int n; /* reads so far */
	atomic_int stop_at; /* this one waits */
	atomic_bool waits, open; /* there, and no longer */
	_Atomic(_Atomic uint64_t *) until; /* neither when this is not 0; may be
					    * NULL */
	atomic_int n_threads; /* made so far */
} seen;

ssize_t __real_pread64(int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t offset);

ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t offset)
{
	if (atomic_fetch_add(&seen.n, 1) + 1 == atomic_load(&seen.stop_at)) {
		_Atomic uint64_t *until = atomic_load(&seen.until);

		atomic_store(&seen.waits, true);
		while (!atomic_load(&seen.open) &&
		       !(until && atomic_load(until)))
			(void)usleep(1000);
	}
	return __real_pread64(fd, buf, len, offset);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*body)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*body)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*body)(void *), void *arg)
{
	atomic_fetch_add(&seen.n_threads, 1);
	return __real_pthread_create(thread, attr, body, arg);
}

static void look_from_now(int stop_at, _Atomic uint64_t *until)
{
	atomic_store(&seen.until, until);
	atomic_store(&seen.waits, false);
	atomic_store(&seen.open, false);
	atomic_store(&seen.n, 0);
	atomic_store(&seen.n_threads, 0);
	atomic_store(&seen.stop_at, stop_at);
}

static void await_stop(void)
{
	while (!atomic_load(&seen.waits))
		(void)usleep(100);
}

static void await_done(struct hash_task *task)
{
	while (atomic_load(&task->state) != HASH_DONE)
		(void)usleep(1000);
}

static char *make_file(struct temp_dir *dir, const char *name, size_t len,
		       struct hash_task *task)
{
	static char path[96];

	write_pattern(dir, name, len, 7);
	(void)snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	*task = (struct hash_task){ .path = path, .fd = -1, .size_bytes = len };
	return path;
}

static struct hasher *make_hasher(const struct hasher_options *options)
{
	struct hasher *h = NULL;

	assert_int_equal(hasher_new(options, &h), 0);
	return h;
}

static void assert_hashed(struct hash_task *task)
{
	struct file_hash expected;

	assert_int_equal(task->state, HASH_DONE);
	assert_int_equal(task->result, 0);
	assert_int_equal(file_hash(AT_FDCWD, task->path, task->hash.digests.have,
				   NULL, NULL, &expected),
			 0);
	assert_memory_equal(&expected.digests, &task->hash.digests,
			    sizeof(expected.digests));
	assert_true(stamp_equal(&expected.stamp, &task->hash.stamp));
}

static void beside_the_job_one_thread_reads_a_file(void **state)
{
	const struct hasher_options options = { .n_threads = 4 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;

	make_file(*state, "big", BIG, &task);
	look_from_now(0, NULL);
	hasher_submit(h, &task);
	await_done(&task);
	assert_int_equal(atomic_load(&seen.n_threads), 4); /* the workers */
	assert_hashed(&task);
}

static void after_the_end_all_threads_read_the_last_file(void **state)
{
	const struct hasher_options options = { .n_threads = 4 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;

	make_file(*state, "big", BIG, &task);
	look_from_now(5, &h->n_goal);
	hasher_submit(h, &task);
	await_stop(); /* one thread has begun, and the job ends */
	assert_int_equal(atomic_load(&seen.n_threads), 4);
	hasher_drain(h, NULL, NULL);
	assert_int_equal(atomic_load(&seen.n_threads), 4 + 3);
	/* What had been read was not read again. */
	assert_true(atomic_load(&seen.n) <= N_LEAVES + 1);
	assert_hashed(&task);
}

/* In steps, and in leaves. */
static void what_is_given_up_is_not_read_on(void **state)
{
	static const size_t sizes[] = { 4 * MIB, BIG };

	for (int i = 0; i < 2; i++) {
		const struct hasher_options options = { .n_threads = 1 };
		CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
		struct hash_task task;

		make_file(*state, "big", sizes[i], &task);
		look_from_now(3, NULL);
		hasher_submit(h, &task);
		await_stop();
		hasher_cancel(h, &task);
		assert_int_equal(task.result, -ECANCELED);
		atomic_store(&seen.open, true);
		while (atomic_load(&h->workers[0].n_ended) == 0)
			(void)usleep(100);
		assert_int_equal(atomic_load(&seen.n), 3);
	}
}

static void digests_that_cannot_be_divided_get_a_second_thread(void **state)
{
	const struct hasher_options options = {
		.n_threads = 4,
		.want = 1 << DIGEST_SHA256 | 1 << DIGEST_GIT_BLOB,
	};
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;

	make_file(*state, "big", BIG, &task);
	look_from_now(5, &h->n_goal);
	hasher_submit(h, &task);
	await_stop();
	hasher_drain(h, NULL, NULL);
	assert_int_equal(atomic_load(&seen.n_threads), 4 + 1);
	assert_true(atomic_load(&seen.n) <= N_LEAVES + 1);
	assert_hashed(&task);
}

static void who_overtakes_an_idle_worker_reads_the_rest(void **state)
{
	enum { N_READ = 40 };
	const struct hasher_options options = { .n_threads = 1 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;

	make_file(*state, "big", BIG, &task);
	look_from_now(N_READ + 1, NULL);
	hasher_submit(h, &task);
	await_stop();
	atomic_store(&h->stuck, true);
	hasher_drain(h, NULL, NULL);
	assert_int_equal(atomic_load(&seen.n), N_LEAVES + 1);
	atomic_store(&seen.open, true);
	assert_hashed(&task);
}

static void
a_file_that_has_changed_meanwhile_is_overtaken_from_its_start(void **state)
{
	enum { N_READ = 40 };
	const struct hasher_options options = { .n_threads = 1 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;
	const char *path = make_file(*state, "big", BIG, &task);
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	look_from_now(N_READ + 1, NULL);
	hasher_submit(h, &task);
	await_stop();
	(void)usleep(30000); /* so that the clock shows it */
	assert_int_equal(pwrite(fd, "new", 3, 100), 3);
	atomic_store(&h->stuck, true);
	hasher_drain(h, NULL, NULL);
	assert_true(atomic_load(&seen.n) > N_READ + N_LEAVES);
	atomic_store(&seen.open, true);
	assert_hashed(&task);
}

static void a_file_that_changes_while_it_is_read_is_read_again(void **state)
{
	const struct hasher_options options = { .n_threads = 2 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;
	const char *path = make_file(*state, "big", BIG, &task);
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	look_from_now(N_LEAVES / 2, NULL);
	hasher_submit(h, &task);
	await_stop();
	(void)usleep(30000);
	assert_int_equal(pwrite(fd, "new", 3, 100), 3);
	atomic_store(&seen.open, true);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&task);
}

static void a_file_that_shrinks_is_noticed_in_a_hole(void **state)
{
	const struct hasher_options options = { .n_threads = 1 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;
	const char *path = make_file(*state, "big", 1, &task);

	assert_int_equal(truncate(path, INT64_C(1) << 42), 0);
	hasher_submit(h, &task);
	while (atomic_load(&h->bytes_done) == 0)
		(void)usleep(100);
	assert_int_equal(truncate(path, 0), 0);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&task);
	assert_int_equal(task.hash.stamp.size, 0);
}

static void holes_are_not_read(void **state)
{
	enum { SIZE = 512 * MIB };
	const struct hasher_options options = { .n_threads = 2 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;
	const char *path = make_file(*state, "big", 1, &task);

	assert_int_equal(truncate(path, SIZE), 0);
	look_from_now(0, NULL);
	hasher_submit(h, &task);
	await_done(&task);
	assert_true(atomic_load(&seen.n) <= 2); /* of the leaf with the byte */
	assert_hashed(&task);
}

/* Reads a file of which all, none or some is in the cache. */
static void leaves_the_cache_alone(struct temp_dir *dir, size_t size,
				   bool after_the_job)
{
	for (int how = 0; how < 3; how++) {
		const struct hasher_options options = { .n_threads = 1 };
		CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
		struct hash_task task;
		const char *path = make_file(dir, "cold", size, &task);
		CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
		/* Not of this moment: then it would be in the cache anyway. */
		const struct timespec old[2] = { { .tv_sec = 1 },
						 { .tv_sec = 1 } };
		size_t n_before;

		assert_int_equal(futimens(fd, old), 0);
		if (how > 0)
			drop_cache(fd);
		if (how > 1)
			load_page(fd, 2);
		if (how > 1) /* by a descriptor, too */
			task.fd = dup(fd);
		n_before = count_resident(fd, size);
		if (after_the_job) /* no worker is to be faster */
			atomic_store(&h->n_goal, 1);
		hasher_submit(h, &task);
		if (after_the_job)
			hasher_drain(h, NULL, NULL);
		else
			await_done(&task);
		assert_int_equal(count_resident(fd, size), n_before);
		assert_hashed(&task);
	}
}

static void the_page_cache_is_left_as_it_was(void **state)
{
	skip_unless_on_disk(*state);
	leaves_the_cache_alone(*state, 5 * MIB, false);
	leaves_the_cache_alone(*state, 20 * MIB + 9, false);
	leaves_the_cache_alone(*state, 20 * MIB + 9, true);
}

/* Beside the job it is not worth the effort, and may be what the job has read. */
static void small_files_do_not_stay_after_the_job(void **state)
{
	skip_unless_on_disk(*state);
	leaves_the_cache_alone(*state, 3 * 4096 + 1, true);
	leaves_the_cache_alone(*state, 5 * MIB, true);
}

struct kept {
	atomic_int n;
	uint64_t size;
	uint8_t root[BLAKE3_LEN];
};

static void keep(void *ctx, const struct leaf_tree *u)
{
	struct kept *kept = ctx;

	kept->size = u->shape.size_bytes;
	assert_int_equal(u->shape.leaf_bytes, MIB);
	leaf_tree_root(u, kept->root);
	atomic_fetch_add(&kept->n, 1);
}

static void leaf_trees_are_kept_from_a_size_on(void **state)
{
	struct kept kept = { 0 };
	const struct hasher_options options = { .n_threads = 2,
						.keep = keep,
						.ctx = &kept,
						.keep_from_bytes = 3 * MIB };
	static const size_t sizes[] = { 3 * MIB - 1, 3 * MIB, BIG + 1 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);

	for (int i = 0; i < 3; i++) {
		struct hash_task task;

		make_file(*state, "big", sizes[i], &task);
		hasher_submit(h, &task);
		if (i == 2) /* by the threads alone, or by all */
			hasher_drain(h, NULL, NULL);
		await_done(&task);
		assert_hashed(&task);
		assert_int_equal(atomic_load(&kept.n), i);
		if (i == 0)
			continue;
		assert_int_equal(kept.size, sizes[i]);
		assert_memory_equal(kept.root, task.hash.digests.blake3,
				    BLAKE3_LEN);
	}
}

static void the_tree_of_content_that_never_was_is_not_kept(void **state)
{
	struct kept kept = { 0 };
	const struct hasher_options options = { .n_threads = 1,
						.keep = keep,
						.ctx = &kept };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task task;
	const char *path = make_file(*state, "big", BIG, &task);
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	look_from_now(N_LEAVES / 2, NULL);
	hasher_submit(h, &task);
	await_stop();
	(void)usleep(30000);
	assert_int_equal(pwrite(fd, "new", 3, 100), 3);
	atomic_store(&seen.open, true);
	await_done(&task);
	assert_hashed(&task);
	assert_int_equal(atomic_load(&kept.n), 1);
	assert_memory_equal(kept.root, task.hash.digests.blake3, BLAKE3_LEN);
}

static void without_memory_a_large_file_fails_alone(void **state)
{
	const struct hasher_options options = { .n_threads = 1 };
	CLEANUP(hasher_freep) struct hasher *h = make_hasher(&options);
	struct hash_task busy, task;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s",
		       make_file(*state, "busy", 4096, &busy));
	busy.path = path;
	look_from_now(1, NULL);
	hasher_submit(h, &busy);
	await_stop(); /* so that the other one is ours */
	make_file(*state, "big", BIG, &task);
	hasher_submit(h, &task);
	alloc_fail_after(0);
	hasher_wait(h, &task);
	alloc_fail_never();
	assert_int_equal(task.result, -ENOMEM);
	atomic_store(&seen.open, true);
	hasher_submit(h, &task);
	hasher_drain(h, NULL, NULL);
	assert_hashed(&task);
	assert_hashed(&busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(beside_the_job_one_thread_reads_a_file),
		DIR_TEST(after_the_end_all_threads_read_the_last_file),
		DIR_TEST(what_is_given_up_is_not_read_on),
		DIR_TEST(digests_that_cannot_be_divided_get_a_second_thread),
		DIR_TEST(who_overtakes_an_idle_worker_reads_the_rest),
		DIR_TEST(
			a_file_that_has_changed_meanwhile_is_overtaken_from_its_start),
		DIR_TEST(a_file_that_changes_while_it_is_read_is_read_again),
		DIR_TEST(a_file_that_shrinks_is_noticed_in_a_hole),
		DIR_TEST(holes_are_not_read),
		DIR_TEST(the_page_cache_is_left_as_it_was),
		DIR_TEST(small_files_do_not_stay_after_the_job),
		DIR_TEST(leaf_trees_are_kept_from_a_size_on),
		DIR_TEST(the_tree_of_content_that_never_was_is_not_kept),
		DIR_TEST(without_memory_a_large_file_fails_alone),
	};

	return cmocka_run_group_tests_name("hasher_large", tests, NULL, NULL);
}

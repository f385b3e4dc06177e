/* test_engine.c - many files at once: every size, every way, every failure. */
#include "hash/jobs/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

#include "hash/file/stability.h"
#include "hash/read/filesystem.h"

enum { BLAKE3 = 1 << DIGEST_BLAKE3, SHA256 = 1 << DIGEST_SHA256 };

/* Reads of the code under test come through here; linked with --wrap. */
static int intruder = -1; /* a descriptor; -1: none */
static const char *intruder_name; /* of that file; NULL: it keeps its name */
static const char *usurped; /* the name it gets otherwise */

ssize_t __real_pread64(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *data, size_t len, off_t offset);

/* Before the first read, somebody closes all descriptors of the file and gets their
 * numbers for another one. */
static void intrude(int fd)
{
	struct stat file, st;
	int other = intruder;

	intruder = -1;
	assert_int_equal(fstat(fd, &file), 0);
	for (int i = 3; i < 64; i++)
		if (fstat(i, &st) == 0 && st.st_ino == file.st_ino &&
		    st.st_dev == file.st_dev)
			assert_int_equal(dup2(other, i), i);
	if (intruder_name)
		assert_int_equal(rename(intruder_name, usurped), 0);
}

ssize_t __wrap_pread64(int fd, void *data, size_t len, off_t offset)
{
	if (intruder >= 0)
		intrude(fd);
	return __real_pread64(fd, data, len, offset);
}

/* How often a name was looked at. */
static atomic_uint n_looks;

int __real_fstatat64(int dirfd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat64(int dirfd, const char *path, struct stat *ret, int flags);

int __wrap_fstatat64(int dirfd, const char *path, struct stat *ret, int flags)
{
	n_looks++;
	return __real_fstatat64(dirfd, path, ret, flags);
}

/* What our clock is ahead of the kernel's. */
static time_t ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		ret->tv_sec += ahead_s;
	return r;
}

/* Written to, with as many bytes, right after a small file was read. */
static const char *rewritten; /* NULL: nothing is */

const char *__tsan_default_options(void);

/* ThreadSanitizer sees close(), but not openat(): it takes a file for another thread's that
 * had the same number before.  Without the accesses of system calls it does not. */
const char *__tsan_default_options(void)
{
	return "ignore_interceptors_accesses=1";
}

ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len);

ssize_t __wrap_read(int fd, void *data, size_t len)
{
	ssize_t n = __real_read(fd, data, len);
	struct stat file, st;

	if (!rewritten || fstat(fd, &file) < 0 || stat(rewritten, &st) < 0 ||
	    file.st_ino != st.st_ino)
		return n;
	fd = open(rewritten, O_WRONLY | O_CLOEXEC);
	rewritten = NULL;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "changed!", 8), 8);
	assert_int_equal(close(fd), 0);
	ahead_s = 0;
	return n;
}

struct scene {
	char dir[64];
	struct engine_file *files;
	char (*names)[128];
	size_t n;
};

static void fill(const char *path, size_t size, unsigned seed)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < size; i++)
		assert_int_not_equal(
			putc_unlocked((int)(i * 31 + seed + i / 251), f), EOF);
	assert_int_equal(fclose(f), 0);
}

static void scene_init(struct scene *s, const size_t *sizes, size_t n)
{
	strcpy(s->dir, "/tmp/roar-engine-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	s->n = n;
	s->files = calloc(n, sizeof(*s->files));
	s->names = calloc(n, sizeof(*s->names));
	assert_true(s->files && s->names);
	for (size_t i = 0; i < n; i++) {
		snprintf(s->names[i], sizeof(s->names[i]), "%s/f%zu", s->dir,
			 i);
		s->files[i].path = s->names[i];
		fill(s->names[i], sizes[i], (unsigned)i);
	}
}

static void scene_end(struct scene *s)
{
	for (size_t i = 0; i < s->n; i++)
		(void)unlink(s->names[i]);
	assert_int_equal(rmdir(s->dir), 0);
	free(s->files);
	free(s->names);
}

static void run(struct scene *s, const struct engine_options *options)
{
	for (size_t i = 0; i < s->n; i++)
		atomic_store(&s->files[i].done, false);
	assert_int_equal(engine_run(s->files, s->n, options), 0);
	for (size_t i = 0; i < s->n; i++)
		assert_true(atomic_load(&s->files[i].done));
}

static void same_as_one_by_one(const struct scene *s, digest_set want)
{
	for (size_t i = 0; i < s->n; i++) {
		struct file_hash slow;

		assert_int_equal(s->files[i].result, 0);
		assert_int_equal(file_hash(AT_FDCWD, s->names[i], want, NULL,
					   NULL, &slow),
				 0);
		assert_true(stamp_equal(&slow.stamp, &s->files[i].hash.stamp));
		for (int a = 0; a < DIGEST_ALGO_END; a++) {
			if (!(want & 1u << a))
				continue;
			assert_memory_equal(
				digests_get(&slow.digests, a),
				digests_get(&s->files[i].hash.digests, a),
				digest_algo_len(a));
		}
	}
}

/* Around all the borders between the ways. */
static const size_t sizes[] = {
	0,	 1,	  1023,	  1024,	   1025,    4096,    4097,    16383,
	16384,	 16385,	  262143, 262144,  1048576, 2097151, 2097152, 2097153,
	3145728, 3145729, 12345,  5000001, 7,	    8192,    100000,
};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void every_size_with_any_number_of_threads(void **state)
{
	const digest_set sets[] = { BLAKE3, SHA256, BLAKE3 | SHA256 };
	struct scene s;

	(void)state;
	scene_init(&s, sizes, N_SIZES);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		for (unsigned threads = 1; threads <= 4; threads++) {
			struct engine_options o = { .want = sets[i],
						    .n_threads = threads,
						    .own_tables = threads % 2 };

			run(&s, &o);
			same_as_one_by_one(&s, sets[i]);
		}
	scene_end(&s);
}

/* So many that large files are no longer for all threads. */
static void many_files_and_large_ones_between_them(void **state)
{
	enum { N = 300 };
	struct engine_options o = { .want = BLAKE3,
				    .n_threads = 3,
				    .own_tables = true };
	size_t many[N];
	struct scene s;

	(void)state;
	for (size_t i = 0; i < N; i++)
		many[i] = i % 50 == 49 ? 2500000 : i * 37 % 9000;
	scene_init(&s, many, N);
	run(&s, &o);
	same_as_one_by_one(&s, BLAKE3);
	scene_end(&s);
}

static void what_cannot_be_hashed_does_not_stop_the_rest(void **state)
{
	const size_t two[] = { 100, 3000000, 5, 6, 7 };
	struct engine_options o = { .want = BLAKE3, .n_threads = 2 };
	struct scene s;

	(void)state;
	scene_init(&s, two, 5);
	assert_int_equal(unlink(s.names[0]), 0);
	assert_int_equal(unlink(s.names[2]), 0);
	assert_int_equal(mkfifo(s.names[2], 0600), 0);
	assert_int_equal(unlink(s.names[3]), 0);
	assert_int_equal(symlink(s.names[3], s.names[3]), 0);
	s.files[4].path = s.dir;
	run(&s, &o);
	assert_int_equal(s.files[0].result, -ENOENT);
	assert_int_equal(s.files[1].result, 0);
	assert_int_equal(s.files[2].result, -EINVAL);
	assert_int_equal(s.files[3].result, -ELOOP);
	assert_int_equal(s.files[4].result, -EISDIR);
	scene_end(&s);
}

static rlim_t limit_descriptors(rlim_t max)
{
	struct rlimit limit;
	rlim_t before;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	return fd;
}

/* Small files stay open for a while, but not in the way of others. */
static void few_descriptors_are_enough(void **state)
{
	enum { N = 100 };
	struct engine_options o = { .want = BLAKE3,
				    .n_threads = 1,
				    .own_tables = true };
	int free_fd = lowest_free();
	size_t many[N];
	rlim_t before;
	struct scene s;

	(void)state;
	for (size_t i = 0; i < N; i++)
		many[i] = i % 20 == 19 ? 2500000 : i % 5 == 4 ? 20000 : i;
	scene_init(&s, many, N);
	for (rlim_t room = 2; room < 20; room++) {
		before = limit_descriptors((rlim_t)free_fd + room);
		run(&s, &o);
		(void)limit_descriptors(before);
		same_as_one_by_one(&s, BLAKE3);
		assert_int_equal(lowest_free(), free_fd);
	}
	scene_end(&s);
}

/* ---- the cache ---- */

static void make_old(const struct scene *s)
{
	const struct timespec old[2] = { { 1000000000, 1 }, { 1000000000, 1 } };

	for (size_t i = 0; i < s->n; i++)
		assert_int_equal(utimensat(AT_FDCWD, s->names[i], old, 0), 0);
}

/* A cache beside the files, whose times are settled then. */
static struct digest_cache *open_cache(const struct scene *s)
{
	struct digest_cache *cache = NULL;
	char path[96];

	snprintf(path, sizeof(path), "%s/cache", s->dir);
	assert_int_equal(digest_cache_open(path, 1024, &cache), 0);
	assert_int_equal(unlink(path), 0);
	(void)usleep(50000);
	return cache;
}

/* Are stamps believed where the tests run? */
static bool trusts(const struct scene *s)
{
	struct stability memory = { 0 };

	return stability_trusts_stamps(&memory, s->names[0],
				       s->files[0].hash.stamp.dev);
}

static size_t count_cached(const struct scene *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->files[i].cached;
	return n;
}

static void what_is_known_is_not_read_again(void **state)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	const size_t some[] = { 10, 20000, 3000000 };
	struct engine_options o = { .want = BLAKE3, .n_threads = 2 };
	struct scene s;

	(void)state;
	scene_init(&s, some, 3);
	make_old(&s);
	o.cache = cache = open_cache(&s);
	run(&s, &o);
	assert_int_equal(count_cached(&s), 0);
	run(&s, &o);
	same_as_one_by_one(&s, BLAKE3);
	assert_int_equal(count_cached(&s), trusts(&s) ? 3 : 0);
	fill(s.names[1], 20000, 77);
	run(&s, &o);
	assert_false(s.files[1].cached);
	same_as_one_by_one(&s, BLAKE3);
	o.want = BLAKE3 | SHA256;
	run(&s, &o);
	assert_int_equal(count_cached(&s), 0);
	same_as_one_by_one(&s, o.want);
	scene_end(&s);
}

static void write_again_and_again(const struct scene *s)
{
	for (;;)
		for (size_t i = 0; i < s->n; i++) {
			int fd = open(s->names[i], O_WRONLY | O_NONBLOCK);

			if (fd >= 0)
				(void)close(fd);
		}
}

/* To ask whether a file is still takes a lease, and who opens it then makes the kernel
 * send us a signal that ends most programs. */
static void a_writer_that_comes_at_the_wrong_moment_ends_nobody(void **state)
{
	enum { N = 60, ROUNDS = 40 };
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	struct engine_options o = { .want = BLAKE3, .n_threads = 2 };
	size_t many[N] = { 0 };
	struct scene s;
	pid_t child;

	(void)state;
	scene_init(&s, many, N);
	o.cache = cache = open_cache(&s);
	child = fork();
	if (child == 0)
		write_again_and_again(&s);
	assert_true(child > 0);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(digest_cache_clear(cache), 0);
		run(&s, &o);
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	scene_end(&s);
}

/* As if the disk, or we, had been wrong once. */
static void an_audit_finds_what_is_wrong_and_corrects_it(void **state)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	const size_t some[] = { 10, 20000, 3000000 };
	struct engine_options o = { .want = BLAKE3, .n_threads = 2 };
	struct scene s;

	(void)state;
	scene_init(&s, some, 3);
	make_old(&s);
	cache = open_cache(&s);
	run(&s, &o);
	for (size_t i = 0; i < s.n; i++) {
		struct digests wrong = s.files[i].hash.digests;

		wrong.blake3[i] ^= 1;
		assert_int_equal(digest_cache_put(cache, &s.files[i].hash.stamp,
						  s.files[i].hash.taken_ns,
						  &wrong),
				 0);
	}
	o.cache = cache;
	o.audit = true;
	run(&s, &o);
	same_as_one_by_one(&s, BLAKE3);
	for (size_t i = 0; i < s.n; i++)
		assert_true(s.files[i].denied);
	run(&s, &o);
	for (size_t i = 0; i < s.n; i++)
		assert_false(s.files[i].denied);
	scene_end(&s);
}

/* ---- folders that tell what is in them ---- */

enum { N_LISTED = 300, GUESSED = 230 }; /* that one is not looked at */

static bool tells(const struct scene *s)
{
	struct statfs fs;

	assert_int_equal(statfs(s->dir, &fs), 0);
	return filesystem_has_our_time((uint32_t)fs.f_type);
}

/* Many files of one folder that nobody has written to for a moment. */
static void listed_init(struct scene *s)
{
	size_t many[N_LISTED];

	for (size_t i = 0; i < N_LISTED; i++)
		many[i] = i % 60 == 59 ? 17000 : i * 37 % 5000 + 8;
	scene_init(s, many, N_LISTED);
	(void)usleep(50000);
}

static void run_listed(struct scene *s, unsigned n_threads)
{
	struct dir_listings listings;
	struct engine_options o = { .want = BLAKE3,
				    .n_threads = n_threads,
				    .own_tables = true,
				    .listings = &listings };

	n_looks = 0;
	dir_listings_init(&listings, s->n);
	run(s, &o);
	dir_listings_release(&listings);
}

static void what_a_folder_has_told_is_not_looked_at(void **state)
{
	struct scene s;

	(void)state;
	listed_init(&s);
	for (unsigned threads = 1; threads <= 4; threads++) {
		run_listed(&s, threads);
		if (threads == 1 && tells(&s))
			assert_in_range(n_looks, 1, N_LISTED - 50);
		same_as_one_by_one(&s, BLAKE3);
	}
	scene_end(&s);
}

static void names_without_a_folder_are_listed_too(void **state)
{
	char before[4096];
	struct scene s;

	(void)state;
	listed_init(&s);
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(s.dir), 0);
	for (size_t i = 0; i < s.n; i++)
		s.files[i].path = s.names[i] + strlen(s.dir) + 1;
	run_listed(&s, 1);
	if (tells(&s))
		assert_in_range(n_looks, 1, N_LISTED - 50);
	same_as_one_by_one(&s, BLAKE3);
	assert_int_equal(chdir(before), 0);
	scene_end(&s);
}

/* Its writer waits for a reader, before and afterwards. */
static void a_fifo_among_many_files_is_not_opened(void **state)
{
	enum { FIFO = GUESSED };
	struct scene s;
	pid_t child;

	(void)state;
	listed_init(&s);
	assert_int_equal(unlink(s.names[FIFO]), 0);
	assert_int_equal(mkfifo(s.names[FIFO], 0600), 0);
	child = fork();
	if (child == 0)
		_exit(open(s.names[FIFO], O_WRONLY) < 0);
	assert_true(child > 0);
	(void)usleep(100000);
	run_listed(&s, 1);
	assert_int_equal(s.files[FIFO].result, -EINVAL);
	(void)usleep(100000);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	scene_end(&s);
}

static void what_cannot_be_opened_is_told_as_ever(void **state)
{
	enum { GONE = GUESSED, FOLDER };
	struct scene s;

	(void)state;
	listed_init(&s);
	assert_int_equal(unlink(s.names[GONE]), 0);
	assert_int_equal(unlink(s.names[FOLDER]), 0);
	assert_int_equal(mkdir(s.names[FOLDER], 0700), 0);
	run_listed(&s, 1);
	assert_int_equal(s.files[GONE].result, -ENOENT);
	assert_int_equal(s.files[FOLDER].result, -EISDIR);
	assert_int_equal(rmdir(s.names[FOLDER]), 0);
	scene_end(&s);
}

/* The digest is that of the new content, with the stamp of it. */
static void a_change_behind_a_read_without_a_look_is_noticed(void **state)
{
	struct scene s;

	(void)state;
	listed_init(&s);
	rewritten = s.names[GUESSED];
	run_listed(&s, 1);
	assert_null(rewritten);
	same_as_one_by_one(&s, BLAKE3);
	scene_end(&s);
}

/* The same while the clock is set back: the new ctime is older than the time before the
 * read. */
static void a_clock_that_is_set_hides_no_change(void **state)
{
	struct scene s;

	(void)state;
	listed_init(&s);
	ahead_s = 3600;
	rewritten = s.names[GUESSED];
	run_listed(&s, 1);
	assert_null(rewritten);
	assert_int_equal(ahead_s, 0);
	same_as_one_by_one(&s, BLAKE3);
	scene_end(&s);
}

/* ---- on the way ---- */

static bool end_at_once(void *ctx, const struct engine_progress *p)
{
	unsigned *n = ctx;

	(void)p;
	++*n;
	return true;
}

static void who_looks_can_end_it(void **state)
{
	enum { N = 40 };
	unsigned n_asked = 0, n_cancelled = 0;
	struct engine_options o = { .want = SHA256 | BLAKE3,
				    .n_threads = 1,
				    .look = end_at_once,
				    .ctx = &n_asked };
	size_t large[N];
	struct scene s;

	(void)state;
	for (size_t i = 0; i < N; i++)
		large[i] = 8 << 20;
	scene_init(&s, large, N);
	run(&s, &o);
	assert_int_equal(n_asked, 1);
	for (size_t i = 0; i < N; i++)
		n_cancelled += s.files[i].result == -ECANCELED;
	assert_true(n_cancelled > 0);
	scene_end(&s);
}

/* Neither is the other file read instead, nor is it believed. */
static void a_descriptor_that_became_another_file_gives_no_digest(void **state)
{
	static const size_t two[] = { 100000, 100000, 3000000, 3000000 };
	struct engine_options o = { .want = BLAKE3, .n_threads = 1 };
	struct scene s;

	(void)state;
	scene_init(&s, two, 4);
	for (size_t i = 0; i < s.n; i += 2) {
		struct scene one = { .files = &s.files[i], .n = 1 };
		CLEANUP(closep)
		int other = open(s.names[i + 1], O_RDONLY | O_CLOEXEC);

		assert_true(other >= 0);
		intruder = other;
		run(&one, &o);
		assert_int_equal(intruder, -1);
		assert_int_equal(s.files[i].result, -EAGAIN);
	}
	scene_end(&s);
}

/* That is another inode as well, but the name leads there. */
static void a_file_that_was_replaced_is_read_by_its_name(void **state)
{
	static const size_t two[] = { 100000, 100000, 3000000, 3000000 };
	struct engine_options o = { .want = BLAKE3, .n_threads = 1 };
	struct scene s;

	(void)state;
	scene_init(&s, two, 4);
	for (size_t i = 0; i < s.n; i += 2) {
		struct scene one = { .files = &s.files[i],
				     .names = &s.names[i],
				     .n = 1 };
		CLEANUP(closep)
		int other = open(s.names[i + 1], O_RDONLY | O_CLOEXEC);

		assert_true(other >= 0);
		intruder_name = s.names[i + 1];
		usurped = s.names[i];
		intruder = other;
		run(&one, &o);
		intruder_name = NULL;
		assert_int_equal(intruder, -1);
		same_as_one_by_one(&one, BLAKE3);
	}
	scene_end(&s);
}

/* Files of several folders, by turns and in a row: names alone are not enough. */
static void the_same_names_in_several_folders_are_several_files(void **state)
{
	enum { N_FOLDERS = 3, N = 40 };
	struct engine_options o = { .want = BLAKE3,
				    .n_threads = 2,
				    .own_tables = true };
	size_t none[N_FOLDERS * N] = { 0 };
	struct scene s;
	char folder[160];

	(void)state;
	scene_init(&s, none, N_FOLDERS * N);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(unlink(s.names[i]), 0);
		snprintf(folder, sizeof(folder), "%s/%zu", s.dir, i / N);
		(void)mkdir(folder, 0700);
		snprintf(s.names[i], sizeof(s.names[i]), "%s/%zu/f%zu", s.dir,
			 i % 7 == 3 ? 0 : i / N, i % N);
		fill(s.names[i], i, (unsigned)i);
	}
	run(&s, &o);
	same_as_one_by_one(&s, BLAKE3);
	for (size_t i = 0; i < s.n; i++)
		(void)unlink(s.names[i]);
	for (size_t i = 0; i < N_FOLDERS; i++) {
		snprintf(folder, sizeof(folder), "%s/%zu", s.dir, i);
		assert_int_equal(rmdir(folder), 0);
	}
	scene_end(&s);
}

static void algorithms_that_do_not_exist_are_refused(void **state)
{
	struct engine_options o = { .want = 1u << DIGEST_ALGO_END };

	(void)state;
	assert_int_equal(engine_run(NULL, 0, &o), -EINVAL);
	o.want = 0;
	assert_int_equal(engine_run(NULL, 0, &o), -EINVAL);
	o.want = BLAKE3;
	assert_int_equal(engine_run(NULL, 0, &o), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_with_any_number_of_threads),
		cmocka_unit_test(many_files_and_large_ones_between_them),
		cmocka_unit_test(what_cannot_be_hashed_does_not_stop_the_rest),
		cmocka_unit_test(few_descriptors_are_enough),
		cmocka_unit_test(what_is_known_is_not_read_again),
		cmocka_unit_test(
			a_writer_that_comes_at_the_wrong_moment_ends_nobody),
		cmocka_unit_test(an_audit_finds_what_is_wrong_and_corrects_it),
		cmocka_unit_test(what_a_folder_has_told_is_not_looked_at),
		cmocka_unit_test(names_without_a_folder_are_listed_too),
		cmocka_unit_test(a_fifo_among_many_files_is_not_opened),
		cmocka_unit_test(what_cannot_be_opened_is_told_as_ever),
		cmocka_unit_test(
			a_change_behind_a_read_without_a_look_is_noticed),
		cmocka_unit_test(a_clock_that_is_set_hides_no_change),
		cmocka_unit_test(who_looks_can_end_it),
		cmocka_unit_test(
			a_descriptor_that_became_another_file_gives_no_digest),
		cmocka_unit_test(a_file_that_was_replaced_is_read_by_its_name),
		cmocka_unit_test(
			the_same_names_in_several_folders_are_several_files),
		cmocka_unit_test(algorithms_that_do_not_exist_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

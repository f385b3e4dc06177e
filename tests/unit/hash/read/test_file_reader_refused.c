/* test_file_reader_refused.c - reads, memory, descriptors and rings that are refused. */
#include "hash/read/file_reader.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "alloc_fail.h"
#include "caught_leaves.h"

/* Reads of the code under test come through here; linked with --wrap. */
static struct {
	_Atomic int on_direct; /* errno for each with O_DIRECT; 0: none */
	_Atomic int64_t fail_from; /* offset; -1: nowhere */
	_Atomic int fail_with;
	atomic_bool shorten; /* a part at a time, interrupted now and then */
	_Atomic unsigned n_calls;
} reads = { .fail_from = -1 };

ssize_t __real_pread64(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *data, size_t len, off_t offset);

ssize_t __wrap_pread64(int fd, void *data, size_t len, off_t offset)
{
	bool is_direct = fcntl(fd, F_GETFL) & O_DIRECT;
	int64_t fail_from = reads.fail_from;

	if (fail_from >= 0 && offset + (off_t)len > fail_from) {
		errno = reads.fail_with;
		return -1;
	}
	if (is_direct && reads.on_direct) {
		errno = reads.on_direct;
		return -1;
	}
	if (reads.shorten && reads.n_calls++ % 3 == 0) {
		errno = EINTR;
		return -1;
	}
	if (reads.shorten && len > 4096)
		len = is_direct ? 4096 : 1000;
	return __real_pread64(fd, data, len, offset);
}

static size_t mmap_limit = SIZE_MAX;

void *__real_mmap64(void *p, size_t len, int prot, int flags, int fd,
		    off_t offset);
void *__wrap_mmap64(void *p, size_t len, int prot, int flags, int fd,
		    off_t offset);

void *__wrap_mmap64(void *p, size_t len, int prot, int flags, int fd,
		    off_t offset)
{
	if (len > mmap_limit) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap64(p, len, prot, flags, fd, offset);
}

static void without_descriptors_it_is_read_through_the_lent_one(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct rlimit old, none;
	struct file_reader_report report[N_WAYS];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ (rlim_t)fd + 1, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (size_t w = 0; w < N_WAYS; w++)
		report[w] = read_well(fd, BIG,
				      options_for(ways[w], w % 2, NULL));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);

	assert_int_equal(report[0].way, FILE_READER_BUFFERED);
	assert_int_equal(report[1].way, FILE_READER_BUFFERED);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
}

/* io_uring_setup() and its like fail as they do in containers. */
static int refuse_uring(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ?
		       -errno :
		       0;
}

/* For children, which must not fail by longjmp. */
static bool reads_well(int fd, enum file_reader_way way,
		       struct file_reader_report *report)
{
	struct file_reader_options options = options_for(way, true, report);
	CLEANUP(freep) uint8_t *data = malloc(BIG);
	struct catch c = { .data = data, .size = BIG, .in_order = true };

	options.n_threads = 1;
	if (file_reader_read(fd, BIG, &options, take, &c) < 0 || c.n_wrong)
		return false;
	for (size_t i = 0; i < BIG; i++) {
		if (data[i] != i % 251)
			return false;
	}
	return true;
}

static void assert_exit(pid_t pid, int expected)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void without_io_uring_direct_reads_do(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct file_reader_report before, report;
	pid_t pid;

	assert_true(reads_well(fd, FILE_READER_DIRECT, &before));
	pid = fork();
	if (pid == 0) {
		if (refuse_uring() < 0)
			_exit(77);
		if (!reads_well(fd, FILE_READER_URING, &report))
			_exit(1);
		_exit(report.way == before.way ? 0 : 2);
	}
	assert_exit(pid, 0);
}

/* Somebody who may read the file, and whom the kernel tells nothing about it. */
static int become_nobody(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
	    setresuid(65534, 65534, 65534) < 0)
		return -errno;
	return 0;
}

/* How many pages are in the cache after another user has read a cold file of
 * which page 2 was there. */
static size_t count_left(struct temp_dir *dir)
{
	CLEANUP(closep) int fd = make_cold(dir, BIG);
	CLEANUP(closep) int reader = open_file(dir, O_RDONLY);
	uint8_t pages[(BIG + 4095) / 4096];
	struct file_reader_report report;
	pid_t pid;

	load_page(fd, 2);
	pid = fork();
	if (pid == 0) {
		if (become_nobody() < 0 ||
		    !reads_well(reader, FILE_READER_DIRECT, &report))
			_exit(1);
		_exit(report.way == FILE_READER_DIRECT ? 0 : 2);
	}
	assert_exit(pid, 0);
	get_resident(fd, BIG, pages);
	assert_int_equal(pages[2], 1);
	return count_resident(fd, BIG);
}

/* The last page is too short for a direct read, and whether it was there cannot be
 * known.  A probe that is answered late adds a leaf: on a machine that is full
 * there are many, so that one good try in some must do. */
static void another_users_file_leaves_little_in_the_cache(void **state)
{
	enum { TRIES = 20, LITTLE = BIG / 4096 / 4 };
	size_t n = SIZE_MAX;

	if (geteuid() != 0)
		skip();
	skip_unless_on_disk(*state);
	for (int i = 0; n > LITTLE && i < TRIES; i++)
		n = count_left(*state);
	assert_in_range(n, 1, LITTLE);
}

static void short_and_interrupted_reads_go_on(void **state)
{
	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		struct file_reader_options options = options_for(ways[w / 2],
								 w % 2, NULL);

		reads.shorten = true;
		(void)read_well(fd, BIG, options);
		reads.shorten = false;
	}
}

static void direct_reads_that_are_refused_go_through_the_cache(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct file_reader_report report;

	reads.on_direct = EINVAL;
	report = read_well(fd, BIG,
			   options_for(FILE_READER_DIRECT, false, NULL));
	reads.on_direct = 0;
	assert_int_equal(report.bytes_direct, 0);
}

static void a_broken_disk_is_eio(void **state)
{
	static const bool orders[] = { false, true };

	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		struct file_reader_options options = options_for(
			ways[w / 2], orders[w % 2], NULL);
		struct catch c = { .size = BIG, .in_order = orders[w % 2] };

		/* io_uring does not come through here; its tail does. */
		reads.fail_with = EIO;
		reads.fail_from = ways[w / 2] == FILE_READER_URING ? BIG - 1 :
								     BIG / 2;
		assert_int_equal(file_reader_read(fd, BIG, &options, take, &c),
				 -EIO);
		reads.fail_from = -1;
		assert_int_equal(c.n_wrong, 0);
	}
}

static void with_little_memory_there_are_fewer_workers(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);

	for (size_t w = 0; w < N_WAYS; w++) {
		struct file_reader_options options = options_for(ways[w], false,
								 NULL);

		options.memory = 1;
		assert_int_equal(read_well(fd, BIG, options).n_workers, 1);
		options.memory = (size_t)2 * LEAF;
		assert_in_range(read_well(fd, BIG, options).n_workers, 1, 2);
	}
}

static void memory_that_is_refused_is_asked_for_in_smaller_pieces(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct file_reader_options options;
	struct catch c = { .size = BIG };

	for (size_t w = 0; w < N_WAYS; w++) {
		mmap_limit = LEAF;
		assert_int_equal(read_well(fd, BIG,
					   options_for(ways[w], false, NULL))
					 .n_workers,
				 1);
		mmap_limit = 0;
		options = options_for(ways[w], false, NULL);
		assert_int_equal(file_reader_read(fd, BIG, &options, take, &c),
				 -ENOMEM);
		mmap_limit = SIZE_MAX;
	}
	assert_int_equal(c.n_calls, 0);
}

static void without_memory_for_zeros_holes_are_read(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(closep)
	int fd = openat(dir->fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CLEANUP(freep) uint8_t *data = malloc(BIG);
	CLEANUP(freep) uint8_t *expected = calloc(1, BIG);
	struct catch c = { .data = data, .size = BIG };
	struct file_reader_report report;
	struct file_reader_options options = options_for(FILE_READER_BUFFERED,
							 false, &report);

	memset(data, 'x', BIG);
	assert_int_equal(ftruncate(fd, BIG), 0);
	mmap_limit = FILE_READER_LEAF_MAX - 1;
	assert_int_equal(file_reader_read(fd, BIG, &options, take, &c), 0);
	mmap_limit = SIZE_MAX;
	assert_memory_equal(data, expected, BIG);
	assert_int_equal(report.bytes_hole, 0);
}

static void memory_that_is_lent_is_used_where_it_is_enough(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	CLEANUP(freep) uint8_t *lent = malloc(LEAF);
	struct file_reader_options options = options_for(FILE_READER_BUFFERED,
							 false, NULL);
	struct catch c = { .size = BIG };

	options.n_threads = 1;
	options.buffer = lent;
	options.buffer_len = LEAF;
	mmap_limit = 0;
	(void)read_well(fd, BIG, options);
	options.buffer_len = LEAF - 1;
	assert_int_equal(file_reader_read(fd, BIG, &options, take, &c),
			 -ENOMEM);
	mmap_limit = SIZE_MAX;
	options.way = FILE_READER_DIRECT;
	options.buffer_len = LEAF;
	(void)read_well(fd, BIG, options);
}

static void every_allocation_may_fail(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct catch c = { .size = BIG };

	for (size_t w = 0; w < N_WAYS; w++) {
		int r = -ENOMEM;

		for (int n = 0; r < 0; n++) {
			struct file_reader_options options = options_for(
				ways[w], false, NULL);

			assert_int_equal(r, -ENOMEM);
			assert_true(n < 20);
			alloc_fail_after(n);
			r = file_reader_read(fd, BIG, &options, take, &c);
			alloc_fail_never();
		}
	}
	assert_int_equal(c.n_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(without_descriptors_it_is_read_through_the_lent_one),
		DIR_TEST(without_io_uring_direct_reads_do),
		DIR_TEST(another_users_file_leaves_little_in_the_cache),
		DIR_TEST(short_and_interrupted_reads_go_on),
		DIR_TEST(direct_reads_that_are_refused_go_through_the_cache),
		DIR_TEST(a_broken_disk_is_eio),
		DIR_TEST(with_little_memory_there_are_fewer_workers),
		DIR_TEST(memory_that_is_refused_is_asked_for_in_smaller_pieces),
		DIR_TEST(without_memory_for_zeros_holes_are_read),
		DIR_TEST(memory_that_is_lent_is_used_where_it_is_enough),
		DIR_TEST(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("file_reader_refused", tests, NULL,
					   NULL);
}

/* test_ranges.c - every byte once, by every way, whatever happens meanwhile. */
#include "hash/ranges.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "alloc_fail.h"
#include "cached_file.h"
#include "hash/ranges_internal.h"

enum { LEAF = 8192, N_THREADS = 3, BIG = 40 * LEAF + 5000 };

static const enum ranges_way ways[] = { RANGES_URING, RANGES_DIRECT,
					RANGES_BUFFERED, RANGES_SEQUENTIAL,
					RANGES_MAPPED };
enum { N_WAYS = sizeof(ways) / sizeof(*ways) };

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

/* Collects what comes.  The leaves are disjoint, so the threads do not meet. */
struct catch
{
	uint8_t *data;
	size_t size;
	uint64_t expected; /* in order: the offset that must come next */
	bool in_order;
	_Atomic unsigned n_calls;
	_Atomic unsigned n_wrong; /* offset, length, worker or order */
	_Atomic uint64_t n_bytes;
	/* What the sink does at call number `act_at`: */
	unsigned act_at;
	int (*act)(struct catch * c);
	int fd;
	atomic_bool is_cancelled;
};

static int take(void *ctx, unsigned worker, uint64_t offset,
		const uint8_t *data, size_t len)
{
	struct catch *c = ctx;
	unsigned n = c->n_calls++;

	if (worker >= N_THREADS || offset % LEAF ||
	    len != (c->size - offset < LEAF ? c->size - offset : LEAF) ||
	    (c->in_order && offset != c->expected)) {
		c->n_wrong++;
		return 0;
	}
	if (c->in_order)
		c->expected += len;
	if (c->data)
		memcpy(c->data + offset, data, len);
	c->n_bytes += len;
	return c->act && n == c->act_at ? c->act(c) : 0;
}

static bool is_cancelled(void *ctx)
{
	return ((struct catch *)ctx)->is_cancelled;
}

static struct ranges_options options_for(enum ranges_way way, bool in_order,
					 struct ranges_report *report)
{
	return (struct ranges_options){
		.leaf = LEAF,
		.n_threads = N_THREADS,
		.way = way,
		.may_map = way == RANGES_MAPPED,
		.in_order = in_order,
		.cancelled = is_cancelled,
		.report = report,
	};
}

static int open_file(struct temp_dir *dir, int flags)
{
	int fd = openat(dir->fd, "f", flags | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A file of the pattern, written to the disk and not in the cache (but for file
 * systems in memory). */
static int make_cold(struct temp_dir *dir, size_t size)
{
	int fd;

	write_pattern(dir, "f", size, 0);
	fd = open_file(dir, O_RDWR);
	drop_cache(fd);
	return fd;
}

static void assert_pattern(const struct catch *c)
{
	assert_int_equal(c->n_wrong, 0);
	assert_int_equal(c->n_bytes, c->size);
	for (size_t i = 0; i < c->size; i++) {
		if (c->data[i] != i % 251)
			fail_msg("byte %zu is %u", i, c->data[i]);
	}
}

/* Reads a file that has the pattern, and looks at what came. */
static struct ranges_report read_well(int fd, size_t size,
				      struct ranges_options options)
{
	CLEANUP(freep) uint8_t *data = malloc(size + 1);
	struct catch c = { .data = data,
			   .size = size,
			   .in_order = options.in_order };
	struct ranges_report report;

	options.report = &report;
	assert_int_equal(ranges_read(fd, size, &options, take, &c), 0);
	assert_pattern(&c);
	assert_int_equal(report.bytes_direct + report.bytes_buffered +
				 report.bytes_mapped + report.bytes_hole,
			 size);
	return report;
}

static void all_sizes_come_whole_by_all_ways(void **state)
{
	static const size_t sizes[] = { 0,
					1,
					511,
					512,
					513,
					4095,
					4096,
					4097,
					LEAF - 1,
					LEAF,
					LEAF + 1,
					3 * LEAF - 1,
					3 * LEAF,
					3 * LEAF + 1,
					5 * LEAF + 4096,
					33 * LEAF + 9 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (size_t w = 0; w < 2 * N_WAYS; w++) {
			CLEANUP(closep) int fd = make_cold(*state, sizes[i]);

			(void)read_well(fd, sizes[i],
					options_for(ways[w / 2], w % 2, NULL));
		}
	}
}

static void it_can_begin_behind_the_first_leaves(void **state)
{
	enum { SIZE = 20 * LEAF + 5, FROM = 7 * LEAF };
	CLEANUP(closep) int fd = make_cold(*state, SIZE);

	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(*ways); i++) {
		struct ranges_options options = options_for(ways[i / 2], i % 2,
							    NULL);
		struct catch c = { .size = SIZE,
				   .expected = FROM,
				   .in_order = i % 2 };

		options.from = FROM;
		assert_int_equal(ranges_read(fd, SIZE, &options, take, &c), 0);
		assert_int_equal(c.n_wrong, 0);
		assert_int_equal(c.n_calls, 14);
		assert_int_equal(c.n_bytes, SIZE - FROM);
	}
}

static void the_defaults_do(void **state)
{
	struct ranges_options options = { 0 };
	CLEANUP(closep) int fd = make_cold(*state, 3 * RANGES_LEAF / 2);
	struct catch c = { .size = 3 * RANGES_LEAF / 2 };

	/* The catch expects other leaves; they are counted all the same. */
	assert_int_equal(ranges_read(fd, c.size, &options, take, &c), 0);
	assert_int_equal(c.n_calls, 2);
}

static void a_cold_file_is_read_past_the_cache(void **state)
{
	CLEANUP(closep) int fd = -1;
	struct ranges_report report;

	skip_unless_on_disk(*state);
	fd = make_cold(*state, BIG);
	report = read_well(fd, BIG, options_for(RANGES_DIRECT, false, NULL));
	if (report.way != RANGES_DIRECT)
		skip(); /* this file system has no direct reads */
	assert_int_equal(report.bytes_direct, BIG & ~4095);
	report = read_well(fd, BIG, options_for(RANGES_AUTO, true, NULL));
	if (report.way == RANGES_URING)
		assert_int_equal(report.bytes_direct, BIG & ~4095);
	assert_int_equal(count_resident(fd, BIG), 0);
}

static void a_file_in_the_cache_is_read_from_there(void **state)
{
	CLEANUP(closep) int fd = -1;
	size_t n_resident;
	struct ranges_report report;

	write_pattern(*state, "f", BIG, 0);
	fd = open_file(*state, O_RDONLY);
	n_resident = count_resident(fd, BIG);
	report = read_well(fd, BIG, options_for(RANGES_AUTO, false, NULL));
	assert_int_equal(report.way, RANGES_BUFFERED);
	report = read_well(fd, BIG, options_for(RANGES_URING, false, NULL));
	assert_int_equal(report.bytes_direct, 0);
	assert_true(count_resident(fd, BIG) >= n_resident);
}

/* Leaves that are in the cache, are not, and are in part; the last page too. */
static void load_some(int fd, bool last)
{
	for (size_t i = 0; i < 8; i++)
		load_page(fd, i);
	for (size_t i = 11; i < 60; i += 5)
		load_page(fd, i);
	if (last)
		load_page(fd, BIG / 4096);
}

static void the_cache_is_afterwards_as_it_was(void **state)
{
	enum { N_PAGES = (BIG + 4095) / 4096 };

	skip_unless_on_disk(*state);
	for (size_t w = 0; w < 4 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		uint8_t before[N_PAGES], after[N_PAGES];

		load_some(fd, w % 2);
		get_resident(fd, BIG, before);
		(void)read_well(fd, BIG,
				options_for(ways[w / 4], w / 2 % 2, NULL));
		get_resident(fd, BIG, after);
		assert_memory_equal(before, after, N_PAGES);
	}
}

static void the_descriptor_keeps_its_position_and_flags(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	int flags = fcntl(fd, F_GETFL);

	assert_int_equal(lseek(fd, 77, SEEK_SET), 77);
	for (size_t w = 0; w < N_WAYS; w++) {
		(void)read_well(fd, BIG, options_for(ways[w], false, NULL));
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 77);
		assert_int_equal(fcntl(fd, F_GETFL), flags);
	}
}

static void a_file_without_a_name_is_read(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);

	assert_int_equal(unlinkat(((struct temp_dir *)*state)->fd, "f", 0), 0);
	for (size_t w = 0; w < N_WAYS; w++)
		(void)read_well(fd, BIG, options_for(ways[w], false, NULL));
}

/* Reads with an act of the sink in the middle; by all ways, in order and not. */
static void read_badly(struct temp_dir *dir, int (*act)(struct catch *c),
		       int expected)
{
	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(dir, BIG);
		struct ranges_report report;
		struct ranges_options options = options_for(ways[w / 2], w % 2,
							    &report);
		struct catch c = { .size = BIG,
				   .in_order = options.in_order,
				   .act = act,
				   .act_at = 4,
				   .fd = fd };

		assert_int_equal(ranges_read(fd, BIG, &options, take, &c),
				 expected);
		assert_int_equal(c.n_wrong, 0);
		/* Others may be at the door of the sink already. */
		if (expected != -ESTALE)
			assert_in_range(c.n_calls, 5, 5 + 2 * N_THREADS);
	}
}

static int truncate_half(struct catch *c)
{
	return ftruncate(c->fd, BIG / 2) < 0 ? -errno : 0;
}

static int truncate_by_one(struct catch *c)
{
	return ftruncate(c->fd, BIG - 1) < 0 ? -errno : 0;
}

static int grow(struct catch *c)
{
	return pwrite(c->fd, "x", 1, BIG) < 0 ? -errno : 0;
}

static int fail_oddly(struct catch *c)
{
	(void)c;
	return -EXFULL;
}

static int cancel(struct catch *c)
{
	c->is_cancelled = true;
	return 0;
}

/* Somebody closes descriptors that are not his, and another file of the same size
 * gets their numbers. */
static int swap_descriptors(struct catch *c)
{
	CLEANUP(closep) int other = memfd_create("other", MFD_CLOEXEC);
	struct stat ours, st;

	if (other < 0 || ftruncate(other, BIG) < 0 || fstat(c->fd, &ours) < 0)
		return -errno;
	for (int fd = 3; fd < 64; fd++)
		if (fd != c->fd && fstat(fd, &st) == 0 &&
		    st.st_ino == ours.st_ino && st.st_dev == ours.st_dev &&
		    dup2(other, fd) < 0)
			return -errno;
	return 0;
}

static void a_descriptor_that_became_another_file_is_stale(void **state)
{
	read_badly(*state, swap_descriptors, -ESTALE);
}

static void a_file_that_shrinks_is_stale(void **state)
{
	read_badly(*state, truncate_half, -ESTALE);
	read_badly(*state, truncate_by_one, -ESTALE);
}

/* Takes the file away from under the pages that it looks at. */
static int look_too_late(void *ctx, unsigned worker, uint64_t offset,
			 const uint8_t *data, size_t len)
{
	struct catch *c = ctx;
	uint8_t sum = 0;

	(void)worker;
	if (offset >= BIG / 2)
		(void)ftruncate(c->fd, BIG / 4);
	for (size_t i = 0; i < len; i++)
		sum ^= data[i];
	c->n_calls += sum ? 2 : 1;
	return 0;
}

static void pages_that_vanish_hurt_nobody(void **state)
{
	for (unsigned i = 0; i < 20; i++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		struct ranges_report report;
		struct ranges_options options = options_for(RANGES_MAPPED,
							    i % 2, &report);
		struct catch c = { .size = BIG, .fd = fd };

		for (size_t page = 0; page < BIG / 4096 + 1; page++)
			load_page(fd, page);
		assert_int_equal(ranges_read(fd, BIG, &options, look_too_late,
					     &c),
				 -ESTALE);
		assert_true(report.bytes_mapped > BIG / 4);
	}
}

static void only_who_may_maps(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct ranges_options options = options_for(RANGES_MAPPED, false, NULL);
	struct catch c = { .size = BIG };

	options.may_map = false;
	assert_int_equal(ranges_read(fd, BIG, &options, take, &c), -EINVAL);
	for (size_t page = 0; page < BIG / 4096 + 1; page++)
		load_page(fd, page);
	options.way = RANGES_AUTO;
	assert_int_equal(read_well(fd, BIG, options).bytes_mapped, 0);
}

static void a_file_that_grows_is_stale(void **state)
{
	read_badly(*state, grow, -ESTALE);
}

static void the_error_of_the_sink_ends_it(void **state)
{
	read_badly(*state, fail_oddly, -EXFULL);
}

static void a_cancelled_read_ends_soon(void **state)
{
	read_badly(*state, cancel, -ECANCELED);
}

static void another_size_is_stale_before_anything_is_read(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct ranges_options options = options_for(RANGES_AUTO, false, NULL);
	struct catch c = { .size = BIG };

	assert_int_equal(ranges_read(fd, BIG - 1, &options, take, &c), -ESTALE);
	assert_int_equal(ranges_read(fd, BIG + 1, &options, take, &c), -ESTALE);
	assert_int_equal(c.n_calls, 0);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct ranges_options bad[] = {
		{ .leaf = 100 },
		{ .leaf = 3 * 4096 },
		{ .leaf = 2048 },
		{ .leaf = 2 * RANGES_LEAF_MAX },
		{ .way = RANGES_WAY_END },
		{ .n_threads = 100000 },
		{ .from = 1 },
		{ .from = RANGES_LEAF },
	};
	CLEANUP(closep) int fd = make_cold(*state, 10);
	struct ranges_options good = { 0 };
	struct catch c = { .size = 10 };
	int dirfd = ((struct temp_dir *)*state)->fd;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(ranges_read(fd, 10, &bad[i], take, &c),
				 -EINVAL);
	assert_int_equal(ranges_read(dirfd, 10, &good, take, &c), -EINVAL);
	assert_int_equal(ranges_read(-1, 10, &good, take, &c), -EBADF);
	assert_int_equal(c.n_calls, 0);
}

static void without_descriptors_it_is_read_through_the_lent_one(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct rlimit old, none;
	struct ranges_report report[N_WAYS];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ (rlim_t)fd + 1, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (size_t w = 0; w < N_WAYS; w++)
		report[w] = read_well(fd, BIG,
				      options_for(ways[w], w % 2, NULL));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);

	assert_int_equal(report[0].way, RANGES_BUFFERED);
	assert_int_equal(report[1].way, RANGES_BUFFERED);
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
static bool reads_well(int fd, enum ranges_way way,
		       struct ranges_report *report)
{
	struct ranges_options options = options_for(way, true, report);
	CLEANUP(freep) uint8_t *data = malloc(BIG);
	struct catch c = { .data = data, .size = BIG, .in_order = true };

	options.n_threads = 1;
	if (ranges_read(fd, BIG, &options, take, &c) < 0 || c.n_wrong)
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
	struct ranges_report before, report;
	pid_t pid;

	assert_true(reads_well(fd, RANGES_DIRECT, &before));
	pid = fork();
	if (pid == 0) {
		if (refuse_uring() < 0)
			_exit(77);
		if (!reads_well(fd, RANGES_URING, &report))
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

static void another_users_file_leaves_little_in_the_cache(void **state)
{
	CLEANUP(closep) int fd = -1;
	CLEANUP(closep) int reader = -1;
	uint8_t pages[(BIG + 4095) / 4096];
	struct ranges_report report;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	skip_unless_on_disk(*state);
	fd = make_cold(*state, BIG);
	reader = open_file(*state, O_RDONLY);
	load_page(fd, 2);
	pid = fork();
	if (pid == 0) {
		if (become_nobody() < 0 ||
		    !reads_well(reader, RANGES_DIRECT, &report))
			_exit(1);
		_exit(report.way == RANGES_DIRECT ? 0 : 2);
	}
	assert_exit(pid, 0);
	/* The last page is too short for a direct read, and whether it was there
	 * cannot be known.  A probe that is answered late may add a leaf. */
	get_resident(fd, BIG, pages);
	assert_int_equal(pages[2], 1);
	assert_in_range(count_resident(fd, BIG), 1, sizeof(pages) / 4);
}

static void a_terabyte_of_holes_takes_a_moment(void **state)
{
	enum { MIB = 1024 * 1024 };
	static const uint64_t size = (UINT64_C(1) << 40) + 12345;
	struct temp_dir *dir = *state;
	CLEANUP(closep)
	int fd = openat(dir->fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct ranges_report report;
	struct ranges_options options = { .report = &report };
	struct catch c = { .size = size };

	assert_true(fd >= 0);
	if (ftruncate(fd, (off_t)size) < 0)
		skip(); /* the file system has no files of this size */
	assert_int_equal(pwrite(fd, "x", 1, (off_t)(size / 2)), 1);
	assert_int_equal(ranges_read(fd, size, &options, take, &c), 0);
	assert_int_equal(c.n_calls, size / MIB + 1);
	assert_int_equal(report.bytes_hole, size - MIB);
}

/* Data and holes that begin within leaves, at their ends and at that of the file. */
static void make_sparse(int fd, uint8_t *expected)
{
	static const struct {
		size_t offset, len;
	} data[] = {
		{ 2 * LEAF + 4096, 4096 },
		{ 5 * LEAF, LEAF },
		{ 9 * LEAF - 1, 2 },
		{ 20 * LEAF, 3 * LEAF + 1 },
	};

	memset(expected, 0, BIG);
	assert_int_equal(ftruncate(fd, BIG), 0);
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++) {
		memset(expected + data[i].offset, 'd', data[i].len);
		assert_int_equal(pwrite(fd, expected + data[i].offset,
					data[i].len, (off_t)data[i].offset),
				 data[i].len);
	}
}

static void holes_among_data_are_zeros(void **state)
{
	CLEANUP(freep) uint8_t *expected = malloc(BIG);
	CLEANUP(freep) uint8_t *data = malloc(BIG);
	struct temp_dir *dir = *state;

	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep)
		int fd = openat(dir->fd, "f",
				O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct catch c = { .data = data,
				   .size = BIG,
				   .in_order = w % 2 };
		struct ranges_report report;
		struct ranges_options options = options_for(ways[w / 2], w % 2,
							    &report);

		make_sparse(fd, expected);
		drop_cache(fd);
		memset(data, 'x', BIG);
		assert_int_equal(ranges_read(fd, BIG, &options, take, &c), 0);
		assert_int_equal(c.n_wrong, 0);
		assert_memory_equal(data, expected, BIG);
	}
}

static _Atomic unsigned n_holes;

static int count_holes(void *ctx, unsigned worker, uint64_t offset,
		       const uint8_t *data, size_t len)
{
	(void)ctx;
	(void)worker;
	(void)offset;
	n_holes += ranges_is_hole(data) && len == LEAF;
	return 0;
}

static void a_sink_can_tell_a_hole(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(closep)
	int fd = openat(dir->fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct ranges_options options = options_for(RANGES_AUTO, false, NULL);

	options.cancelled = NULL;
	assert_int_equal(ftruncate(fd, 10 * LEAF), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	n_holes = 0;
	assert_int_equal(
		ranges_read(fd, 10 * LEAF, &options, count_holes, NULL), 0);
	if (n_holes == 0)
		skip(); /* this file system has no holes, or does not tell */
	assert_int_equal(n_holes, 9);
}

static void short_and_interrupted_reads_go_on(void **state)
{
	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		struct ranges_options options = options_for(ways[w / 2], w % 2,
							    NULL);

		reads.shorten = true;
		(void)read_well(fd, BIG, options);
		reads.shorten = false;
	}
}

static void direct_reads_that_are_refused_go_through_the_cache(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	struct ranges_report report;

	reads.on_direct = EINVAL;
	report = read_well(fd, BIG, options_for(RANGES_DIRECT, false, NULL));
	reads.on_direct = 0;
	assert_int_equal(report.bytes_direct, 0);
}

static void a_broken_disk_is_eio(void **state)
{
	static const bool orders[] = { false, true };

	for (size_t w = 0; w < 2 * N_WAYS; w++) {
		CLEANUP(closep) int fd = make_cold(*state, BIG);
		struct ranges_options options = options_for(
			ways[w / 2], orders[w % 2], NULL);
		struct catch c = { .size = BIG, .in_order = orders[w % 2] };

		/* io_uring does not come through here; its tail does. */
		reads.fail_with = EIO;
		reads.fail_from = ways[w / 2] == RANGES_URING ? BIG - 1 :
								BIG / 2;
		assert_int_equal(ranges_read(fd, BIG, &options, take, &c),
				 -EIO);
		reads.fail_from = -1;
		assert_int_equal(c.n_wrong, 0);
	}
}

static void with_little_memory_there_are_fewer_workers(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);

	for (size_t w = 0; w < N_WAYS; w++) {
		struct ranges_options options = options_for(ways[w], false,
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
	struct ranges_options options;
	struct catch c = { .size = BIG };

	for (size_t w = 0; w < N_WAYS; w++) {
		mmap_limit = LEAF;
		assert_int_equal(read_well(fd, BIG,
					   options_for(ways[w], false, NULL))
					 .n_workers,
				 1);
		mmap_limit = 0;
		options = options_for(ways[w], false, NULL);
		assert_int_equal(ranges_read(fd, BIG, &options, take, &c),
				 -ENOMEM);
		mmap_limit = SIZE_MAX;
	}
	assert_int_equal(c.n_calls, 0);
}

static void memory_that_is_lent_is_used_where_it_is_enough(void **state)
{
	CLEANUP(closep) int fd = make_cold(*state, BIG);
	CLEANUP(freep) uint8_t *lent = malloc(LEAF);
	struct ranges_options options = options_for(RANGES_BUFFERED, false,
						    NULL);
	struct catch c = { .size = BIG };

	options.n_threads = 1;
	options.buffer = lent;
	options.buffer_len = LEAF;
	mmap_limit = 0;
	(void)read_well(fd, BIG, options);
	options.buffer_len = LEAF - 1;
	assert_int_equal(ranges_read(fd, BIG, &options, take, &c), -ENOMEM);
	mmap_limit = SIZE_MAX;
	options.way = RANGES_DIRECT;
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
			struct ranges_options options = options_for(
				ways[w], false, NULL);

			assert_int_equal(r, -ENOMEM);
			assert_true(n < 20);
			alloc_fail_after(n);
			r = ranges_read(fd, BIG, &options, take, &c);
			alloc_fail_never();
		}
	}
	assert_int_equal(c.n_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(all_sizes_come_whole_by_all_ways),
		DIR_TEST(it_can_begin_behind_the_first_leaves),
		DIR_TEST(the_defaults_do),
		DIR_TEST(a_cold_file_is_read_past_the_cache),
		DIR_TEST(a_file_in_the_cache_is_read_from_there),
		DIR_TEST(the_cache_is_afterwards_as_it_was),
		DIR_TEST(the_descriptor_keeps_its_position_and_flags),
		DIR_TEST(a_file_without_a_name_is_read),
		DIR_TEST(a_descriptor_that_became_another_file_is_stale),
		DIR_TEST(a_file_that_shrinks_is_stale),
		DIR_TEST(a_file_that_grows_is_stale),
		DIR_TEST(the_error_of_the_sink_ends_it),
		DIR_TEST(a_cancelled_read_ends_soon),
		DIR_TEST(another_size_is_stale_before_anything_is_read),
		DIR_TEST(what_makes_no_sense_is_refused),
		DIR_TEST(without_descriptors_it_is_read_through_the_lent_one),
		DIR_TEST(without_io_uring_direct_reads_do),
		DIR_TEST(another_users_file_leaves_little_in_the_cache),
		DIR_TEST(a_terabyte_of_holes_takes_a_moment),
		DIR_TEST(holes_among_data_are_zeros),
		DIR_TEST(a_sink_can_tell_a_hole),
		DIR_TEST(short_and_interrupted_reads_go_on),
		DIR_TEST(direct_reads_that_are_refused_go_through_the_cache),
		DIR_TEST(pages_that_vanish_hurt_nobody),
		DIR_TEST(only_who_may_maps),
		DIR_TEST(a_broken_disk_is_eio),
		DIR_TEST(with_little_memory_there_are_fewer_workers),
		DIR_TEST(memory_that_is_refused_is_asked_for_in_smaller_pieces),
		DIR_TEST(memory_that_is_lent_is_used_where_it_is_enough),
		DIR_TEST(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}

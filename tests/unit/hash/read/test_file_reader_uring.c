/* test_file_reader_uring.c - a kernel that refuses to take in reads, or to tell of their
 * end: no buffer goes while a read into it is under way.
 *
 * The calls into liburing come through here; linked with --wrap. */
#include <errno.h>
#include <liburing.h>
#include <limits.h>
#include <sys/mman.h>

#include "cached_file.h"
#include "hash/read/file_reader.h"

enum { LEAF = 64 * 1024, SIZE = 24 * LEAF };

static struct {
	unsigned n_submits; /* calls so far */
	unsigned refuse_from, refuse_to; /* of those: -EAGAIN */
	unsigned n_accepted;
	unsigned stall_from; /* reads from this one on do not end by themselves */
	int stalled[2]; /* a pipe that they read from */
	bool is_over; /* whoever waits from now on has them end */
	unsigned n_wait_errors; /* so many to come */
	int wait_error;
	unsigned n_unseen; /* accepted, and not reaped when the ring went */
	size_t unmapped; /* the largest mapping that went */
} kernel;

/* The last read that was prepared ends when the pipe does. */
static void stall(struct io_uring *ring)
{
	unsigned last = ring->sq.sqe_tail - 1;
	struct io_uring_sqe
		*sqe = &ring->sq.sqes[last & (*ring->sq.kring_entries - 1)];

	sqe->fd = kernel.stalled[0];
	sqe->off = (uint64_t)-1;
}

static void end_stall(void)
{
	closep(&kernel.stalled[1]);
	kernel.stalled[1] = -1;
}

int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);

int __wrap_io_uring_submit(struct io_uring *ring)
{
	unsigned n = kernel.n_submits++;
	int r;

	if (n >= kernel.refuse_from && n < kernel.refuse_to)
		return -EAGAIN;
	if (n >= kernel.stall_from)
		stall(ring);
	r = __real_io_uring_submit(ring);
	if (r > 0)
		kernel.n_accepted += (unsigned)r;
	return r;
}

int __real___io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe,
			      unsigned submit, unsigned n_wait,
			      sigset_t *signals);
int __wrap___io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe,
			      unsigned submit, unsigned n_wait,
			      sigset_t *signals);

int __wrap___io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe,
			      unsigned submit, unsigned n_wait,
			      sigset_t *signals)
{
	if (n_wait && kernel.n_wait_errors) {
		kernel.n_wait_errors--;
		return kernel.wait_error;
	}
	if (n_wait && kernel.is_over)
		end_stall();
	return __real___io_uring_get_cqe(ring, cqe, submit, n_wait, signals);
}

void __real_io_uring_queue_exit(struct io_uring *ring);
void __wrap_io_uring_queue_exit(struct io_uring *ring);

void __wrap_io_uring_queue_exit(struct io_uring *ring)
{
	kernel.n_unseen = kernel.n_accepted - *ring->cq.khead;
	__real_io_uring_queue_exit(ring);
}

int __real_munmap(void *p, size_t len);
int __wrap_munmap(void *p, size_t len);

int __wrap_munmap(void *p, size_t len)
{
	if (len > kernel.unmapped)
		kernel.unmapped = len;
	return __real_munmap(p, len);
}

struct sum {
	uint64_t n_bytes;
	unsigned n_wrong;
	int fail_with; /* at the second leaf; 0: not at all */
	int wait_error; /* from then on */
	unsigned n_wait_errors;
};

static int take(void *ctx, unsigned worker, uint64_t offset,
		const uint8_t *data, size_t len)
{
	struct sum *sum = ctx;

	(void)worker;
	for (size_t i = 0; i < len; i++)
		sum->n_wrong += data[i] != (offset + i) % 251;
	sum->n_bytes += len;
	if (offset != LEAF || !sum->fail_with)
		return 0;
	kernel.is_over = true;
	kernel.wait_error = sum->wait_error;
	kernel.n_wait_errors = sum->n_wait_errors;
	return sum->fail_with;
}

/* In order: there is one worker and one ring. */
static int read_file(struct temp_dir *dir, struct sum *sum)
{
	struct file_reader_report report;
	struct file_reader_options options = { .leaf = LEAF,
					       .way = FILE_READER_URING,
					       .in_order = true,
					       .report = &report };
	CLEANUP(closep) int fd = -1;
	int r;

	write_pattern(dir, "f", SIZE, 0);
	fd = openat(dir->fd, "f", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	drop_cache(fd);
	r = file_reader_read(fd, SIZE, &options, take, sum);
	if (report.way != FILE_READER_URING)
		skip(); /* refused here, or a file system without O_DIRECT */
	assert_int_equal(sum->n_wrong, 0);
	return r;
}

static int begin(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.stall_from = UINT_MAX;
	if (pipe2(kernel.stalled, O_CLOEXEC) < 0)
		return -1;
	return temp_dir_make(state);
}

static int end(void **state)
{
	closep(&kernel.stalled[0]);
	end_stall();
	return temp_dir_remove(state);
}

static void reads_that_are_refused_for_a_while_come_later(void **state)
{
	struct sum sum = { 0 };

	kernel.refuse_from = 3;
	kernel.refuse_to = 10;
	assert_int_equal(read_file(*state, &sum), 0);
	assert_int_equal(sum.n_bytes, SIZE);
	assert_int_equal(kernel.n_unseen, 0);
}

static void reads_that_are_refused_for_good_end_the_job(void **state)
{
	struct sum sum = { 0 };

	kernel.refuse_from = 3;
	kernel.refuse_to = UINT_MAX;
	assert_int_equal(read_file(*state, &sum), -EAGAIN);
	assert_int_equal(sum.n_bytes, 3 * LEAF);
	assert_int_equal(kernel.n_unseen, 0);
}

static void no_buffer_goes_before_all_reads_have_ended(void **state)
{
	struct sum sum = { .fail_with = -EXFULL,
			   .wait_error = -EAGAIN,
			   .n_wait_errors = 5 };

	kernel.stall_from = 2;
	assert_int_equal(read_file(*state, &sum), -EXFULL);
	assert_int_equal(kernel.n_wait_errors, 0);
	assert_true(kernel.n_accepted > 2);
	assert_int_equal(kernel.n_unseen, 0);
	assert_true(kernel.unmapped > LEAF);
}

static void buffers_stay_when_the_end_of_reads_is_not_to_be_had(void **state)
{
	struct sum sum = { .fail_with = -EXFULL,
			   .wait_error = -EBADF,
			   .n_wait_errors = UINT_MAX };

	kernel.stall_from = 2;
	assert_int_equal(read_file(*state, &sum), -EXFULL);
	assert_true(kernel.n_unseen > 0);
	assert_true(kernel.unmapped < LEAF);
}

#define URING_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		URING_TEST(reads_that_are_refused_for_a_while_come_later),
		URING_TEST(reads_that_are_refused_for_good_end_the_job),
		URING_TEST(no_buffer_goes_before_all_reads_have_ended),
		URING_TEST(buffers_stay_when_the_end_of_reads_is_not_to_be_had),
	};

	return cmocka_run_group_tests_name("file_reader_uring", tests, NULL,
					   NULL);
}

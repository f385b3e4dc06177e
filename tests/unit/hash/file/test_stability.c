/* test_stability.c - will every change of a file show in its stamp? */
#include "hash/file/stability.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "hash/read/filesystem.h"
#include "temp_dir.h"

struct file {
	char path[96];
	struct stamp stamp;
};

static struct file make(struct temp_dir *dir, int64_t mtime_s)
{
	const struct timespec times[2] = { { .tv_sec = mtime_s },
					   { .tv_sec = mtime_s } };
	struct file f;
	struct stat st;

	write_pattern(dir, "f", 4096, 0);
	(void)snprintf(f.path, sizeof(f.path), "%s/f", dir->path);
	if (mtime_s)
		assert_int_equal(utimensat(AT_FDCWD, f.path, times, 0), 0);
	assert_int_equal(stat(f.path, &st), 0);
	f.stamp = stamp_of(&st);
	return f;
}

static bool is_still(const struct file *f)
{
	struct stability memory = { 0 };

	return stability_is_proven(&memory, f->path, &f->stamp, clock_now_ns());
}

/* Containers often have their /tmp in one. */
static void need_leases(const struct file *f)
{
	struct statfs fs;

	assert_int_equal(statfs(f->path, &fs), 0);
	if (filesystem_hides_writers((uint32_t)fs.f_type)) {
		print_message("skipped: a lease proves nothing in an overlay\n");
		skip();
	}
}

static void a_file_that_nobody_writes_is_still(void **state)
{
	struct file f = make(*state, 0);
	CLEANUP(closep) int fd = open(f.path, O_RDONLY | O_CLOEXEC);

	need_leases(&f);
	assert_true(is_still(&f));
	assert_true(is_still(&f));
	assert_true(fd >= 0);
}

static void a_file_that_is_open_for_writing_is_not(void **state)
{
	struct file f = make(*state, 0);
	CLEANUP(closep) int fd = open(f.path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_false(is_still(&f));
}

static void a_file_that_is_mapped_for_writing_is_not(void **state)
{
	struct file f = make(*state, 0);
	int fd = open(f.path, O_RDWR | O_CLOEXEC);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	need_leases(&f);
	assert_ptr_not_equal(p, MAP_FAILED);
	(void)close(fd);
	assert_false(is_still(&f));
	(void)munmap(p, 4096);
	assert_true(is_still(&f));
}

static void another_stamp_or_no_file_is_not(void **state)
{
	struct file f = make(*state, 0);

	f.stamp.size++;
	assert_false(is_still(&f));
	f.stamp.size--;
	assert_int_equal(unlink(f.path), 0);
	assert_false(is_still(&f));
}

/* Its pages have long been written, so that the next store is seen. */
static void an_old_file_on_a_disk_is_still_whoever_has_it_open(void **state)
{
	struct file f = make(*state, 1000000000);
	struct stability on_disk = { .dev = f.stamp.dev, .known = true };
	struct stability in_memory = { .dev = f.stamp.dev,
				       .known = true,
				       .in_memory = true };
	CLEANUP(closep) int fd = open(f.path, O_WRONLY | O_CLOEXEC);
	int64_t later_ns = clock_now_ns() + INT64_C(700000000000);

	assert_true(fd >= 0);
	assert_true(stability_is_proven(&on_disk, f.path, &f.stamp, later_ns));
	assert_false(stability_is_proven(&on_disk, f.path, &f.stamp,
					 clock_now_ns()));
	assert_false(
		stability_is_proven(&in_memory, f.path, &f.stamp, later_ns));
}

/* The mapping may be one of the file in the layer below. */
static void a_young_file_is_not_where_writers_hide(void **state)
{
	struct file f = make(*state, 0);
	struct stability overlay = { .dev = f.stamp.dev,
				     .known = true,
				     .hides_writers = true };
	int64_t later_ns = clock_now_ns() + INT64_C(700000000000);

	assert_false(stability_is_proven(&overlay, f.path, &f.stamp,
					 clock_now_ns()));
	assert_true(stability_is_proven(&overlay, f.path, &f.stamp, later_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(a_file_that_nobody_writes_is_still),
		DIR_TEST(a_file_that_is_open_for_writing_is_not),
		DIR_TEST(a_file_that_is_mapped_for_writing_is_not),
		DIR_TEST(another_stamp_or_no_file_is_not),
		DIR_TEST(an_old_file_on_a_disk_is_still_whoever_has_it_open),
		DIR_TEST(a_young_file_is_not_where_writers_hide),
	};

	return cmocka_run_group_tests_name("still", tests, NULL, NULL);
}

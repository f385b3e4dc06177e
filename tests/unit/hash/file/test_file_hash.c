/* test_file_hash.c - files of all sizes, kinds and tempers. */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "alloc_fail.h"
#include "base/clock.h"
#include "hash/file/file_hash.h"
#include "hash/file/file_pass.h"
#include "temp_dir.h"

enum { ALL = (1 << DIGEST_ALGO_END) - 1 };

static void assert_pattern(const struct file_hash *hash, size_t len,
			   size_t salt)
{
	CLEANUP(freep) uint8_t *data = malloc(len + 1);
	struct digests d;

	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)((i + salt) % 251);
	assert_int_equal(digest_buffer(data, len, hash->digests.have, &d), 0);
	assert_memory_equal(&d, &hash->digests, sizeof(d));
	assert_int_equal(hash->stamp.size, len);
}

static void files_around_the_buffer_size_hash_like_memory(void **state)
{
	static const size_t sizes[] = {
		0,
		1,
		4095,
		4096,
		65536,
		65537,
		PASS_BUFFER - 1,
		PASS_BUFFER,
		PASS_BUFFER + 1,
		3 * PASS_BUFFER - 1,
		3 * PASS_BUFFER,
		3 * PASS_BUFFER + 1,
	};
	struct temp_dir *dir = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		_Atomic uint64_t n_bytes = 0;
		struct file_hash hash;

		write_pattern(dir, "f", sizes[i], i);
		assert_int_equal(
			file_hash(dir->fd, "f", ALL, &n_bytes, NULL, &hash), 0);
		assert_int_equal(n_bytes, sizes[i]);
		assert_int_equal(hash.digests.have, ALL);
		assert_pattern(&hash, sizes[i], i);
	}
}

static void the_stamp_is_that_of_the_file(void **state)
{
	struct temp_dir *dir = *state;
	int64_t before_ns = clock_now_tick_ns();
	struct file_hash hash;
	struct stamp stamp;
	struct stat st;

	write_pattern(dir, "f", 10, 0);
	assert_int_equal(file_hash(dir->fd, "f", 0, NULL, NULL, &hash), 0);
	assert_int_equal(fstatat(dir->fd, "f", &st, 0), 0);
	stamp = stamp_of(&st);
	assert_true(stamp_equal(&hash.stamp, &stamp));
	assert_true(hash.taken_ns >= before_ns);
	assert_true(hash.taken_ns <= clock_now_ns());
}

static void a_descriptor_is_read_from_0_and_keeps_its_position(void **state)
{
	struct temp_dir *dir = *state;
	struct file_hash hash;

	write_pattern(dir, "f", 1000, 3);
	CLEANUP(closep) int fd = openat(dir->fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(fd, 500, SEEK_SET), 500);
	assert_int_equal(file_hash_fd(fd, 0, NULL, NULL, &hash), 0);
	assert_pattern(&hash, 1000, 3);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 500);
}

static void an_unlinked_file_hashes_by_descriptor(void **state)
{
	struct temp_dir *dir = *state;
	struct file_hash hash;

	write_pattern(dir, "f", 1000, 3);
	CLEANUP(closep) int fd = openat(dir->fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(unlinkat(dir->fd, "f", 0), 0);
	assert_int_equal(file_hash_fd(fd, 0, NULL, NULL, &hash), 0);
	assert_pattern(&hash, 1000, 3);
	assert_int_equal(file_hash(dir->fd, "f", 0, NULL, NULL, &hash),
			 -ENOENT);
}

static void a_sparse_file_hashes_as_zeroes(void **state)
{
	enum { SIZE = 8 << 20 };
	struct temp_dir *dir = *state;
	CLEANUP(freep) void *zeroes = calloc(1, SIZE);
	struct file_hash hash;
	struct digests d;

	write_pattern(dir, "f", 0, 0);
	CLEANUP(closep) int fd = openat(dir->fd, "f", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(file_hash(dir->fd, "f", ALL, NULL, NULL, &hash), 0);
	assert_int_equal(digest_buffer(zeroes, SIZE, ALL, &d), 0);
	assert_memory_equal(&d, &hash.digests, sizeof(d));
}

static void a_symlink_is_followed(void **state)
{
	struct temp_dir *dir = *state;
	struct file_hash hash;

	write_pattern(dir, "f", 77, 0);
	assert_int_equal(symlinkat("f", dir->fd, "link"), 0);
	assert_int_equal(symlinkat("nowhere", dir->fd, "dangling"), 0);
	assert_int_equal(file_hash(dir->fd, "link", 0, NULL, NULL, &hash), 0);
	assert_pattern(&hash, 77, 0);
	assert_int_equal(file_hash(dir->fd, "dangling", 0, NULL, NULL, &hash),
			 -ENOENT);
}

static void a_directory_is_refused(void **state)
{
	struct temp_dir *dir = *state;
	struct file_hash hash;

	assert_int_equal(file_hash(dir->fd, ".", 0, NULL, NULL, &hash),
			 -EISDIR);
	assert_int_equal(file_hash_fd(dir->fd, 0, NULL, NULL, &hash), -EISDIR);
}

static void a_device_and_a_socket_are_refused(void **state)
{
	struct temp_dir *dir = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct file_hash hash;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s",
		       dir->path);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(file_hash(dir->fd, "s", 0, NULL, NULL, &hash),
			 -EINVAL);
	assert_int_equal(file_hash(AT_FDCWD, "/dev/zero", 0, NULL, NULL, &hash),
			 -EINVAL);
}

/* Its writer is waiting in open(2) for a reader; hashing must not be that. */
static void *write_fifo(void *arg)
{
	struct temp_dir *dir = arg;
	CLEANUP(closep) int fd = openat(dir->fd, "p", O_WRONLY | O_CLOEXEC);

	return (void *)(intptr_t)(fd >= 0 ? write(fd, "x", 1) : -1);
}

static void a_fifo_is_refused_and_its_writer_left_alone(void **state)
{
	struct temp_dir *dir = *state;
	CLEANUP(closep) int fd = -1;
	struct file_hash hash;
	pthread_t writer;
	void *written;
	char c = 0;

	assert_int_equal(mkfifoat(dir->fd, "p", 0600), 0);
	assert_int_equal(file_hash(dir->fd, "p", 0, NULL, NULL, &hash),
			 -EINVAL);
	assert_int_equal(pthread_create(&writer, NULL, write_fifo, dir), 0);
	(void)usleep(20000);
	assert_int_equal(file_hash(dir->fd, "p", 0, NULL, NULL, &hash),
			 -EINVAL);
	fd = openat(dir->fd, "p", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(pthread_join(writer, &written), 0);
	assert_int_equal((intptr_t)written, 1);
}

static void bad_paths_fail_as_open_does(void **state)
{
	struct temp_dir *dir = *state;
	char long_name[5000];
	struct file_hash hash;

	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	write_pattern(dir, "f", 1, 0);
	assert_int_equal(file_hash(dir->fd, "", 0, NULL, NULL, &hash), -ENOENT);
	assert_int_equal(file_hash(dir->fd, "none", 0, NULL, NULL, &hash),
			 -ENOENT);
	assert_int_equal(file_hash(dir->fd, "f/x", 0, NULL, NULL, &hash),
			 -ENOTDIR);
	assert_int_equal(file_hash(dir->fd, long_name, 0, NULL, NULL, &hash),
			 -ENAMETOOLONG);
	assert_int_equal(file_hash_fd(-1, 0, NULL, NULL, &hash), -EBADF);
	assert_int_equal(file_hash(dir->fd, "f", 1 << DIGEST_ALGO_END, NULL,
				   NULL, &hash),
			 -EINVAL);
}

/* In a child, because root reads everything. */
static int hash_as_nobody(struct temp_dir *dir)
{
	struct file_hash hash;

	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		return 2;
	return file_hash(dir->fd, "f", 0, NULL, NULL, &hash) == -EACCES ? 0 : 1;
}

static void an_unreadable_file_is_refused(void **state)
{
	struct temp_dir *dir = *state;
	int status = -1;
	pid_t pid;

	write_pattern(dir, "f", 10, 0);
	assert_int_equal(fchmodat(dir->fd, "f", 0, 0), 0);
	assert_int_equal(fchmod(dir->fd, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(hash_as_nobody(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_file_whose_size_is_made_up_does_not_hold_still(void **state)
{
	struct file_hash hash;

	(void)state;
	assert_int_equal(file_hash(AT_FDCWD, "/proc/self/status", 0, NULL, NULL,
				   &hash),
			 -EAGAIN);
}

/* Appends after every read, through the steps of the pass. */
static void a_file_that_grows_all_the_time_is_given_up(void **state)
{
	struct temp_dir *dir = *state;
	struct file_pass *p = file_pass_local();
	struct file_hash hash;
	int r, n_steps = 0;

	write_pattern(dir, "f", 100, 0);
	CLEANUP(closep)
	int fd = openat(dir->fd, "f", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(file_pass_look(p, dir->fd, "f"), 0);
	assert_int_equal(file_pass_start(p, 0), 0);
	do {
		assert_int_equal(write(fd, "x", 1), 1);
		n_steps++;
		r = file_pass_step(p, NULL, &hash);
	} while (r > 0);
	file_pass_end(p);
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(n_steps, PASS_TRIES);
}

/* Runs `change` between the look and the first read. */
static int hash_with_change(struct temp_dir *dir,
			    void (*change)(struct temp_dir *dir),
			    struct file_hash *ret)
{
	struct file_pass *p = file_pass_local();
	int r = file_pass_look(p, dir->fd, "f");

	assert_int_equal(r, 0);
	(void)usleep(20000); /* the change gets a time stamp of its own */
	change(dir);
	r = file_pass_start(p, ALL);
	if (r < 0)
		return r;
	while ((r = file_pass_step(p, NULL, ret)) > 0)
		;
	file_pass_end(p);
	return r;
}

static void grow(struct temp_dir *dir)
{
	write_pattern(dir, "f", 300000, 1);
}

static void shrink(struct temp_dir *dir)
{
	write_pattern(dir, "f", 10, 1);
}

static void rewrite(struct temp_dir *dir)
{
	write_pattern(dir, "f", 1000, 1);
}

static void replace(struct temp_dir *dir)
{
	write_pattern(dir, "g", 1000, 1);
	assert_int_equal(renameat(dir->fd, "g", dir->fd, "f"), 0);
}

static void vanish(struct temp_dir *dir)
{
	assert_int_equal(unlinkat(dir->fd, "f", 0), 0);
}

static void become_fifo(struct temp_dir *dir)
{
	vanish(dir);
	assert_int_equal(mkfifoat(dir->fd, "f", 0600), 0);
}

static void a_change_meanwhile_is_noticed_and_the_file_read_again(void **state)
{
	static const struct {
		void (*change)(struct temp_dir *dir);
		size_t len;
	} cases[] = {
		{ grow, 300000 },
		{ shrink, 10 },
		{ rewrite, 1000 },
		{ replace, 1000 },
	};
	struct temp_dir *dir = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct file_hash hash;

		write_pattern(dir, "f", 1000, 0);
		assert_int_equal(hash_with_change(dir, cases[i].change, &hash),
				 0);
		assert_pattern(&hash, cases[i].len, 1);
	}
}

static void a_name_that_vanishes_or_changes_kind_is_an_error(void **state)
{
	struct temp_dir *dir = *state;
	struct file_hash hash;

	write_pattern(dir, "f", 1000, 0);
	assert_int_equal(hash_with_change(dir, vanish, &hash), -ENOENT);
	write_pattern(dir, "f", 1000, 0);
	assert_int_equal(hash_with_change(dir, become_fifo, &hash), -EINVAL);
}

static void stop_ends_the_read(void **state)
{
	struct temp_dir *dir = *state;
	atomic_bool stop = true;
	struct file_hash hash;

	write_pattern(dir, "f", 10, 0);
	assert_int_equal(file_hash(dir->fd, "f", 0, NULL, &stop, &hash),
			 -ECANCELED);
	stop = false;
	assert_int_equal(file_hash(dir->fd, "f", 0, NULL, &stop, &hash), 0);
}

static int lowest_free_fd(void)
{
	int fd = dup(0);

	(void)close(fd);
	return fd;
}

static void no_descriptor_is_left_open(void **state)
{
	struct temp_dir *dir = *state;
	int before = lowest_free_fd();
	atomic_bool stop = true;
	struct file_hash hash;

	write_pattern(dir, "f", 10, 0);
	(void)file_hash(dir->fd, "f", 0, NULL, NULL, &hash);
	(void)file_hash(dir->fd, "f", 0, NULL, &stop, &hash);
	(void)file_hash(AT_FDCWD, "/proc/self/status", 0, NULL, NULL, &hash);
	(void)file_hash(dir->fd, ".", 0, NULL, NULL, &hash);
	assert_int_equal(lowest_free_fd(), before);
}

/* A fresh thread has no buffer yet. */
static void *hash_without_memory(void *arg)
{
	struct temp_dir *dir = arg;
	struct file_hash hash;
	int r;

	alloc_fail_after(0);
	r = file_hash(dir->fd, "f", 0, NULL, NULL, &hash);
	alloc_fail_never();
	if (r == -ENOMEM) /* and it is not for ever */
		r = file_hash(dir->fd, "f", 0, NULL, NULL, &hash);
	else
		r = -EPROTO;
	return (void *)(intptr_t)r;
}

static void a_thread_without_memory_says_so(void **state)
{
	struct temp_dir *dir = *state;
	pthread_t thread;
	void *r;

	write_pattern(dir, "f", 10, 0);
	assert_int_equal(
		pthread_create(&thread, NULL, hash_without_memory, dir), 0);
	assert_int_equal(pthread_join(thread, &r), 0);
	assert_int_equal((intptr_t)r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(files_around_the_buffer_size_hash_like_memory),
		DIR_TEST(the_stamp_is_that_of_the_file),
		DIR_TEST(a_descriptor_is_read_from_0_and_keeps_its_position),
		DIR_TEST(an_unlinked_file_hashes_by_descriptor),
		DIR_TEST(a_sparse_file_hashes_as_zeroes),
		DIR_TEST(a_symlink_is_followed),
		DIR_TEST(a_directory_is_refused),
		DIR_TEST(a_device_and_a_socket_are_refused),
		DIR_TEST(a_fifo_is_refused_and_its_writer_left_alone),
		DIR_TEST(bad_paths_fail_as_open_does),
		DIR_TEST(an_unreadable_file_is_refused),
		DIR_TEST(a_file_whose_size_is_made_up_does_not_hold_still),
		DIR_TEST(a_file_that_grows_all_the_time_is_given_up),
		DIR_TEST(a_change_meanwhile_is_noticed_and_the_file_read_again),
		DIR_TEST(a_name_that_vanishes_or_changes_kind_is_an_error),
		DIR_TEST(stop_ends_the_read),
		DIR_TEST(no_descriptor_is_left_open),
		DIR_TEST(a_thread_without_memory_says_so),
	};

	return cmocka_run_group_tests_name("file_hash", tests, NULL, NULL);
}

/* test_keep.c - content kept by its hash: complete, right, or not there. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <utime.h>

#include "alloc_fail.h"
#include "hash/digest/digest.h"
#include "keep/keep.h"
#include "temp_dir.h"

enum { SIZE = 700 * 1000 };

static char data[SIZE]; /* with a hole of zeros in the middle */
static uint8_t digest[BLAKE3_LEN];
static char name[80]; /* of the kept file, from the directory */
static int dir;

static int make_data(void **state)
{
	char hex[2 * BLAKE3_LEN + 1];

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + i / 255);
	memset(data + SIZE / 3, 0, SIZE / 2);
	b3_hash((const uint8_t *)data, SIZE, digest);
	digest_hex(hex, digest, BLAKE3_LEN);
	(void)snprintf(name, sizeof(name), "objects/%.2s/%s", hex, hex + 2);
	return 0;
}

static int make_folder(void **state)
{
	int r = temp_dir_make(state);

	if (r == 0)
		dir = ((struct temp_dir *)*state)->fd;
	return r;
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	CLEANUP(closep)
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

static int add(const char *path, enum keep_how *how)
{
	CLEANUP(closep) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return keep_add(dir, fd, digest, how);
}

static int add_file(enum keep_how *how)
{
	write_file("model.pt", data, SIZE);
	return add("model.pt", how);
}

static void assert_kept(void)
{
	CLEANUP(freep) char *read_back = malloc(SIZE + 1);
	CLEANUP(closep) int fd = keep_open(dir, digest);
	uint64_t size;

	assert_true(fd >= 0);
	assert_int_equal(read(fd, read_back, SIZE + 1), SIZE);
	assert_memory_equal(read_back, data, SIZE);
	assert_true(keep_has(dir, digest, &size));
	assert_int_equal(size, SIZE);
}

/* No kept file, and nothing that is half of one. */
static void assert_nothing(void)
{
	CLEANUP(closedirp) DIR *d = NULL;
	char folder[] = "objects/xx";
	const struct dirent *e;

	assert_false(keep_has(dir, digest, NULL));
	memcpy(folder, name, sizeof(folder) - 1);
	d = fdopendir(openat(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	while (d && (e = readdir(d)))
		assert_true(e->d_name[0] == '.');
}

/* ---- adding ---- */

static void added_content_is_kept_read_only(void **state)
{
	enum keep_how how;
	struct stat st;

	(void)state;
	assert_int_equal(add_file(&how), 0);
	assert_true(how == KEEP_COPY || how == KEEP_REFLINK);
	assert_kept();
	assert_int_equal(fstatat(dir, name, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_int_equal(keep_sync(dir), 0);
	assert_int_equal(add("model.pt", &how), 0);
	assert_int_equal(how, KEEP_PRESENT);
}

static void other_content_is_refused(void **state)
{
	enum keep_how how;

	(void)state;
	write_file("model.pt", "other", 5);
	assert_int_equal(add("model.pt", &how), -ESTALE);
	assert_int_equal(fchmodat(dir, "model.pt", 0444, 0), 0);
	assert_int_equal(add("model.pt", &how), -ESTALE);
	assert_nothing();
}

static void a_directory_is_refused(void **state)
{
	enum keep_how how;

	(void)state;
	assert_int_equal(keep_add(dir, dir, digest, &how), -EINVAL);
}

static void a_read_only_file_is_linked_unless_blocks_can_be_shared(void **state)
{
	enum keep_how how;

	(void)state;
	write_file("model.pt", data, SIZE);
	assert_int_equal(fchmodat(dir, "model.pt", 0400, 0), 0);
	assert_int_equal(add("model.pt", &how), 0);
	assert_true(how == KEEP_LINK || how == KEEP_REFLINK);
	assert_kept();
}

/* What a link shares may change; it is found out, and mended by the next who adds. */
static void a_changed_link_is_not_used(void **state)
{
	enum keep_how how;

	(void)state;
	assert_int_equal(add_file(&how), 0);
	/* As with a link, wherever this runs. */
	assert_int_equal(linkat(dir, name, dir, "linked", 0), 0);
	assert_int_equal(fchmodat(dir, "linked", 0644, 0), 0);
	write_file("linked", "damage", 6);
	assert_int_equal(keep_open(dir, digest), -EBADMSG);
	assert_int_equal(keep_verify(dir, digest), -EBADMSG);
	assert_int_equal(keep_restore(dir, digest, dir, "new", 0644, 0),
			 -EBADMSG);
	assert_int_equal(faccessat(dir, "new", F_OK, 0), -1);
	assert_int_equal(add("model.pt", &how), 0);
	assert_true(how != KEEP_PRESENT);
	assert_kept();
}

static void a_full_disk_leaves_nothing(void **state)
{
	const struct rlimit small = { SIZE - 1, RLIM_INFINITY };
	struct rlimit before;
	enum keep_how how;
	int r;

	(void)state;
	write_file("model.pt", data, SIZE);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = add("model.pt", &how);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	if (r == 0) /* a reflink writes nothing */
		assert_kept();
	else
		assert_nothing();
	assert_true(r == 0 || r == -EFBIG);
}

static void without_memory_nothing_is_kept(void **state)
{
	enum keep_how how;
	int r = -ENOMEM;

	(void)state;
	write_file("model.pt", data, SIZE);
	for (int n = 0; r == -ENOMEM; n++) {
		assert_nothing();
		alloc_fail_after(n);
		r = add("model.pt", &how);
		alloc_fail_never();
	}
	assert_int_equal(r, 0);
	assert_kept();
}

static void *add_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		CLEANUP(closep)
		int fd = openat(dir, "model.pt", O_RDONLY | O_CLOEXEC);
		enum keep_how how;

		if (keep_add(dir, fd, digest, &how) < 0)
			return &digest;
		if (i % 4 == 0)
			(void)keep_remove(dir, digest);
	}
	return NULL;
}

static void many_can_add_the_same(void **state)
{
	pthread_t threads[4];
	void *failed;

	(void)state;
	write_file("model.pt", data, SIZE);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, add_often, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_kept();
}

/* ---- restoring ---- */

static void restore_replaces_only_when_asked(void **state)
{
	enum keep_how how;
	struct stat st;

	(void)state;
	assert_int_equal(add_file(&how), 0);
	write_file("there", "mine", 4);
	assert_int_equal(keep_restore(dir, digest, dir, "there", 0644, 0),
			 -EEXIST);
	assert_int_equal(fstatat(dir, "there", &st, 0), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(
		keep_restore(dir, digest, dir, "there", 0640, KEEP_REPLACE), 0);
	assert_int_equal(keep_restore(dir, digest, dir, "new", 0640, 0), 0);
	assert_int_equal(fstatat(dir, "new", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(add("there", &how), 0);
	assert_int_equal(how, KEEP_PRESENT);
	assert_int_equal(keep_restore(dir, digest, dir, "no/new", 0640, 0),
			 -ENOENT);
}

static void what_is_removed_is_gone(void **state)
{
	enum keep_how how;

	(void)state;
	assert_int_equal(keep_remove(dir, digest), -ENOENT);
	assert_int_equal(keep_verify(dir, digest), -ENOENT);
	assert_int_equal(add_file(&how), 0);
	assert_int_equal(keep_remove(dir, digest), 0);
	assert_nothing();
	assert_int_equal(keep_restore(dir, digest, dir, "new", 0644, 0),
			 -ENOENT);
}

/* ---- all of it ---- */

static int check_item(void *ctx, const struct keep_item *item)
{
	int *n = ctx;

	assert_memory_equal(item->blake3, digest, BLAKE3_LEN);
	assert_int_equal(item->size_bytes, SIZE);
	assert_true(item->kept_ns > 0);
	assert_false(item->is_linked);
	return ++*n == 2 ? -EIO : 0;
}

static void each_gives_kept_files_only(void **state)
{
	uint64_t bytes = 1, n_kept = 1;
	enum keep_how how;
	int n = 0;

	(void)state;
	assert_int_equal(keep_total(dir, &bytes, &n_kept), 0);
	assert_int_equal(bytes + n_kept, 0);
	assert_int_equal(add_file(&how), 0);
	write_file("objects/README", "x", 1);
	(void)mkdirat(dir, "objects/ab", 0700);
	write_file("objects/ab/short", "x", 1);
	assert_int_equal(keep_each(dir, check_item, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(keep_total(dir, &bytes, &n_kept), 0);
	assert_int_equal(bytes, SIZE);
	assert_int_equal(n_kept, 1);
}

/* The age is that of the inode, which nothing can set: here, a young one stays. */
static void sweep_leaves_files_of_writers_at_work(void **state)
{
	uint64_t freed = 1;
	enum keep_how how;
	char temp[sizeof(name) + 16];

	(void)state;
	assert_int_equal(add_file(&how), 0);
	(void)snprintf(temp, sizeof(temp), "%s.roar-1-2-3", name);
	write_file(temp, "half", 4);
	assert_int_equal(keep_sweep(dir, &freed), 0);
	assert_int_equal(freed, 0);
	assert_int_equal(faccessat(dir, temp, F_OK, 0), 0);
	assert_kept();
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_folder, temp_dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(added_content_is_kept_read_only),
		CASE(other_content_is_refused),
		CASE(a_directory_is_refused),
		CASE(a_read_only_file_is_linked_unless_blocks_can_be_shared),
		CASE(a_changed_link_is_not_used),
		CASE(a_full_disk_leaves_nothing),
		CASE(without_memory_nothing_is_kept),
		CASE(many_can_add_the_same),
		CASE(restore_replaces_only_when_asked),
		CASE(what_is_removed_is_gone),
		CASE(each_gives_kept_files_only),
		CASE(sweep_leaves_files_of_writers_at_work),
	};

	return cmocka_run_group_tests(tests, make_data, NULL);
}

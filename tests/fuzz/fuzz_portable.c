/* fuzz_portable.c - portable records of strangers.
 *
 * Whatever a file has, it is added as a whole or not at all, and the database stays
 * sound. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pool.h"
#include "portable/portable.h"
#include "store/store.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct store *store;

static void check(int condition)
{
	if (!condition)
		abort();
}

/* The directory is gone as soon as the store is open. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char dir[] = "/tmp/fuzz-portable.XXXXXX";
	char name[64];

	(void)argc;
	(void)argv;
	check(mkdtemp(dir) != NULL);
	check(store_open(dir, STORE_CREATE, &store, NULL) == 0);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s/roar.db%s", dir,
			       suffixes[i]);
		(void)unlink(name);
	}
	(void)rmdir(dir);
	return 0;
}

static void read_jobs(struct pool *pool, struct store_job **ret, size_t *ret_n)
{
	struct store_job_query all = { 0 };

	check(store_jobs(store, pool, &all, ret, ret_n, NULL) == 0);
}

/* What was imported can be exported, and goes again. */
static void check_and_remove(struct pool *pool, size_t n_expected)
{
	int fd = memfd_create("again", MFD_CLOEXEC);
	struct store_job *jobs;
	size_t n;

	read_jobs(pool, &jobs, &n);
	check(n == n_expected);
	check(store_check(store, NULL) == 0);
	for (size_t i = 0; i < n; i++)
		check(portable_write(store, &jobs[i].id, 1, "fuzz", fd, NULL) ==
		      0);
	(void)close(fd);
	check(store_begin(store, NULL) == 0);
	for (size_t i = 0; i < n; i++)
		check(store_job_remove(store, jobs[i].id, NULL) == 0);
	check(store_commit(store, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool pool = POOL_INIT;
	struct portable_result result = { 0 };
	struct roar_error err = { 0 };
	size_t head = size < 16 ? size : 16;
	int fd = memfd_create("in", MFD_CLOEXEC);
	struct portable_input in = { .name = "in",
				     .fd = fd,
				     .head = (const char *)data,
				     .head_len = head };
	int r;

	check(fd_write_all(fd, data + head, size - head) == 0);
	check(lseek(fd, 0, SEEK_SET) == 0);
	r = portable_read(store, &in, &result, &err);
	check((r == 0) == !err.text[0]);
	check(r == 0 || result.n_jobs == 0);
	check_and_remove(&pool, result.n_jobs);
	pool_release(&pool);
	(void)close(fd);
	return 0;
}

/* fuzz_store_search.c - whatever a user may type to find a job or an artifact.
 *
 * The same bytes are a search text, a prefix of a job's uid and a prefix of a
 * digest.  None of them may be syntax, so the only failures are those the
 * header names; and looking never changes the store. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "store/store.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct store *store;

static void check(int condition)
{
	if (!condition)
		abort();
}

static void add_job(const char *uid, const char *command, uint8_t byte)
{
	struct store_session session;
	struct store_job job = { .kind = "run", .command = command };
	struct store_file file = { .path = "/p/data.csv", .role = 1 };

	memcpy(job.uid, uid, 8);
	job.command_id[0] = byte;
	memset(file.digests.blake3, byte, sizeof(file.digests.blake3));
	memset(file.digests.md5, ~byte, sizeof(file.digests.md5));
	file.digests.have = 1 << DIGEST_BLAKE3 | 1 << DIGEST_MD5;
	check(store_begin(store, NULL) == 0);
	check(store_session_active(store, true, &session, NULL) == 0);
	job.session_id = session.id;
	check(store_job_add(store, &job, NULL) == 0);
	file.job_id = job.id;
	check(store_file_add(store, &file, NULL) == 0);
	check(store_commit(store, NULL) == 0);
}

/* The directory is gone as soon as the store is open: SQLite goes on with the
 * files it holds, and nothing is left behind however the fuzzer ends. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char dir[] = "/tmp/fuzz-store.XXXXXX";
	char name[64];

	(void)argc;
	(void)argv;
	check(mkdtemp(dir) != NULL);
	check(store_open(dir, STORE_CREATE, &store, NULL) == 0);
	add_job("0a1b2c3d", "python train.py --lr 0.1 data.csv", 0x0a);
	add_job("ffffffff", "sh -c 'cat \"a b\" | sort > \xff\xfe'", 0xff);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s/roar.db%s", dir,
			       suffixes[i]);
		(void)unlink(name);
	}
	(void)rmdir(dir);
	return 0;
}

static void search(const struct store_job_query *query)
{
	struct pool pool = POOL_INIT;
	struct store_job *jobs;
	size_t n = 0;
	int r = store_jobs(store, &pool, query, &jobs, &n, NULL);

	check(r == 0 || (r == -E2BIG && query->search));
	check(n <= 2);
	pool_release(&pool);
}

static void find(const char *hex)
{
	struct pool pool = POOL_INIT;
	struct store_artifact *found;
	size_t n = 0;
	int r = store_artifacts_by_prefix(store, &pool, hex, 10, &found, &n,
					  NULL);

	check(r == 0 || r == -EINVAL);
	for (size_t i = 0; i < n; i++)
		check(!strcmp(found[i].first_path, "/p/data.csv"));
	pool_release(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	search(&(struct store_job_query){ .search = text });
	search(&(struct store_job_query){ .uid_prefix = text });
	search(&(struct store_job_query){ .kind = text, .search = text });
	find(text);
	free(text);
	return 0;
}

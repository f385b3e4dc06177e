/* lineage_store.c - makes a record of a large project, for bench/lineage.py
 *
 *	lineage_store DIR N_SESSIONS N_JOBS
 *
 * DIR is a new project.  Each session has N_JOBS steps; the last session is active.  A
 * step reads an output of the step before and of the 7th before, and 8 files from outside,
 * and writes 90 files: so the last step was made from all of its session.  Prints the
 * number of jobs, of contents, and the path of one file that the last step wrote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "store/store.h"

enum { OUTSIDE = 8, WRITTEN = 90, FILE_BYTES = 4096 };

struct maker {
	struct store *store;
	const char *dir;
	struct roar_error err;
	int64_t n_contents;
	int64_t session;
	int64_t now_ns;
};

static _Noreturn void fail(const struct maker *m)
{
	(void)fprintf(stderr, "lineage_store: %s\n", m->err.text);
	exit(1);
}

static void check(const struct maker *m, int r)
{
	if (r < 0)
		fail(m);
}

/* The content number `n`; its digest is spread as a real one is. */
static void add_file(struct maker *m, int64_t job, unsigned role,
		     const char *path, uint64_t n, int64_t order)
{
	uint64_t mixed = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
	struct store_file row = {
		.job_id = job,
		.path = path,
		.role = (uint8_t)role,
		.ftype = EVENT_FTYPE_REGULAR,
		.origin = "",
		.stamp = { .dev = 1,
			   .ino = n + 1,
			   .size = FILE_BYTES,
			   .mtime_ns = m->now_ns,
			   .ctime_ns = m->now_ns },
		.bytes_read = -1,
		.bytes_written = -1,
		.digests.have = DIGEST_SET_BLAKE3,
	};

	memcpy(row.digests.blake3, &mixed, sizeof(mixed));
	memcpy(row.digests.blake3 + 8, &n, sizeof(n));
	if (role == LINEAGE_INPUT) {
		row.seen = LINEAGE_READ_PRIOR;
		row.read_order = order;
		row.reader = 100;
	} else {
		row.seen = LINEAGE_OPENED_WRITE | LINEAGE_CREATED |
			   LINEAGE_FRESH;
		row.write_order = order;
		row.writer = 100;
	}
	check(m, store_file_add(m->store, &row, &m->err));
}

/* Content number of output `k` of step `step`. */
static uint64_t content(const struct maker *m, int64_t step, int k)
{
	return (uint64_t)(m->session * 100000000 + step * 1000 + k);
}

static void add_output_of(struct maker *m, int64_t job, unsigned role,
			  int64_t step, int k, int64_t order)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/out/%02lld/%05lld/part-%03d.bin",
		       m->dir, (long long)m->session, (long long)step, k);
	add_file(m, job, role, path, content(m, step, k), order);
}

static void add_files(struct maker *m, int64_t job, int64_t step)
{
	char path[256];
	int64_t order = 0;

	for (int back = 1; back <= 7; back += 6)
		if (step > back)
			add_output_of(m, job, LINEAGE_INPUT, step - back, 0,
				      ++order);
	for (int k = 0; k < OUTSIDE; k++) {
		(void)snprintf(path, sizeof(path),
			       "%s/raw/%02lld/%05lld-%d.csv", m->dir,
			       (long long)m->session, (long long)step, k);
		add_file(m, job, LINEAGE_INPUT, path, content(m, step, 900 + k),
			 ++order);
	}
	for (int k = 0; k < WRITTEN; k++)
		add_output_of(m, job, LINEAGE_OUTPUT, step, k, ++order);
	m->n_contents += OUTSIDE + WRITTEN;
}

static void add_job(struct maker *m, int64_t session_id, int64_t step)
{
	char command[128], argv[160];
	struct store_job job = {
		.session_id = session_id,
		.kind = "run",
		.name = "",
		.command = command,
		.argv = argv,
		.script = "work.py",
		.cwd = m->dir,
		.started_ns = m->now_ns,
		.duration_ns = 1000000000,
		.complete = true,
		.tracer = "ptrace",
		.filters = "roar git system",
		.environment = "",
		.version = "0.1.0",
		.host = "box",
		.user = "ann",
		.git_root = "",
		.git_commit = "",
		.git_branch = "",
		.git_remote = "",
		.git_snapshot = "",
		.git_note = "",
		.n_inputs = OUTSIDE + (step > 1) + (step > 7),
		.n_outputs = WRITTEN,
		.n_processes = 1,
	};
	struct store_process process = { .pid = 100,
					 .command = command,
					 .start_ns = m->now_ns,
					 .end_ns = m->now_ns + 1000000000 };

	(void)snprintf(job.uid, sizeof(job.uid), "%02x%06x",
		       (unsigned)m->session, (unsigned)step);
	(void)snprintf(command, sizeof(command), "python3 work.py --step %lld",
		       (long long)step);
	(void)snprintf(argv, sizeof(argv),
		       "[\"python3\",\"work.py\",\"--step\",\"%lld\"]",
		       (long long)step);
	memcpy(job.command_id, &step, sizeof(step));
	memcpy(job.output_id, &step, sizeof(step));
	check(m, store_job_add(m->store, &job, &m->err));
	check(m, store_process_add(m->store, job.id, &process, &m->err));
	add_files(m, job.id, step);
	m->now_ns += 60 * INT64_C(1000000000);
}

static void add_session(struct maker *m, int64_t n_jobs)
{
	struct store_session session, old;

	check(m, store_begin(m->store, &m->err));
	if (m->session == 1)
		check(m,
		      store_session_active(m->store, true, &session, &m->err));
	else
		check(m,
		      store_session_reset(m->store, &old, &session, &m->err));
	for (int64_t step = 1; step <= n_jobs; step++)
		add_job(m, session.id, step);
	check(m, store_commit(m->store, &m->err));
}

int main(int argc, char **argv)
{
	struct maker m = { .now_ns = INT64_C(1700000000) * 1000000000 };
	char dir[200];

	if (argc != 4)
		return 2;
	m.dir = argv[1];
	int64_t n_sessions = atoll(argv[2]), n_jobs = atoll(argv[3]);

	(void)snprintf(dir, sizeof(dir), "%s/.roar", m.dir);
	if (mkdir(dir, 0700) < 0) {
		perror(dir);
		return 1;
	}
	check(&m, store_open(dir, STORE_CREATE, &m.store, &m.err));
	for (m.session = 1; m.session <= n_sessions; m.session++)
		add_session(&m, n_jobs);
	store_close(m.store);
	printf("%lld %lld %s/out/%02lld/%05lld/part-000.bin\n",
	       (long long)(n_sessions * n_jobs), (long long)m.n_contents, m.dir,
	       (long long)n_sessions, (long long)n_jobs);
	return 0;
}

/* record.c - see record.h */
#include "record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/vec.h"
#include "hash/file/file_hash.h"

#define SECOND 1000000000LL
#define EPOCH (1700000000LL * SECOND) /* 2023-11-14 22:13:20 UTC */

int fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct roar_error err = { 0 };
	char dir[80];

	assert_non_null(f);
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("HOME"); /* and with it the cache of who runs the test */
	unsetenv("XDG_CACHE_HOME");
	tzset();
	strcpy(f->dir, "/tmp/test-record.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(chdir(f->dir), 0);
	(void)snprintf(dir, sizeof(dir), "%s/.roar", f->dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	if (store_open(dir, STORE_CREATE, &f->store, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(store_begin(f->store, &err), 0);
	assert_int_equal(
		store_session_active(f->store, true, &f->session, &err), 0);
	assert_int_equal(store_commit(f->store, &err), 0);
	*state = f;
	return 0;
}

int fixture_remove(void **state)
{
	struct fixture *f = *state;
	char command[96];

	store_closep(&f->store);
	assert_int_equal(chdir("/"), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	assert_int_equal(system(command), 0);
	pool_release(&f->pool);
	str_release(&f->out);
	str_release(&f->err);
	free(f->files);
	free(f->gaps);
	free(f->processes);
	free(f);
	return 0;
}

/* ---- the record ---- */

void put(struct fixture *f, const char *name, const char *content)
{
	CLEANUP(closep) int dir = open(f->dir, O_PATH | O_CLOEXEC);

	assert_int_equal(
		fd_replace_file(dir, name, content, strlen(content), 0644), 0);
}

void job(struct fixture *f, const char *uid, const char *command)
{
	f->n_jobs++;
	f->job = (struct store_job){
		.session_id = f->session.id,
		.kind = "run",
		.name = "",
		.command = command,
		.argv = "[]",
		.script = "",
		.cwd = f->dir,
		.started_ns = EPOCH + f->n_jobs * 60 * SECOND,
		.duration_ns = 1500 * SECOND / 1000,
		.complete = true,
		.tracer = "ptrace",
		.filters = "roar git system",
		.attach_ns = 1200 * SECOND / 1000000,
		.version = "0.1.0",
		.host = "box",
		.user = "ann",
		.git_root = "",
		.git_commit = "",
		.git_branch = "",
		.git_remote = "",
		.git_snapshot = "",
		.git_note = "",
		.n_processes = 1,
		.cpu_user_ns = SECOND,
		.cpu_system_ns = SECOND / 4,
		.max_rss_kib = 2048,
	};
	assert_true(strlen(uid) == 8);
	strcpy(f->job.uid, uid);
	for (size_t i = 0; command[i]; i++)
		f->job.command_id[i % 16] = (uint8_t)(f->job.command_id[i % 16] *
							      31 +
						      (unsigned char)command[i]);
	f->n_files = f->n_gaps = f->n_processes = 0;
}

struct store_file *file(struct fixture *f, const char *name, unsigned role)
{
	struct store_file *row = VEC_PUSH(f->files, f->n_files, f->files_cap);
	struct str path = STR_INIT;
	struct file_hash hash;
	struct stat st;

	assert_non_null(row);
	path_normalize(&path, f->dir, name);
	*row = (struct store_file){
		.path = pool_strdup(&f->pool, str_cstr(&path)),
		.role = (uint8_t)role,
		.ftype = EVENT_FTYPE_REGULAR,
		.origin = "",
	};
	str_release(&path);
	if (stat(row->path, &st) == 0) {
		row->stamp = stamp_of(&st);
		assert_int_equal(file_hash(AT_FDCWD, row->path,
					   DIGEST_SET_BLAKE3, NULL, NULL, &hash),
				 0);
		row->digests = hash.digests;
	}
	return row;
}

void input(struct fixture *f, const char *name)
{
	struct store_file *row = file(f, name, LINEAGE_INPUT);

	row->seen = LINEAGE_READ_PRIOR;
	row->read_order = (int64_t)f->n_files;
	row->reader = 100;
}

void output(struct fixture *f, const char *name, const char *content)
{
	struct store_file *row;

	put(f, name, content);
	row = file(f, name, LINEAGE_OUTPUT);
	row->seen = LINEAGE_CREATED | LINEAGE_OPENED_WRITE | LINEAGE_FRESH;
	row->write_order = (int64_t)f->n_files;
	row->writer = 100;
}

void moved(struct fixture *f, const char *from, const char *to)
{
	struct store_file *row;

	assert_int_equal(rename(from, to), 0);
	row = file(f, to, LINEAGE_OUTPUT);
	row->origin = pool_printf(&f->pool, "%s/%s", f->dir, from);
	row->seen = LINEAGE_RENAMED_TO | LINEAGE_PRIOR;
	row->write_order = (int64_t)f->n_files;
	row->writer = 100;
}

void gap(struct fixture *f, int code, const char *detail, int64_t count)
{
	struct store_gap *g = VEC_PUSH(f->gaps, f->n_gaps, f->gaps_cap);

	assert_non_null(g);
	*g = (struct store_gap){ code, detail, count };
	f->job.complete = false;
}

void process(struct fixture *f, int pid, int parent, const char *command)
{
	struct store_process *p = VEC_PUSH(f->processes, f->n_processes,
					   f->processes_cap);

	assert_non_null(p);
	*p = (struct store_process){
		.pid = pid,
		.parent = parent,
		.command = command,
		.start_ns = f->job.started_ns,
		.end_ns = f->job.started_ns + SECOND,
	};
}

void record(struct fixture *f)
{
	struct roar_error err = { 0 };
	int r;

	for (size_t i = 0; i < f->n_files; i++) {
		f->job.n_inputs += !f->files[i].filter &&
				   f->files[i].role == LINEAGE_INPUT;
		f->job.n_outputs += !f->files[i].filter &&
				    f->files[i].role == LINEAGE_OUTPUT;
	}
	r = store_begin(f->store, &err);
	if (r >= 0)
		r = store_job_add(f->store, &f->job, &err);
	for (size_t i = 0; r >= 0 && i < f->n_files; i++) {
		f->files[i].job_id = f->job.id;
		r = store_file_add(f->store, &f->files[i], &err);
	}
	for (size_t i = 0; r >= 0 && i < f->n_gaps; i++)
		r = store_gap_add(f->store, f->job.id, &f->gaps[i], &err);
	for (size_t i = 0; r >= 0 && i < f->n_processes; i++)
		r = store_process_add(f->store, f->job.id, &f->processes[i],
				      &err);
	if (r >= 0)
		r = store_commit(f->store, &err);
	if (r < 0)
		fail_msg("%s", err.text);
}

void record_made(struct fixture *f, const char *uid, const char *command,
		 const char *from, const char *to, const char *content)
{
	job(f, uid, command);
	if (from)
		input(f, from);
	output(f, to, content);
	record(f);
}

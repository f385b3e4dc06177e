/* test_store.c - opening, transactions, and everything that can go wrong. */
#include "fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_db(const struct fixture *f, const char *text)
{
	FILE *file = fopen(f->db, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* The database alone, without anything in a WAL, and closed. */
static void settle(struct fixture *f)
{
	char name[128];

	ok(f, store_compact(f->s, &f->err));
	store_close(TAKE_PTR(f->s));
	(void)snprintf(name, sizeof(name), "%s-wal", f->db);
	(void)unlink(name);
	(void)snprintf(name, sizeof(name), "%s-shm", f->db);
	(void)unlink(name);
}

static void database_is_created_0600_under_any_umask(void **state)
{
	struct fixture *f = *state;
	const mode_t masks[] = { 0, 0777 };

	for (size_t i = 0; i < 2; i++) {
		char name[128];
		mode_t old = umask(masks[i]);

		open_store(f, STORE_CREATE);
		(void)add_job(f, i ? "bbbb" : "aaaa", "true", 1, 0);
		umask(old);
		assert_int_equal(mode_of(f->db), 0600);
		(void)snprintf(name, sizeof(name), "%s-wal", f->db);
		assert_int_equal(mode_of(name), 0600);
		(void)snprintf(name, sizeof(name), "%s-shm", f->db);
		assert_int_equal(mode_of(name), 0600);
		settle(f);
		assert_int_equal(unlink(f->db), 0);
	}
}

static void database_is_durable_and_checked(void **state)
{
	struct fixture *f = *state;
	CLEANUP(statement_close) struct statement q = { 0 };

	assert_int_equal(count(f, "PRAGMA synchronous"), 2);
	assert_int_equal(count(f, "PRAGMA foreign_keys"), 1);
	assert_int_equal(count(f, "PRAGMA busy_timeout"), 30000);
	assert_int_equal(count(f, "PRAGMA application_id"),
			 STORE_APPLICATION_ID);
	ok(f, statement_prepare(f->s, "PRAGMA journal_mode", &q, &f->err));
	assert_int_equal(statement_next(&q, &f->err), 1);
	assert_string_equal(column_text(&q, &f->pool), "wal");
}

static void missing_database_is_reported(void **state)
{
	struct fixture *f = *state;

	fails(f, store_open(f->dir, 0, &f->s, &f->err), ENOENT,
	      "roar.db' does not exist: run 'roar init' first");
	fails(f,
	      store_open(f->dir, STORE_READONLY | STORE_CREATE, &f->s, &f->err),
	      ENOENT, "does not exist");
	assert_int_equal(access(f->db, F_OK), -1);
}

static void missing_directory_is_named(void **state)
{
	struct fixture *f = *state;
	char dir[96];

	(void)snprintf(dir, sizeof(dir), "%s/none", f->dir);
	fails(f, store_open(dir, STORE_CREATE, &f->s, &f->err), ENOENT,
	      "/none' does not exist: run 'roar init' first");
}

static void directory_in_place_of_the_file_is_reported(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir(f->db, 0700), 0);
	fails(f, store_open(f->dir, STORE_CREATE, &f->s, &f->err), EISDIR,
	      "is a directory");
}

static void file_in_place_of_the_directory_is_reported(void **state)
{
	struct fixture *f = *state;
	char dir[128];

	write_db(f, "");
	(void)snprintf(dir, sizeof(dir), "%s", f->db);
	fails(f, store_open(dir, STORE_CREATE, &f->s, &f->err), ENOTDIR,
	      "is not a directory");
}

static void path_too_long_for_sqlite_is_reported(void **state)
{
	struct fixture *f = *state;
	char dir[4096];

	memset(dir, 'd', sizeof(dir));
	dir[0] = '/';
	dir[sizeof(dir) - 1] = '\0';
	fails(f, store_open(dir, STORE_CREATE, &f->s, &f->err), ENAMETOOLONG,
	      "the path of '/ddd");
}

static void name_that_looks_like_a_uri_is_a_name(void **state)
{
	struct fixture *f = *state;
	int cwd = open(".", O_RDONLY | O_CLOEXEC);

	assert_int_equal(chdir(f->dir), 0);
	assert_int_equal(mkdir("file:x?mode=memory", 0700), 0);
	ok(f, store_open("file:x?mode=memory", STORE_CREATE, &f->s, &f->err));
	assert_int_equal(access("file:x?mode=memory/roar.db", F_OK), 0);
	assert_int_equal(fchdir(cwd), 0);
	(void)close(cwd);
}

static void text_file_is_not_a_database(void **state)
{
	struct fixture *f = *state;

	write_db(f, "this is a text of more than sixteen bytes, and it is "
		    "no database at all, whatever its name may say\n");
	fails(f, store_open(f->dir, STORE_CREATE, &f->s, &f->err), EUCLEAN,
	      "is not a database: restore a copy or move it away");
}

static void empty_file_becomes_a_database(void **state)
{
	struct fixture *f = *state;

	write_db(f, "");
	fails(f, store_open(f->dir, STORE_READONLY, &f->s, &f->err), EROFS,
	      "is empty");
	open_store(f, 0);
	assert_int_equal(add_job(f, "aaaa", "true", 1, 0), 1);
}

static void damaged_database_is_reported_and_left_alone(void **state)
{
	struct fixture *f = *state;
	char garbage[8192];
	struct stat before;
	struct stat after;
	int fd;

	for (int i = 0; i < 20; i++) {
		char uid[9];

		(void)snprintf(uid, sizeof(uid), "%08x", i);
		(void)add_job(f, uid, "true", (uint8_t)i, 0);
	}
	settle(f);
	memset(garbage, 0xa5, sizeof(garbage));
	fd = open(f->db, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, garbage, sizeof(garbage), 100),
			 sizeof(garbage));
	(void)close(fd);
	assert_int_equal(stat(f->db, &before), 0);
	fails(f, store_open(f->dir, STORE_CREATE, &f->s, &f->err), EUCLEAN,
	      "is damaged (");
	assert_int_equal(stat(f->db, &after), 0);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	assert_int_equal(before.st_size, after.st_size);
}

static void truncated_database_is_reported(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	(void)add_job(f, "aaaa", "true", 1, 0);
	settle(f);
	assert_int_equal(stat(f->db, &st), 0);
	assert_int_equal(truncate(f->db, st.st_size / 2 / 4096 * 4096), 0);
	if (store_open(f->dir, 0, &f->s, &f->err) == 0)
		fails(f, store_check(f->s, &f->err), EUCLEAN, "is damaged (");
	else
		assert_non_null(strstr(f->err.text, "is damaged ("));
}

static void database_of_another_program_is_refused(void **state)
{
	struct fixture *f = *state;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (a)", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	fails(f, store_open(f->dir, STORE_CREATE, &f->s, &f->err), EUCLEAN,
	      "is the database of another program");
}

static void newer_database_is_refused_and_left_alone(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "aaaa", "true", 1, 0);
	ok(f, store_exec(f->s, "PRAGMA user_version = 12", &f->err));
	store_close(TAKE_PTR(f->s));
	fails(f, store_open(f->dir, STORE_CREATE, &f->s, &f->err), ENOTSUP,
	      "was written by a newer roar (schema 12, this one knows 11): "
	      "upgrade roar or use another project directory");
}

static void stranger_gets_no_trigger_run(void **state)
{
	struct fixture *f = *state;

	ok(f, store_exec(f->s,
			 "CREATE TRIGGER evil AFTER INSERT ON jobs BEGIN "
			 "DELETE FROM jobs; END",
			 &f->err));
	(void)add_job(f, "aaaa", "true", 1, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 1);
}

static void readonly_store_reads_and_refuses_to_write(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "aaaa", "true", 1, 0);
	reopen(f, STORE_READONLY);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 1);
	fails(f, store_begin(f->s, &f->err), EROFS, "cannot be written");
}

static void writing_outside_a_transaction_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store_session session;

	fails(f, store_session_active(f->s, true, &session, &f->err), EINVAL,
	      "nothing was written");
	fails(f, store_commit(f->s, &f->err), EINVAL, "nothing was written");
	ok(f, store_begin(f->s, &f->err));
	fails(f, store_begin(f->s, &f->err), EINVAL, "under way");
	store_rollback(f->s);
	store_rollback(f->s);
}

static void rollback_and_close_forget_what_was_not_committed(void **state)
{
	struct fixture *f = *state;
	struct store_job job;

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", "true", 1, 0);
	ok(f, store_job_add(f->s, &job, &f->err));
	store_rollback(f->s);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 0);

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", "true", 1, 0);
	ok(f, store_job_add(f->s, &job, &f->err));
	reopen(f, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 0);
	assert_int_equal(count(f, "SELECT count(*) FROM sessions"), 0);
}

static void closed_database_leaves_a_short_wal(void **state)
{
	struct fixture *f = *state;
	char wal[128];
	struct stat st;

	(void)snprintf(wal, sizeof(wal), "%s-wal", f->db);
	for (int i = 0; i < 100; i++) {
		char uid[9];

		(void)snprintf(uid, sizeof(uid), "%08x", i);
		(void)add_job(f, uid, "true", (uint8_t)i, 0);
		reopen(f, 0);
		assert_int_equal(stat(wal, &st), 0);
		assert_true(st.st_size < 300 * 4152);
	}
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 100);
}

static void a_thousand_files_are_not_copied_at_once(void **state)
{
	struct fixture *f = *state;
	int64_t job = add_job(f, "aaaa", "true", 1, 0);
	char name[128];
	struct stat st;

	ok(f, store_begin(f->s, &f->err));
	for (int i = 0; i < 1000; i++) {
		struct store_file file;

		(void)snprintf(name, sizeof(name), "/work/out/file_%d", i);
		file = a_file(job, name, LINEAGE_OUTPUT, 1);
		ok(f, store_file_add(f->s, &file, &f->err));
	}
	ok(f, store_commit(f->s, &f->err));
	reopen(f, 0);
	(void)snprintf(name, sizeof(name), "%s-wal", f->db);
	assert_int_equal(stat(name, &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(count(f, "SELECT count(*) FROM job_files"), 1000);
}

static void close_of_null_is_fine(void **state)
{
	(void)state;
	store_close(NULL);
}

/* ---- permissions ---- */

static int body_unreadable(struct fixture *f)
{
	CHECK(chmod(f->db, 0) == 0);
	CHECK(store_open(f->dir, STORE_CREATE, &f->s, &f->err) == -EACCES);
	CHECK(strstr(f->err.text, "no permission to open '"));
	CHECK(chmod(f->db, 0600) == 0);
	CHECK(chmod(f->dir, 0) == 0);
	CHECK(store_open(f->dir, STORE_CREATE, &f->s, &f->err) == -EACCES);
	CHECK(strstr(f->err.text, "no permission to open '"));
	return 0;
}

static void unreadable_database_is_reported(void **state)
{
	struct fixture *f = *state;

	store_close(TAKE_PTR(f->s));
	as_ordinary_user(f, body_unreadable);
}

static int body_no_create(struct fixture *f)
{
	CHECK(chmod(f->dir, 0500) == 0);
	CHECK(store_open(f->dir, STORE_CREATE, &f->s, &f->err) == -EACCES);
	CHECK(strstr(f->err.text, "no permission"));
	return 0;
}

static void unwritable_directory_gets_no_database(void **state)
{
	as_ordinary_user(*state, body_no_create);
}

/* One job can be read and nothing written. */
static int reads_only(struct fixture *f, unsigned flags)
{
	struct store_job_query all = { 0 };
	struct store_job *jobs;
	size_t n = 0;
	int r;

	CHECK(store_open(f->dir, flags, &f->s, &f->err) == 0);
	CHECK(store_jobs(f->s, &f->pool, &all, &jobs, &n, &f->err) == 0);
	CHECK(n == 1);
	all.search = "true";
	CHECK(store_jobs(f->s, &f->pool, &all, &jobs, &n, &f->err) == 0);
	CHECK(n == 1);
	r = store_begin(f->s, &f->err);
	CHECK(r == -EROFS || r == -EACCES);
	store_close(TAKE_PTR(f->s));
	return 0;
}

static int body_readonly_directory(struct fixture *f)
{
	CHECK(chmod(f->dir, 0500) == 0);
	return reads_only(f, STORE_READONLY) || reads_only(f, 0);
}

static int body_readonly_all(struct fixture *f)
{
	static const char *const names[] = { "", "-wal", "-shm" };
	char name[128];

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", f->db, names[i]);
		CHECK(chmod(name, 0400) == 0 || errno == ENOENT);
	}
	return body_readonly_directory(f);
}

static void settled_database_is_read_from_a_readonly_directory(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "aaaa", "true", 1, 0);
	settle(f);
	as_ordinary_user(f, body_readonly_directory);
}

static void settled_readonly_database_is_read(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "aaaa", "true", 1, 0);
	settle(f);
	as_ordinary_user(f, body_readonly_all);
}

static void readonly_database_is_read_with_its_wal(void **state)
{
	struct fixture *f = *state;

	(void)add_job(f, "aaaa", "true", 1, 0);
	store_close(TAKE_PTR(f->s));
	as_ordinary_user(f, body_readonly_all);
}

/* ---- several processes ---- */

static void wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int body_writer(struct fixture *f, int writer, int n)
{
	f->s = NULL;
	CHECK(store_open(f->dir, STORE_CREATE, &f->s, &f->err) == 0);
	for (int i = 0; i < n; i++) {
		struct store_session session;
		struct store_job job = { .kind = "run" };

		CHECK(store_begin(f->s, &f->err) == 0);
		CHECK(store_session_active(f->s, true, &session, &f->err) == 0);
		(void)snprintf(job.uid, sizeof(job.uid), "%04x%04x", writer, i);
		job.session_id = session.id;
		job.command_id[0] = (uint8_t)writer;
		CHECK(store_job_add(f->s, &job, &f->err) == 0);
		CHECK(store_commit(f->s, &f->err) == 0);
	}
	store_close(f->s);
	return 0;
}

static void processes_that_create_and_write_at_once_all_succeed(void **state)
{
	struct fixture *f = *state;
	pid_t pids[4];

	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(body_writer(f, i, 25));
	}
	for (int i = 0; i < 4; i++)
		wait_for(pids[i]);
	open_store(f, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 100);
	assert_int_equal(count(f, "SELECT count(*) FROM sessions"), 1);
	assert_int_equal(count(f, "SELECT n_jobs FROM sessions"), 100);
	assert_int_equal(count(f, "SELECT n_steps FROM sessions"), 4);
	ok(f, store_check(f->s, &f->err));
}

/* What SQLite calls in place of open(): another process makes the database in the
 * moment after it was found missing. */
static int open_too_early(const char *path, int flags, int mode)
{
	int fd = open(path, flags, mode);

	if (fd < 0 && errno == ENOENT && (flags & O_ACCMODE) == O_RDWR) {
		(void)close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
		errno = ENOENT;
	}
	return fd;
}

static void database_made_meanwhile_is_opened_for_writing(void **state)
{
	struct fixture *f = *state;
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	assert_int_equal(
		vfs->xSetSystemCall(vfs, "open",
				    (sqlite3_syscall_ptr)open_too_early),
		SQLITE_OK);
	open_store(f, STORE_CREATE);
	assert_int_equal(vfs->xSetSystemCall(vfs, "open", NULL), SQLITE_OK);
	(void)add_job(f, "aaaa", "true", 1, 0);
}

static void reader_does_not_wait_for_a_writer(void **state)
{
	struct fixture *f = *state;
	struct store *reader = NULL;
	struct store *writer = f->s;

	(void)add_job(f, "aaaa", "true", 1, 0);
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_open(f->dir, STORE_READONLY, &reader, &f->err));
	f->s = reader;
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 1);
	f->s = writer;
	store_close(reader);
	ok(f, store_commit(f->s, &f->err));
}

static void lock_that_never_ends_is_reported(void **state)
{
	struct fixture *f = *state;
	struct store *other = NULL;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_open(f->dir, 0, &other, &f->err));
	(void)sqlite3_busy_timeout(other->db, 10);
	fails(f, store_begin(other, &f->err), EBUSY,
	      "has been locked by another program");
	store_rollback(f->s);
	ok(f, store_begin(other, &f->err));
	store_close(other);
}

/* Commits one job, then dies in a transaction that has reached the disk. */
static int body_killed(struct fixture *f, int ready)
{
	struct store_session session;
	struct store_job job = { .kind = "run", .uid = "bbbb" };

	CHECK(body_writer(f, 1, 1) == 0);
	CHECK(store_open(f->dir, 0, &f->s, &f->err) == 0);
	CHECK(store_exec(f->s, "PRAGMA cache_size = 10", &f->err) == 0);
	CHECK(store_begin(f->s, &f->err) == 0);
	CHECK(store_session_active(f->s, false, &session, &f->err) == 0);
	job.session_id = session.id;
	CHECK(store_job_add(f->s, &job, &f->err) == 0);
	for (int i = 0; i < 3000; i++) {
		char path[32];
		struct store_file file;

		(void)snprintf(path, sizeof(path), "/p/%d", i);
		file = a_file(job.id, path, LINEAGE_INPUT, 0);
		CHECK(store_file_add(f->s, &file, &f->err) == 0);
	}
	CHECK(write(ready, "", 1) == 1);
	(void)pause();
	return 1;
}

static void killed_process_loses_nothing_committed(void **state)
{
	struct fixture *f = *state;
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		_exit(body_killed(f, ready[1]));
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	open_store(f, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(count(f, "SELECT count(*) FROM job_files"), 0);
	ok(f, store_check(f->s, &f->err));
	(void)add_job(f, "cccc", "true", 3, 0);
}

/* ---- a full disk ---- */

static void write_proc(const char *path, const char *fmt, unsigned id)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	(void)fprintf(file, fmt, id, id);
	(void)fclose(file);
}

/* A file system of 512 KiB that only this process sees.  Without privilege it
 * takes a user namespace, where one has to be mapped to create files. */
static int mount_small(const struct fixture *f)
{
	unsigned uid = geteuid();
	unsigned gid = getegid();
	int flags = uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;

	if (unshare(flags) < 0)
		return -errno;
	if (uid != 0) {
		write_proc("/proc/self/setgroups", "deny", 0);
		write_proc("/proc/self/uid_map", "%u %u 1", uid);
		write_proc("/proc/self/gid_map", "%u %u 1", gid);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", f->dir, "tmpfs", 0, "size=512k") < 0)
		return -errno;
	return 0;
}

/* Adds jobs of 20 kB until one fails; how many were committed. */
static int fill(struct fixture *f, int *ret_n)
{
	static char command[20000];
	int r = 0;

	memset(command, 'x', sizeof(command) - 1);
	for (int i = 0; r == 0; i++) {
		struct store_session session;
		struct store_job job = { .kind = "run", .command = command };

		*ret_n = i;
		r = store_begin(f->s, &f->err);
		if (r == 0)
			r = store_session_active(f->s, true, &session, &f->err);
		(void)snprintf(job.uid, sizeof(job.uid), "%08x", i);
		job.session_id = session.id;
		if (r == 0)
			r = store_job_add(f->s, &job, &f->err);
		if (r == 0)
			r = store_commit(f->s, &f->err);
	}
	store_rollback(f->s);
	return r;
}

static int body_full(struct fixture *f)
{
	struct store_job_query all = { 0 };
	struct store_job *jobs;
	size_t n_read = 0;
	int n = 0;

	if (mount_small(f) < 0)
		return CHILD_SKIPS;
	CHECK(store_open(f->dir, STORE_CREATE, &f->s, &f->err) == 0);
	CHECK(fill(f, &n) == -ENOSPC);
	CHECK(strstr(f->err.text, "no space left on the device that holds '"));
	CHECK(strstr(f->err.text, "roar.db': free some and try again"));
	CHECK(n > 2);
	store_close(TAKE_PTR(f->s));

	CHECK(store_open(f->dir, 0, &f->s, &f->err) == 0);
	CHECK(store_jobs(f->s, &f->pool, &all, &jobs, &n_read, &f->err) == 0);
	CHECK(n_read == (size_t)n);
	CHECK(store_check(f->s, &f->err) == 0);
	store_close(TAKE_PTR(f->s));
	return 0;
}

static void full_disk_is_reported_and_loses_nothing(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body_full(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPS) {
		print_message("no way to mount a small file system here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void full_database_is_reported(void **state)
{
	struct fixture *f = *state;
	int n = 0;

	ok(f, store_exec(f->s, "PRAGMA max_page_count = 80", &f->err));
	fails(f, fill(f, &n), ENOSPC, "no space left on the device");
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), n);
}

/* What SQLite calls in place of pwrite() where a quota is used up. */
static ssize_t write_over_quota(int fd, const void *data, size_t len,
				off_t offset)
{
	(void)fd;
	(void)data;
	(void)len;
	(void)offset;
	errno = EDQUOT;
	return -1;
}

static void used_up_quota_is_reported(void **state)
{
	struct fixture *f = *state;
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	struct store_job job;

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, "aaaa", "true", 1, 0);
	ok(f, store_job_add(f->s, &job, &f->err));
	for (int i = 0; i < 2; i++)
		(void)vfs->xSetSystemCall(vfs, i ? "pwrite64" : "pwrite",
					  (sqlite3_syscall_ptr)write_over_quota);
	fails(f, store_commit(f->s, &f->err), EDQUOT,
	      "the disk quota leaves no space for '");
	for (int i = 0; i < 2; i++)
		(void)vfs->xSetSystemCall(vfs, i ? "pwrite64" : "pwrite", NULL);
	assert_int_equal(count(f, "SELECT count(*) FROM jobs"), 0);
	(void)add_job(f, "aaaa", "true", 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EMPTY_TEST(database_is_created_0600_under_any_umask),
		STORE_TEST(database_is_durable_and_checked),
		EMPTY_TEST(missing_database_is_reported),
		EMPTY_TEST(missing_directory_is_named),
		EMPTY_TEST(directory_in_place_of_the_file_is_reported),
		EMPTY_TEST(file_in_place_of_the_directory_is_reported),
		EMPTY_TEST(path_too_long_for_sqlite_is_reported),
		EMPTY_TEST(name_that_looks_like_a_uri_is_a_name),
		EMPTY_TEST(text_file_is_not_a_database),
		EMPTY_TEST(empty_file_becomes_a_database),
		STORE_TEST(damaged_database_is_reported_and_left_alone),
		STORE_TEST(truncated_database_is_reported),
		EMPTY_TEST(database_of_another_program_is_refused),
		STORE_TEST(newer_database_is_refused_and_left_alone),
		STORE_TEST(stranger_gets_no_trigger_run),
		STORE_TEST(readonly_store_reads_and_refuses_to_write),
		STORE_TEST(writing_outside_a_transaction_is_refused),
		STORE_TEST(rollback_and_close_forget_what_was_not_committed),
		STORE_TEST(closed_database_leaves_a_short_wal),
		STORE_TEST(a_thousand_files_are_not_copied_at_once),
		cmocka_unit_test(close_of_null_is_fine),
		STORE_TEST(unreadable_database_is_reported),
		EMPTY_TEST(unwritable_directory_gets_no_database),
		STORE_TEST(settled_database_is_read_from_a_readonly_directory),
		STORE_TEST(settled_readonly_database_is_read),
		STORE_TEST(readonly_database_is_read_with_its_wal),
		EMPTY_TEST(processes_that_create_and_write_at_once_all_succeed),
		EMPTY_TEST(database_made_meanwhile_is_opened_for_writing),
		STORE_TEST(reader_does_not_wait_for_a_writer),
		STORE_TEST(lock_that_never_ends_is_reported),
		EMPTY_TEST(killed_process_loses_nothing_committed),
		EMPTY_TEST(full_disk_is_reported_and_loses_nothing),
		STORE_TEST(full_database_is_reported),
		STORE_TEST(used_up_quota_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

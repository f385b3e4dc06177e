/* fixture.c - see fixture.h */
#include "fixture.h"

#include <ftw.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int fixture_setup_empty(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	strcpy(f->dir, "/tmp/test-store.XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	(void)snprintf(f->db, sizeof(f->db), "%s/roar.db", f->dir);
	*state = f;
	return 0;
}

int fixture_setup(void **state)
{
	struct fixture *f;

	if (fixture_setup_empty(state) < 0)
		return -1;
	f = *state;
	return store_open(f->dir, STORE_CREATE, &f->s, &f->err);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->s);
	pool_release(&f->pool);
	(void)chmod(f->dir, 0700);
	(void)nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

void open_store(struct fixture *f, unsigned flags)
{
	ok(f, store_open(f->dir, flags, &f->s, &f->err));
}

void reopen(struct fixture *f, unsigned flags)
{
	store_close(TAKE_PTR(f->s));
	open_store(f, flags);
}

struct store_job a_job(struct fixture *f, const char *uid, const char *command,
		       uint8_t command_id, uint8_t output_id)
{
	struct store_session session;
	struct store_job job = {
		.kind = "run",
		.name = "",
		.command = command,
		.argv = "[]",
		.script = "",
		.cwd = "/p",
		.started_ns = 1000,
		.duration_ns = 5,
		.complete = true,
		.tracer = "ptrace",
		.version = "0.1.0",
		.host = "host",
		.user = "user",
		.git_root = "",
		.git_commit = "",
		.git_branch = "",
		.git_remote = "",
		.git_snapshot = "",
		.git_note = "",
		.command_id = { command_id },
		.output_id = { output_id },
	};

	ok(f, store_session_active(f->s, true, &session, &f->err));
	job.session_id = session.id;
	strncpy(job.uid, uid, sizeof(job.uid) - 1);
	return job;
}

int64_t add_job(struct fixture *f, const char *uid, const char *command,
		uint8_t command_id, uint8_t output_id)
{
	struct store_job job;

	ok(f, store_begin(f->s, &f->err));
	job = a_job(f, uid, command, command_id, output_id);
	ok(f, store_job_add(f->s, &job, &f->err));
	ok(f, store_commit(f->s, &f->err));
	return job.id;
}

struct store_file a_file(int64_t job_id, const char *path, uint8_t role,
			 uint8_t content)
{
	struct store_file file = {
		.job_id = job_id,
		.path = path,
		.role = role,
		.ftype = EVENT_FTYPE_REGULAR,
		.stamp = { .dev = 1, .ino = 100 + content, .size = content },
		.origin = "",
	};

	if (content) {
		file.digests.have = DIGEST_SET_BLAKE3;
		memset(file.digests.blake3, content, BLAKE3_LEN);
	}
	return file;
}

void add_file(struct fixture *f, const struct store_file *file)
{
	ok(f, store_begin(f->s, &f->err));
	ok(f, store_file_add(f->s, file, &f->err));
	ok(f, store_commit(f->s, &f->err));
}

int64_t count(struct fixture *f, const char *sql)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t n = -1;

	ok(f, statement_prepare(f->s, sql, &q, &f->err));
	ok(f, statement_one(&q, -1, &n, &f->err));
	return n;
}

enum { NOBODY = 65534 };

static int drop_privilege(const struct fixture *f)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return -errno;
	return access(f->dir, X_OK) < 0 ? -errno : 0;
}

static int give_away(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return geteuid() == 0 ? chown(path, NOBODY, NOBODY) : 0;
}

void as_ordinary_user(struct fixture *f, int (*body)(struct fixture *f))
{
	int status;
	pid_t pid;

	assert_int_equal(nftw(f->dir, give_away, 8, FTW_PHYS), 0);
	pid = fork();
	if (pid == 0)
		_exit(drop_privilege(f) < 0 ? CHILD_SKIPS : body(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPS) {
		print_message("no way to be an ordinary user here\n");
		skip();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* git_snapshot.c - see git_snapshot.h */
#include "git/git_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "git/git_child.h"
#include "git/git_credentials.h"
#include "git/git_env.h"
#include "git/git_head.h"
#include "git/git_owner.h"
#include "git/git_status.h"
#include "git/git_tree.h"

enum {
	PROBE_BYTES = 8000, /* searched for NUL, as git does to detect binaries */
	STALE_S = 3600, /* a copy this old belongs to a query that was killed */
	ENV_BYTES = 4096 + 32, /* GIT_INDEX_FILE=path */
};

static const char copy_tag[] = ".index-";

void git_snapshot_release(struct git_snapshot *snapshot)
{
	free(snapshot->id);
	git_left_outs_release(&snapshot->left_out);
	*snapshot = (struct git_snapshot){ 0 };
}

struct making {
	const struct git_snapshot_job *job;
	struct git_snapshot *out;
	struct str input; /* NUL-ended names for update-index */
	uint32_t n_files;
	uint64_t n_bytes;
	bool staged; /* the index itself differs from HEAD */
	char index_path[4096]; /* of the copy; "" when there is none */
	char index_env[ENV_BYTES];
	struct str *errors;
};

/* --- which files -------------------------------------------------------- */

/* Checks the start of the file: can it be read, is it free of NULs (untracked files
 * only), is it free of private keys? */
static enum git_reason judge_content(const struct making *m,
				     const struct git_change *change)
{
	char probe[PROBE_BYTES];
	CLEANUP(closep)
	int fd = openat(m->job->tree->root_fd, change->path,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return GIT_REASON_UNREADABLE;
	n = fd_read_all(fd, probe, sizeof(probe));
	if (n < 0)
		return GIT_REASON_UNREADABLE;
	if (git_holds_credentials(change->path, probe, (size_t)n))
		return GIT_REASON_CREDENTIALS;
	return change->untracked && memchr(probe, '\0', (size_t)n) ?
		       GIT_REASON_BINARY :
		       GIT_REASON_NONE;
}

/* Does the file as it is now belong into the snapshot?  A tracked file may be
 * anything the user tracks but a secret that was not given to git; an untracked
 * one has to look like code. */
static enum git_reason judge_file(const struct making *m,
				  const struct git_change *change,
				  const struct stat *st)
{
	const struct git_limits *limits = &m->job->limits;
	uint64_t max = change->untracked ? limits->untracked_bytes :
					   limits->tracked_bytes;

	if (git_names_credentials(change->path, st->st_mode & S_IXUSR))
		return GIT_REASON_CREDENTIALS;
	if ((uint64_t)st->st_size > max)
		return GIT_REASON_LARGE;
	if (m->n_bytes + (uint64_t)st->st_size > limits->total_bytes)
		return GIT_REASON_FULL;
	return judge_content(m, change);
}

/* Why the change is left out; GIT_REASON_NONE when it is not. */
static enum git_reason judge(const struct making *m,
			     const struct git_change *change,
			     struct stat *ret_st)
{
	enum git_reason reason = GIT_REASON_NONE;

	if (change->packages)
		return GIT_REASON_PACKAGES;
	if (fstatat(m->job->tree->root_fd, change->path, ret_st,
		    AT_SYMLINK_NOFOLLOW) < 0) {
		*ret_st = (struct stat){ 0 };
		if (change->untracked)
			return GIT_REASON_GONE;
		if (errno != ENOENT && errno != ENOTDIR)
			return GIT_REASON_UNREADABLE;
	} else if (S_ISREG(ret_st->st_mode)) {
		reason = judge_file(m, change, ret_st);
	} else if (!S_ISLNK(ret_st->st_mode) &&
		   (!S_ISDIR(ret_st->st_mode) || change->untracked)) {
		reason = GIT_REASON_SPECIAL;
	}
	if (!reason && m->n_files >= m->job->limits.n_files)
		return GIT_REASON_FULL;
	return reason;
}

static int choose_one(struct making *m, const struct git_change *change)
{
	struct stat st = { 0 };
	enum git_reason reason = judge(m, change, &st);

	if (reason)
		return git_left_outs_add(&m->out->left_out, change->path,
					 change->len, reason);
	m->n_files++;
	if (S_ISREG(st.st_mode))
		m->n_bytes += (uint64_t)st.st_size;
	str_add(&m->input, change->path, change->len);
	str_addc(&m->input, '\0');
	return str_error(&m->input);
}

static int choose(struct making *m)
{
	const struct git_status *status = m->job->status;
	uint32_t total = status->n_modified + status->n_untracked;

	for (size_t i = 0; i < status->n_changes; i++) {
		const struct git_change *change = &status->changes[i];
		int r = 0;

		if (change->in_tree)
			r = choose_one(m, change);
		else
			m->staged = true; /* the index has it already */
		if (r < 0)
			return r;
	}
	if (status->overflow)
		m->out->left_out.n += total - (uint32_t)status->n_changes;
	return 0;
}

/* --- the copy of the index ---------------------------------------------- */

/* Removes copies left by a killed query. */
static void remove_stale(const char *prefix)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(str_release) struct str start = STR_INIT;
	CLEANUP(closedirp) DIR *stream = NULL;
	struct dirent *entry;

	path_dirname(&dir, prefix);
	str_addf(&start, "%s%s", path_basename(prefix), copy_tag);
	if (str_error(&dir) < 0 || str_error(&start) < 0)
		return;
	stream = opendir(dir.data);
	while (stream && (entry = readdir(stream))) {
		struct stat st;

		if (strncmp(entry->d_name, start.data, start.len) == 0 &&
		    fstatat(dirfd(stream), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtim.tv_sec + STALE_S < time(NULL))
			(void)unlinkat(dirfd(stream), entry->d_name, 0);
	}
}

/* Opens PREFIX.index-XXXXXX, which then belongs to the user that git runs as. */
static int open_at(struct making *m, const char *prefix)
{
	const struct git_owner *owner = m->job->runner->owner;
	CLEANUP(closep) int fd = -1;
	int n = snprintf(m->index_path, sizeof(m->index_path), "%s%sXXXXXX",
			 prefix, copy_tag);

	if (n < 0 || (size_t)n >= sizeof(m->index_path))
		return -ENAMETOOLONG;
	fd = mkostemp(m->index_path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (owner && fchown(fd, owner->uid, owner->gid) < 0) {
		int r = -errno;

		(void)unlink(m->index_path);
		return r;
	}
	return TAKE_FD(fd);
}

/* May git write next to the copy?  Checked only when git runs as another user. */
static bool is_theirs(const char *prefix, const struct git_owner *owner)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	struct stat st;

	path_dirname(&dir, prefix);
	return str_error(&dir) == 0 && stat(dir.data, &st) == 0 &&
	       st.st_uid == owner->uid;
}

/* Opens a new file next to the cache, or among the temporary files when that
 * directory cannot be written. */
static int open_copy(struct making *m)
{
	const struct git_runner *runner = m->job->runner;
	const char *temp = git_env_get(runner->env, "TMPDIR");
	char prefix[4096];
	int fd = -ENOENT;

	if (m->job->work_prefix &&
	    (!runner->owner || is_theirs(m->job->work_prefix, runner->owner)))
		fd = open_at(m, m->job->work_prefix);
	if (fd < 0 && temp && !runner->owner &&
	    snprintf(prefix, sizeof(prefix), "%s/roar", temp) <
		    (int)sizeof(prefix))
		fd = open_at(m, prefix);
	if (fd < 0)
		fd = open_at(m, "/tmp/roar");
	if (fd < 0)
		m->index_path[0] = '\0';
	return fd;
}

static void remove_copy(struct making *m)
{
	CLEANUP(str_release) struct str lock = STR_INIT;

	if (!m->index_path[0])
		return;
	(void)unlink(m->index_path);
	str_addf(&lock, "%s.lock", m->index_path);
	if (str_error(&lock) == 0)
		(void)unlink(lock.data);
}

/* The copy keeps the mtime of the original: git takes entries younger than
 * the index for unsure, and must do so in the copy too. */
static int copy_index(struct making *m)
{
	const struct git_tree *tree = m->job->tree;
	int64_t mtime_ns = tree->index_stamp.mtime_ns;
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = mtime_ns / 1000000000,
		  .tv_nsec = mtime_ns % 1000000000 },
	};
	CLEANUP(closep) int fd = -1;
	int r;

	if (m->job->work_prefix)
		remove_stale(m->job->work_prefix);
	fd = open_copy(m);
	if (fd < 0)
		return fd;
	(void)snprintf(m->index_env, sizeof(m->index_env), "GIT_INDEX_FILE=%s",
		       m->index_path);
	if (!stamp_exists(&tree->index_stamp)) {
		/* An empty file is not a valid index, a missing one is. */
		return unlink(m->index_path) < 0 ? -errno : 0;
	}
	r = fd_write_all(fd, tree->index.data, tree->index.len);
	if (r < 0)
		return r;
	return futimens(fd, times) < 0 ? -errno : 0;
}

/* --- the git processes -------------------------------------------------- */

static int update_index(struct making *m)
{
	const struct git_command command = {
		.args = { "-c", "core.autocrlf=false", "-c",
			  "core.safecrlf=false", "update-index", "-z", "--add",
			  "--remove", "--replace", "--stdin", NULL },
		.env = { m->index_env, NULL },
		.input = m->input.data,
		.input_len = m->input.len,
	};

	return m->input.len ? git_run(m->job->runner, &command, m->errors) : 0;
}

/* Runs a command that prints one object id. */
static int run_for_id(struct making *m, struct git_command *command,
		      char ret_hex[GIT_HEX_MAX + 1])
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r;

	command->take = git_take_text;
	command->ctx = &text;
	r = git_run(m->job->runner, command, m->errors);
	if (r != 0)
		return r;
	if (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	if (!git_hex_valid(str_cstr(&text), text.len))
		return -EBADMSG;
	memcpy(ret_hex, text.data, text.len + 1);
	return 0;
}

/* Objects that a partial clone lacks are not a reason to refuse. */
static int write_tree(struct making *m, char ret_hex[GIT_HEX_MAX + 1])
{
	struct git_command command = {
		.args = { "write-tree", "--missing-ok", NULL },
		.env = { m->index_env, NULL },
	};

	return run_for_id(m, &command, ret_hex);
}

/* "@seconds +0000" of HEAD, or of 1970 when there is none. */
static int date_of_head(struct making *m, char ret_date[64])
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct git_command command = {
		.args = { "rev-list", "--timestamp", "--max-count=1",
			  m->job->commit, NULL },
		.take = git_take_text,
		.ctx = &text,
	};
	long long seconds = 0;
	int r;

	if (m->job->commit) {
		r = git_run(m->job->runner, &command, m->errors);
		if (r != 0)
			return r;
		seconds = strtoll(str_cstr(&text), NULL, 10);
	}
	(void)snprintf(ret_date, 64, "@%lld +0000", seconds);
	return 0;
}

static int commit_tree(struct making *m, const char *tree, const char *date,
		       char ret_hex[GIT_HEX_MAX + 1])
{
	char author[96], committer[96];
	struct git_command command = {
		.args = { "-c", "i18n.commitEncoding=UTF-8", "commit-tree",
			  "-m", "Uncommitted work, kept by roar", tree,
			  m->job->commit ? "-p" : NULL, m->job->commit, NULL },
		.env = { "GIT_AUTHOR_NAME=roar",
			 "GIT_AUTHOR_EMAIL=roar@localhost",
			 "GIT_COMMITTER_NAME=roar",
			 "GIT_COMMITTER_EMAIL=roar@localhost", author,
			 committer, NULL },
	};

	(void)snprintf(author, sizeof(author), "GIT_AUTHOR_DATE=%s", date);
	(void)snprintf(committer, sizeof(committer), "GIT_COMMITTER_DATE=%s",
		       date);
	return run_for_id(m, &command, ret_hex);
}

static int update_ref(struct making *m, const char *id)
{
	char ref[GIT_HEX_MAX + 16];
	const struct git_command command = {
		.args = { "-c", "core.logAllRefUpdates=false", "update-ref",
			  ref, id, NULL },
	};

	(void)snprintf(ref, sizeof(ref), "refs/roar/%s", id);
	return git_run(m->job->runner, &command, m->errors);
}

static int make(struct making *m)
{
	char tree[GIT_HEX_MAX + 1], id[GIT_HEX_MAX + 1], date[64];
	int r;

	r = choose(m);
	if (r < 0 || (!m->input.len && !m->staged))
		return r;
	r = copy_index(m);
	if (r == 0)
		r = update_index(m);
	if (r == 0)
		r = write_tree(m, tree);
	if (r == 0)
		r = date_of_head(m, date);
	if (r == 0)
		r = commit_tree(m, tree, date, id);
	if (r == 0)
		r = update_ref(m, id);
	if (r != 0)
		return r;
	m->out->id = strdup(id);
	return m->out->id ? 0 : -ENOMEM;
}

int git_snapshot_make(const struct git_snapshot_job *job,
		      struct git_snapshot *ret, struct str *errors)
{
	struct making m = {
		.job = job,
		.out = ret,
		.input = STR_INIT,
		.errors = errors,
	};
	int r;

	*ret = (struct git_snapshot){ 0 };
	r = make(&m);
	remove_copy(&m);
	str_release(&m.input);
	return r;
}

/* pending_calls.c - the outcome of a call, found out afterwards
 *
 * A notification comes before the call and nothing comes after it.  A program with the
 * library logs the result (LOG_RESULT_ASKED).  For other programs the file system shows
 * it, at the latest when the same thread makes its next call or has ended:
 *
 *	names		the files they name now (outcome.h)
 *	opens		a descriptor of the process is this file, or the file
 *			exists now, or has changed
 *
 * Before another name is changed, every call that is visibly done is settled, so that
 * the order of events is the order of the calls. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "trace/call/outcome.h"
#include "trace/hybrid/hybrid_internal.h"

static bool look(const struct str *path, struct stat *ret)
{
	return lstat(str_cstr(path), ret) == 0;
}

/* ---- opens ---- */

/* A descriptor of the process that is this file; -1 when there is none. */
static int find_descriptor(const struct tracee *t, const struct stat *file)
{
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(t->tid, "fd").text);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
		    stat_same_file(&st, file))
			return atoi(entry->d_name);
	return -1;
}

/* A descriptor is the best evidence. */
static enum outcome open_outcome(const struct tracee *t, int *ret_fd)
{
	const struct pending *w = &t->pending;
	struct stat st;

	*ret_fd = -1;
	if (w->path.len && look(&w->path, &st))
		*ret_fd = find_descriptor(t, &st);
	else if (!w->path.len && w->before.st_ino)
		*ret_fd = find_descriptor(t, &w->before);
	return *ret_fd >= 0 ? OUTCOME_DONE : outcome_of(w);
}

/* The file has no name in our view, but the process will have it open. */
static void prepare_hidden(struct hybrid *h, struct tracee *t)
{
	struct pending *w = &t->pending;
	struct stat st;
	int r = resolve_follow(&h->o.resolver, t, &h->o.name, &st);

	w->hidden = true;
	if (r == -EREMOTE)
		w->before = st;
	else if (call_must_fail(r) && !(w->flags & O_CREAT))
		call_forget(&h->o, t);
}

void pending_call_prepare(struct hybrid *h, struct tracee *t,
			  const struct call_args *a)
{
	struct pending *w = &t->pending;
	struct stat st;
	int r;

	/* Few descriptors are left: while one is free the call will not fail for that
	 * reason. */
	if (w->call == CALL_OPEN && t->process->full && rights_has_room(t->tid))
		t->process->full = false;
	if (w->call != CALL_OPEN || w->path.len)
		return;
	r = resolve_name(&h->o.resolver, &h->o.tree, t, a->dirfd, a->path,
			 a->len, &h->o.name);
	if (r == -ENOENT || r == -ENOTDIR || r == -EBADF)
		call_forget(&h->o, t); /* the directory does not exist */
	if (r == -EREMOTE)
		prepare_hidden(h, t);
	if (r < 0)
		return;
	if (!magic_follows(w->flags)) {
		if (lstat(h->o.name.data, &st) < 0)
			st = call_no_file;
		if (S_ISLNK(st.st_mode)) {
			call_forget(&h->o, t); /* it will fail */
			return;
		}
	} else if (resolve_follow(&h->o.resolver, t, &h->o.name, &st) < 0) {
		/* Through a descriptor, or to a file that does not exist yet. */
		if (magic_follow(h, t, &h->o.name) < 0)
			return;
		if (stat(h->o.name.data, &st) < 0)
			st = call_no_file;
	}
	str_add(&w->path, h->o.name.data, h->o.name.len);
	w->before = st;
}

/* ---- all ---- */

/* Is the thread in the directory it wanted?  One that has ended counts as having been
 * there. */
static bool is_there(const struct tracee *t)
{
	const struct pending *w = &t->pending;
	char text[4096];
	ssize_t n = readlink(proc_path(t->tid, "cwd").text, text, sizeof(text));

	if (n < 0 || !w->path.len)
		return true;
	return (size_t)n == w->path.len &&
	       memcmp(text, w->path.data, (size_t)n) == 0;
}

bool pending_call_has_other_root(pid_t tid)
{
	struct stat ours, theirs;

	return stat("/", &ours) == 0 &&
	       stat(proc_path(tid, "root").text, &theirs) == 0 &&
	       !stat_same_file(&ours, &theirs);
}

static bool has_ring(pid_t tid)
{
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(tid, "fd").text);
	struct dirent *entry;
	char text[64];

	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, text,
				       sizeof(text) - 1);

		text[n < 0 ? 0 : n] = '\0';
		if (strstr(text, "io_uring"))
			return true;
	}
	return false;
}

static enum outcome outcome_now(const struct tracee *t, int *ret_fd)
{
	const struct pending *w = &t->pending;

	*ret_fd = 0;
	switch (w->call) {
	case CALL_OPEN:
		return open_outcome(t, ret_fd);
	case CALL_RENAME:
	case CALL_LINK:
	case CALL_SYMLINK:
	case CALL_UNLINK:
	case CALL_MKNOD:
	case CALL_TRUNCATE:
		return outcome_of(w);
	case CALL_CHDIR:
		return outcome_if(is_there(t));
	case CALL_CHROOT:
		return outcome_if(pending_call_has_other_root(t->tid));
	case CALL_IO_URING:
		return has_ring(t->tid) ? OUTCOME_DONE : OUTCOME_UNKNOWN;
	case CALL_HANDLE:
		return OUTCOME_UNKNOWN;
	default: /* chdir, namespaces, messages: repeating them does no harm */
		return OUTCOME_DONE;
	}
}

/* An open that left no trace: did the process have permission? */
static void judge_open(struct hybrid *h, struct tracee *t)
{
	const struct pending *w = &t->pending;
	const struct member *m = member_of(h, t);
	unsigned want = (w->flags & O_ACCMODE) == O_WRONLY ? 2 :
			(w->flags & O_ACCMODE) == O_RDONLY ? 4 :
							     6;

	if (!rights_allow(t->tid, str_cstr(&w->path), &w->before, want)) {
		call_forget(&h->o, t);
		return;
	}
	if (!m || m->sandboxed || t->process->full)
		call_gap(&h->o, t, EVENT_GAP_LOST, str_cstr(&w->path));
	call_exit(&h->o, t, INT32_MAX);
}

/* The gap for each kind of call. */
static enum event_gap gap_of(const struct pending *w)
{
	switch (w->call) {
	case CALL_UNSEEN:
		return (enum event_gap)w->flags;
	case CALL_HANDLE:
		return EVENT_GAP_HANDLE;
	case CALL_IO_URING:
		return EVENT_GAP_IO_URING;
	default:
		return EVENT_GAP_LOST;
	}
}

/* Without a filter the result of every asked open is logged when the call has returned.
 * This call has not, so no process has its descriptor. */
static bool is_void(const struct hybrid *h, const struct pending *w)
{
	return w->call == CALL_OPEN && !outcome_matters(w) &&
	       !hybrid_has_filter(h) && !h->late;
}

/* The outcome cannot be found out any more.  The call counts as done, and the record as
 * incomplete. */
static void settle_unknown(struct hybrid *h, struct tracee *t)
{
	struct pending *w = &t->pending;

	if (w->call == CALL_OPEN && w->path.len && !is_void(h, w)) {
		judge_open(h, t);
		return;
	}
	/* At the entry there was no file of that name, or the file had no name. */
	if (w->call == CALL_OPEN && !w->path.len && w->before.st_ino)
		call_gap(&h->o, t, EVENT_GAP_NAMESPACE,
			 "a file was opened that has no name here");
	else if (w->call == CALL_OPEN && !w->path.len && (w->flags & O_CREAT))
		call_gap(&h->o, t, call_gap_of_open(t),
			 "a file was created under an unknown name");
	if (w->call != CALL_OPEN)
		call_gap(&h->o, t, gap_of(w),
			 str_cstr(w->path2.len ? &w->path2 : &w->path));
	call_forget(&h->o, t);
}

/* Known only for processes that reported their directory. */
static void arrive(struct hybrid *h, struct tracee *t)
{
	struct tracee *leader = tree_find(&h->o.tree, t->process->pid);
	struct str to = STR_INIT;

	str_add(&to, str_cstr(&t->pending.path), t->pending.path.len);
	call_exit(&h->o, t, 0);
	if (to.len && leader && (leader->cwd_told || t->cwd_told))
		log_records_directory(h, leader, t->tid, to.data, to.len);
	str_release(&to);
}

static void act(struct hybrid *h, struct tracee *t, enum outcome outcome,
		int fd)
{
	if (t->pending.call == CALL_CHDIR && outcome == OUTCOME_DONE) {
		arrive(h, t);
		return;
	}
	if (t->pending.call == CALL_RECVMSG ||
	    t->pending.call == CALL_RECVMMSG) {
		received_settle(h, t);
		return;
	}
	if (outcome == OUTCOME_UNKNOWN)
		settle_unknown(h, t);
	else if (outcome == OUTCOME_NOT_DONE)
		call_forget(&h->o, t);
	else if (t->pending.call == CALL_OPEN && t->pending.path.len)
		/* By its name: the descriptor is examined too late. */
		call_exit(&h->o, t, INT32_MAX);
	else
		call_exit(&h->o, t, fd < 0 ? INT32_MAX : fd);
}

void pending_call_end(struct hybrid *h, struct tracee *t)
{
	enum outcome outcome;
	int fd;

	if (t->pending.call == CALL_NONE)
		return;
	outcome = outcome_now(t, &fd);
	act(h, t, outcome, fd);
}

/* The descriptor may be closed by the time we read of it, and its number may mean
 * another file.  A file that had no name at the entry cannot be identified then; a
 * hidden one is identified by its inode, unless the call created it. */
static bool is_lost(struct hybrid *h, const struct tracee *t, int fd)
{
	const struct pending *w = &t->pending;
	struct stat st;
	int r;

	if (w->call != CALL_OPEN || w->path.len)
		return false;
	r = resolve_fd(t->tid, fd, &h->o.name, &st);
	if (r == -ENOENT)
		return true;
	return w->hidden && (!w->before.st_ino || S_ISREG(w->before.st_mode)) &&
	       (r < 0 || !stat_same_file(&w->before, &st));
}

void pending_call_result(struct hybrid *h, struct tracee *t, int32_t result)
{
	if (t->pending.call == CALL_NONE)
		return;
	if (t->pending.call == CALL_CHDIR && result >= 0) {
		arrive(h, t);
		return;
	}
	if (result >= 0 && is_lost(h, t, result)) {
		call_gap(&h->o, t, call_gap_of_open(t),
			 "a descriptor was closed before it was examined");
		call_forget(&h->o, t);
		return;
	}
	/* The number may mean another file by now: a known name is better. */
	if (result >= 0 && t->pending.call == CALL_OPEN && t->pending.path.len)
		result = INT32_MAX;
	call_exit(&h->o, t, result);
}

/* Removes threads that have no pending call any more. */
static void compact(struct hybrid *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->waiting.n; i++) {
		struct tracee *t = tree_find(&h->o.tree, h->waiting.tids[i]);

		if (t && t->pending.call != CALL_NONE)
			h->waiting.tids[n++] = t->tid;
	}
	h->waiting.n = n;
}

/* Calls that create a name fail when it exists; that could not be found out
 * afterwards. */
static bool must_fail(const struct pending *w)
{
	struct stat st;

	if (w->call == CALL_LINK || w->call == CALL_SYMLINK ||
	    (w->call == CALL_RENAME && (w->flags & RENAME_NOREPLACE)))
		return look(&w->path2, &st);
	return w->call == CALL_MKNOD && look(&w->path, &st);
}

void pending_call_add(struct hybrid *h, struct tracee *t)
{
	enum { MANY = 64 };
	pid_t *slot;

	assert(t->pending.call != CALL_NONE);
	if (must_fail(&t->pending)) {
		call_forget(&h->o, t);
		return;
	}
	t->pending.entry_ns = h->o.now_ns;
	if (h->waiting.n % MANY == MANY - 1)
		compact(h);
	for (size_t i = 0; i < h->waiting.n; i++)
		if (h->waiting.tids[i] == t->tid)
			return;
	slot = VEC_PUSH(h->waiting.tids, h->waiting.n, h->waiting.cap);
	if (slot)
		*slot = t->tid;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Has the content changed since the thread continued to open this file for writing?  As
 * long as it has not, opens by other threads find the same content before and after
 * this one.  If another process has changed it, the file is written anyway. */
static bool is_written_since(const struct pending *w)
{
	bool writes = (w->flags & O_ACCMODE) != O_RDONLY ||
		      (w->flags & O_TRUNC);
	struct stat st;

	return writes && look(&w->path, &st) &&
	       stat_same_file(&st, &w->before) &&
	       (st.st_size != w->before.st_size ||
		!same_time(&st.st_mtim, &w->before.st_mtim));
}

/* Does the file system show that the call is done, whatever the thread does now? */
static bool is_visibly_done(const struct tracee *t, int *ret_fd)
{
	const struct pending *w = &t->pending;

	*ret_fd = -1;
	switch (w->call) {
	case CALL_RENAME:
	case CALL_LINK:
	case CALL_SYMLINK:
	case CALL_UNLINK:
	case CALL_MKNOD:
	case CALL_TRUNCATE:
		return outcome_now(t, ret_fd) == OUTCOME_DONE;
	case CALL_OPEN:
		if (w->before.st_ino)
			return is_written_since(w);
		return w->path.len && outcome_now(t, ret_fd) == OUTCOME_DONE;
	default:
		return false;
	}
}

/* The kernel does not notify us of these: a pending call is never one of them. */
static bool is_never_awaited(enum call call)
{
	return call == CALL_NONE || call == CALL_CLONE || call == CALL_CLONE3 ||
	       call == CALL_WAIT;
}

/* Does the thread sleep in a call that is not one we wait for?  Then it has left the
 * one it made before; the parent of a vfork() sleeps in clone().  Without a filter it
 * may sleep before the call, where it asks us, and always logs the result. */
static bool is_elsewhere(const struct hybrid *h, pid_t tid)
{
	char text[32];

	if (!hybrid_has_filter(h) ||
	    proc_read(tid, "syscall", text, sizeof(text)) < 0)
		return false;
	if (text[0] < '0' || text[0] > '9')
		return false; /* "running": the call is unknown */
	return is_never_awaited(
		call_find(call_abis[0].audit_arch, strtoul(text, NULL, 10)));
}

/* Is the result in the log, unread?  A child of vfork() writes records, too, although
 * it has no id of its own. */
static bool has_spoken(const struct hybrid *h, const struct tracee *t)
{
	return log_has_result(&h->log, t->tid);
}

void pending_calls_check(struct hybrid *h)
{
	for (size_t i = 0; i < h->waiting.n; i++) {
		struct tracee *t = tree_find(&h->o.tree, h->waiting.tids[i]);
		int fd;

		if (!t || t->pending.call == CALL_NONE)
			continue;
		if (is_visibly_done(t, &fd))
			act(h, t, OUTCOME_DONE, fd);
		/* In this order: a process that has ended writes no more records. */
		else if ((member_thread_is_gone(t) || is_elsewhere(h, t->tid)) &&
			 !has_spoken(h, t))
			pending_call_end(h, t);
	}
	compact(h);
}

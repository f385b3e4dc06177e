/* call_open.c - calls that open, create or empty a file */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/proc.h"
#include "base/stamp.h"
#include "trace/call/call.h"
#include "trace/call/memory.h"

static bool wants_read(uint64_t flags)
{
	return call_flags_read(flags);
}

/* O_TRUNC empties the file even when it is opened for reading. */
static bool wants_write(uint64_t flags)
{
	return call_flags_write(flags) || (flags & O_TRUNC);
}

static unsigned event_flags_of(uint64_t flags, bool existed)
{
	unsigned f = 0;

	if (wants_read(flags))
		f |= EVENT_READ;
	if (wants_write(flags))
		f |= EVENT_WRITE;
	if (!existed)
		f |= EVENT_CREATE;
	else if (flags & O_TRUNC)
		f |= EVENT_TRUNC;
	return f;
}

/* Opens that do not involve the content of a named file.  O_PATH reads nothing;
 * O_DIRECTORY opens a directory or, as a part of O_TMPFILE, a file that has no name
 * yet.  Only with O_CREAT it makes a regular file, on Linux before 6.4. */
static bool is_idle(uint64_t flags)
{
	if (flags & O_PATH)
		return true;
	return (flags & O_DIRECTORY) && !(flags & O_CREAT);
}

/* Only the descriptor will show which file the name means for the process. */
static bool open_unseen(struct tracee *t, uint64_t flags)
{
	return call_await(t, CALL_OPEN, flags, &call_no_file, NULL, NULL);
}

/* A file that is truncated must be identified before it is known to be an input; a file
 * opened for reading and writing, when it is known to be one. */
static void tell_open(struct observer *o, struct tracee *t, uint64_t flags,
		      const struct stat *before, const struct str *path)
{
	bool existed = before && before->st_ino;

	call_emit(o, t, EVENT_OPEN, event_flags_of(flags, before != NULL), 0,
		  before, path, NULL);
	if (existed && wants_write(flags) && !(flags & O_TRUNC))
		call_tell_change(o, path, before);
}

static bool is_doubtful(const struct observer *o, const struct tracee *t)
{
	return call_is_doubtful(t) || race_is_on(o, t, &o->name);
}

/* A process of the run is about to serve a file system (FUSE).  To examine a file there
 * is to wait for that process, which may be waiting for us: a deadlock.  Names do not
 * show in time which files are there, so no file is examined from now on. */
static void serves_files(struct observer *o, const struct tracee *t)
{
	call_gap(o, t, EVENT_GAP_NAMESPACE,
		 "the run serves a FUSE file system itself; mount it before "
		 "the run, or use --tracer ebpf");
	o->blind = true;
}

static bool open_existing(struct observer *o, struct tracee *t, uint64_t flags,
			  const struct stat *st)
{
	if (S_ISCHR(st->st_mode) && strcmp(o->name.data, "/dev/fuse") == 0)
		serves_files(o, t);
	if (S_ISDIR(st->st_mode) || S_ISSOCK(st->st_mode))
		return false;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return false;
	if (flags & O_TRUNC)
		call_tell_change(o, &o->name, st);
	if (is_doubtful(o, t) || S_ISFIFO(st->st_mode) ||
	    (S_ISREG(st->st_mode) && !proof_opens(o, t, &o->name, st, flags)))
		return call_await(t, CALL_OPEN, flags, st, &o->name, NULL);
	race_let_go(o, t, &o->name, false);
	tell_open(o, t, flags, st, &o->name);
	return false;
}

static bool open_new(struct observer *o, struct tracee *t, uint64_t flags)
{
	if (!(flags & O_CREAT))
		return race_is_on(o, t, &o->name) && open_unseen(t, flags);
	if ((flags & (O_EXCL | O_DIRECT)) || is_doubtful(o, t) ||
	    !proof_names(o, t, &o->name))
		return call_await(t, CALL_OPEN, flags, &call_no_file, &o->name,
				  NULL);
	race_let_go(o, t, &o->name, false);
	recent_add(&o->recent, o->name.data, o->name.len);
	tell_open(o, t, flags, NULL, &o->name);
	return false;
}

/* The run reads back a file it has just made: lstat() would add nothing. */
static bool reads_recent(struct observer *o, struct tracee *t, uint64_t flags)
{
	struct stat st = { .st_mode = S_IFREG };

	recent_age(&o->recent, o->mono_ns);
	if (wants_write(flags) || (flags & O_DIRECT) || is_doubtful(o, t) ||
	    ((flags & O_CREAT) && (flags & O_EXCL)) ||
	    !recent_has(&o->recent, o->name.data, o->name.len) ||
	    !proof_reads(o, &o->name))
		return false;
	race_let_go(o, t, &o->name, false);
	call_emit(o, t, EVENT_OPEN, EVENT_READ, 0, &st, &o->name, NULL);
	return true;
}

/* Only reads: for them examining the file is enough. */
static bool is_known(struct observer *o, struct tracee *t,
		     const struct call_args *a, struct stat *st)
{
	return !wants_write(a->flags) && !(a->flags & (O_CREAT | O_NOFOLLOW)) &&
	       path_cache_find(&o->resolver.known, o->mono_ns, t, a->path,
			       a->len, &o->name, st);
}

static void keep(struct observer *o, const struct tracee *t,
		 const struct call_args *a, const struct stat *st)
{
	path_cache_add(&o->resolver.known, o->mono_ns, t, a->path, a->len,
		       &o->name, st);
}

/* The last component is a symbolic link. */
static bool open_link(struct observer *o, struct tracee *t,
		      const struct call_args *a)
{
	uint64_t flags = a->flags;
	struct stat st;

	if (flags & O_NOFOLLOW)
		return false;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return false;
	if (resolve_follow(&o->resolver, t, &o->name, &st) == 0) {
		keep(o, t, a, &st);
		return open_existing(o, t, flags, &st);
	}
	/* Dangling and about to be created, or only the tracee can resolve it. */
	return open_unseen(t, flags);
}

/* The name cannot be examined: it may not exist, not be visible to us, or not exist
 * yet. */
static bool out_of_sight(const struct observer *o, struct tracee *t,
			 uint64_t flags, int error)
{
	if (call_must_fail(error) && !race_is_on(o, t, NULL))
		return false;
	(void)open_unseen(t, flags);
	t->pending.hidden = error == -EREMOTE;
	return true;
}

bool call_open(struct observer *o, struct tracee *t, const struct call_args *a)
{
	uint64_t flags = a->flags;
	struct stat st;
	int r;

	if (is_idle(flags) || a->len == 0)
		return false;
	proof_check_limit(o, t);
	if (resolve_is_private(a->path) || (flags & O_DIRECTORY))
		return open_unseen(t, flags);
	if (is_known(o, t, a, &st))
		return open_existing(o, t, flags, &st);
	r = call_resolve(o, t, a->dirfd, a->path, a->len, &o->name);
	if (r == -EOVERFLOW)
		return false; /* the descriptor would not show it either */
	if (r < 0)
		return out_of_sight(o, t, flags, r);
	if (reads_recent(o, t, flags))
		return false;
	r = call_look_name(o, &st);
	if (r == -ENOENT)
		return open_new(o, t, flags);
	if (r < 0)
		return out_of_sight(o, t, flags, r);
	if (S_ISLNK(st.st_mode))
		return open_link(o, t, a);
	keep(o, t, a, &st);
	return open_existing(o, t, flags, &st);
}

/* Only the result shows whether the kernel refuses the call because of a rule or an
 * unknown flag. */
bool call_open_by_rules(struct observer *o, struct tracee *t,
			const struct call_args *a)
{
	struct view_name n = {
		.dirfd = a->dirfd,
		.rules = a->rules,
		.path = a->path,
		.len = a->len,
	};
	struct stat st;
	int r = resolve_by_rules(&o->resolver, t, &n, &o->name);

	if (r == 0 && call_look_name(o, &st) < 0)
		st = call_no_file;
	if (r == 0 && S_ISLNK(st.st_mode))
		r = resolve_follow(&o->resolver, t, &o->name, &st);
	if (r == -ENOENT && (a->flags & O_CREAT)) {
		r = resolve_target(&o->resolver, t, &o->name);
		st = call_no_file;
	}
	if (r < 0)
		return open_unseen(t, a->flags);
	return call_await(t, CALL_OPEN, a->flags, &st, &o->name, NULL);
}

static bool open_by_own_rules(struct observer *o, struct tracee *t,
			      const uint64_t args[6],
			      const struct open_how *how)
{
	struct call_args a = {
		.dirfd = (int)args[0],
		.path = o->path,
		.flags = how->flags,
		.rules = how->resolve,
	};
	ssize_t n;

	if (!call_looks(o) || is_idle(how->flags))
		return false;
	n = call_read_path(o, t, args[1], o->path);
	if (n <= 0)
		return false;
	a.len = (size_t)n;
	return call_open_by_rules(o, t, &a);
}

bool call_openat2(struct observer *o, struct tracee *t, const uint64_t args[6])
{
	struct open_how how = { 0 };
	size_t size = args[3] < sizeof(how) ? (size_t)args[3] : sizeof(how);

	if (memory_read(&o->memory, t->tid, args[2], &how, size) < 0)
		return false;
	return open_by_own_rules(o, t, args, &how);
}

/* Content of other mounts has no name in our view; what the kernel generates for the
 * reader (/proc) is not content. */
static bool is_hidden(const struct tracee *t, int64_t fd,
		      const struct str *path, const struct stat *st)
{
	struct statfs fs;

	if (!S_ISREG(st->st_mode) ||
	    resolve_is_visible(t->tid, (int)fd, path, st))
		return false;
	return statfs(proc_path(t->tid, "fd/%d", (int)fd).text, &fs) < 0 ||
	       fs.f_type != PROC_SUPER_MAGIC;
}

static bool is_known_name(const struct pending *w, const struct str *name)
{
	return w->path.len == name->len &&
	       memcmp(str_cstr(&w->path), name->data, name->len) == 0;
}

static bool is_asked_for(const struct pending *w, const struct stat *st)
{
	return w->path.len && stat_same_file(&w->before, st);
}

/* The file of a new descriptor, and its name in o->name.  The name in the call is the
 * right one if it led to this file; then the name that the kernel reports may be a
 * later one.  It is also used when the kernel has none, because the file was removed or
 * its descriptor closed already. */
static int opened_file(struct observer *o, const struct tracee *t, int64_t fd,
		       struct stat *st)
{
	const struct pending *w = &t->pending;
	bool closed;
	int r;

	str_clear(&o->name);
	r = resolve_fd(t->tid, (int)fd, &o->name, st);
	/* The descriptors of an exiting process are not accessible to its own user. */
	if (r == -EACCES && w->path.len && !o->name.len)
		r = -ENOENT;
	closed = r == -ENOENT && !o->name.len;
	if (closed && !w->path.len)
		return -EBADF;
	if (closed)
		*st = w->before;
	if ((r == -ENOENT && w->path.len) || (r == 0 && is_asked_for(w, st))) {
		str_clear(&o->name);
		str_add(&o->name, w->path.data, w->path.len);
		r = str_error(&o->name);
	}
	return r;
}

/* Reports the result of an awaited open.  The descriptor identifies the file; the entry
 * recorded what existed before. */
void call_open_done(struct observer *o, struct tracee *t, int64_t fd)
{
	struct pending *w = &t->pending;
	bool existed = w->before.st_ino != 0;
	struct stat st;
	int r = opened_file(o, t, fd, &st);

	if (w->call == CALL_HANDLE &&
	    (r == -EINVAL || r == -ENOENT || r == -EBADF))
		call_gap(o, t, EVENT_GAP_HANDLE, NULL);
	else if (r == -EBADF)
		call_gap(o, t, call_gap_of_open(t),
			 "closed before it could be seen");
	if (r == -EINVAL || r == -ENOENT || r == -EBADF)
		return;
	if (r < 0) {
		call_gap(o, t, call_gap_of_open(t), strerror(-r));
		return;
	}
	if (S_ISDIR(st.st_mode))
		return;
	if (!is_known_name(w, &o->name) && is_hidden(t, fd, &o->name, &st)) {
		call_gap(o, t, EVENT_GAP_NAMESPACE, o->name.data);
		return;
	}
	/* Nothing was visible at the entry: a file with content, or one that was not to
	 * be created, existed before. */
	if (!existed && (!(w->flags & O_CREAT) || st.st_size))
		existed = true;
	/* Another file than at the entry, or none was seen there: take its current
	 * state. */
	if (stat_same_file(&w->before, &st))
		st = w->before;
	race_opened(o, &o->name, &st);
	tell_open(o, t, w->flags, existed ? &st : NULL, &o->name);
}

bool call_truncate(struct observer *o, struct tracee *t,
		   const struct call_args *a)
{
	struct stat st;
	int r = resolve_name(&o->resolver, &o->tree, t, a->dirfd, a->path,
			     a->len, &o->name);

	if (r == 0)
		r = resolve_follow(&o->resolver, t, &o->name, &st);
	if (r < 0)
		return call_must_fail(r) ? false :
					   call_await_unseen(t, r, a->path);
	if (!S_ISREG(st.st_mode))
		return false;
	call_tell_change(o, &o->name, &st);
	return call_await(t, CALL_TRUNCATE, 0, &st, &o->name, NULL);
}

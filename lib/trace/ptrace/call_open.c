/* call_open.c - calls that open, create or empty a file */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "trace/ptrace/call.h"
#include "trace/ptrace/memory.h"

#ifndef __O_TMPFILE
#define __O_TMPFILE 020000000
#endif

static bool wants_read(uint64_t flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

/* O_TRUNC empties the file even when it is opened for reading. */
static bool wants_write(uint64_t flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
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

/* Opens that concern no content of a named file. */
static bool is_idle(uint64_t flags)
{
	if (flags & (O_PATH | __O_TMPFILE))
		return true;
	return flags & O_DIRECTORY;
}

/* ---- is the process about to run out of descriptors? ---- */

DEFINE_CLEANUP(DIR *, closedir)

/* How many descriptors it has: since Linux 6.2 the size of the folder. */
static uint64_t count_descriptors(pid_t tid)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	char path[32];
	struct stat st;
	uint64_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)tid);
	if (stat(path, &st) < 0)
		return 0;
	if (st.st_size)
		return (uint64_t)st.st_size;
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	return n;
}

/* Every so many opens: are we near the limit, so that an open may fail?  The
 * margin is what may be opened until the next look. */
static void check_limit(struct tracee *t)
{
	enum { EVERY = 64, MARGIN = 2 * EVERY };
	struct process *p = t->process;
	struct rlimit limit;

	if (p->n_opens++ % EVERY)
		return;
	if (prlimit(t->tid, RLIMIT_NOFILE, NULL, &limit) == 0)
		p->full = count_descriptors(t->tid) + MARGIN >= limit.rlim_cur;
}

/* ---- will it succeed? ---- */

static bool may_access(const struct str *path, int mode)
{
	return faccessat(AT_FDCWD, path->data, mode, AT_EACCESS) == 0;
}

/* Do owner and mode alone give this right?  False: the kernel must be asked. */
static bool grants(const struct ptracer *p, const struct stat *st, mode_t owner,
		   mode_t everybody)
{
	if (p->overrides || (st->st_mode & everybody) == everybody)
		return true;
	return st->st_uid == geteuid() && (st->st_mode & owner);
}

/* An existing regular file, not through O_EXCL. */
static bool surely_opens(struct ptracer *p, const struct str *path,
			 const struct stat *st, uint64_t flags)
{
	if (!wants_write(flags))
		return grants(p, st, 0400, 0444) || may_access(path, R_OK);
	/* A running program refuses writers (ETXTBSY). */
	if (st->st_mode & 0111)
		return false;
	/* Names can be added beside it, so the file system is writable; what
	 * forbids writing to the file itself was seen with its stat. */
	if (!p->locked && grants(p, st, 0200, 0222) &&
	    (!wants_read(flags) || grants(p, st, 0400, 0444)) &&
	    call_dir_is_writable(p, path))
		return true;
	return may_access(path, wants_read(flags) ? R_OK | W_OK : W_OK);
}

static bool open_existing(struct ptracer *p, struct tracee *t, enum call call,
			  uint64_t flags, const struct stat *st)
{
	if (S_ISDIR(st->st_mode) || S_ISSOCK(st->st_mode))
		return false;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return false;
	if (wants_write(flags))
		call_tell_change(p, &p->name, st);
	if (call_is_doubtful(t) || S_ISFIFO(st->st_mode) ||
	    (S_ISREG(st->st_mode) && !surely_opens(p, &p->name, st, flags)))
		return call_await(t, call, flags, st, &p->name, NULL);
	call_emit(p, t, EVENT_OPEN, event_flags_of(flags, true), 0, st,
		  &p->name, NULL);
	return false;
}

static bool open_new(struct ptracer *p, struct tracee *t, enum call call,
		     uint64_t flags)
{
	if (!(flags & O_CREAT))
		return false;
	if ((flags & O_EXCL) || call_is_doubtful(t) ||
	    !call_dir_is_writable(p, &p->name))
		return call_await(t, call, flags, &call_no_file, &p->name,
				  NULL);
	recent_add(&p->recent, p->name.data, p->name.len);
	call_emit(p, t, EVENT_OPEN, event_flags_of(flags, false), 0, NULL,
		  &p->name, NULL);
	return false;
}

/* Reading back what the run has just made: nothing to learn from a look. */
static bool reads_recent(struct ptracer *p, struct tracee *t, uint64_t flags)
{
	struct stat st = { .st_mode = S_IFREG };

	if (wants_write(flags) || call_is_doubtful(t) ||
	    ((flags & O_CREAT) && (flags & O_EXCL)) ||
	    !recent_has(&p->recent, p->name.data, p->name.len))
		return false;
	call_emit(p, t, EVENT_OPEN, EVENT_READ, 0, &st, &p->name, NULL);
	return true;
}

/* The last component is a symbolic link. */
static bool open_link(struct ptracer *p, struct tracee *t, enum call call,
		      uint64_t flags)
{
	struct stat st;

	if (flags & O_NOFOLLOW)
		return false;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return false;
	if (!t->process->foreign_root && resolve_follow(t, &p->name, &st) == 0)
		return open_existing(p, t, call, flags, &st);
	/* Dangling and about to be created, or only the tracee can tell. */
	return call_await(t, call, flags, &call_no_file, NULL, NULL);
}

bool call_open(struct ptracer *p, struct tracee *t, enum call call, int dirfd,
	       uint64_t path, uint64_t flags)
{
	struct stat st;
	ssize_t n;

	if (p->quiet || is_idle(flags))
		return false;
	n = call_read_path(p, t, path);
	if (n <= 0)
		return false;
	check_limit(t);
	if (resolve_is_private(p->path) || t->process->foreign_mounts)
		return call_await(t, call, flags, &call_no_file, NULL, NULL);
	if (call_resolve(p, t, dirfd, p->path, (size_t)n, &p->name) < 0)
		return false;
	if (reads_recent(p, t, flags))
		return false;
	if (call_look(p, &p->name, &st) < 0)
		return errno == ENOENT ? open_new(p, t, call, flags) : false;
	if (S_ISLNK(st.st_mode))
		return open_link(p, t, call, flags);
	return open_existing(p, t, call, flags, &st);
}

/* The kernel applies its own rules (RESOLVE_*, no unknown flags) and the descriptor
 * tells what came of them; here we only look at what stands under the name now. */
static bool open_by_own_rules(struct ptracer *p, struct tracee *t,
			      const uint64_t args[6],
			      const struct open_how *how)
{
	const char *path = p->path;
	struct stat st;
	ssize_t n;

	if (p->quiet || is_idle(how->flags))
		return false;
	n = call_read_path(p, t, args[1]);
	if (n <= 0)
		return false;
	if (how->resolve & RESOLVE_IN_ROOT)
		path += strspn(path, "/");
	if (call_resolve(p, t, (int)args[0], path, strlen(path), &p->name) < 0 ||
	    stat(p->name.data, &st) < 0)
		st = call_no_file;
	return call_await(t, CALL_OPENAT2, how->flags, &st, &p->name, NULL);
}

bool call_openat2(struct ptracer *p, struct tracee *t, const uint64_t args[6])
{
	struct open_how how = { 0 };
	size_t size = args[3] < sizeof(how) ? (size_t)args[3] : sizeof(how);

	if (memory_read(&p->memory, t->tid, args[2], &how, size) < 0)
		return false;
	return open_by_own_rules(p, t, args, &how);
}

/* The stat of the file a name is now, when the tracee's mounts are not ours. */
static bool is_visible(const struct tracee *t, const struct str *path,
		       const struct stat *st)
{
	struct stat ours;

	if (!t->process->foreign_mounts)
		return true;
	return stat(path->data, &ours) == 0 && ours.st_dev == st->st_dev &&
	       ours.st_ino == st->st_ino;
}

/* What an awaited open turned out to be.  The descriptor knows best; the entry
 * knows what was there before. */
void call_open_done(struct ptracer *p, struct tracee *t, int64_t fd)
{
	struct pending *w = &t->pending;
	bool existed = w->before.st_ino != 0;
	struct stat st;
	int r = resolve_fd(t->tid, (int)fd, &p->name, &st);

	if (r == -ENOENT && w->path.len) {
		/* Closed by another thread already, or removed: the name that
		 * was asked for must do. */
		str_clear(&p->name);
		str_add(&p->name, w->path.data, w->path.len);
		st = w->before;
		r = str_error(&p->name);
	}
	if (r == -EINVAL || r == -ENOENT) {
		if (w->call == CALL_HANDLE)
			call_gap(p, t, EVENT_GAP_HANDLE, NULL);
		return;
	}
	if (r < 0) {
		call_gap(p, t, EVENT_GAP_PATH, strerror(-r));
		return;
	}
	if (S_ISDIR(st.st_mode))
		return;
	if (!is_visible(t, &p->name, &st)) {
		call_gap(p, t, EVENT_GAP_NAMESPACE, p->name.data);
		return;
	}
	/* Nothing could be seen at the entry: a file with content, or one that
	 * was not to be created, has been there. */
	if (!existed && (!(w->flags & O_CREAT) || st.st_size))
		existed = true;
	call_emit(p, t, EVENT_OPEN, event_flags_of(w->flags, existed), 0,
		  existed ? (w->before.st_ino ? &w->before : &st) : NULL,
		  &p->name, NULL);
}

bool call_truncate(struct ptracer *p, struct tracee *t, uint64_t path)
{
	struct stat st;

	if (p->quiet || call_read_name(p, t, AT_FDCWD, path, &p->name) < 0)
		return false;
	if (resolve_follow(t, &p->name, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	call_tell_change(p, &p->name, &st);
	return call_await(t, CALL_TRUNCATE, 0, &st, &p->name, NULL);
}

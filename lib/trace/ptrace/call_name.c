/* call_name.c - calls that give, move or take names */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/ptrace/call.h"

static bool look(const struct str *path, struct stat *ret)
{
	return lstat(path->data, ret) == 0;
}

/* Names behind other mounts cannot be looked at from here. */
static bool is_out_of_sight(struct ptracer *p, struct tracee *t)
{
	if (p->quiet)
		return true;
	if (!t->process->foreign_mounts)
		return false;
	call_gap(p, t, EVENT_GAP_NAMESPACE, "names were changed there");
	return true;
}

bool call_rename(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		 int dirfd2, uint64_t path2, uint64_t flags)
{
	struct stat replaced;
	struct stat st;

	if (is_out_of_sight(p, t) ||
	    call_read_name(p, t, dirfd, path, &p->name) < 0 ||
	    !look(&p->name, &st))
		return false;
	if (call_read_name(p, t, dirfd2, path2, &p->name2) < 0)
		return false;
	if (!(flags & RENAME_NOREPLACE) && look(&p->name2, &replaced)) {
		/* Two names of one file: the kernel does nothing. */
		if (replaced.st_ino == st.st_ino && replaced.st_dev == st.st_dev)
			return false;
		call_tell_change(p, &p->name2, &replaced);
	}
	return call_await(t, CALL_RENAME, flags, &st, &p->name, &p->name2);
}

/* The source of a link may be a descriptor: by AT_EMPTY_PATH, or by a name in
 * /proc.  Returns the descriptor, or -1 when it is an ordinary path. */
static int source_descriptor(const struct ptracer *p, const struct tracee *t,
			     int dirfd, uint64_t flags)
{
	static const char self[] = "/proc/self/fd/";
	char own[32];

	if ((flags & AT_EMPTY_PATH) && !p->path[0])
		return dirfd;
	if (strncmp(p->path, self, sizeof(self) - 1) == 0)
		return atoi(p->path + sizeof(self) - 1);
	(void)snprintf(own, sizeof(own), "/proc/%d/fd/", (int)t->process->pid);
	if (strncmp(p->path, own, strlen(own)) == 0)
		return atoi(p->path + strlen(own));
	if (strncmp(p->path, "/dev/fd/", 8) == 0)
		return atoi(p->path + 8);
	return -1;
}

/* Fills p->name (empty for a file without a name, O_TMPFILE) and `st`. */
static int link_source(struct ptracer *p, struct tracee *t, int dirfd,
		       uint64_t path, uint64_t flags, struct stat *st)
{
	ssize_t n = call_read_path(p, t, path);
	int fd;
	int r;

	if (n < 0)
		return (int)n;
	fd = source_descriptor(p, t, dirfd, flags);
	if (fd >= 0) {
		r = resolve_fd(t->tid, fd, &p->name, st);
		if (r == -ENOENT)
			str_clear(&p->name);
		return r == -ENOENT ? 0 : r;
	}
	r = call_resolve(p, t, dirfd, p->path, (size_t)n, &p->name);
	if (r < 0)
		return r;
	if (flags & AT_SYMLINK_FOLLOW)
		return resolve_follow(t, &p->name, st);
	return look(&p->name, st) ? 0 : -ENOENT;
}

bool call_link(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
	       int dirfd2, uint64_t path2, uint64_t flags)
{
	struct stat st = { 0 };

	if (is_out_of_sight(p, t) ||
	    link_source(p, t, dirfd, path, flags, &st) < 0)
		return false;
	if (call_read_name(p, t, dirfd2, path2, &p->name2) < 0)
		return false;
	return call_await(t, CALL_LINK, 0, &st, &p->name, &p->name2);
}

bool call_symlink(struct ptracer *p, struct tracee *t, uint64_t text, int dirfd,
		  uint64_t path)
{
	ssize_t n;

	if (is_out_of_sight(p, t))
		return false;
	n = call_read_path(p, t, text);
	if (n < 0)
		return false;
	str_clear(&p->name);
	str_add(&p->name, p->path, (size_t)n);
	if (call_read_name(p, t, dirfd, path, &p->name2) < 0)
		return false;
	return call_await(t, CALL_SYMLINK, 0, &call_no_file, &p->name,
			  &p->name2);
}

/* A file that the run has just made: it is there, and nobody's input. */
static bool unlinks_recent(struct ptracer *p, struct tracee *t)
{
	struct stat st = { .st_mode = S_IFREG };

	if (!recent_has(&p->recent, p->name.data, p->name.len))
		return false;
	recent_remove(&p->recent, p->name.data, p->name.len);
	if (call_is_doubtful(t) || !call_dir_is_writable(p, &p->name))
		return false;
	call_emit(p, t, EVENT_UNLINK, 0, 0, &st, &p->name, NULL);
	return true;
}

bool call_unlink(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		 uint64_t flags)
{
	struct stat st;

	if ((flags & AT_REMOVEDIR) || is_out_of_sight(p, t))
		return false;
	if (call_read_name(p, t, dirfd, path, &p->name) < 0)
		return false;
	if (unlinks_recent(p, t))
		return false;
	if (!look(&p->name, &st) || S_ISDIR(st.st_mode))
		return false;
	if (S_ISLNK(st.st_mode))
		resolver_forget(&p->resolver);
	else
		call_tell_change(p, &p->name, &st);
	if (call_is_doubtful(t) || !call_dir_is_writable(p, &p->name))
		return call_await(t, CALL_UNLINK, 0, &st, &p->name, NULL);
	call_emit(p, t, EVENT_UNLINK, 0, 0, &st, &p->name, NULL);
	return false;
}

bool call_mknod(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		uint64_t mode)
{
	if (((mode & S_IFMT) && !S_ISREG((mode_t)mode)) ||
	    is_out_of_sight(p, t))
		return false;
	if (call_read_name(p, t, dirfd, path, &p->name) < 0)
		return false;
	return call_await(t, CALL_MKNOD, 0, &call_no_file, &p->name, NULL);
}

/* ---- the same calls, after they have succeeded ---- */

static void done_rename(struct ptracer *p, struct tracee *t)
{
	const struct pending *w = &t->pending;
	unsigned flags = w->flags & RENAME_EXCHANGE ? EVENT_EXCHANGE : 0;

	/* Names below a directory move, too: forget them all. */
	recent_clear(&p->recent);
	if (!S_ISREG(w->before.st_mode) || flags)
		resolver_forget(&p->resolver);
	if (S_ISDIR(w->before.st_mode))
		p->tree.cwd_generation++;
	call_emit(p, t, EVENT_RENAME, flags, 0, &w->before, &w->path,
		  &w->path2);
}

void call_name_done(struct ptracer *p, struct tracee *t)
{
	const struct pending *w = &t->pending;

	switch (w->call) {
	case CALL_RENAME:
		done_rename(p, t);
		break;
	case CALL_LINK:
		call_emit(p, t, EVENT_LINK, 0, 0, &w->before, &w->path,
			  &w->path2);
		break;
	case CALL_SYMLINK:
		resolver_forget(&p->resolver);
		call_emit(p, t, EVENT_SYMLINK, 0, 0, NULL, &w->path, &w->path2);
		break;
	case CALL_UNLINK:
		call_emit(p, t, EVENT_UNLINK, 0, 0, &w->before, &w->path, NULL);
		break;
	case CALL_TRUNCATE:
		call_emit(p, t, EVENT_TRUNCATE, 0, 0, &w->before, &w->path,
			  NULL);
		break;
	case CALL_MKNOD:
		call_emit(p, t, EVENT_OPEN, EVENT_WRITE | EVENT_CREATE, 0, NULL,
			  &w->path, NULL);
		break;
	default:
		break;
	}
}

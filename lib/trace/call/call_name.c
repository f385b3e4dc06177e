/* call_name.c - calls that give, move or take names */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "trace/call/call.h"

static int look(const struct str *path, struct stat *ret)
{
	return lstat(path->data, ret) < 0 ? -errno : 0;
}

/* resolve_name() for calls that are not about a directory's content: a slash at the end
 * only says that a directory is meant. */
static int name_of(struct observer *o, struct tracee *t, int dirfd,
		   const char *path, size_t len, struct str *out)
{
	char bare[MEMORY_PATH_MAX];
	size_t n = len;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n < len) {
		memcpy(bare, path, n);
		bare[n] = '\0';
		path = bare;
	}
	return resolve_name(&o->resolver, &o->tree, t, dirfd, path, n, out);
}

/* The names cannot be seen: `error` says whether the call can succeed at all. */
static bool out_of_reach(struct tracee *t, int error, const char *path)
{
	return !call_must_fail(error) && call_await_unseen(t, error, path);
}

/* True when the call will do nothing: two names of one file. */
static bool tell_replaced(struct observer *o, const struct stat *st)
{
	struct stat replaced;

	if (look(&o->name2, &replaced) < 0)
		return false;
	if (stat_same_file(&replaced, st))
		return true;
	call_tell_change(o, &o->name2, &replaced);
	return false;
}

bool call_rename(struct observer *o, struct tracee *t,
		 const struct call_args *a)
{
	struct stat st;
	int r;

	r = name_of(o, t, a->dirfd, a->path, a->len, &o->name);
	if (r == 0)
		r = look(&o->name, &st);
	if (r < 0)
		return out_of_reach(t, r, a->path);
	r = name_of(o, t, a->dirfd2, a->path2, a->len2, &o->name2);
	if (r < 0)
		return out_of_reach(t, r, a->path2);
	if (!(a->flags & RENAME_NOREPLACE) && tell_replaced(o, &st))
		return false;
	/* A file that was read may still have to be hashed by this name, which leads
	 * elsewhere or nowhere in a moment. */
	call_tell_change(o, &o->name, &st);
	return call_await(t, CALL_RENAME, a->flags, &st, &o->name, &o->name2);
}

/* The source of a link may be a descriptor: by AT_EMPTY_PATH, or by a name in
 * /proc.  Returns the descriptor, or -1 when it is an ordinary path. */
static int source_descriptor(const struct tracee *t, const struct call_args *a)
{
	struct proc_path own = proc_path(t->process->pid, "fd/");
	const char *const prefixes[] = { "/proc/self/fd/", own.text,
					 "/dev/fd/" };

	if ((a->flags & AT_EMPTY_PATH) && a->len == 0)
		return a->dirfd;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);
		int64_t fd;

		/* What goes on is a name below that directory. */
		if (strncmp(a->path, prefixes[i], len) == 0 &&
		    number_parse(a->path + len, 0, INT_MAX, &fd) == 0)
			return (int)fd;
	}
	return -1;
}

/* Fills o->name (empty for a file without a name, O_TMPFILE) and `st`. */
static int link_source(struct observer *o, struct tracee *t,
		       const struct call_args *a, struct stat *st)
{
	int fd = source_descriptor(t, a);
	int r;

	if (fd >= 0) {
		r = resolve_fd(t->tid, fd, &o->name, st);
		if (r == -ENOENT)
			str_clear(&o->name);
		if (r == 0 && !resolve_is_visible(t->tid, fd, &o->name, st))
			return -EREMOTE;
		return r == -ENOENT ? 0 : r;
	}
	r = resolve_name(&o->resolver, &o->tree, t, a->dirfd, a->path, a->len,
			 &o->name);
	if (r < 0)
		return r;
	if (a->flags & AT_SYMLINK_FOLLOW)
		return resolve_follow(&o->resolver, t, &o->name, st);
	return look(&o->name, st);
}

bool call_link(struct observer *o, struct tracee *t, const struct call_args *a)
{
	struct stat st = { 0 };
	int r;

	r = link_source(o, t, a, &st);
	if (r < 0)
		return out_of_reach(t, r, a->path);
	r = name_of(o, t, a->dirfd2, a->path2, a->len2, &o->name2);
	if (r < 0)
		return out_of_reach(t, r, a->path2);
	return call_await(t, CALL_LINK, 0, &st, &o->name, &o->name2);
}

bool call_symlink(struct observer *o, struct tracee *t,
		  const struct call_args *a)
{
	int r;

	str_clear(&o->name);
	str_add(&o->name, a->path, a->len);
	r = name_of(o, t, a->dirfd2, a->path2, a->len2, &o->name2);
	if (r < 0)
		return out_of_reach(t, r, a->path2);
	return call_await(t, CALL_SYMLINK, 0, &call_no_file, &o->name,
			  &o->name2);
}

/* It will succeed. */
static void let_unlink(struct observer *o, struct tracee *t,
		       const struct stat *st)
{
	race_change(o, t, &o->name, NULL, !S_ISREG(st->st_mode));
	race_let_go(o, t, &o->name, true);
	call_emit(o, t, EVENT_UNLINK, 0, 0, st, &o->name, NULL);
}

/* A file that the run has just made: it exists, and is not an input. */
static bool unlinks_recent(struct observer *o, struct tracee *t)
{
	struct stat st = { .st_mode = S_IFREG };

	recent_age(&o->recent, o->mono_ns);
	if (!recent_has(&o->recent, o->name.data, o->name.len))
		return false;
	recent_remove(&o->recent, o->name.data, o->name.len);
	if (call_is_doubtful(t) || race_is_on(o, t, &o->name) ||
	    !proof_names(o, t, &o->name))
		return false;
	let_unlink(o, t, &st);
	return true;
}

bool call_unlink(struct observer *o, struct tracee *t,
		 const struct call_args *a)
{
	struct stat st;
	int r;

	/* No other flags are known. */
	if ((int)a->flags)
		return false;
	r = resolve_name(&o->resolver, &o->tree, t, a->dirfd, a->path, a->len,
			 &o->name);
	if (r == 0 && unlinks_recent(o, t))
		return false;
	if (r == 0)
		r = call_look_name(o, &st);
	if (r < 0)
		return out_of_reach(t, r, a->path);
	if (S_ISDIR(st.st_mode))
		return false;
	if (S_ISLNK(st.st_mode))
		resolver_forget(&o->resolver);
	else
		call_tell_change(o, &o->name, &st);
	if (call_is_doubtful(t) || race_is_on(o, t, &o->name) || o->locked ||
	    o->mounted || !proof_names(o, t, &o->name))
		return call_await(t, CALL_UNLINK, 0, &st, &o->name, NULL);
	let_unlink(o, t, &st);
	return false;
}

bool call_mknod(struct observer *o, struct tracee *t, const struct call_args *a)
{
	int r;

	if ((a->flags & S_IFMT) && !S_ISREG((mode_t)a->flags))
		return false;
	r = resolve_name(&o->resolver, &o->tree, t, a->dirfd, a->path, a->len,
			 &o->name);
	if (r < 0)
		return out_of_reach(t, r, a->path);
	return call_await(t, CALL_MKNOD, 0, &call_no_file, &o->name, NULL);
}

/* ---- the same calls, after they have succeeded ---- */

static void done_rename(struct observer *o, struct tracee *t)
{
	const struct pending *w = &t->pending;
	unsigned flags = w->flags & RENAME_EXCHANGE ? EVENT_EXCHANGE : 0;
	struct stat other;
	int other_type = EVENT_FTYPE_NONE;

	/* Names below a directory move, too: forget them all. */
	recent_clear(&o->recent);
	if (!S_ISREG(w->before.st_mode) || flags)
		resolver_forget(&o->resolver);
	if (S_ISDIR(w->before.st_mode) || flags)
		o->tree.cwd_generation++;
	/* The file that had the new name has the old one by now. */
	if (flags && look(&w->path, &other) == 0)
		other_type = (int)event_ftype_of(other.st_mode);
	if (other_type == EVENT_FTYPE_DIRECTORY)
		o->tree.cwd_generation++;
	call_emit(o, t, EVENT_RENAME, flags, other_type, &w->before, &w->path,
		  &w->path2);
}

void call_name_done(struct observer *o, struct tracee *t)
{
	const struct pending *w = &t->pending;

	switch (w->call) {
	case CALL_RENAME:
		done_rename(o, t);
		break;
	case CALL_LINK:
		call_emit(o, t, EVENT_LINK, 0, 0, &w->before, &w->path,
			  &w->path2);
		break;
	case CALL_SYMLINK:
		resolver_forget(&o->resolver);
		call_emit(o, t, EVENT_SYMLINK, 0, 0, NULL, &w->path, &w->path2);
		break;
	case CALL_UNLINK:
		call_emit(o, t, EVENT_UNLINK, 0, 0, &w->before, &w->path, NULL);
		break;
	case CALL_TRUNCATE:
		call_emit(o, t, EVENT_TRUNCATE, 0, 0, &w->before, &w->path,
			  NULL);
		break;
	case CALL_MKNOD:
		call_emit(o, t, EVENT_OPEN, EVENT_WRITE | EVENT_CREATE, 0, NULL,
			  &w->path, NULL);
		break;
	default:
		break;
	}
}

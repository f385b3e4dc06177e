/* log_opens.c - opens that the library has logged
 *
 * A logged open has already happened; this file examines the current state of the file.
 * The protocol in log.h ensures that the run itself cannot have changed the name or the
 * content since, so only other processes can:
 *
 *	- A file read whose content changed in the tick of the open or later, and
 *	  that the run does not write to, was changed by another process:
 *	  EVENT_GAP_CHANGED.
 *	- A file written was created by that open if it was born since, and its name
 *	  is not one the run has written to before.  File systems without birth
 *	  times: with O_EXCL it was created; else it counts as truncated, which
 *	  makes it the run's own as well.
 *
 * An open for writing whose result never comes (its process was killed in between) has
 * happened if the file exists and changed since. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "trace/hybrid/hybrid_internal.h"

enum {
	INTENTS_MAX = 4096,
};

/* ---- opens ---- */

/* Finds the file of a logged name, in h->o.name and `st`; `birth_ns` 0: the file system
 * does not record it.  0 or a negative errno. */
static int find_now(struct hybrid *h, struct tracee *t, const char *path,
		    size_t len, struct stat *st, int64_t *birth_ns)
{
	struct observer *o = &h->o;
	struct statx sx;
	int r = call_resolve(o, t, AT_FDCWD, path, len, &o->name);

	if (r < 0)
		return r;
	if (statx(AT_FDCWD, o->name.data, AT_SYMLINK_NOFOLLOW,
		  STATX_BASIC_STATS | STATX_BTIME, &sx) < 0)
		return -errno;
	if (S_ISLNK(sx.stx_mode)) {
		struct stat unused;

		r = resolve_follow(&o->resolver, t, &o->name, &unused);
		if (r < 0)
			r = magic_follow(h, t, &o->name);
		if (r == 0 && statx(AT_FDCWD, o->name.data, 0,
				    STATX_BASIC_STATS | STATX_BTIME, &sx) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	*birth_ns = sx.stx_mask & STATX_BTIME ?
			    clock_timespec_ns(
				    (struct timespec){ sx.stx_btime.tv_sec,
						       sx.stx_btime.tv_nsec }) :
			    0;
	*st = (struct stat){
		.st_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.st_ino = sx.stx_ino,
		.st_mode = sx.stx_mode,
		.st_nlink = sx.stx_nlink,
		.st_uid = sx.stx_uid,
		.st_size = (off_t)sx.stx_size,
		.st_mtim = { sx.stx_mtime.tv_sec, sx.stx_mtime.tv_nsec },
		.st_ctim = { sx.stx_ctime.tv_sec, sx.stx_ctime.tv_nsec },
	};
	return 0;
}

/* Another process may share the current directory (CLONE_FS) and have changed it
 * without a record, or another process moved or removed it. */
static bool is_elsewhere(struct tracee *t)
{
	return member_has_moved(t, &t->cwd) ||
	       access(str_cstr(&t->cwd), F_OK) < 0;
}

/* The same.  If the process is not in the directory it reported, its directory is read
 * from the kernel from now on. */
static int find_file(struct hybrid *h, struct tracee *t, const char *path,
		     size_t len, struct stat *st, int64_t *birth_ns)
{
	int r = find_now(h, t, path, len, st, birth_ns);

	if (r != -ENOENT || path[0] == '/' || !t->cwd_told || !is_elsewhere(t))
		return r;
	t->cwd_told = false;
	str_clear(&t->cwd);
	return find_now(h, t, path, len, st, birth_ns);
}

/* The file exists, but we may not examine it. */
static void tell_unseen(struct hybrid *h, struct tracee *t, unsigned flags)
{
	struct stat unknown = { .st_mode = S_IFREG };

	call_gap(&h->o, t, EVENT_GAP_UNREADABLE, h->o.name.data);
	call_emit(&h->o, t, EVENT_OPEN, flags, 0, &unknown, &h->o.name, NULL);
}

/* Another process moved or removed it since, or it has no name. */
static void not_found(struct hybrid *h, struct tracee *t, int r,
		      const char *path, unsigned flags)
{
	if (r == -EOVERFLOW || r == -ENOMEM)
		return; /* already reported */
	if (r == -EACCES && h->o.name.len) {
		tell_unseen(h, t, flags);
		return;
	}
	/* The process had another view of the file system, and has ended or sees files
	 * that we do not. */
	if (process_is_elsewhere(t->process))
		call_gap(&h->o, t, EVENT_GAP_NAMESPACE, path);
	/* A directory whose path is too long has no name. */
	else if (r == -ENAMETOOLONG || (path[0] != '/' && !t->cwd.len))
		call_gap(&h->o, t, EVENT_GAP_PATH, path);
	else
		call_gap(&h->o, t, EVENT_GAP_CHANGED, path);
}

/* Has the run itself written to it?  When directories have moved, the names under which
 * it was written are not known any more; then files born in the run count. */
static bool is_own(const struct hybrid *h, const struct stat *st,
		   int64_t birth_ns)
{
	const struct str *name = &h->o.name;

	return written_has(&h->written, written_name(name->data, name->len)) ||
	       written_has(&h->written, written_file(st->st_dev, st->st_ino)) ||
	       (h->dirs_moved && birth_ns >= h->start.tick_ns);
}

/* Records and files have the same coarse clock, so the tick of the open counts as after
 * it.  A record in the tick in which the run began is examined at once, so that a write
 * just before the run is not taken for a change.  New content changes both stamps;
 * mtime alone can be set to any value, and ctime also changes with links and modes. */
static bool is_changed_since(const struct hybrid *h, const struct stat *st,
			     int64_t time_ns)
{
	return S_ISREG(st->st_mode) && time_ns > h->start.exact_ns &&
	       clock_timespec_ns(st->st_mtim) >= time_ns &&
	       clock_timespec_ns(st->st_ctim) >= time_ns;
}

/* The run reads back a file it has just made: examining it would add nothing. */
static bool is_recent(struct hybrid *h, struct tracee *t,
		      const struct log_view *v)
{
	struct observer *o = &h->o;

	recent_age(&o->recent, o->mono_ns);
	return o->recent.used &&
	       resolve_name(&o->resolver, &o->tree, t, AT_FDCWD, v->path,
			    v->path_len, &o->name) == 0 &&
	       recent_has(&o->recent, o->name.data, o->name.len);
}

/* The content that was read does not exist any more. */
static struct stat which_file(const struct stat *st)
{
	return (struct stat){
		.st_dev = st->st_dev,
		.st_ino = st->st_ino,
		.st_mode = st->st_mode,
	};
}

void log_opens_read(struct hybrid *h, struct tracee *t,
		    const struct log_view *v)
{
	struct observer *o = &h->o;
	int64_t birth_ns;
	struct stat st;
	int r;

	if (is_recent(h, t, v)) {
		st = (struct stat){ .st_mode = S_IFREG };
		call_emit(o, t, EVENT_OPEN, EVENT_READ, 0, &st, &o->name, NULL);
		return;
	}
	r = find_file(h, t, v->path, v->path_len, &st, &birth_ns);
	if (r < 0) {
		not_found(h, t, r, v->path, EVENT_READ);
		return;
	}
	if (S_ISDIR(st.st_mode))
		return;
	if (is_changed_since(h, &st, v->time_ns) && !is_own(h, &st, birth_ns)) {
		call_gap(o, t, EVENT_GAP_CHANGED, o->name.data);
		if (h->late)
			st = which_file(&st);
	}
	call_emit(o, t, EVENT_OPEN, EVENT_READ, 0, &st, &o->name, NULL);
}

/* Did this open create the file? */
static bool is_created(const struct hybrid *h, const struct intent *i,
		       int64_t birth_ns)
{
	const struct str *name = &h->o.name;

	if ((i->flags & O_CREAT) && (i->flags & O_EXCL))
		return true;
	if (!(i->flags & O_CREAT) || !birth_ns || birth_ns < i->time_ns)
		return false;
	return !written_has(&h->written, written_name(name->data, name->len));
}

static void on_write(struct hybrid *h, struct tracee *t, const struct intent *i)
{
	struct observer *o = &h->o;
	unsigned flags = EVENT_WRITE;
	int64_t birth_ns = 0;
	struct stat st = { 0 };
	int r = find_file(h, t, str_cstr(&i->path), i->path.len, &st,
			  &birth_ns);

	if ((i->flags & O_ACCMODE) == O_RDWR)
		flags |= EVENT_READ;
	if (r < 0) {
		not_found(h, t, r, str_cstr(&i->path), flags | EVENT_TRUNC);
		return;
	}
	h->current.time_ns = i->time_ns;
	if (is_created(h, i, birth_ns)) {
		call_emit(o, t, EVENT_OPEN, flags | EVENT_CREATE, 0, NULL,
			  &o->name, NULL);
		(void)written_add(&h->written,
				  written_file(st.st_dev, st.st_ino));
		if (S_ISREG(st.st_mode))
			recent_add(&o->recent, o->name.data, o->name.len);
	} else {
		if (S_ISREG(st.st_mode))
			flags |= EVENT_TRUNC;
		call_emit(o, t, EVENT_OPEN, flags, 0, &st, &o->name, NULL);
	}
	h->current.time_ns = 0;
}

/* ---- intents and results ---- */

static void drop_intent(struct hybrid *h, size_t at)
{
	assert(at < h->intents.n);
	str_release(&h->intents.list[at].path);
	h->intents.list[at] = h->intents.list[--h->intents.n];
}

/* Its result will not come: the state of the file decides.  A file that does not exist
 * was not created, or another process has moved it. */
static void decide(struct hybrid *h, struct tracee *t, const struct intent *i)
{
	int64_t birth_ns;
	struct stat st = { 0 };
	int r = find_file(h, t, str_cstr(&i->path), i->path.len, &st,
			  &birth_ns);

	if (r == 0 && clock_timespec_ns(st.st_ctim) >= i->time_ns)
		on_write(h, t, i);
	else if (r < 0 && !call_must_fail(r))
		call_gap(&h->o, t, EVENT_GAP_LOST, str_cstr(&i->path));
}

void log_opens_intent(struct hybrid *h, struct tracee *t,
		      const struct log_view *v)
{
	struct intent *i;

	if (h->intents.n >= INTENTS_MAX) {
		decide(h, t, &h->intents.list[0]);
		drop_intent(h, 0);
	}
	i = VEC_PUSH(h->intents.list, h->intents.n, h->intents.cap);
	if (!i) {
		call_gap(&h->o, t, EVENT_GAP_MEMORY, NULL);
		return;
	}
	i->cell = (uint32_t)v->cell;
	i->process = v->process;
	i->flags = v->flags;
	i->time_ns = v->time_ns;
	str_add(&i->path, v->path, v->path_len);
}

void log_opens_result(struct hybrid *h, struct tracee *t,
		      const struct log_view *v)
{
	/* The latest one, usually. */
	for (size_t at = h->intents.n; at-- > 0;) {
		const struct intent *i = &h->intents.list[at];

		if (i->cell != v->other || i->process != v->process)
			continue;
		if (v->value >= 0)
			on_write(h, t, i);
		drop_intent(h, at);
		return;
	}
}

void log_opens_release(struct hybrid *h)
{
	for (size_t i = 0; i < h->intents.n; i++)
		str_release(&h->intents.list[i].path);
	free(h->intents.list);
}

static void abandon(struct hybrid *h, size_t at)
{
	const struct intent *i = &h->intents.list[at];
	struct member *owner = member_of_teller(h, i->process);
	struct tracee *t = owner ? tree_find(&h->o.tree, owner->pid) : NULL;

	if (t)
		decide(h, t, i);
	else if ((t = tree_find(&h->o.tree, h->o.root)))
		call_gap(&h->o, t, EVENT_GAP_LOST, str_cstr(&i->path));
	drop_intent(h, at);
}

void log_opens_abandon(struct hybrid *h, const struct member *m)
{
	for (size_t at = h->intents.n; at-- > 0;)
		if (!m || member_of_teller(h, h->intents.list[at].process) == m)
			abandon(h, at);
}

static bool find_orphans(struct hybrid *h)
{
	bool found = false;

	for (size_t at = 0; at < h->intents.n; at++) {
		struct intent *i = &h->intents.list[at];
		const struct member *m = member_of_teller(h, i->process);

		i->orphan = m && member_is_gone(m->pid);
		found |= i->orphan;
	}
	return found;
}

void log_opens_abandon_gone(struct hybrid *h, bool reading)
{
	if (!find_orphans(h))
		return;
	if (!reading)
		log_records_drain(h, true);
	else if (!log_is_empty(&h->log))
		return;
	for (size_t at = h->intents.n; at-- > 0;)
		if (h->intents.list[at].orphan)
			abandon(h, at);
}

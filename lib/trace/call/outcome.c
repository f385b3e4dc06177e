/* outcome.c - see outcome.h */
#include "trace/call/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stamp.h"
#include "trace/call/call.h"

/* Stamps of files are as coarse as the kernel's tick. */
enum { TICK_NS = 10000000 };

/* No descriptor has this number: what was opened is known by its name. */
enum { NO_DESCRIPTOR = INT32_MAX };

/* The file of a name. */
enum found { NOTHING, THIS_FILE, ANOTHER, HIDDEN };

static enum found look(const struct str *path, const struct stat *file,
		       struct stat *ret)
{
	if (!path->len)
		return NOTHING;
	if (lstat(path->data, ret) < 0)
		return call_must_fail(-errno) ? NOTHING : HIDDEN;
	return stat_same_file(ret, file) ? THIS_FILE : ANOTHER;
}

static bool is_changed(const struct pending *w, const struct stat *st)
{
	return clock_timespec_ns(st->st_ctim) >= w->entry_ns - TICK_NS;
}

static enum outcome of_rename(const struct pending *w)
{
	struct stat st;

	if (look(&w->path, &w->before, &st) == THIS_FILE)
		return OUTCOME_NOT_DONE;
	/* Under neither name: another process has moved it, before the call or after. */
	return look(&w->path2, &w->before, &st) == THIS_FILE ? OUTCOME_DONE :
							       OUTCOME_UNKNOWN;
}

static enum outcome of_link(const struct pending *w)
{
	struct stat st;
	enum found now = look(&w->path2, &w->before, &st);

	if (now == HIDDEN)
		return OUTCOME_UNKNOWN;
	return outcome_if(now == THIS_FILE && is_changed(w, &st));
}

static enum outcome of_symlink(const struct pending *w)
{
	char text[PATH_MAX];
	struct stat st;
	enum found now = look(&w->path2, &call_no_file, &st);
	ssize_t n;

	if (now == HIDDEN)
		return OUTCOME_UNKNOWN;
	if (now == NOTHING || !is_changed(w, &st))
		return OUTCOME_NOT_DONE;
	n = readlink(str_cstr(&w->path2), text, sizeof(text));
	return outcome_if(n >= 0 && (size_t)n == w->path.len &&
			  memcmp(text, str_cstr(&w->path), (size_t)n) == 0);
}

static enum outcome of_unlink(const struct pending *w)
{
	struct stat st;
	enum found now = look(&w->path, &w->before, &st);

	return now == HIDDEN ? OUTCOME_UNKNOWN : outcome_if(now != THIS_FILE);
}

static enum outcome of_mknod(const struct pending *w)
{
	struct stat st;
	enum found now = look(&w->path, &call_no_file, &st);

	if (now == HIDDEN)
		return OUTCOME_UNKNOWN;
	return outcome_if(now != NOTHING && is_changed(w, &st));
}

static enum outcome of_truncate(const struct pending *w)
{
	struct stat st;

	if (look(&w->path, &w->before, &st) != THIS_FILE)
		return OUTCOME_UNKNOWN;
	return outcome_if(is_changed(w, &st));
}

static enum outcome of_open(const struct pending *w)
{
	bool existed = w->before.st_ino;
	enum found now;
	struct stat st;

	if (!w->path.len)
		return OUTCOME_UNKNOWN;
	now = look(&w->path, &w->before, &st);
	if (now == HIDDEN || (existed && now == NOTHING))
		return OUTCOME_UNKNOWN;
	if (!existed && now == NOTHING)
		return OUTCOME_NOT_DONE;
	if (!existed && (w->flags & O_CREAT))
		return OUTCOME_DONE;
	if (existed && (w->flags & O_TRUNC))
		return outcome_if(is_changed(w, &st));
	return OUTCOME_UNKNOWN;
}

enum outcome outcome_of(const struct pending *w)
{
	switch (w->call) {
	case CALL_OPEN:
		return of_open(w);
	case CALL_RENAME:
		return of_rename(w);
	case CALL_LINK:
		return of_link(w);
	case CALL_SYMLINK:
		return of_symlink(w);
	case CALL_UNLINK:
		return of_unlink(w);
	case CALL_MKNOD:
		return of_mknod(w);
	case CALL_TRUNCATE:
		return of_truncate(w);
	case CALL_UNSEEN:
		return OUTCOME_UNKNOWN;
	default:
		return OUTCOME_NOT_DONE;
	}
}

bool outcome_matters(const struct pending *w)
{
	uint64_t changes = w->before.st_ino ? O_TRUNC : O_CREAT | O_TRUNC;

	return w->call != CALL_OPEN || (w->flags & changes);
}

void outcome_tell(struct observer *o, struct tracee *t)
{
	const struct pending *w = &t->pending;
	enum outcome outcome;

	if (w->call == CALL_NONE)
		return;
	outcome = o->quiet ? OUTCOME_NOT_DONE : outcome_of(w);
	if (outcome == OUTCOME_UNKNOWN && outcome_matters(w))
		call_gap(o, t, EVENT_GAP_LOST,
			 "killed while it changed a name");
	if (outcome == OUTCOME_DONE)
		call_exit(o, t, NO_DESCRIPTOR);
	else
		call_forget(o, t);
}

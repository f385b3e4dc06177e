/* outcome.c - see outcome.h */
#include "trace/call/outcome.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/call/call.h"

/* Stamps of files are as coarse as the kernel's tick. */
enum { TICK_NS = 10000000 };

/* No descriptor has this number: what was opened is known by its name. */
enum { NO_DESCRIPTOR = INT32_MAX };

static bool look(const struct str *path, struct stat *ret)
{
	return path->len && lstat(path->data, ret) == 0;
}

static bool is_file(const struct str *path, const struct stat *file)
{
	struct stat st;

	return look(path, &st) && st.st_ino == file->st_ino &&
	       st.st_dev == file->st_dev;
}

static bool is_changed(const struct str *path, int64_t entry_ns)
{
	struct stat st;

	return look(path, &st) &&
	       clock_timespec_ns(st.st_ctim) >= entry_ns - TICK_NS;
}

static bool is_symlink(const struct str *path, const struct str *text)
{
	char buf[PATH_MAX];
	ssize_t n = readlink(str_cstr(path), buf, sizeof(buf));

	return n >= 0 && (size_t)n == text->len &&
	       memcmp(buf, text->data, text->len) == 0;
}

static bool has_opened(const struct pending *w)
{
	uint64_t changes = w->before.st_ino ? O_TRUNC : O_CREAT;

	return (w->flags & changes) && is_changed(&w->path, w->entry_ns);
}

static bool is_done(const struct pending *w)
{
	switch (w->call) {
	case CALL_OPEN:
		return has_opened(w);
	case CALL_RENAME:
		return is_file(&w->path2, &w->before) &&
		       !is_file(&w->path, &w->before);
	case CALL_LINK:
		return is_file(&w->path2, &w->before) &&
		       is_changed(&w->path2, w->entry_ns);
	case CALL_SYMLINK:
		return is_symlink(&w->path2, &w->path) &&
		       is_changed(&w->path2, w->entry_ns);
	case CALL_UNLINK:
		return !is_file(&w->path, &w->before);
	case CALL_MKNOD:
	case CALL_TRUNCATE:
		return is_changed(&w->path, w->entry_ns);
	default:
		return false;
	}
}

/* Is there no name to look at, although something may have changed? */
static bool is_unknown(const struct pending *w)
{
	return w->call == CALL_UNSEEN ||
	       (w->call == CALL_OPEN && !w->path.len &&
		(w->flags & (O_CREAT | O_TRUNC)));
}

void outcome_tell(struct observer *o, struct tracee *t)
{
	const struct pending *w = &t->pending;

	if (w->call == CALL_NONE)
		return;
	if (!o->quiet && is_unknown(w))
		call_gap(o, t, EVENT_GAP_LOST,
			 "killed while it changed a name");
	if (!o->quiet && is_done(w))
		call_exit(o, t, NO_DESCRIPTOR);
	else
		call_forget(o, t);
}

/* event.c - see event.h */
#include "event/event.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"

void event_set_paths(struct event *ev, const char *path, size_t path_len,
		     const char *path2, size_t path2_len)
{
	char *p = ev->paths;

	assert(path_len <= EVENT_PATH_MAX && path2_len <= EVENT_PATH_MAX);
	ev->size = event_size(path_len, path2_len);
	ev->path_len = (uint32_t)path_len;
	ev->path2_len = (uint32_t)path2_len;
	if (path_len)
		memcpy(p, path, path_len);
	p += path_len;
	*p++ = '\0';
	if (path2_len)
		memcpy(p, path2, path2_len);
	p += path2_len;
	memset(p, 0, (size_t)((char *)ev + ev->size - p));
}

static int strings_are_sound(const struct event *ev)
{
	const char *path = ev->paths;
	const char *path2 = path + ev->path_len + 1;

	return strnlen(path, ev->path_len + 1) == ev->path_len &&
	       strnlen(path2, ev->path2_len + 1) == ev->path2_len;
}

int64_t event_check(const void *data, size_t len)
{
	const struct event *ev = data;

	if (len < sizeof(ev->size) || ev->size == 0)
		return 0;
	if (ev->size < EVENT_SIZE_MIN || ev->size > EVENT_SIZE_MAX ||
	    ev->size % 8)
		return -EBADMSG;
	if (ev->size > len)
		return 0;
	if (ev->kind == 0 || ev->kind >= EVENT_KIND_END ||
	    ev->ftype >= EVENT_FTYPE_END)
		return -EBADMSG;
	if (ev->path_len > EVENT_PATH_MAX || ev->path2_len > EVENT_PATH_MAX)
		return -EBADMSG;
	if (event_size(ev->path_len, ev->path2_len) != ev->size)
		return -EBADMSG;
	return strings_are_sound(ev) ? (int64_t)ev->size : -EBADMSG;
}

enum event_ftype event_ftype_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return EVENT_FTYPE_REGULAR;
	case S_IFDIR:
		return EVENT_FTYPE_DIRECTORY;
	case S_IFLNK:
		return EVENT_FTYPE_SYMLINK;
	case S_IFIFO:
		return EVENT_FTYPE_FIFO;
	case S_IFSOCK:
		return EVENT_FTYPE_SOCKET;
	case S_IFCHR:
	case S_IFBLK:
		return EVENT_FTYPE_DEVICE;
	default:
		return EVENT_FTYPE_NONE;
	}
}

const char *event_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[EVENT_FORK] = "fork",	       [EVENT_EXEC] = "exec",
		[EVENT_EXIT] = "exit",	       [EVENT_OPEN] = "open",
		[EVENT_RENAME] = "rename",     [EVENT_LINK] = "link",
		[EVENT_SYMLINK] = "symlink",   [EVENT_UNLINK] = "unlink",
		[EVENT_TRUNCATE] = "truncate", [EVENT_CLOSE] = "close",
		[EVENT_GAP] = "gap",	       [EVENT_MOUNT] = "mount",
		[EVENT_UNMOUNT] = "unmount",
	};

	return kind < EVENT_KIND_END && names[kind] ? names[kind] : "?";
}

static const struct {
	const char *name;
	const char *text;
} gaps[] = {
	[EVENT_GAP_UNTRACED] = { "untraced", "the command was not observed" },
	[EVENT_GAP_IO_URING] = { "io_uring",
				 "a process used io_uring, whose file "
				 "operations the tracer could not see" },
	[EVENT_GAP_ESCAPED] = { "escaped", "a process left the trace" },
	[EVENT_GAP_NAMESPACE] = { "namespace",
				  "a process entered another mount namespace" },
	[EVENT_GAP_PATH] = { "path", "a path could not be resolved" },
	[EVENT_GAP_SETUID] = { "setuid", "a set-uid program ran without its "
					 "privilege" },
	[EVENT_GAP_OUTLIVED] = { "outlived",
				 "a process went on after the record ended" },
	[EVENT_GAP_UNREADABLE] = { "unreadable",
				   "content could not be read to identify it" },
	[EVENT_GAP_CHANGED] = { "changed",
				"content changed while the run used it" },
	[EVENT_GAP_JOURNAL] = { "journal", "the run journal could not be "
					   "written" },
	[EVENT_GAP_INTERRUPTED] = { "interrupted",
				    "roar was killed during the run; the "
				    "record comes from its journal" },
	[EVENT_GAP_HANDLE] = { "handle", "a file was opened by handle and its "
					 "name is unknown" },
	[EVENT_GAP_MEMORY] = { "memory", "memory ran out and events were "
					 "dropped" },
	[EVENT_GAP_LATE] = { "late", "the record could only be made later, from "
				     "the journal" },
	[EVENT_GAP_LIBRARY] = { "library",
				"only calls of the C library were seen" },
	[EVENT_GAP_PROXY] = { "proxy", "the S3 proxy did not run to the end of "
				       "the command" },
	[EVENT_GAP_REQUEST] = { "request",
				"a request to an object did not finish, and "
				"its effect is unknown" },
	[EVENT_GAP_OBJECT_LOG] = { "object_log", "the log of the S3 proxy "
						 "could not be read" },
	[EVENT_GAP_PYTHON] = { "python",
			       "only files that Python itself opened "
			       "in one process were seen, not those of "
			       "extensions and other processes" },
	[EVENT_GAP_NODE] = { "node", "records of other nodes are missing" },
	[EVENT_GAP_LOST] = { "lost", "the tracer lost events" },
};

const char *event_gap_text(unsigned gap)
{
	if (gap >= ARRAY_SIZE(gaps) || !gaps[gap].text)
		return "something was not observed";
	return gaps[gap].text;
}

const char *event_gap_name(unsigned gap)
{
	if (gap >= ARRAY_SIZE(gaps) || !gaps[gap].name)
		return "unknown";
	return gaps[gap].name;
}

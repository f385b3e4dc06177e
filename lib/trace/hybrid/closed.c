/* closed.c - files that were closed before they were watched
 *
 * The job watches the directory of a file from the moment it learns that the run writes
 * there, and the watch reports when the file is closed.  The tracer reads an open a
 * little late, so the first files in a directory may be closed by then.  This file
 * finds them and sends EVENT_CLOSE.
 *
 * A closed descriptor proves nothing, since the file may be open as another one (the
 * shell's redirections), in a child, or be mapped.  So all processes of the run are
 * examined, and their children that have not reported yet; a file that none of them can
 * write to is closed.  One examination serves for all records before it.  A lease would
 * be simpler, but other processes would notice it.  Where there are many processes, or
 * one cannot be examined, files are hashed at the end. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "event/event.h"
#include "trace/hybrid/hybrid_internal.h"

enum {
	PATH_LEN_MAX = 4096,
	FEW = 24, /* the most processes to examine */
	MAPS_MAX = 1024 * 1024,
};

static bool may_write(pid_t pid, int fd)
{
	unsigned flags;

	return call_descriptor_flags(pid, fd, &flags) < 0 ||
	       (flags & O_ACCMODE) != O_RDONLY;
}

/* Notes the files that the process has open for writing; false when that is not
 * visible. */
static bool note_descriptors(struct hybrid *h, pid_t pid)
{
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(pid, "fd").text);
	struct dirent *entry;
	struct stat st;

	if (!dir)
		return member_is_gone(pid);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode) &&
		    may_write(pid, atoi(entry->d_name)) &&
		    written_add(&h->closed.writable,
				written_file(st.st_dev, st.st_ino)) < 0)
			return false;
	return true;
}

/* The same for files that it has mapped. */
static bool note_mappings(struct hybrid *h, pid_t pid)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char *line, *rest = NULL;

	if (fd_read_file(AT_FDCWD, proc_path(pid, "maps").text, MAPS_MAX,
			 &text) < 0)
		return member_is_gone(pid);
	for (line = text.len ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		unsigned major, minor;
		unsigned long ino;
		char rights[5];

		if (sscanf(line, "%*x-%*x %4s %*x %x:%x %lu", rights, &major,
			   &minor, &ino) == 4 &&
		    rights[3] == 's' &&
		    written_add(&h->closed.writable,
				written_file(makedev(major, minor), ino)) < 0)
			return false;
	}
	return true;
}

static bool note(struct hybrid *h, pid_t pid)
{
	return note_descriptors(h, pid) && note_mappings(h, pid);
}

/* Children that have not reported themselves.  Those of threads other than the first
 * are reported late, too; that is rare, and the kernel has no list of all. */
static bool note_children(struct hybrid *h, pid_t pid)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char *p, *end;

	if (fd_read_file(AT_FDCWD, proc_path(pid, "task/%d/children", pid).text,
			 65536, &text) < 0)
		return true;
	for (p = (char *)str_cstr(&text);; p = end) {
		pid_t child = (pid_t)strtol(p, &end, 10);

		if (end == p)
			return true;
		if (!map_get(&h->members, &child, sizeof(child)) &&
		    !note(h, child))
			return false;
	}
}

static bool look_at_all(struct hybrid *h)
{
	struct member *m;
	size_t pos = 0;

	/* Records that are in the log by now happened before the examination. */
	h->closed.cell = atomic_load(&h->log.header->head);
	written_release(&h->closed.writable);
	if (h->members.count > FEW)
		return false;
	while ((m = map_next(&h->members, &pos)))
		if (!note(h, m->pid) || !note_children(h, m->pid))
			return false;
	return true;
}

/* Does no process of the run write to the file?  False when that cannot be known. */
static bool is_quiet(struct hybrid *h, const char *path)
{
	struct stat st;

	if (!h->current.time_ns || h->view.cell >= h->closed.cell)
		h->closed.known = look_at_all(h);
	return h->closed.known && lstat(path, &st) == 0 &&
	       S_ISREG(st.st_mode) &&
	       !written_has(&h->closed.writable,
			    written_file(st.st_dev, st.st_ino));
}

static void tell_closed(struct hybrid *h, const struct event *opened)
{
	_Alignas(struct event) char buf[EVENT_HEADER + PATH_LEN_MAX + 16];
	struct event *ev = (struct event *)buf;

	memset(ev, 0, EVENT_HEADER);
	ev->kind = EVENT_CLOSE;
	ev->pid = opened->pid;
	ev->time_ns = opened->time_ns;
	event_set_paths(ev, event_path(opened), opened->path_len, "", 0);
	h->o.job->sink(h->o.job->ctx, ev);
}

/* Was its directory watched when the file was opened?  It is from now on. */
static bool is_watched(struct hybrid *h, const struct event *ev)
{
	const char *path = event_path(ev);
	const char *slash = memrchr(path, '/', ev->path_len);
	uint64_t dir = written_name(path, slash ? (size_t)(slash - path) : 0);
	struct watched *w = &h->closed.watched[(dir >> 1) % WATCHED];

	if (w->dir != dir) {
		w->dir = dir;
		w->since_ns = clock_now_ns();
		return false;
	}
	return !h->current.time_ns || h->current.time_ns > w->since_ns;
}

void closed_check(struct hybrid *h, const struct event *ev)
{
	if (ev->ftype > EVENT_FTYPE_REGULAR || ev->path_len > PATH_LEN_MAX ||
	    (ev->flags & (EVENT_TMPFILE | EVENT_INHERITED)))
		return;
	/* Before the call it is not even open. */
	if (!is_watched(h, ev) && !h->current.entering &&
	    is_quiet(h, event_path(ev)))
		tell_closed(h, ev);
}

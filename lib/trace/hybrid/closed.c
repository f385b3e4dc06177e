/* closed.c - files that were closed before anybody watched them
 *
 * The job watches the directory of a file from the moment it hears that the run
 * writes there, and learns from that watch when the file is closed.  We hear of an
 * open a little late, so the first files in a directory may be closed by then: that
 * is looked for here, and told with EVENT_CLOSE.
 *
 * A descriptor that is gone proves nothing, since the file may be open as another
 * one (the shell's redirections) or be mapped.  The kernel knows: it grants a read
 * lease on a file only when nobody has it open for writing.  The lease is given
 * back at once; where there are no leases, the file is hashed at the end. */
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "event/event.h"
#include "trace/hybrid/hybrid_internal.h"

enum { PATH_LEN_MAX = 4096 };

/* Is nobody writing to it?  False when that cannot be known. */
static bool is_quiet(const char *path)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				    O_NOCTTY);

	if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return false;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
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

/* Was its directory watched when the file was opened?  From now on it is. */
static bool is_watched(struct hybrid *h, const struct event *ev)
{
	const char *path = event_path(ev);
	const char *slash = memrchr(path, '/', ev->path_len);
	uint64_t dir = written_name(path, slash ? (size_t)(slash - path) : 0);
	struct watched *w = &h->watched[(dir >> 1) % WATCHED];

	if (w->dir != dir) {
		w->dir = dir;
		w->since_ns = clock_now_ns();
		return false;
	}
	return !h->told_ns || h->told_ns > w->since_ns;
}

void closed_check(struct hybrid *h, const struct event *ev)
{
	if (ev->ftype > EVENT_FTYPE_REGULAR || ev->path_len > PATH_LEN_MAX ||
	    (ev->flags & (EVENT_TMPFILE | EVENT_INHERITED)))
		return;
	if (!is_watched(h, ev) && is_quiet(event_path(ev)))
		tell_closed(h, ev);
}

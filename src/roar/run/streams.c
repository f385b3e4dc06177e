/* streams.c - see streams.h */
#include "run/streams.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "run/run.h"

/* The flags of an open descriptor as flags of an event; 0: unknown. */
static unsigned access_of(int32_t pid, int fd)
{
	char name[32];
	char text[128];
	const char *at;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_read(pid, name, text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, "flags:");
	if (!at)
		return 0;
	switch (strtoul(at + strlen("flags:"), NULL, 8) & O_ACCMODE) {
	case O_RDONLY:
		return EVENT_READ;
	case O_WRONLY:
		return EVENT_WRITE;
	default:
		return EVENT_READ | EVENT_WRITE;
	}
}

static bool is_from_the_run(const struct run *run, const char *path)
{
	const struct lineage_file *f = fold_find(run->fold, path);

	return f && f->ftype == EVENT_FTYPE_REGULAR &&
	       !(f->seen & LINEAGE_INHERITED);
}

static void note(struct run *run, int32_t pid, int fd, int64_t time_ns)
{
	struct event *ev = run->scratch_event;
	char name[32];
	char path[4096];
	ssize_t len;

	(void)snprintf(name, sizeof(name), "fd/%d", fd);
	len = proc_readlink(pid, name, path, sizeof(path));
	if (len <= 0 || path[0] != '/' || !is_from_the_run(run, path))
		return;
	*ev = (struct event){
		.kind = EVENT_OPEN,
		.ftype = EVENT_FTYPE_REGULAR,
		.flags = (uint16_t)(EVENT_PASSED | access_of(pid, fd)),
		.pid = pid,
		.time_ns = time_ns,
	};
	event_set_paths(ev, path, (size_t)len, "", 0);
	intake_event(run, ev);
}

void streams_note(struct run *run, int32_t pid, int64_t time_ns)
{
	if (run->options.tracer->streams)
		return;
	for (int fd = 0; fd <= 2; fd++)
		note(run, pid, fd, time_ns);
}

/* self_events.c - see self_events.h */
#include "run/self_events.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "event/self_report.h"
#include "run/run.h"

struct replay {
	struct run *run;
	struct event *event; /* EVENT_SIZE_MAX bytes */
	int32_t pid;
	int64_t time_ns; /* of the last operation */
};

/* The name without symbolic links.  `follow`: of the file that it leads to. */
static void resolve(const char *path, bool follow, struct str *out)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	char real[PATH_MAX];

	if (follow && realpath(path, real)) {
		str_adds(out, real);
		return;
	}
	path_dirname(&dir, path);
	if (dir.failed || !realpath(dir.data, real)) {
		path_normalize(out, "/", path);
		return;
	}
	str_addf(out, "%s/%s", strcmp(real, "/") ? real : "",
		 path_basename(path));
}

static void fold_event(struct replay *p, const struct event *head,
		       const char *path, const char *path2)
{
	struct fold_change change;

	if (strlen(path) > EVENT_PATH_MAX || strlen(path2) > EVENT_PATH_MAX) {
		fold_add_gap(p->run->fold, EVENT_GAP_PATH, "");
		return;
	}
	memcpy(p->event, head, EVENT_HEADER);
	p->event->pid = p->pid;
	p->event->time_ns = p->time_ns;
	event_set_paths(p->event, path, strlen(path), path2, strlen(path2));
	(void)fold_add(p->run->fold, p->event, &change);
	intake_moved_dir(p->run, p->event);
}

/* The text of a symbolic link stays as it is. */
static const struct {
	uint8_t event;
	bool follow; /* path is that of the file a link leads to */
	bool is_text;
} kinds[] = {
	[SELF_REPORT_OPEN] = { EVENT_OPEN, true, false },
	[SELF_REPORT_RENAME] = { EVENT_RENAME, false, false },
	[SELF_REPORT_LINK] = { EVENT_LINK, false, false },
	[SELF_REPORT_SYMLINK] = { EVENT_SYMLINK, false, true },
	[SELF_REPORT_REMOVE] = { EVENT_UNLINK, false, false },
};

/* What moved, or was linked, is now at the new name; a report has no stamp of it. */
static void find_moved(const char *path2, struct event *head)
{
	struct stat st;

	if (lstat(path2, &st) < 0)
		return;
	head->before = stamp_of(&st);
	head->ftype = (uint8_t)event_ftype_of(st.st_mode);
}

/* A file that was opened for reading was not examined: if its status has not changed since,
 * it is what it was.  Else its stamp is one that it never has. */
static void examine_now(const char *path, int64_t opened_ns, struct event *head)
{
	struct stat st;

	head->ftype = EVENT_FTYPE_REGULAR;
	if (stat(path, &st) < 0)
		return;
	head->before = stamp_of(&st);
	head->ftype = (uint8_t)event_ftype_of(st.st_mode);
	if (head->before.ctime_ns > opened_ns)
		head->before.ctime_ns = head->before.mtime_ns = 0;
}

/* An open is reported before it succeeds or fails: one that has left the file as it was did
 * not empty it. */
static void check_emptied(const char *path, struct event *head)
{
	struct stamp now = { 0 };
	struct stat st;

	if (lstat(path, &st) == 0)
		now = stamp_of(&st);
	if (stamp_exists(&head->before) && stamp_equal(&now, &head->before))
		head->flags &= (uint16_t)~EVENT_TRUNC;
}

static int replay_item(struct replay *p, const struct self_report_item *item)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str path2 = STR_INIT;
	struct event head = {
		.kind = kinds[item->kind].event,
		.flags = (uint16_t)item->flags,
		.before = item->stamp,
		.ftype = item->mode ? (uint8_t)event_ftype_of(item->mode) :
				      EVENT_FTYPE_NONE,
	};

	if (kinds[item->kind].is_text)
		str_adds(&path, item->path);
	else
		resolve(item->path, kinds[item->kind].follow, &path);
	if (item->path2)
		resolve(item->path2, false, &path2);
	if (path.failed || path2.failed)
		return -ENOMEM;
	if (item->kind == SELF_REPORT_OPEN) {
		p->time_ns = item->number;
		if (item->flags == EVENT_READ && !item->mode)
			examine_now(str_cstr(&path), p->time_ns, &head);
		check_emptied(str_cstr(&path), &head);
	} else if (item->kind != SELF_REPORT_REMOVE) {
		find_moved(str_cstr(&path2), &head);
	}
	fold_event(p, &head, str_cstr(&path), str_cstr(&path2));
	return 0;
}

int self_events_fold(struct run *run, const char *text, size_t len, int32_t pid,
		     int64_t started_ns)
{
	CLEANUP(freep) struct event *event = malloc(EVENT_SIZE_MAX);
	struct replay replay = { .run = run,
				 .event = event,
				 .pid = pid,
				 .time_ns = started_ns };
	struct self_report report = self_report_of(text, len);
	const struct event start = { .kind = EVENT_FORK, .flags = EVENT_ROOT };
	struct self_report_item item;
	int r = 0;

	if (!event)
		return -ENOMEM;
	fold_event(&replay, &start, "", "");
	while (r == 0 && self_report_next(&report, &item) > 0) {
		if (item.kind == SELF_REPORT_GAP)
			fold_add_gap(run->fold, EVENT_GAP_PYTHON, item.path);
		else if (item.kind >= SELF_REPORT_OPEN)
			r = replay_item(&replay, &item);
	}
	return r;
}

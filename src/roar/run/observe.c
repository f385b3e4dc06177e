/* observe.c - what happens to an event while the command runs
 *
 *	event ─▶ redact ─▶ journal ─▶ fold ─▶ news?
 *				               input  ─▶ hash in the background
 *				               closed ─▶ hash in the background
 *
 * The order matters: nothing secret reaches the disk, and what the fold has
 * taken is in the journal already. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/journal.h"
#include "hash/hasher.h"
#include "lineage/redact.h"
#include "run/hashes.h"
#include "run/made.h"
#include "run/run.h"
#include "run/watch.h"

enum {
	/* Early results kept in memory; the rest is hashed at the end. */
	EARLY_MAX = 8192,
	/* An input that is about to be overwritten is hashed at once, while its
	 * writer waits; this much of it (some 20 ms). */
	URGENT_BYTES = 64 * 1024 * 1024,
	HELD_MAX = 64, /* larger inputs kept open in one run */
};

/* ---- journal ---- */

static bool is_known_read(const struct lineage_file *f, const struct event *ev)
{
	if (ev->flags & EVENT_WRITE)
		return false;
	if (f->own)
		return f->seen & LINEAGE_READ_OWN;
	return (f->seen & LINEAGE_READ_PRIOR) &&
	       stamp_equal(&f->first, &ev->before);
}

/* Opening a file of its own for writing again changes no fact either, but an early
 * hash may be void. */
static bool is_known_write(const struct lineage_file *f, const struct event *ev)
{
	return f->own && (ev->flags & EVENT_WRITE) &&
	       !(ev->flags & EVENT_CREATE) &&
	       (!(ev->flags & EVENT_READ) || (f->seen & LINEAGE_READ_OWN));
}

enum known { UNKNOWN, KNOWN_READ, KNOWN_WRITE };

/* What teaches nothing new keeps out of the journal, which is then as small as the
 * number of files, however often they are opened. */
static enum known how_known(const struct run *run, const struct event *ev)
{
	const struct lineage_file *f;

	if (ev->kind != EVENT_OPEN)
		return UNKNOWN;
	f = fold_find(run->fold, event_path(ev));
	if (!f)
		return UNKNOWN;
	if (is_known_read(f, ev))
		return KNOWN_READ;
	return is_known_write(f, ev) ? KNOWN_WRITE : UNKNOWN;
}

/* The same event with its command line redacted. */
static const struct event *redacted(struct run *run, const struct event *ev)
{
	struct event *copy = run->scratch_event;

	str_clear(&run->scratch);
	redact_text(run->redact, event_path2(ev), ev->path2_len, &run->scratch);
	if (str_error(&run->scratch) < 0 || run->scratch.len > EVENT_PATH_MAX)
		str_clear(&run->scratch);
	*copy = *ev;
	event_set_paths(copy, event_path(ev), ev->path_len,
			str_cstr(&run->scratch), run->scratch.len);
	return copy;
}

static void write_journal(struct run *run, const struct event *ev)
{
	int r;

	if (!run->journal)
		return;
	r = journal_append(run->journal, ev);
	if (r == 0)
		return;
	fold_add_gap(run->fold, EVENT_GAP_JOURNAL, strerror(-r));
	journal_close(run->journal);
	run->journal = NULL;
}

/* ---- early hashing ---- */

static bool is_filtered(const struct run *run, const struct lineage_file *f)
{
	bool written = f->own || (f->seen & LINEAGE_OPENED_WRITE);

	return filter_match(&run->filters, f->path, written) != FILTER_NONE;
}

/* A large input may be removed or replaced before its turn comes; an open
 * descriptor keeps its content. */
static int hold(struct run *run, const struct lineage_file *f, const char *path)
{
	int fd;

	if (f->first.size <= URGENT_BYTES || run->n_held >= HELD_MAX)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	run->n_held += fd >= 0;
	return fd;
}

static void hash_early(struct run *run, struct lineage_file *f,
		       enum outcome_side side, const char *path)
{
	int fd = -1;

	if (run->n_early >= EARLY_MAX || f->ftype > EVENT_FTYPE_REGULAR ||
	    is_filtered(run, f))
		return;
	/* It may be mapped: a page that is dirty already changes without any
	 * trace in the stamp. */
	if (side == OUTCOME_OUTPUT && (f->seen & RUN_MAPPABLE))
		return;
	if (side == OUTCOME_INPUT)
		fd = hold(run, f, path);
	if (hashes_submit(run, f, side, path, fd))
		run->n_early++;
	else if (fd >= 0)
		(void)close(fd);
}

static void watch_written(struct run *run, const struct lineage_file *f)
{
	if (!run->watch && watch_new(&run->watch) < 0)
		return;
	if (is_filtered(run, f))
		return;
	watch_add(run->watch, f->path, f->path_len);
	run->n_writing++;
	run->n_idle_ticks = 0;
}

static bool is_write(const struct event *ev)
{
	return ev->kind == EVENT_OPEN && (ev->flags & EVENT_WRITE) &&
	       ev->ftype <= EVENT_FTYPE_REGULAR;
}

static void act(struct run *run, const struct event *ev,
		const struct fold_change *change)
{
	struct lineage_file *f = change->file;

	if (change->news == FOLD_INPUT)
		hash_early(run, f, OUTCOME_INPUT, change->at->path);
	else if (change->news == FOLD_CLOSED)
		hash_early(run, f, OUTCOME_OUTPUT, f->path);
	if (is_write(ev)) {
		f = fold_find(run->fold, event_path(ev));
		if (f && (ev->flags & EVENT_READ))
			f->seen |= RUN_MAPPABLE;
		if (f)
			watch_written(run, f);
	}
}

static void note_made(struct run *run, const struct event *ev)
{
	if (!run->made)
		return;
	if (ev->kind == EVENT_OPEN && (ev->flags & EVENT_CREATE))
		made_add(run->made, event_path(ev), ev->path_len);
	else if (ev->kind == EVENT_RENAME || ev->kind == EVENT_LINK ||
		 ev->kind == EVENT_SYMLINK)
		made_add(run->made, event_path2(ev), ev->path2_len);
}

/* What a renamed directory holds has moved along, seen or not. */
void observe_moved_dir(struct run *run, const struct event *ev)
{
	enum { MOVED_MAX = 10000 };
	struct moved_dir *m = NULL;

	if (ev->kind != EVENT_RENAME || ev->ftype != EVENT_FTYPE_DIRECTORY)
		return;
	if (run->n_moved < MOVED_MAX)
		m = VEC_PUSH(run->moved, run->n_moved, run->cap_moved);
	if (!m) {
		fold_add_gap(run->fold, EVENT_GAP_PATH,
			     "too many directories were renamed");
		return;
	}
	m->from = pool_dup(&run->pool, event_path(ev), ev->path_len);
	m->to = pool_dup(&run->pool, event_path2(ev), ev->path2_len);
	if (!m->from || !m->to)
		run->n_moved--;
}

void observe_event(void *ctx, const struct event *ev)
{
	struct fold_change change = { .news = FOLD_NOTHING };
	struct run *run = ctx;
	enum known known = how_known(run, ev);

	if (known == KNOWN_READ)
		return;
	if (ev->kind == EVENT_EXEC && ev->path2_len)
		ev = redacted(run, ev);
	if (known == UNKNOWN)
		write_journal(run, ev);
	note_made(run, ev);
	if (fold_add(run->fold, ev, &change) < 0)
		return; /* the fold has noted the gap */
	observe_moved_dir(run, ev);
	act(run, ev, &change);
}

/* An input is about to change.  Its digest must be of the content that was
 * read: wait for it, unless it is so large that its writer would notice. */
void observe_before_change(void *ctx, const char *path, size_t len,
			   const struct stamp *stamp)
{
	struct run *run = ctx;
	struct lineage_file *f = fold_find(run->fold, path);
	struct outcome *o;

	(void)len;
	if (!f || !(f->seen & LINEAGE_READ_PRIOR) || f->own)
		return;
	o = hashes_find(f, OUTCOME_INPUT);
	if (!o || !o->pending)
		return;
	if (stamp->size <= URGENT_BYTES)
		hashes_collect(run, o);
}

static void on_closed(void *ctx, const char *path, size_t len)
{
	_Alignas(struct event) char buf[EVENT_HEADER + 4096 + 16];
	struct event *ev = (struct event *)buf;
	struct run *run = ctx;

	if (len > 4096 || !fold_find(run->fold, path))
		return;
	if (run->n_writing)
		run->n_writing--;
	run->n_idle_ticks = 0;
	memset(ev, 0, EVENT_HEADER);
	ev->kind = EVENT_CLOSE;
	event_set_paths(ev, path, len, "", 0);
	observe_event(run, ev);
}

/* Files that stay open for hours (logs) must not keep us awake: the less
 * happens, the rarer the look. */
unsigned observe_tick(void *ctx)
{
	struct run *run = ctx;

	if (!run->watch)
		return 0;
	run->n_idle_ticks++;
	watch_read(run->watch, on_closed, run);
	if (!run->n_writing)
		return 0;
	return run->n_idle_ticks < 20 ? 100 : 2000;
}

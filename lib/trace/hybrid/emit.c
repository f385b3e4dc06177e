/* emit.c - what must be remembered of events that were sent to the job
 *
 * Base names that were read (so that programs ask before they write to one), files that
 * the run has written to, and the directories of processes when a directory moves. */
#include <string.h>

#include "trace/hybrid/hybrid_internal.h"

/* ---- the base names of files that were read ---- */

static void set_read(struct hybrid *h, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;
	uint32_t bit = log_name_bit(name, (size_t)(path + len - name));
	_Atomic uint64_t *words = (void *)((char *)h->log.header + LOG_NAMES_AT);
	uint64_t mask = UINT64_C(1) << bit % 64;

	if (!(atomic_load_explicit(&words[bit / 64], memory_order_relaxed) &
	      mask))
		atomic_fetch_or(&words[bit / 64], mask);
}

static void note_written(struct hybrid *h, const struct event *ev)
{
	(void)written_add(&h->written,
			  written_name(event_path(ev), ev->path_len));
	if (ev->before.ino)
		(void)written_add(&h->written,
				  written_file(ev->before.dev, ev->before.ino));
}

static void note_moved(struct hybrid *h, const struct event *ev)
{
	uint64_t from = written_name(event_path(ev), ev->path_len);
	uint64_t to = written_name(event_path2(ev), ev->path2_len);
	bool was_written;

	set_read(h, event_path2(ev), ev->path2_len);
	/* A file that had no name was created by the run. */
	was_written = !ev->path_len || written_has(&h->written, from);
	if ((ev->flags & EVENT_EXCHANGE) && written_has(&h->written, to))
		(void)written_add(&h->written, from);
	else if (was_written && ev->kind == EVENT_RENAME)
		written_remove(&h->written, from);
	if (was_written)
		(void)written_add(&h->written, to);
}

/* `cwd` is below the directory `from`, whose name is now `to`. */
static bool move_cwd(struct str *cwd, const char *from, size_t from_len,
		     const char *to, size_t to_len)
{
	struct str moved = STR_INIT;

	if (cwd->len < from_len || memcmp(cwd->data, from, from_len) != 0 ||
	    (cwd->len > from_len && cwd->data[from_len] != '/'))
		return false;
	str_add(&moved, to, to_len);
	str_add(&moved, cwd->data + from_len, cwd->len - from_len);
	str_release(cwd);
	*cwd = moved;
	return true;
}

/* A directory was renamed, and with it the current directories of processes in it.
 * These may have ended before /proc can be read. */
static void move_places(struct hybrid *h, const struct event *ev)
{
	size_t pos = 0;
	struct tracee *t;

	h->dirs_moved = true;
	while ((t = map_next(&h->o.tree.tracees, &pos))) {
		if (!t->cwd_told)
			continue;
		if (!move_cwd(&t->cwd, event_path(ev), ev->path_len,
			      event_path2(ev), ev->path2_len) &&
		    (ev->flags & EVENT_EXCHANGE))
			(void)move_cwd(&t->cwd, event_path2(ev), ev->path2_len,
				       event_path(ev), ev->path_len);
		t->cwd_generation = h->o.tree.cwd_generation;
	}
}

void emit_event(struct observer *o, const struct event *ev)
{
	struct hybrid *h = hybrid_of(o);

	switch (ev->kind) {
	case EVENT_OPEN:
		if (ev->flags & EVENT_READ)
			set_read(h, event_path(ev), ev->path_len);
		if (ev->flags & (EVENT_WRITE | EVENT_CREATE))
			note_written(h, ev);
		if (ev->flags & EVENT_WRITE)
			closed_check(h, ev);
		break;
	case EVENT_EXEC:
		set_read(h, event_path(ev), ev->path_len);
		break;
	case EVENT_TRUNCATE:
		note_written(h, ev);
		break;
	case EVENT_RENAME:
		if (ev->ftype == EVENT_FTYPE_DIRECTORY ||
		    (ev->flags & EVENT_EXCHANGE))
			move_places(h, ev);
		note_moved(h, ev);
		break;
	case EVENT_LINK:
		note_moved(h, ev);
		break;
	case EVENT_UNLINK:
		written_remove(&h->written,
			       written_name(event_path(ev), ev->path_len));
		break;
	case EVENT_MOUNT:
	case EVENT_UNMOUNT:
		atomic_store(&h->log.header->mounted, 1);
		break;
	default:
		break;
	}
}

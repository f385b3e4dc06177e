/* intake.c - what happens to an event while the command runs
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
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "capture/gpu_memory.h"
#include "capture/process_environment.h"
#include "event/journal.h"
#include "hash/jobs/hasher.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "run/close_watch.h"
#include "run/contents.h"
#include "run/core_dump.h"
#include "run/created_names.h"
#include "run/run.h"
#include "run/streams.h"
#include "run/writer_digests.h"

enum {
	/* Early results kept in memory; the rest is hashed at the end. */
	EARLY_MAX = 8192,
	/* An input that is about to be overwritten is hashed at once, while its
	 * writer waits; this much of it (some 20 ms). */
	URGENT_BYTES = 64 * 1024 * 1024,
	HELD_MAX = 64, /* larger inputs kept open in one run */
	IDLE_TICK_MS = 2000, /* when little happens */
};

/* ---- journal ---- */

static bool is_filtered(const struct run *run, const struct lineage_file *f)
{
	bool written = f->own || (f->seen & LINEAGE_OPENED_WRITE);

	return filter_match(&run->filters, f->path, written) != FILTER_NONE;
}

/* Filtered files that were there before the run have no recorded edges: every program
 * reads the same libraries.  What the run makes has them, also in /tmp. */
static bool is_known_edge(const struct run *run, const struct lineage_file *f,
			  enum lineage_edge_kind kind, int32_t pid)
{
	return fold_knows_edge(run->fold, f, kind, pid) ||
	       (kind == LINEAGE_EDGE_READ && is_filtered(run, f)) ||
	       fold_leaves_out_edge(run->fold);
}

static bool is_known_read(const struct run *run, const struct lineage_file *f,
			  const struct event *ev)
{
	if (ev->flags & EVENT_WRITE)
		return false;
	if (f->own)
		return f->seen & LINEAGE_READ_OWN &&
		       is_known_edge(run, f, LINEAGE_EDGE_READ_OWN, ev->pid);
	return (f->seen & LINEAGE_READ_PRIOR) &&
	       stamp_equal(&f->first, &ev->before) &&
	       is_known_edge(run, f, LINEAGE_EDGE_READ, ev->pid);
}

/* Opening a file of its own for writing again changes no fact either, but an early
 * hash may be void. */
static bool is_known_write(const struct run *run, const struct lineage_file *f,
			   const struct event *ev)
{
	return f->own && (ev->flags & EVENT_WRITE) &&
	       !(ev->flags & EVENT_CREATE) &&
	       (!(ev->flags & EVENT_READ) || (f->seen & LINEAGE_READ_OWN)) &&
	       is_known_edge(run, f, LINEAGE_EDGE_WRITTEN, ev->pid);
}

enum known { UNKNOWN, KNOWN_READ, KNOWN_WRITE };

/* What teaches nothing new keeps out of the journal, which is then as small as the
 * number of files and edges, however often files are opened. */
static enum known how_known(const struct run *run, const struct event *ev)
{
	const struct lineage_file *f;

	if (ev->kind != EVENT_OPEN)
		return UNKNOWN;
	f = fold_find(run->fold, event_path(ev));
	/* What came from outside of the run is passed on to all its processes. */
	if (ev->flags & EVENT_PASSED)
		return f && !(f->seen & LINEAGE_INHERITED) ? UNKNOWN :
							     KNOWN_READ;
	if (!f)
		return UNKNOWN;
	if (is_known_read(run, f, ev))
		return KNOWN_READ;
	return is_known_write(run, f, ev) ? KNOWN_WRITE : UNKNOWN;
}

const struct event *intake_redacted(struct run *run, const struct event *ev)
{
	struct event *copy = run->scratch_event;

	if (ev->kind != EVENT_EXEC || !ev->path2_len)
		return ev;
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

	if (!run->journal || run->journal_full)
		return;
	r = journal_append(run->journal, ev);
	if (r == 0)
		return;
	/* It ends here but stays open: without its lock it would look like that
	 * of a killed run, which others record. */
	fold_add_gap(run->fold, EVENT_GAP_JOURNAL, strerror(-r));
	run->journal_full = true;
}

/* ---- early hashing ---- */

/* What we have open cannot be freed: can the file system spare that?  Half of what
 * is free must remain for the command. */
static bool has_room(const struct run *run, const char *path, uint64_t size)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize / 2 >=
		       run->kept_bytes + size;
}

/* A large input may be removed or replaced before its turn comes; an open
 * descriptor keeps its content. */
static int hold(struct run *run, const struct lineage_file *f, const char *path)
{
	int fd;

	if (f->first.size <= URGENT_BYTES || run->n_held >= HELD_MAX ||
	    !has_room(run, path, f->first.size))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	run->n_held += fd >= 0;
	return fd;
}

static bool may_hash(const struct run *run, const struct lineage_file *f)
{
	return f->ftype <= EVENT_FTYPE_REGULAR && !is_filtered(run, f);
}

static void hash_input(struct run *run, struct lineage_file *f,
		       const char *path)
{
	int fd;

	if (run->n_early >= EARLY_MAX || !may_hash(run, f))
		return;
	fd = hold(run, f, path);
	if (contents_submit(run, f, CONTENT_INPUT, path, fd, f->first.size))
		run->n_early++;
	else if (fd >= 0)
		(void)close(fd);
}

static void hash_output(struct run *run, struct lineage_file *f)
{
	struct content *c = NULL;
	struct stat st;

	if (run->n_early < EARLY_MAX && !f->restless && may_hash(run, f) &&
	    lstat(f->path, &st) == 0 &&
	    !writer_digests_are_due(run, f, (uint64_t)st.st_size))
		c = contents_submit(run, f, CONTENT_OUTPUT, f->path, -1,
				    (uint64_t)st.st_size);
	if (!c)
		return;
	run->n_early++;
	c->final = !f->n_writers;
}

/* The run may write to it again: changes by other processes cannot be distinguished
 * from that. */
static void unsettle(struct lineage_file *f)
{
	struct content *c = contents_find(f, CONTENT_OUTPUT);

	if (c)
		c->final = false;
}

/* The digest of an input whose reader or writer waits, if it is not so large that they
 * would notice.  NULL without one. */
static struct content *hash_now(struct run *run, struct lineage_file *f,
				const char *path)
{
	struct content *c = contents_find(f, CONTENT_INPUT);

	if (f->first.size > URGENT_BYTES)
		return NULL;
	if (!c && may_hash(run, f))
		c = contents_submit(run, f, CONTENT_INPUT, path, -1,
				    f->first.size);
	if (c)
		contents_collect(run, c);
	return c;
}

/* The digest of a large input that is about to change, from a clone of it; NULL where
 * that cannot be. */
static struct content *hash_clone(struct run *run, struct lineage_file *f,
				  const char *path)
{
	struct content *c = contents_find(f, CONTENT_INPUT);
	int fd;

	if (c)
		contents_try_collect(run, c);
	if (c && c->pending && c->cloned)
		return c;
	if ((c && !c->pending) || run->n_held >= HELD_MAX ||
	    !may_hash(run, f) || !has_room(run, path, f->first.size) ||
	    input_clone_make(&run->cloner, run->project->dirfd, path, &f->first,
			     &fd) < 0)
		return NULL;
	c = contents_submit_clone(run, f, path, fd);
	if (!c) {
		(void)close(fd);
		return NULL;
	}
	run->n_held++;
	run->kept_bytes += f->first.size;
	return c;
}

/* Opened for reading and writing: in a moment it is not what it was. */
static void hash_before_write(struct run *run, struct lineage_file *f,
			      const char *path)
{
	struct content *c = hash_now(run, f, path);

	if (!c)
		c = hash_clone(run, f, path);
	if (!c)
		hash_input(run, f, path);
	else
		c->firm = run->options.tracer->waits;
}

static void watch_written(struct run *run, const struct lineage_file *f)
{
	if (!run->close_watch && close_watch_new(&run->close_watch) < 0)
		return;
	if (is_filtered(run, f))
		return;
	close_watch_add(run->close_watch, f->path, f->path_len);
	run->n_writing++;
	run->n_idle_ticks = 0;
}

static bool is_write(const struct event *ev)
{
	return ev->kind == EVENT_OPEN && (ev->flags & EVENT_WRITE) &&
	       !(ev->flags & EVENT_PASSED) && ev->ftype <= EVENT_FTYPE_REGULAR;
}

static void note_close(struct run *run)
{
	if (run->n_writing)
		run->n_writing--;
	run->n_idle_ticks = 0;
}

static void act(struct run *run, const struct event *ev,
		const struct fold_change *change)
{
	struct lineage_file *f = change->file;

	if (change->news == FOLD_INPUT && is_write(ev))
		hash_before_write(run, f, change->at->path);
	else if (change->news == FOLD_INPUT)
		hash_input(run, f, change->at->path);
	else if (change->news != FOLD_NOTHING)
		unsettle(f);
	if (change->news == FOLD_CLOSED)
		hash_output(run, f);
	if (ev->kind == EVENT_CLOSE)
		note_close(run);
	f = is_write(ev) ? fold_find(run->fold, event_path(ev)) : NULL;
	if (f) {
		unsettle(f);
		watch_written(run, f);
	}
}

/* The kernel has written a file without a system call. */
static void note_core(struct run *run, const struct event *exit)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct event *ev = run->scratch_event;
	bool found;
	int r;

	if (!WIFSIGNALED(exit->aux) || !WCOREDUMP(exit->aux))
		return;
	r = core_dump_find(exit, run->meta.cwd, run->meta.started_ns, &path);
	if (r == 0)
		return; /* it went to another program */
	found = r > 0;
	*ev = (struct event){
		.kind = found ? EVENT_OPEN : EVENT_GAP,
		.flags = found ? EVENT_WRITE | EVENT_CREATE : 0,
		.pid = exit->pid,
		.aux = found ? 0 : EVENT_GAP_PATH,
		.time_ns = exit->time_ns,
	};
	if (!found) {
		str_clear(&path);
		str_addf(&path, "the core dump of process %d", exit->pid);
	}
	event_set_paths(ev, str_cstr(&path), path.len, "", 0);
	intake_event(run, ev);
}

static void note_made(struct run *run, const struct event *ev)
{
	if (!run->created_names)
		return;
	if (ev->kind == EVENT_OPEN && (ev->flags & EVENT_CREATE))
		created_names_add(run->created_names, event_path(ev),
				  ev->path_len);
	else if (ev->kind == EVENT_RENAME || ev->kind == EVENT_LINK ||
		 ev->kind == EVENT_SYMLINK)
		created_names_add(run->created_names, event_path2(ev),
				  ev->path2_len);
}

/* The first file of an exec has the command line.  It is read before the event is
 * redacted, because the process may end soon. */
static void note_environment(struct run *run, const struct event *ev)
{
	if (ev->kind == EVENT_EXEC && ev->path2_len)
		process_environments_read(run->process_environments, ev->pid,
					  event_path(ev));
	else if (ev->kind == EVENT_FORK)
		process_environments_fork(run->process_environments, ev->pid,
					  ev->aux);
}

/* The first use of a GPU begins the watch; runs without one pay for a look at each path
 * that is new to them.  If it cannot begin, its result is missing. */
static void watch_gpus(struct run *run, const struct event *ev)
{
	const struct lineage_process *p;
	size_t n;

	if (ev->kind != EVENT_OPEN ||
	    !gpu_memory_is_sign(event_path(ev), ev->path_len) ||
	    gpu_memory_start(NULL, GPU_MEMORY_INTERVAL_MS, &run->gpu_memory) < 0)
		return;
	p = fold_processes(run->fold, &n);
	for (size_t i = 0; i < n; i++)
		if (!p[i].end_ns)
			gpu_memory_add(run->gpu_memory, p[i].pid);
}

static void note_gpu_process(struct run *run, const struct event *ev)
{
	if (!run->gpu_memory)
		watch_gpus(run, ev);
	if (!run->gpu_memory)
		return;
	if (ev->kind == EVENT_EXIT)
		gpu_memory_remove(run->gpu_memory, ev->pid);
	else
		gpu_memory_add(run->gpu_memory, ev->pid);
}

/* What a renamed directory holds has moved along, seen or not. */
void intake_moved_dir(struct run *run, const struct event *ev)
{
	enum { MOVED_MAX = 10000 };
	const char **m = NULL;

	if (ev->kind != EVENT_RENAME || ev->ftype != EVENT_FTYPE_DIRECTORY)
		return;
	if (run->n_moved_dirs < MOVED_MAX)
		m = VEC_PUSH(run->moved_dirs, run->n_moved_dirs,
			     run->cap_moved_dirs);
	if (!m) {
		fold_add_gap(run->fold, EVENT_GAP_PATH,
			     "too many directories were renamed");
		return;
	}
	*m = pool_dup(&run->pool, event_path2(ev), ev->path2_len);
	if (!*m)
		run->n_moved_dirs--;
}

void intake_event(void *ctx, const struct event *ev)
{
	struct fold_change change = { .news = FOLD_NOTHING };
	struct run *run = ctx;
	enum known known = how_known(run, ev);

	if (known == KNOWN_READ)
		return;
	note_environment(run, ev);
	note_gpu_process(run, ev);
	ev = intake_redacted(run, ev);
	if (known == UNKNOWN)
		write_journal(run, ev);
	note_made(run, ev);
	if (fold_add(run->fold, ev, &change) < 0)
		return; /* the fold has noted the gap */
	intake_moved_dir(run, ev);
	act(run, ev, &change);
	if (ev->kind == EVENT_EXIT)
		note_core(run, ev);
	if (ev->kind == EVENT_EXEC && ev->path2_len)
		streams_note(run, ev->pid, ev->time_ns);
}

/* `f` may be what is at `path`, or another name of that file. */
static void secure_input(struct run *run, struct lineage_file *f,
			 const char *path, const struct stamp *stamp)
{
	struct content *c;

	if (!f || !(f->seen & LINEAGE_READ_PRIOR) || f->own)
		return;
	c = hash_now(run, f, path);
	if (!c)
		c = hash_clone(run, f, path);
	if (c) {
		c->firm = true;
		return;
	}
	c = contents_find(f, CONTENT_INPUT);
	if (!c || !c->pending)
		return;
	if (has_room(run, path, stamp->size))
		run->kept_bytes += stamp->size;
	else
		contents_drop(run, c);
}

/* An input is about to change or to go.  Its digest must be of the content that was
 * read: wait for it, unless it is so large that its writer would notice.  Then it
 * is read from a clone; without clones it is read on, from a descriptor that keeps it
 * when it is removed, as long as the command does not miss the space. */
void intake_before_change(void *ctx, const char *path, size_t len,
			  const struct stamp *stamp)
{
	struct run *run = ctx;
	struct lineage_file *f = fold_find(run->fold, path);
	struct lineage_file *other = fold_find_inode(run->fold, stamp);

	(void)len;
	secure_input(run, f, path, stamp);
	if (other != f)
		secure_input(run, other, path, stamp);
}

static bool is_below(const char *path, const char *dir, size_t len)
{
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '/' || !path[len] ||
		(len && path[len - 1] == '/'));
}

/* A file system that we read from could not be unmounted. */
void intake_before_unmount(void *ctx, const char *path, size_t len)
{
	struct run *run = ctx;
	size_t n;
	struct lineage_file *const *files = fold_files(run->fold, &n);

	for (size_t i = 0; i < n; i++)
		for (struct content *c = files[i]->user; c; c = c->next) {
			if (!c->pending || !is_below(c->task->path, path, len))
				continue;
			if (c->task->size_bytes <= URGENT_BYTES)
				contents_collect(run, c);
			else
				contents_drop(run, c);
		}
}

static void on_closed(void *ctx, const char *path, size_t len)
{
	_Alignas(struct event) char buf[EVENT_HEADER + 4096 + 16];
	struct event *ev = (struct event *)buf;
	struct run *run = ctx;

	if (len > 4096 || !fold_find(run->fold, path))
		return;
	memset(ev, 0, EVENT_HEADER);
	ev->kind = EVENT_CLOSE;
	event_set_paths(ev, path, len, "", 0);
	intake_event(run, ev);
}

/* Files that stay open for hours (logs) must not keep us awake: the less
 * happens, the rarer the look.  The journal shows until when we lived. */
unsigned intake_tick(void *ctx)
{
	struct run *run = ctx;

	if (run->journal)
		journal_touch(run->journal);
	if (!run->close_watch)
		return IDLE_TICK_MS;
	run->n_idle_ticks++;
	close_watch_read(run->close_watch, on_closed, run);
	return run->n_writing && run->n_idle_ticks < 20 ? 100 : IDLE_TICK_MS;
}

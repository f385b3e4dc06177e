/* fold.c - see fold.h.  Each kind of event is one function in the table at the end;
 * they change a name through read_name() and write_name(). */
#include "lineage/fold_internal.h"

#include <assert.h>
#include <string.h>

#include "base/vec.h"

int fold_new(struct fold **ret_fold)
{
	CLEANUP(fold_freep) struct fold *fold = calloc(1, sizeof(*fold));

	if (!fold || vec_reserve(&fold->gaps, &fold->cap_gaps, 1,
				 sizeof(*fold->gaps)) < 0)
		return -ENOMEM;
	fold->at = &fold->first;
	fold->first.n_mounts = 1;
	*ret_fold = TAKE_PTR(fold);
	return 0;
}

void fold_free(struct fold *fold)
{
	if (!fold)
		return;
	for (struct layer *l = &fold->first; l; l = l->next) {
		index_release(&l->by_path);
		map_release(&l->dirs);
		map_release(&l->moves);
	}
	pool_release(&fold->structs);
	pool_release(&fold->text);
	index_release(&fold->by_inode);
	index_release(&fold->by_pid);
	edges_release(&fold->edges);
	free(fold->placed);
	free(fold->files);
	free(fold->processes);
	free(fold->gaps);
	free(fold);
}

void fold_tell(struct fold_change *change, enum fold_news news,
	       struct name *name, struct name *at)
{
	*change = (struct fold_change){ news, &name->file, &at->file };
}

/* Devices, FIFOs and sockets: opened and read, but without content. */
static bool is_special(const struct lineage_file *file)
{
	return file->ftype == EVENT_FTYPE_DEVICE ||
	       file->ftype == EVENT_FTYPE_FIFO ||
	       file->ftype == EVENT_FTYPE_SOCKET;
}

/* The name has a file, perhaps made by a process outside the run. */
static void exists_now(struct name *name)
{
	if (!name->gone)
		return;
	name->gone = 0;
	name->file.seen &= (uint16_t)~LINEAGE_MOVED_AWAY;
}

/* The second side of an exchange comes without a stamp; the next event with one shows
 * the content from before the run. */
static void learn(struct name *name, const struct event *ev)
{
	struct name *source = name_source(name);

	if (stamp_exists(&source->file.first) || !stamp_exists(&ev->before) ||
	    !name->file.own || !name->prior)
		return;
	source->file.first = ev->before;
	source->file.first_ns = ev->time_ns;
}

struct name *fold_name(struct fold *fold, const struct event *ev,
		       const char *path, size_t len)
{
	bool is_new;
	struct name *name = names_get(fold, path, len, &is_new);
	bool was_gone;

	if (!name)
		return NULL;
	was_gone = name->gone;
	exists_now(name);
	if (is_new) {
		name->file.ftype = ev->ftype;
		name->file.first = ev->before;
		name->file.first_ns = ev->time_ns;
	} else {
		learn(name, ev);
	}
	if (!is_new && !was_gone)
		return name;
	/* No event put it there: did it come with a directory? */
	if (!(ev->flags & EVENT_CREATE) && moves_trace_back(fold, name, ev) < 0)
		return NULL;
	return name;
}

void fold_settle(struct name *name, const struct stamp *now)
{
	struct lineage_file *file = &name->file;
	const struct lineage_file *source = &name_source(name)->file;
	unsigned seen = file->seen | source->seen;
	bool written = name_source(name)->written;

	if (file->own && !name->prior)
		return;
	if ((!(seen & LINEAGE_OPENED_WRITE) && !written) ||
	    !content_differs(&source->first, now))
		return;
	file->own = true;
	name->prior = 0;
}

int fold_note_write(struct fold *fold, struct name *name, int32_t pid)
{
	struct lineage_file *file = &name->file;

	if (file->write_order)
		return edges_add(fold, name, LINEAGE_EDGE_WRITTEN, pid);
	file->write_order = fold->n_events;
	file->writer = pid;
	return 0;
}

/* Was the content written during the run?  The time of the last status change does not
 * show it: the run may have renamed the file or changed its mode. */
static bool is_of_this_time(const struct fold *fold, const struct stamp *s)
{
	return stamp_exists(s) && content_is_racy(s, fold->start_ns);
}

/* Events of processes that change the same names at the same time may come in another
 * order than the kernel's.  Content that the run made can then be read before the event
 * that puts it there, and looks like an input.  A process outside the run may have put
 * it there as well: the two cases cannot be distinguished. */
void fold_check_order(struct fold *fold, const struct lineage_file *file,
		      const struct event *ev)
{
	enum {
		MADE = LINEAGE_CREATED | LINEAGE_RENAMED_TO | LINEAGE_LINKED_TO
	};

	if (!(file->seen & LINEAGE_READ_PRIOR) || !(file->seen & MADE) ||
	    !is_of_this_time(fold, &file->first))
		return;
	/* A FIFO has no content that could be taken for another's. */
	if (file->ftype > EVENT_FTYPE_REGULAR ||
	    ev->ftype > EVENT_FTYPE_REGULAR)
		return;
	/* A file that was read moments after it was made, and then replaced (sed -i),
	 * is another one than what replaces it.  What is created has no inode yet;
	 * there a process that reads and creates is in order with itself. */
	if (stamp_exists(&ev->before) ?
		    !stamp_same_file(&ev->before, &file->first) :
		    ev->pid == file->reader)
		return;
	fold_add_gap(fold, EVENT_GAP_CHANGED, file->path);
}

static int note_read(struct fold *fold, struct name *name,
		     enum lineage_edge_kind kind, int32_t pid)
{
	struct lineage_file *file = &name->file;

	if (file->read_order)
		return edges_add(fold, name, kind, pid);
	file->read_order = fold->n_events;
	file->reader = pid;
	return 0;
}

/* Content from before the run was read at `at`.  It counts for `name`: the same
 * name, or the one the run moved it away from. */
static int read_prior(struct fold *fold, struct name *name, struct name *at,
		      const struct event *ev, struct fold_change *change)
{
	struct lineage_file *file = &name->file;
	bool again = file->seen & LINEAGE_READ_PRIOR;
	int r;

	file->seen |= LINEAGE_READ_PRIOR;
	r = note_read(fold, name, LINEAGE_EDGE_READ, ev->pid);
	if (again && content_differs(&file->first, &ev->before))
		file->seen |= LINEAGE_UNSTABLE;
	if (again || r < 0)
		return r;
	/* A name that the run had made and removed again: the file read now is from
	 * outside the run. */
	if (!stamp_exists(&file->first)) {
		file->first = ev->before;
		file->first_ns = ev->time_ns;
	}
	fold_check_order(fold, file, ev);
	if (file->ftype == EVENT_FTYPE_NONE)
		file->ftype = ev->ftype;
	if (file->ftype != EVENT_FTYPE_REGULAR)
		return 0;
	fold_tell(change, FOLD_INPUT, name, at);
	return inodes_note(fold, name);
}

static int read_name(struct fold *fold, struct name *name,
		     const struct event *ev, struct fold_change *change)
{
	struct lineage_file *file = &name->file;

	fold_settle(name, &ev->before);
	if (!file->own || name->prior)
		inodes_read(fold, name, &ev->before);
	if (!file->own || name->prior)
		return read_prior(fold, name_source(name), name, ev, change);
	file->seen |= LINEAGE_READ_OWN;
	return note_read(fold, name, LINEAGE_EDGE_READ_OWN, ev->pid);
}

/* The run put new content there, whatever was there before. */
static void make_own(struct name *name)
{
	name->file.own = true;
	name->file.origin = NULL;
	name->prior = 0;
}

static int write_name(struct fold *fold, struct name *name, unsigned seen,
		      const struct event *ev, struct fold_change *change)
{
	struct lineage_file *file = &name->file;
	bool made = seen & (LINEAGE_CREATED | LINEAGE_TRUNCATED);
	bool first = !file->write_order;
	int r = 0;

	if (!(seen & LINEAGE_CREATED))
		r = inodes_write(fold, name, &ev->before);
	/* Other names of that content must be checked again.  Where a file was created,
	 * nothing from before the run was opened. */
	if ((!file->own || name->prior) && !(seen & LINEAGE_CREATED))
		name_source(name)->written = 1;
	file->seen |= (uint16_t)seen;
	fold_check_order(fold, file, ev);
	if (r == 0)
		r = fold_note_write(fold, name, ev->pid);
	if (r == 0 && made && !first)
		r = edges_make(fold, name, ev->pid);
	if (file->writer != ev->pid)
		file->joint = true;
	if (made)
		make_own(name);
	if (name->closed) {
		name->closed = 0;
		if (change->news == FOLD_NOTHING)
			fold_tell(change, FOLD_REWRITTEN, name, name);
	}
	return r;
}

/* Somebody of the run may write to it from now on.  A file that is open for
 * reading too may be mapped, and stores into a page that is dirty already leave
 * no trace in the stamp. */
static void opened_for_writing(struct lineage_file *file, unsigned flags)
{
	if (file->n_writers < LINEAGE_WRITERS_MAX)
		file->n_writers++;
	if (flags & EVENT_READ)
		file->restless = true;
}

static int on_open(struct fold *fold, const struct event *ev,
		   struct fold_change *change)
{
	struct name *name;
	unsigned seen = 0;
	int r = 0;

	/* An O_TMPFILE has no name until it is linked. */
	if (ev->flags & EVENT_TMPFILE || ev->ftype == EVENT_FTYPE_DIRECTORY)
		return 0;
	if (ev->flags & EVENT_PASSED) {
		name = names_find(fold, event_path(ev), ev->path_len);
		return name && !name->gone &&
				       !(name->file.seen & LINEAGE_INHERITED) ?
			       edges_pass(fold, name, ev) :
			       0;
	}
	name = fold_name(fold, ev, event_path(ev), ev->path_len);
	if (!name)
		return -ENOMEM;
	if (ev->flags & EVENT_INHERITED)
		name->file.seen |= LINEAGE_INHERITED;
	if (ev->flags & EVENT_CREATE) {
		/* open() with O_CREAT makes regular files and nothing else. */
		if (!(name->file.seen & LINEAGE_READ_PRIOR))
			name->file.ftype = EVENT_FTYPE_REGULAR;
		seen |= LINEAGE_CREATED;
	} else if (ev->flags & EVENT_TRUNC && !is_special(&name->file)) {
		seen |= LINEAGE_TRUNCATED;
	}
	if (ev->flags & EVENT_READ && !seen)
		r = read_name(fold, name, ev, change);
	if (r < 0)
		return r;
	if (ev->flags & (EVENT_WRITE | EVENT_TRUNC)) {
		seen |= LINEAGE_OPENED_WRITE;
		opened_for_writing(&name->file, ev->flags);
	}
	return seen ? write_name(fold, name, seen, ev, change) : 0;
}

static int on_truncate(struct fold *fold, const struct event *ev,
		       struct fold_change *change)
{
	struct name *name;

	if (ev->ftype == EVENT_FTYPE_DIRECTORY)
		return 0;
	name = fold_name(fold, ev, event_path(ev), ev->path_len);
	if (!name)
		return -ENOMEM;
	return write_name(fold, name,
			  is_special(&name->file) ? LINEAGE_OPENED_WRITE :
						    LINEAGE_TRUNCATED,
			  ev, change);
}

static int on_exec(struct fold *fold, const struct event *ev,
		   struct fold_change *change)
{
	int r = processes_exec(fold, ev);
	struct name *name;

	if (r < 0 || !ev->path_len || ev->ftype == EVENT_FTYPE_DIRECTORY)
		return r;
	name = fold_name(fold, ev, event_path(ev), ev->path_len);
	if (!name)
		return -ENOMEM;
	name->file.seen |= LINEAGE_EXECUTED;
	return read_name(fold, name, ev, change);
}

static int on_unlink(struct fold *fold, const struct event *ev,
		     struct fold_change *change)
{
	struct name *name;

	(void)change;
	if (ev->ftype == EVENT_FTYPE_DIRECTORY)
		return moves_rmdir(fold, event_path(ev), ev->path_len);
	name = fold_name(fold, ev, event_path(ev), ev->path_len);
	if (!name)
		return -ENOMEM;
	name_leave(name, LINEAGE_REMOVED);
	name->file.seen &= (uint16_t)~LINEAGE_MOVED_AWAY;
	return 0;
}

static int on_close(struct fold *fold, const struct event *ev,
		    struct fold_change *change)
{
	struct name *name = names_find(fold, event_path(ev), ev->path_len);

	if (name && name->file.n_writers &&
	    name->file.n_writers < LINEAGE_WRITERS_MAX)
		name->file.n_writers--;
	if (!name || !name->file.own || name->file.ftype != EVENT_FTYPE_REGULAR)
		return 0;
	name->closed = 1;
	fold_tell(change, FOLD_CLOSED, name, name);
	return 0;
}

static int on_gap(struct fold *fold, const struct event *ev,
		  struct fold_change *change)
{
	(void)change;
	fold_add_gap(fold, ev->aux, event_path(ev));
	return 0;
}

static int on_fork(struct fold *fold, const struct event *ev,
		   struct fold_change *change)
{
	(void)change;
	return processes_fork(fold, ev);
}

static int on_exit_(struct fold *fold, const struct event *ev,
		    struct fold_change *change)
{
	(void)change;
	return processes_exit(fold, ev);
}

/* Which of its strings are names: these must be absolute. */
enum { PATH = 1 << 0, PATH2 = 1 << 1, MAYBE_EMPTY = 1 << 2 };

static const struct {
	int (*apply)(struct fold *fold, const struct event *ev,
		     struct fold_change *change);
	unsigned names;
} kinds[EVENT_KIND_END] = {
	[EVENT_FORK] = { on_fork, 0 },
	[EVENT_EXEC] = { on_exec, PATH | MAYBE_EMPTY },
	[EVENT_EXIT] = { on_exit_, 0 },
	[EVENT_OPEN] = { on_open, PATH },
	[EVENT_RENAME] = { moves_rename, PATH | PATH2 },
	[EVENT_LINK] = { moves_link, PATH | PATH2 | MAYBE_EMPTY },
	[EVENT_SYMLINK] = { moves_link, PATH2 },
	[EVENT_UNLINK] = { on_unlink, PATH },
	[EVENT_TRUNCATE] = { on_truncate, PATH },
	[EVENT_CLOSE] = { on_close, PATH },
	[EVENT_GAP] = { on_gap, 0 },
	[EVENT_MOUNT] = { mounts_mount, PATH },
	[EVENT_UNMOUNT] = { mounts_unmount, PATH },
};

static bool names_are_absolute(const struct event *ev)
{
	unsigned names = kinds[ev->kind].names;

	if (names & PATH && event_path(ev)[0] != '/' &&
	    !(names & MAYBE_EMPTY && !ev->path_len))
		return false;
	return !(names & PATH2) || event_path2(ev)[0] == '/';
}

int fold_add(struct fold *fold, const struct event *ev,
	     struct fold_change *ret_change)
{
	struct fold_change change = { 0 };
	int r;

	if (fold->n_events < UINT32_MAX)
		fold->n_events++;
	if (!fold->start_ns)
		fold->start_ns = ev->time_ns;
	*ret_change = change;
	if (ev->kind >= EVENT_KIND_END || !kinds[ev->kind].apply)
		return 0;
	if (!names_are_absolute(ev)) {
		fold_add_gap(fold, EVENT_GAP_PATH, event_path(ev));
		return 0;
	}
	ev = mounts_translate(fold, ev);
	r = ev ? kinds[ev->kind].apply(fold, ev, &change) : -ENOMEM;
	if (r < 0)
		fold_add_gap(fold, EVENT_GAP_MEMORY, "");
	*ret_change = change;
	return r;
}

int fold_add_found(struct fold *fold, const char *path, enum event_ftype ftype,
		   const struct stamp *stamp)
{
	struct event ev = { .ftype = (uint8_t)ftype, .before = *stamp };
	struct name *name;
	uint16_t seen;
	bool was_gone;

	assert(path[0] == '/');
	fold->at = mounts_place(fold, path, strlen(path)).layer;
	name = names_find(fold, path, strlen(path));
	seen = name ? name->file.seen : 0;
	was_gone = name && name->gone;
	if (name && !was_gone)
		return 0;
	name = fold_name(fold, &ev, path, strlen(path));
	if (!name) {
		fold_add_gap(fold, EVENT_GAP_MEMORY, "");
		return -ENOMEM;
	}
	/* It did not come with a directory: a process outside the run put it there. */
	if (was_gone && !name->file.own) {
		name->file.seen = seen;
		name->gone = 1;
	}
	return 0;
}

int fold_add_implied(struct fold *fold, const char *path,
		     const struct stamp *stamp, const struct lineage_file *via)
{
	struct event ev = { .ftype = EVENT_FTYPE_REGULAR,
			    .time_ns = via->first_ns,
			    .before = *stamp };
	struct name *name;

	assert(path[0] == '/');
	fold->at = mounts_place(fold, path, strlen(path)).layer;
	name = fold_name(fold, &ev, path, strlen(path));
	if (!name) {
		fold_add_gap(fold, EVENT_GAP_MEMORY, "");
		return -ENOMEM;
	}
	name->file.seen |= LINEAGE_READ_PRIOR | LINEAGE_IMPLIED;
	name->file.read_order = via->read_order;
	name->file.reader = via->reader;
	name->file.origin = (struct lineage_file *)via;
	return 0;
}

struct lineage_file *const *fold_files(const struct fold *fold, size_t *ret_n)
{
	*ret_n = fold->n_files;
	return fold->files;
}

const struct lineage_process *fold_processes(const struct fold *fold,
					     size_t *ret_n)
{
	*ret_n = fold->n_processes;
	return fold->processes;
}

const struct lineage_gap *fold_gaps(const struct fold *fold, size_t *ret_n)
{
	*ret_n = fold->n_gaps;
	return fold->gaps;
}

size_t fold_memory(const struct fold *fold)
{
	size_t bytes = sizeof(*fold) + fold->structs.total + fold->text.total +
		       fold->cap_files * sizeof(*fold->files) +
		       fold->cap_processes * sizeof(*fold->processes) +
		       fold->cap_gaps * sizeof(*fold->gaps) +
		       fold->edges.cap * sizeof(*fold->edges.pairs) +
		       fold->edges.n_slots * sizeof(*fold->edges.slots);
	size_t n_index = fold->by_inode.n_slots + fold->by_pid.n_slots;
	size_t n_map = 0;

	for (const struct layer *l = &fold->first; l; l = l->next) {
		n_index += l->by_path.n_slots;
		n_map += l->dirs.n_slots + l->moves.n_slots;
	}
	return bytes + n_index * sizeof(struct index_slot) +
	       n_map * sizeof(struct map_slot);
}

/* moves.c - renames and links: content that changes its name.
 *
 * Every name that moves leaves in one step (depart) and is placed in another (arrive),
 * so that an exchange, where each side is the other's target, needs no special case.
 * Content that arrives is own; if it is from before the run, it keeps pointing at the
 * name it had then, however often it moves.
 *
 * Renaming a directory moves the known names below it at once.  It also moves names
 * that were not seen yet.  For these each directory keeps the history of moves into it,
 * newest first.  When a name is seen for the first time, the moves of its parents are
 * undone backwards in time until its old name is found.  A directory that is moved away
 * or removed gets an entry without a source: a name found there later did not come by
 * an earlier move. */
#include "lineage/fold_internal.h"

#include <string.h>

#include "base/str.h"
#include "base/vec.h"

/* How much history is undone for one name.  No real pipeline moves one directory more
 * often; the name then counts as it is. */
enum { UNDO_MAX = 64, LOOK_MAX = 4096 };

struct move {
	struct move *older; /* earlier move into the same directory */
	const char *from; /* NULL: the directory went away */
	uint32_t from_len;
	uint32_t to_len;
	uint64_t number; /* of the move; both sides of an exchange share it */
	uint32_t order; /* ordinal of the event */
	int32_t pid;
};

/* One name on its way. */
struct cargo {
	struct name *from;
	struct lineage_file *origin; /* what the new name's origin will be */
	bool prior; /* content from before the run */
	bool closed; /* an early hash may exist */
	bool restless; /* see struct lineage_file */
	uint8_t n_writers;
	bool back; /* the second side of an exchange */
};

static struct cargo load(struct name *name)
{
	return (struct cargo){
		.from = name,
		.origin = &name_source(name)->file,
		.prior = !name->file.own || name->prior,
		.closed = name->closed,
		.restless = name->file.restless,
		.n_writers = name->file.n_writers,
	};
}

static struct cargo depart(struct name *name)
{
	struct cargo cargo = load(name);

	name_leave(name, LINEAGE_MOVED_AWAY);
	return cargo;
}

/* Places content at a name.  `seen` is the way it came. */
static int arrive(struct fold *fold, const struct cargo *cargo, unsigned seen,
		  const char *path, size_t len, const struct event *ev,
		  struct fold_change *change)
{
	bool is_new;
	struct name *name = names_get(fold, path, len, &is_new);
	struct lineage_file *file = name ? &name->file : NULL;
	bool was_closed;
	int r;

	if (!name)
		return -ENOMEM;
	was_closed = name->closed;
	if (is_new)
		file->first_ns = ev->time_ns;
	else if (!name->gone)
		file->seen |= LINEAGE_REMOVED;
	if (!(file->seen & LINEAGE_READ_PRIOR))
		file->ftype = cargo->from ? cargo->from->file.ftype : ev->ftype;
	file->seen &= (uint16_t)~LINEAGE_MOVED_AWAY;
	file->seen |= (uint16_t)seen;
	file->own = true;
	/* Content may come home: a name is never its own origin. */
	file->origin = cargo->origin != file ? cargo->origin : NULL;
	name->prior = cargo->prior;
	name->gone = 0;
	name->closed = cargo->closed;
	file->restless = cargo->restless;
	file->n_writers = cargo->n_writers & LINEAGE_WRITERS_MAX;
	r = fold_note_write(fold, name, ev->pid);
	if (r == 0 && cargo->from && !cargo->prior)
		r = edges_move(fold, cargo->from, name, ev->pid);
	fold_check_order(fold, file, ev);
	if (was_closed)
		fold_tell(change, FOLD_REWRITTEN, name, name);
	else if (cargo->closed && file->ftype == EVENT_FTYPE_REGULAR)
		fold_tell(change, FOLD_CLOSED, name, name);
	return r;
}

/* ---- history ---- */

/* Remembers that `from` (NULL: nothing) is now at `to`. */
static int remember(struct fold *fold, const char *from, size_t from_len,
		    const char *to, size_t to_len, const struct event *ev)
{
	struct move *older = map_get(&fold->at->moves, to, to_len);
	struct move *move = pool_zalloc(&fold->structs, sizeof(*move));
	const char *key = pool_dup(&fold->text, to, to_len);

	if (!move || !key)
		return -ENOMEM;
	if (from) {
		move->from = pool_dup(&fold->text, from, from_len);
		if (!move->from)
			return -ENOMEM;
	}
	move->older = older;
	move->from_len = (uint32_t)from_len;
	move->to_len = (uint32_t)to_len;
	move->number = fold->n_moves;
	move->order = fold->n_events;
	move->pid = ev ? ev->pid : 0;
	return map_set(&fold->at->moves, key, to_len, move);
}

int moves_rmdir(struct fold *fold, const char *path, size_t len)
{
	if (!map_get(&fold->at->moves, path, len))
		return 0;
	fold->n_moves++;
	return remember(fold, NULL, 0, path, len, NULL);
}

/* The latest move, before move number `before`, that any parent of `path` took
 * part in.  `look` bounds the work. */
static const struct move *latest_move(const struct fold *fold, const char *path,
				      size_t len, uint64_t before,
				      unsigned *look)
{
	const struct move *latest = NULL;

	while (len) {
		const struct move *m;

		while (len && path[len - 1] != '/')
			len--;
		if (len)
			len--;
		m = len ? map_get(&fold->at->moves, path, len) : NULL;
		while (m && m->number >= before && *look) {
			m = m->older;
			(*look)--;
		}
		if (m && m->number < before &&
		    (!latest || m->number > latest->number))
			latest = m;
	}
	return latest;
}

/* The name that `path` had before all moves.  Appends nothing when it came by
 * none; *ret_move is the last move, the one that brought it here. */
static int undo(const struct fold *fold, const char *path, size_t len,
		struct str *out, const struct move **ret_move)
{
	CLEANUP(str_release) struct str spare = STR_INIT;
	uint64_t before = UINT64_MAX;
	unsigned look = LOOK_MAX;
	const struct move *m;

	*ret_move = NULL;
	for (int i = 0; i < UNDO_MAX; i++) {
		struct str swap;

		m = latest_move(fold, path, len, before, &look);
		if (!m || !m->from ||
		    m->from_len + (len - m->to_len) > EVENT_PATH_MAX)
			break;
		str_clear(&spare);
		str_add(&spare, m->from, m->from_len);
		str_add(&spare, path + m->to_len, len - m->to_len);
		if (str_error(&spare) < 0)
			return -ENOMEM;
		swap = *out;
		*out = spare;
		spare = swap;
		path = out->data;
		len = out->len;
		before = m->number;
		if (!*ret_move)
			*ret_move = m;
	}
	return 0;
}

int moves_trace_back(struct fold *fold, struct name *name,
		     const struct event *ev)
{
	CLEANUP(str_release) struct str old = STR_INIT;
	struct lineage_file *file = &name->file;
	const struct move *move;
	struct name *source;
	bool is_new;

	if (!fold->at->moves.count)
		return 0;
	if (undo(fold, file->path, file->path_len, &old, &move) < 0)
		return -ENOMEM;
	if (!move)
		return 0;
	source = names_get(fold, old.data, old.len, &is_new);
	if (!source)
		return -ENOMEM;
	if (source == name)
		return 0;
	if (!stamp_exists(&source->file.first)) {
		source->file.first = ev->before;
		source->file.first_ns = ev->time_ns;
	}
	if (is_new) {
		source->file.ftype = ev->ftype;
		source->file.seen = LINEAGE_MOVED_AWAY;
		source->gone = 1;
	}
	if (!(file->seen & LINEAGE_READ_PRIOR))
		file->first = (struct stamp){ 0 };
	file->seen |= LINEAGE_RENAMED_TO;
	file->own = true;
	file->origin = &source->file;
	file->write_order = move->order;
	file->writer = move->pid;
	name->prior = 1;
	return 0;
}

/* ---- renames ---- */

static int by_ordinal(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Loads what exists below a directory, in the order it was first seen. */
static int load_below(struct fold *fold, const char *path, size_t len,
		      bool back, struct cargo **cargo, size_t *n, size_t *cap)
{
	CLEANUP(freep) uint32_t *ordinals = NULL;
	size_t n_ordinals = 0;
	size_t cap_ordinals = 0;
	const struct dir *dir = names_dir(fold, path, len);

	if (!dir)
		return 0;
	if (names_below(fold, dir, &ordinals, &n_ordinals, &cap_ordinals) < 0 ||
	    vec_reserve(cargo, cap, *n + n_ordinals + 1, sizeof(**cargo)) < 0)
		return -ENOMEM;
	if (n_ordinals)
		qsort(ordinals, n_ordinals, sizeof(*ordinals), by_ordinal);
	for (size_t i = 0; i < n_ordinals; i++) {
		struct cargo *c = &(*cargo)[(*n)++];

		*c = (struct cargo){ .from = name_of(fold->files[ordinals[i]]),
				     .back = back };
	}
	return 0;
}

/* The name itself, unless it is a directory. */
static int load_name(struct fold *fold, const struct event *ev,
		     const char *path, size_t len, bool back,
		     struct cargo **cargo, size_t *n, size_t *cap)
{
	struct name *name = fold_name(fold, ev, path, len);
	struct cargo *c = name ? VEC_PUSH(*cargo, *n, *cap) : NULL;

	if (!c)
		return -ENOMEM;
	*c = (struct cargo){ .from = name, .back = back };
	return 0;
}

/* The other side of an exchange: as in the event or, where that is unknown, a directory
 * if names are known below it, else a file. */
static int load_other(struct fold *fold, const struct event *ev,
		      struct cargo **cargo, size_t *n, size_t *cap)
{
	const char *path = event_path2(ev);
	struct name *known = names_find(fold, path, ev->path2_len);
	struct event blank = { .kind = ev->kind,
			       .ftype = EVENT_FTYPE_REGULAR,
			       .pid = ev->pid,
			       .time_ns = ev->time_ns };
	bool is_file = ev->ftype != EVENT_FTYPE_DIRECTORY &&
		       !names_dir(fold, path, ev->path2_len);
	int r = load_below(fold, path, ev->path2_len, true, cargo, n, cap);

	if (ev->aux > EVENT_FTYPE_NONE && ev->aux < EVENT_FTYPE_END) {
		blank.ftype = (uint8_t)ev->aux;
		is_file = ev->aux != EVENT_FTYPE_DIRECTORY;
		known = NULL;
	}
	if (r < 0 || (known ? (bool)known->gone : !is_file))
		return r;
	return load_name(fold, &blank, path, ev->path2_len, true, cargo, n,
			 cap);
}

static int remember_rename(struct fold *fold, const struct event *ev)
{
	const char *from = event_path(ev);
	const char *to = event_path2(ev);
	bool exchange = ev->flags & EVENT_EXCHANGE;
	int r;

	if (ev->ftype != EVENT_FTYPE_DIRECTORY && !exchange)
		return 0;
	fold->n_moves++;
	r = remember(fold, from, ev->path_len, to, ev->path2_len, ev);
	if (r < 0)
		return r;
	return remember(fold, exchange ? to : NULL,
			exchange ? ev->path2_len : 0, from, ev->path_len, ev);
}

/* Puts one name down below the other prefix. */
static int unload(struct fold *fold, const struct cargo *c, struct str *path,
		  const struct event *ev, struct fold_change *change)
{
	const char *old = c->back ? event_path2(ev) : event_path(ev);
	const char *new = c->back ? event_path(ev) : event_path2(ev);
	const struct lineage_file *file = &c->from->file;
	size_t old_len = strlen(old);

	str_clear(path);
	str_adds(path, new);
	str_add(path, file->path + old_len, file->path_len - old_len);
	if (str_error(path) < 0)
		return -ENOMEM;
	if (path->len > EVENT_PATH_MAX) {
		fold_add_gap(fold, EVENT_GAP_PATH, new);
		return 0;
	}
	return arrive(fold, c, LINEAGE_RENAMED_TO, path->data, path->len, ev,
		      change);
}

static int carry(struct fold *fold, struct cargo *cargo, size_t n,
		 const struct event *ev, struct fold_change *change)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		bool back = cargo[i].back;

		cargo[i] = depart(cargo[i].from);
		cargo[i].back = back;
	}
	for (size_t i = 0; i < n && r >= 0; i++)
		r = unload(fold, &cargo[i], &path, ev, change);
	return r;
}

int moves_rename(struct fold *fold, const struct event *ev,
		 struct fold_change *change)
{
	CLEANUP(freep) struct cargo *cargo = NULL;
	const char *from = event_path(ev);
	struct fold_change one = { 0 };
	size_t n = 0;
	size_t cap = 0;
	int r = 0;

	if (ev->path_len == ev->path2_len &&
	    memcmp(from, event_path2(ev), ev->path_len) == 0)
		return 0;
	if (ev->ftype != EVENT_FTYPE_DIRECTORY)
		r = load_name(fold, ev, from, ev->path_len, false, &cargo, &n,
			      &cap);
	if (r >= 0 && n)
		fold_settle(cargo[0].from, &ev->before);
	if (r >= 0)
		r = load_below(fold, from, ev->path_len, false, &cargo, &n,
			       &cap);
	if (r >= 0 && ev->flags & EVENT_EXCHANGE)
		r = load_other(fold, ev, &cargo, &n, &cap);
	if (r >= 0)
		r = carry(fold, cargo, n, ev, n == 1 ? change : &one);
	if (r >= 0)
		r = remember_rename(fold, ev);
	return r;
}

/* ---- mounts ---- */

/* A name that the run has put something at, which is not from before it. */
static bool is_own(const struct name *name)
{
	return name->file.own && !name->prior;
}

int moves_carry_below(struct fold *fold, struct layer *source, const char *from,
		      const char *to, bool own_only, const struct event *ev)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(freep) struct cargo *cargo = NULL;
	struct layer *layer = fold->at;
	struct fold_change one = { 0 };
	size_t from_len = strlen(from);
	size_t n = 0;
	size_t cap = 0;
	int r;

	fold->at = source;
	r = load_below(fold, from, from_len, false, &cargo, &n, &cap);
	fold->at = layer;
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct name *name = cargo[i].from;
		const struct lineage_file *f = &name->file;

		if (own_only && !is_own(name))
			continue;
		cargo[i] = load(name);
		name_leave(name,
			   own_only ? LINEAGE_MOVED_AWAY : LINEAGE_REMOVED);
		str_clear(&path);
		str_adds(&path, to);
		str_add(&path, f->path + from_len, f->path_len - from_len);
		r = str_error(&path);
		if (r == 0)
			r = arrive(fold, &cargo[i], LINEAGE_RENAMED_TO,
				   path.data, path.len, ev, &one);
	}
	return r;
}

/* ---- links ---- */

/* The content of a file with several names can be changed through each of them; and it
 * is unknown how a file without one (O_TMPFILE) was opened. */
static void make_restless(struct cargo *cargo)
{
	cargo->restless = true;
	cargo->n_writers = LINEAGE_WRITERS_MAX;
	if (!cargo->from)
		return;
	cargo->from->file.seen |= LINEAGE_LINKED_FROM;
	cargo->from->file.restless = true;
	cargo->from->file.n_writers = LINEAGE_WRITERS_MAX;
}

int moves_link(struct fold *fold, const struct event *ev,
	       struct fold_change *change)
{
	struct cargo cargo = { 0 };
	struct event link = { .ftype = ev->ftype,
			      .pid = ev->pid,
			      .time_ns = ev->time_ns };

	if (link.ftype == EVENT_FTYPE_NONE)
		link.ftype = EVENT_FTYPE_REGULAR;
	if (ev->kind == EVENT_SYMLINK) {
		link.ftype = EVENT_FTYPE_SYMLINK;
	} else if (ev->path_len) {
		struct name *name = fold_name(fold, ev, event_path(ev),
					      ev->path_len);

		if (!name)
			return -ENOMEM;
		fold_settle(name, &ev->before);
		if (!name->file.own && inodes_note(fold, name) < 0)
			return -ENOMEM;
		cargo = load(name);
	}
	/* A linked file keeps its name: a hash of the old name does not cover writes
	 * through the new one. */
	cargo.closed = false;
	make_restless(&cargo);
	return arrive(fold, &cargo, LINEAGE_LINKED_TO, event_path2(ev),
		      ev->path2_len, &link, change);
}

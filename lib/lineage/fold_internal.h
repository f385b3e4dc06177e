/* fold_internal.h - what the files of the fold share.
 *
 *	fold.c		life cycle, and what each event does to a name
 *	names.c		the table of names and the tree of their directories
 *	moves.c		renames: of files, of directories, exchanges
 *	mounts.c	names that mean other files after a mount
 *	inodes.c	several names of one file (hard links)
 *	processes.c	the process table
 *	edges.c		which process read and wrote which file
 *	gaps.c		reasons why the record is incomplete
 *	roles.c		lineage_roles() */
#ifndef ROAR_LINEAGE_FOLD_INTERNAL_H
#define ROAR_LINEAGE_FOLD_INTERNAL_H

#include "base/map.h"
#include "base/pool.h"
#include "lineage/fold.h"
#include "lineage/index.h"

enum { NAMES_MAX = (1 << 28) - 1 };

/* A name, with the fields that only the fold uses. */
struct name {
	struct lineage_file file; /* first, so that a file is its name */
	uint32_t next; /* ordinal + 1 of the next name in its directory */
	uint32_t ordinal : 28; /* place in fold.files */
	uint32_t gone : 1; /* no file has the name now */
	uint32_t prior : 1; /* own, but the content is from before the run: see
			     * name_source() */
	uint32_t written : 1; /* the content from before the run was opened for
			       * writing, maybe through another name */
	uint32_t closed : 1; /* FOLD_CLOSED was reported, a hash may exist */
};

_Static_assert(sizeof(struct name) <= 104, "about 200 bytes a file in all");

/* A directory that holds known names or such directories. */
struct dir {
	struct dir *parent; /* NULL for the root */
	struct dir *child; /* first of its directories */
	struct dir *sibling; /* next directory of the same parent */
	const char *path; /* borrowed from a name; not NUL-terminated */
	uint32_t path_len; /* 0 for the root */
	uint32_t names; /* ordinal + 1 of the first name in it */
};

/* The names of one tree of files.  A mount brings a tree of its own: below its mount
 * point the same paths are other names. */
struct layer {
	struct index by_path;
	struct map dirs; /* path -> struct dir */
	struct dir *last_dir; /* of the last name added; neighbours follow */
	struct map moves; /* directory -> latest struct move into it */
	struct layer *next; /* of all layers */
	uint64_t dev; /* its file system; 0 unknown */
	const char *upper; /* overlay: the directory to which its files are
			    * written; or NULL */
	uint32_t n_mounts; /* mounts that show it; the first layer has one more */
};

/* An edge that its file does not tell. */
struct pair {
	uint32_t key; /* ordinal of the file << 3 | kind - 1 */
	uint32_t process; /* index in fold.processes */
	uint32_t order; /* ordinal of the event */
};

struct edges {
	struct pair *pairs; /* in the order of their events */
	size_t n, cap;
	uint32_t *slots; /* hash table: index + 1; 0 = free */
	size_t n_slots; /* 0 or a power of two */
	uint64_t n_left_out;
};

struct fold {
	struct pool structs; /* names, directories, moves, layers */
	struct pool text; /* paths, command lines, details */
	struct lineage_file **files; /* each inside a struct name */
	size_t n_files, cap_files;
	struct name *chunk; /* names allocated ahead */
	size_t chunk_left;
	struct index by_inode; /* see inodes.c */
	struct layer first; /* the names before any mount */
	struct layer *at; /* the layer that the current event is about */
	struct mounted *mounts; /* made by the run, newest first */
	struct event *placed; /* an event with the names of its layer */
	uint64_t n_moves;
	struct lineage_process *processes;
	size_t n_processes, cap_processes;
	struct index by_pid;
	bool pid_reused; /* a pid has more than one process */
	size_t command_bytes; /* text of command lines so far */
	struct edges edges;
	struct lineage_gap *gaps;
	size_t n_gaps, cap_gaps; /* one more slot than n_gaps is kept free */
	int64_t start_ns; /* time of the first event; 0: none yet */
	uint32_t n_events; /* saturates at its maximum */
};

static inline struct name *name_of(struct lineage_file *file)
{
	return (struct name *)file;
}

/* The name for which content counts when it is read as an input: the one it had before
 * the run, which is the name itself when it was moved away and back. */
static inline struct name *name_source(struct name *name)
{
	return name->prior && name->file.origin ? name_of(name->file.origin) :
						  name;
}

/* The name has no file any more; `seen` says why. */
static inline void name_leave(struct name *name, unsigned seen)
{
	name->file.seen |= (uint16_t)seen;
	name->file.own = false;
	name->file.restless = false;
	name->file.n_writers = 0;
	name->file.origin = NULL;
	name->prior = 0;
	name->gone = 1;
}

/* Do these two stamps show different content?  The time of the last status change is
 * left out on purpose: chmod, rename and link change it. */
static inline bool content_differs(const struct stamp *a, const struct stamp *b)
{
	return stamp_exists(a) && stamp_exists(b) &&
	       (!stamp_same_file(a, b) || a->size != b->size ||
		a->mtime_ns != b->mtime_ns);
}

/* Could content have changed after `taken_ns` without content_differs() showing it? */
static inline bool content_is_racy(const struct stamp *s, int64_t taken_ns)
{
	struct stamp content = *s;

	content.ctime_ns = content.mtime_ns;
	return stamp_is_racy(&content, taken_ns);
}

/* ---- names.c ---- */

/* The name in that layer; NULL when it was never seen. */
struct name *names_find_in(const struct fold *fold, const struct layer *layer,
			   const char *path, size_t len);

/* The following functions act on the names of one layer, fold->at. */
struct name *names_find(const struct fold *fold, const char *path, size_t len);

/* The name, added when it is new.  NULL when out of memory. */
struct name *names_get(struct fold *fold, const char *path, size_t len,
		       bool *ret_new);

/* The directory of that path when it holds known names, or NULL. */
struct dir *names_dir(const struct fold *fold, const char *path, size_t len);

/* Appends the ordinals of all names below `top` that exist.  0 or -ENOMEM. */
int names_below(const struct fold *fold, const struct dir *top,
		uint32_t **ordinals, size_t *n, size_t *cap);

/* ---- fold.c ---- */

/* The name that an event mentions, with its state before the run. */
struct name *fold_name(struct fold *fold, const struct event *ev,
		       const char *path, size_t len);

/* Has the run changed content that it only opened for writing? */
void fold_settle(struct name *name, const struct stamp *now);

/* Remembers who wrote a name.  0 or -ENOMEM. */
int fold_note_write(struct fold *fold, struct name *name, int32_t pid);

/* The run put content at a name, or read content there that it had not put: are both
 * consistent?  If not, adds a gap. */
void fold_check_order(struct fold *fold, const struct lineage_file *file,
		      const struct event *ev);

void fold_tell(struct fold_change *change, enum fold_news news,
	       struct name *name, struct name *at);

/* ---- moves.c ---- */

int moves_rename(struct fold *fold, const struct event *ev,
		 struct fold_change *change);
int moves_link(struct fold *fold, const struct event *ev,
	       struct fold_change *change);

/* A directory was removed: a name found there later did not come by a move. */
int moves_rmdir(struct fold *fold, const char *path, size_t len);

/* A name seen for the first time: did it come with a directory?  Then it is
 * made own, and its old name its origin. */
int moves_trace_back(struct fold *fold, struct name *name,
		     const struct event *ev);

/* Moves the names below `from` in the layer `source` to `to` in fold->at.  With
 * `own_only`, names at which the run has put nothing stay. */
int moves_carry_below(struct fold *fold, struct layer *source, const char *from,
		      const char *to, bool own_only, const struct event *ev);

/* ---- mounts.c ---- */

int mounts_mount(struct fold *fold, const struct event *ev,
		 struct fold_change *change);
int mounts_unmount(struct fold *fold, const struct event *ev,
		   struct fold_change *change);

/* The tree that is visible at a path, and the name in it. */
struct placed {
	struct layer *layer;
	const char *target; /* replaces the first `skip` bytes */
	uint32_t target_len;
	uint32_t skip;
};

struct placed mounts_place(const struct fold *fold, const char *path,
			   size_t len);

/* The event with the names of its layer, which becomes fold->at.  NULL when out of
 * memory. */
const struct event *mounts_translate(struct fold *fold, const struct event *ev);

/* ---- inodes.c ---- */

/* Remembers `name` as the name of its file. */
int inodes_note(struct fold *fold, struct name *name);

/* `name`, whose file was `before`, is about to be written. */
int inodes_write(struct fold *fold, struct name *name,
		 const struct stamp *before);

/* Did the run change the file of `name` through another name?  Then the name is made
 * own. */
void inodes_read(struct fold *fold, struct name *name,
		 const struct stamp *before);

/* ---- processes.c ---- */

int processes_fork(struct fold *fold, const struct event *ev);
int processes_exec(struct fold *fold, const struct event *ev);
int processes_exit(struct fold *fold, const struct event *ev);

/* The index of the latest process with that pid, alive or not; it is added when there is
 * none.  -ENOENT when the table is full, -ENOMEM. */
int64_t processes_of(struct fold *fold, int32_t pid);

/* The index of the process that had the pid at event number `order`; -1: none. */
int64_t processes_at(const struct fold *fold, int32_t pid, uint32_t order);

/* ---- edges.c ---- */

/* The process reads or writes the file of `name`.  0 or -ENOMEM. */
int edges_add(struct fold *fold, const struct name *name,
	      enum lineage_edge_kind kind, int32_t pid);

/* The process makes the content of a name that has a writer, from nothing. */
int edges_make(struct fold *fold, const struct name *name, int32_t pid);

/* The process moves content that the run made. */
int edges_move(struct fold *fold, const struct name *from,
	       const struct name *to, int32_t pid);

/* The process started with a descriptor that another one has opened. */
int edges_pass(struct fold *fold, struct name *name, const struct event *ev);

void edges_release(struct edges *e);

#endif

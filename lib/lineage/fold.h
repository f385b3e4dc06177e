/* fold.h - from events to facts about files.
 *
 * The fold reads events in order and keeps, per name, what the run did with the content
 * of that name.  It does no I/O and does not depend on the tracer: the same events give
 * the same facts, live or replayed from a journal.
 *
 * The one idea: a name is `own` from the moment the run placed content there (created,
 * truncated, wrote, renamed or linked a file to it) until it is removed.  Reading a
 * name that is not own is reading prior content: an input.  Reading an own name is
 * reading what the run made: an intermediate.
 *
 * Opening for writing alone does not prove a change; lineage_roles() decides at the
 * end, with the file's stamp after the run.  A rename of a directory moves every known
 * name below it.
 *
 * What each event does:
 *	OPEN read		prior -> input, own -> intermediate
 *	OPEN write		keeps the stamp before; CREATE, TRUNC make it own
 *	OPEN read+write		input unless CREATE or TRUNC; then as write
 *	OPEN passed		an edge, see below
 *	EXEC			as OPEN read
 *	RENAME			new name is own and remembers where it came from;
 *				prior content read later counts for the old name
 *	LINK, SYMLINK		new name is own
 *	UNLINK			name is gone; a file created later starts anew
 *	TRUNCATE		own
 *	MOUNT, UNMOUNT		names below are other files: see mounts.c
 *	FORK, EXEC, EXIT	the process table
 *	GAP			the reasons of the verdict
 *
 * Facts belong to names.  Content from before the run that was moved or linked keeps
 * counting for the name it had before the run, through any number of renames; so does a
 * name first seen below a directory that the run had moved.  A file may have several
 * names: a write through one marks the other, where it is known, as opened for writing,
 * and its stamp decides at the end.  A name opened for writing whose content has
 * another size, inode or mtime when it is read again was written by the run: it is own
 * from then on.
 *
 * Events of processes that change the same names at the same time may arrive in another
 * order than the kernel's.  So it is a gap if content was written during the run, read
 * at a name as if from before the run, and put at that same name by the run.
 *
 * An edge says that a process read or wrote a file.  All distinct ones are kept, up to
 * four million beyond the first reader and writer of each file.  An edge belongs to the
 * process that opened the file, renamed it or made the link.  Some shells open `out` for
 * `cmd > out` in the child that becomes cmd, others before they make the child; then the
 * shell has the edge, and OPEN with EVENT_PASSED adds one of another kind to cmd: it may
 * have used the file.  Such events come for the standard streams of a program when it
 * starts.  Other inherited descriptors count for the process that opened them, and no
 * event tells what goes through pipes.
 *
 * Directories are ignored.  Devices, FIFOs and sockets are kept as such: they have no
 * content to identify.  A fold belongs to one thread; everything it returns lives until
 * fold_free().  It takes about 200 bytes per file. */
#ifndef ROAR_LINEAGE_FOLD_H
#define ROAR_LINEAGE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/stamp.h"
#include "event/event.h"

struct fold;

/* What was seen of a name. */
enum lineage_seen {
	LINEAGE_READ_PRIOR = 1 << 0, /* content from before the run was read */
	LINEAGE_READ_OWN = 1 << 1, /* content the run had put there was read */
	LINEAGE_OPENED_WRITE = 1 << 2, /* opened for writing, maybe unchanged */
	LINEAGE_CREATED = 1 << 3,
	LINEAGE_TRUNCATED = 1 << 4,
	LINEAGE_RENAMED_TO = 1 << 5,
	LINEAGE_LINKED_TO = 1 << 6, /* hard link or symlink made here */
	LINEAGE_REMOVED = 1 << 7, /* unlinked or replaced at some time */
	LINEAGE_MOVED_AWAY = 1 << 8, /* the current content was moved to another
				      * name */
	LINEAGE_EXECUTED = 1 << 9,
	LINEAGE_INHERITED = 1 << 10, /* the command inherited the descriptor */
	LINEAGE_UNSTABLE = 1 << 11, /* prior content changed between reads */
	LINEAGE_LINKED_FROM = 1 << 15, /* it was linked to another name */
	/* Set in records, from lineage_is_prior() of an output: */
	LINEAGE_PRIOR = 1 << 12, /* renamed or linked here from before the run */
	/* Not opened: reading another file implies it (`origin`). */
	LINEAGE_IMPLIED = 1 << 13,
	/* Set in records, from lineage_is_fresh() of an output: */
	LINEAGE_FRESH = 1 << 14, /* made by the run, name and content */
	/* Set in records only, beyond the bits that the fold keeps: */
	LINEAGE_REPORTED = 1 << 16, /* its digest is that which the process that
				     * wrote it reported */
};

struct lineage_file {
	const char *path; /* absolute, in the fold's memory */
	uint32_t path_len;
	uint16_t seen; /* enum lineage_seen */
	uint8_t ftype; /* enum event_ftype at first sight */
	bool own : 1; /* the current content was put there by the run */
	bool restless : 1; /* the content may change while its stamp does not:
			    * opened for reading and writing, so that it may be
			    * mapped, or linked to another name; moves with the
			    * content */
	bool joint : 1; /* several processes have opened it for writing, or
			 * changed it otherwise, at any time */
	uint8_t n_writers : 5; /* opens for writing by the run minus closes;
			        * LINEAGE_WRITERS_MAX: unknown */
	struct stamp first; /* content at first sight; ino 0: no file */
	int64_t first_ns; /* when it was first opened for writing, or read */
	uint32_t read_order; /* ordinal of the first read among events, 0:
			      * never */
	uint32_t write_order; /* ordinal of the first write */
	int32_t reader; /* pid of the first reader, 0 none */
	int32_t writer; /* pid of the first writer */
	struct lineage_file *origin; /* RENAMED_TO, LINKED_TO: the name that the
				      * content had before; one step, no chain.
				      * IMPLIED: what was read instead */
	void *user; /* for the owner of the fold */
};

enum { LINEAGE_WRITERS_MAX = 31 };

/* The role of a file in the run; several may apply. */
enum lineage_role {
	LINEAGE_INPUT = 1 << 0,
	LINEAGE_OUTPUT = 1 << 1,
	LINEAGE_INTERMEDIATE = 1 << 2, /* the run read what it had written */
	LINEAGE_TEMPORARY = 1 << 3, /* written, gone at the end */
	LINEAGE_TOUCHED = 1 << 4, /* opened for writing, unchanged */
};

/* The numbers are stored: never reuse one. */
enum lineage_edge_kind {
	LINEAGE_EDGE_READ = 1, /* content from before the run */
	LINEAGE_EDGE_READ_OWN = 2, /* content the run had put there */
	LINEAGE_EDGE_WRITTEN = 3, /* opened for writing, created, renamed to, ... */
	LINEAGE_EDGE_MADE = 4, /* wrote the content, which another process then
				* renamed or linked here */
	/* The first three, by a standard stream that another process opened: */
	LINEAGE_EDGE_PASSED_READ = 5,
	LINEAGE_EDGE_PASSED_READ_OWN = 6,
	LINEAGE_EDGE_PASSED_WRITTEN = 7,
	LINEAGE_EDGE_REPLACED =
		8, /* not a use, but a moment: the process replaced the
				    * content, and what others wrote before is gone */
	LINEAGE_EDGE_END,
};

/* From a kind to that by a passed stream. */
enum { LINEAGE_EDGE_PASSED = LINEAGE_EDGE_PASSED_READ - LINEAGE_EDGE_READ };

/* The kind of use: one of the first three.  Not for LINEAGE_EDGE_REPLACED. */
static inline enum lineage_edge_kind lineage_edge_use(unsigned kind)
{
	if (kind == LINEAGE_EDGE_MADE)
		return LINEAGE_EDGE_WRITTEN;
	return kind > LINEAGE_EDGE_MADE ? kind - LINEAGE_EDGE_PASSED : kind;
}

/* The kind of the edge to the first reader of a file with these bits (lineage_seen). */
static inline enum lineage_edge_kind lineage_first_read(unsigned seen)
{
	return seen & LINEAGE_READ_PRIOR ? LINEAGE_EDGE_READ :
					   LINEAGE_EDGE_READ_OWN;
}

struct lineage_edge {
	uint32_t file; /* index in fold_files() */
	uint32_t process; /* index in fold_processes() */
	uint32_t order; /* ordinal among events, as read_order and write_order */
	uint8_t kind; /* enum lineage_edge_kind; 0: others say the same */
};

struct lineage_process {
	int32_t pid;
	int32_t parent; /* pid, 0 for the command itself */
	const char *command; /* command line of its last exec, cut; "" unknown */
	int64_t start_ns;
	int64_t end_ns; /* 0: not seen to end */
	int status; /* wait status, when it ended */
	uint32_t order; /* ordinal of the event that it was first seen by */
	uint32_t n_execs; /* programs it executed; 0: it only forked */
	uint32_t former; /* index + 1 of the process that had the pid before */
};

struct lineage_gap {
	int code; /* enum event_gap */
	const char *detail; /* what it concerns; "" when there is nothing to add */
	uint32_t count; /* how often */
};

/* What fold_add() reports for immediate action. */
enum fold_news {
	FOLD_NOTHING,
	FOLD_INPUT, /* `file` has just become an input: hash it soon */
	FOLD_CLOSED, /* `file` is own and was closed (or was renamed here after
		      * it was closed): hash it when idle */
	FOLD_REWRITTEN, /* `file` may change again: an early hash is void */
};

struct fold_change {
	enum fold_news news;
	struct lineage_file *file;
	struct lineage_file *at; /* the current name of its content: `file`,
				  * except for an input that the run had moved
				  * before */
};

int fold_new(struct fold **ret_fold);
void fold_free(struct fold *fold);
DEFINE_CLEANUP(struct fold *, fold_free)

/* Takes one event.  0, or -ENOMEM (a gap is then remembered as well). */
int fold_add(struct fold *fold, const struct event *ev,
	     struct fold_change *ret_change);

/* A name was found after the run, below a directory that was renamed.  Unless an event
 * reported a file there, it becomes what a rename of its own would have made it. */
int fold_add_found(struct fold *fold, const char *path, enum event_ftype ftype,
		   const struct stamp *stamp);

/* `path`, for which there was no event, was read as well when `via` was, which proves
 * its content: it becomes an input. */
int fold_add_implied(struct fold *fold, const char *path,
		     const struct stamp *stamp, const struct lineage_file *via);

/* Remembers a reason why the record is incomplete.  Equal reasons are counted
 * once; at most 64 different details are kept per code. */
void fold_add_gap(struct fold *fold, int code, const char *detail);

/* The file of that name; NULL when it was never seen. */
struct lineage_file *fold_find(const struct fold *fold, const char *path);

/* A name that the file of this stamp had before the run, if the run has read it,
 * written it in place or linked it; NULL otherwise.  That name may be gone. */
struct lineage_file *fold_find_inode(const struct fold *fold,
				     const struct stamp *stamp);

/* Is a file visible at its path?  Several files may have one path: one in a directory
 * and another in a file system mounted there. */
enum fold_sight {
	FOLD_SHOWN,
	FOLD_COVERED, /* it exists, below a mount */
	FOLD_UNMOUNTED, /* its file system is not mounted there any more */
};

enum fold_sight fold_sight(const struct fold *fold,
			   const struct lineage_file *file);

/* All files in the order of first sight. */
struct lineage_file *const *fold_files(const struct fold *fold, size_t *ret_n);

const struct lineage_process *fold_processes(const struct fold *fold,
					     size_t *ret_n);
const struct lineage_gap *fold_gaps(const struct fold *fold, size_t *ret_n);

/* The edges that the files do not tell by `reader` and `writer`, in the order of their
 * events, and how many were not kept.  The edge of `reader` has the kind
 * lineage_first_read(). */
size_t fold_n_edges(const struct fold *fold, uint64_t *ret_n_left_out);
struct lineage_edge fold_edge(const struct fold *fold, size_t i);

/* Has a pid belonged to more than one process? */
bool fold_has_reused_pids(const struct fold *fold);

/* Its index in fold_files(). */
uint32_t fold_file_index(const struct lineage_file *file);

/* Has that process an edge of this kind to the file?  The process is the latest one with
 * that pid. */
bool fold_knows_edge(const struct fold *fold, const struct lineage_file *file,
		     enum lineage_edge_kind kind, int32_t pid);

/* Is there no room for more edges?  Then one is counted as not kept. */
bool fold_leaves_out_edge(struct fold *fold);

/* The index of the process that had the pid at event number `order`; -1: none.
 * *ret_unique: it is the only one that had the pid. */
int64_t fold_process_at(const struct fold *fold, int32_t pid, uint32_t order,
			bool *ret_unique);

/* Bytes that the fold has allocated. */
size_t fold_memory(const struct fold *fold);

/* The roles of a file, given its stamp after the run (ino 0: the file is gone).
 *
 * Written means: created, truncated, renamed to, linked to, or opened for writing with
 * another stamp than before (or a stamp too young to decide).
 *	input		prior content was read
 *	output		written and it exists
 *	temporary	written and gone, unless its content moved to another name
 *	intermediate	written and read again
 *	touched		opened for writing, not written, not an input, exists
 * A file that was moved away and back unchanged is not written.  No role at all: the
 * name was only temporary on the way of a rename, or removed unread. */
unsigned lineage_roles(const struct lineage_file *file,
		       const struct stamp *after);

/* Is the content of the name after the run content from before it, which the run only
 * renamed or linked there from `origin`? */
bool lineage_is_prior(const struct lineage_file *file,
		      const struct stamp *after);

/* Did the name have no content before the run put its own there: created, or written
 * under another new name and renamed or linked here?  A rename does not report what it
 * replaced; then the answer is unknown. */
bool lineage_is_fresh(const struct lineage_file *file,
		      const struct stamp *after);

/* Did process `pid` alone make the content of the name, as far as opens, truncations and
 * renames show?  False if another name is involved, or if the file was open for reading
 * and writing, so that a store into a mapping may have changed it unseen. */
bool lineage_wrote_alone(const struct lineage_file *file, int32_t pid);

#endif

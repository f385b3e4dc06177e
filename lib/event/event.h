/* event.h - one action of a traced process on a file or on the process tree.
 *
 * One layout for all tracers and for the run journal.  A record is a fixed header and
 * two NUL-terminated byte strings after it, padded to eight bytes:
 *
 *	offset  size  field
 *	     0     4  size       whole record, multiple of 8, at least 80
 *	     4     1  kind       enum event_kind
 *	     5     1  ftype      enum event_ftype of the file `before` describes
 *	     6     2  flags      enum event_flags
 *	     8     4  pid        thread-group id of the acting process
 *	    12     4  aux        meaning depends on kind
 *	    16     8  time_ns    since 1970
 *	    24    40  before     the file as it was before the call
 *	    64     4  path_len   bytes of path, without NUL
 *	    68     4  path2_len  bytes of path2, without NUL
 *	    72     -  path NUL path2 NUL padding
 *
 * Integers have the byte order of the machine: a journal never leaves it.  Paths are
 * absolute and free of symbolic links, except where noted.  The order of records is the
 * order of the calls; a record stands for a call that succeeded.
 *
 * Duties of a tracer, kind by kind:
 *
 *	kind      path               path2         aux         before
 *	FORK      -                  -             parent pid  -
 *	EXEC      program or script  command line  -           the file
 *	EXIT      -                  -             wait status -      (*)
 *	OPEN      the file           -             -           the file
 *	RENAME    old name           new name      (exchange)  what moved
 *	LINK      old name or ""     new name      -           what is linked
 *	SYMLINK   text of the link   new name      -           -
 *	UNLINK    the name           -             -           what it named
 *	TRUNCATE  the file           -             -           the file
 *	CLOSE     the file           -             -           -
 *	MOUNT     the mount point    see below     event_mount device (dev)
 *	UNMOUNT   the mount point    -             -           device (dev)
 *	GAP       detail             -             enum event_gap  -
 *
 * (*) EVENT_STATUS_UNKNOWN where only the parent could read it.
 *
 * EXEC comes once per file that the kernel loaded: the script, its interpreter, the
 * program and the program's loader; only the first has the command line.  For an
 * exchange, aux is the enum event_ftype of the file that had the new name; 0: unknown.
 * `before` may be zero although ftype names a kind of file: then the run itself created
 * the file recently.  For a truncated file it may only identify the file: device and
 * inode, the rest zero.  CLOSE is a hint that a file opened for writing may be final
 * and can be hashed early; a tracer may omit it or send it twice.
 *
 * OPEN with EVENT_PASSED is only evidence of who used a file: a program has started with a
 * regular file as a standard stream.  It has no stamp.
 *
 * MOUNT and UNMOUNT mean that the names below a mount point are other files from now
 * on.  Only mounts of the tracer's own namespace are reported.  The meaning of path2
 * for a new mount depends on aux (enum event_mount).  A moved mount is reported as
 * MOUNT at its new place and UNMOUNT at the old one. */
#ifndef ROAR_EVENT_EVENT_H
#define ROAR_EVENT_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"

enum event_kind {
	EVENT_FORK = 1,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_OPEN,
	EVENT_RENAME,
	EVENT_LINK,
	EVENT_SYMLINK,
	EVENT_UNLINK,
	EVENT_TRUNCATE,
	EVENT_CLOSE,
	EVENT_GAP,
	EVENT_MOUNT,
	EVENT_UNMOUNT,
	EVENT_KIND_END,
};

enum event_flags {
	EVENT_READ = 1 << 0, /* OPEN: for reading */
	EVENT_WRITE = 1 << 1, /* OPEN: for writing */
	EVENT_CREATE = 1 << 2, /* OPEN: the name did not exist before */
	EVENT_TRUNC = 1 << 3, /* OPEN: emptied the file */
	EVENT_TMPFILE = 1 << 4, /* OPEN: O_TMPFILE; path is the directory */
	EVENT_INHERITED = 1 << 5, /* OPEN: came from outside the run */
	EVENT_EXCHANGE = 1 << 6, /* RENAME: the two names swapped */
	EVENT_ROOT = 1 << 7, /* FORK, EXEC: the command itself */
	EVENT_PASSED = 1 << 8, /* OPEN: it was not opened, but passed on by the
				* process that opened it */
};

/* The kind of file of a name. */
enum event_ftype {
	EVENT_FTYPE_NONE, /* there is no file */
	EVENT_FTYPE_REGULAR,
	EVENT_FTYPE_DIRECTORY,
	EVENT_FTYPE_SYMLINK,
	EVENT_FTYPE_FIFO,
	EVENT_FTYPE_SOCKET,
	EVENT_FTYPE_DEVICE,
	EVENT_FTYPE_END,
	/* In records only; the number is stored. */
	EVENT_FTYPE_OBJECT = 32, /* s3://BUCKET/KEY */
};

/* What a new mount shows, and what path2 is. */
enum event_mount {
	EVENT_MOUNT_NEW, /* a file system without another name; "" */
	EVENT_MOUNT_ALIAS, /* the files at path2: a bind mount */
	EVENT_MOUNT_MOVED, /* the mount that was at path2 */
	EVENT_MOUNT_OVERLAY, /* files written there are in path2 afterwards */
};

/* Why a record is incomplete.  The numbers are stored: never reuse one. */
enum event_gap {
	EVENT_GAP_UNTRACED = 1, /* nothing was observed at all */
	EVENT_GAP_IO_URING = 2, /* a process set up io_uring */
	EVENT_GAP_ESCAPED = 3, /* a process was lost from the trace */
	EVENT_GAP_NAMESPACE = 4, /* files of another mount namespace */
	EVENT_GAP_PATH = 5, /* a path could not be read or resolved */
	EVENT_GAP_SETUID = 6, /* a set-uid program ran without its privilege */
	EVENT_GAP_OUTLIVED = 7, /* a process continued after the record ended */
	EVENT_GAP_UNREADABLE = 8, /* content could not be read to identify it */
	EVENT_GAP_CHANGED = 9, /* content changed while the run used it */
	EVENT_GAP_JOURNAL = 10, /* the journal could not be written */
	EVENT_GAP_INTERRUPTED = 11, /* roar itself was killed; from the journal */
	EVENT_GAP_HANDLE = 12, /* opened by file handle, name unknown */
	EVENT_GAP_MEMORY = 13, /* out of memory; events were dropped */
	EVENT_GAP_LOST = 14, /* a tracer lost events */
	EVENT_GAP_LATE = 15, /* recorded later, from the journal */
	EVENT_GAP_LIBRARY = 16, /* only calls of the C library were seen */
	EVENT_GAP_PROXY = 17, /* the S3 proxy did not run to its end */
	EVENT_GAP_REQUEST = 18, /* a request to an object was cut */
	EVENT_GAP_OBJECT_LOG = 19, /* the log of the S3 proxy is not readable */
	EVENT_GAP_PYTHON = 20, /* only what Python itself opened was seen */
	EVENT_GAP_NODE = 21, /* a joined job lacks records of nodes */
};

struct event {
	uint32_t size;
	uint8_t kind;
	uint8_t ftype;
	uint16_t flags;
	int32_t pid;
	int32_t aux;
	int64_t time_ns;
	struct stamp before;
	uint32_t path_len;
	uint32_t path2_len;
	char paths[];
};

/* No wait status has this value. */
enum { EVENT_STATUS_UNKNOWN = -1 };

enum {
	EVENT_HEADER = 72,
	EVENT_SIZE_MIN = 80, /* header, two NULs, padding */
	EVENT_PATH_MAX = 64 * 1024, /* bytes of each string */
	EVENT_SIZE_MAX = EVENT_HEADER + 2 * EVENT_PATH_MAX + 8,
};

_Static_assert(offsetof(struct event, paths) == EVENT_HEADER, "wire layout");

static inline const char *event_path(const struct event *ev)
{
	return ev->paths;
}

static inline const char *event_path2(const struct event *ev)
{
	return ev->paths + ev->path_len + 1;
}

/* The size of a record with these strings. */
static inline uint32_t event_size(size_t path_len, size_t path2_len)
{
	return (uint32_t)((EVENT_HEADER + path_len + path2_len + 2 + 7) &
			  ~(size_t)7);
}

/* Fills in size and strings; the caller sets the other fields of `ev`.  The buffer must
 * hold event_size() bytes. */
void event_set_paths(struct event *ev, const char *path, size_t path_len,
		     const char *path2, size_t path2_len);

/* Is there a valid record at the start of `len` bytes?  Returns its size, 0 when the
 * bytes end (or a zero size marks the end), -EBADMSG when they are not a record.  Every
 * field that a reader relies on is checked. */
int64_t event_check(const void *data, size_t len);

/* The ftype of a stat mode. */
enum event_ftype event_ftype_of(uint32_t mode);

/* "open", "rename", ... for test scripts and messages; "?" when unknown. */
const char *event_kind_name(unsigned kind);

/* One clause for a gap code, e.g. "a process set up io_uring". */
const char *event_gap_text(unsigned gap);

/* Short stable name for JSON, e.g. "io_uring". */
const char *event_gap_name(unsigned gap);

#endif

/* log.h - the memory that preloaded processes share with the tracer, its reader.
 *
 * A file on a tmpfs, mapped by libroar-preload.so in every process of the tree and by
 * the tracer.  One header, then a ring of 64-byte cells.  Producers reserve cells with
 * one compare-and-swap on `head`, fill them and commit; the reader consumes in order
 * and advances `tail`.  There are no locks, because a producer may be a signal handler,
 * or be killed or stopped anywhere.
 *
 *	offset       size     what
 *	     0       4 KiB    struct log_header
 *	 4 KiB       64 KiB   `read_names`: one bit per hashed base name that
 *	                      was opened for reading
 *	68 KiB       64 KiB   `known`: fingerprints of opens already logged
 *	 1 MiB       n cells  the ring
 *
 * A record takes as many cells as it needs and never wraps: a producer that would cross
 * the end uses the rest as padding.
 *
 * The first eight bytes of a record are its commit word.  The producer writes it last,
 * by a compare-and-swap from the value it found when it reserved the cells (an earlier
 * round, or 0) to log_commit(header, cell).  Every cell number has its own word, and no
 * path equals one by accident, so the reader need not clear what it has read.  A reader
 * that finds another word for too long changes it to log_skipped(header, cell) and
 * advances by one cell, until it finds a committed record.  A producer that finds this
 * word, or whose compare-and-swap fails, writes its record again.
 *
 * The order of records is the order in which their cells were reserved.  An open for
 * reading is logged after it succeeded (one record).  An open for writing is logged
 * before (LOG_INTENT) and after (LOG_RESULT), so that a kill in between loses nothing.
 *
 * Records are read late: by then the file may be another.  The following protocol keeps
 * the record of the run correct:
 *
 *	- Calls that change what a name means (rename, link, symlink, unlink, rmdir,
 *	  chdir, mount, exec, ...), calls that need the file as it was before
 *	  (open for writing without truncation, truncate), and opens for writing of
 *	  a base name in `read_names`, or of a file with several names, are *asked*:
 *	  the process waits until the reader has drained the ring, examined the
 *	  file, and answered.
 *	- All others (reads; O_CREAT|O_EXCL; O_TRUNC of names that were never read)
 *	  are only *told*: logged without a wait.
 *
 * So a told name still means the same file when the reader resolves it, and the reader
 * knows a told input before the run itself can change it.
 *
 * How a process asks: with LOG_SECCOMP it makes the call without the mark of
 * log_mark(), and the kernel notifies the reader.  Otherwise it writes a LOG_ASK record
 * and waits on `answered` (futex) until that is past its cell, the header is closed, or
 * LOG_ASK_MS have passed.  After that timeout it continues and sets LOG_LATE: the
 * record is incomplete.  While the reader does not advance, no process waits for it a
 * second time: see `stalled`.
 *
 * Other writers: a process sets a bit of `read_names` after an open for reading has
 * succeeded and before its program sees that.  The reader sets bits for reads that it
 * learns of in other ways, and for the base name of the file itself when a told name
 * was a symbolic link.  `generation` is increased before and after a call by the
 * process that makes it, and by the reader for calls that only the kernel reported.
 * `doorbell` is also increased when the ring becomes half full.  `mounted` is set by a
 * process that is about to mount or unmount, and by the reader.
 *
 * A child of vfork() shares its parent's memory and so its process id.  `tid` is the
 * kernel's in LOG_ASK, LOG_RESULT_ASKED, LOG_HELLO, LOG_FORK and LOG_CHILD.  In told
 * records it is cached, and such a child may use the tid of its parent's thread.
 *
 * Trust: the reader trusts nothing here.  Every length and index is checked after it
 * was copied out, `head` is bounded by what is possible, and an invalid record is a
 * gap. */
#ifndef ROAR_TRACE_PRELOAD_LOG_H
#define ROAR_TRACE_PRELOAD_LOG_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LOG_MAGIC UINT64_C(0x31676f4c72616f52) /* "RoarLog1" */
/* Path of the file; behind a ':' the pass of its header in hexadecimal, so that even
 * the open of this file is marked. */
#define LOG_ENV "ROAR_PRELOAD_LOG"

enum {
	LOG_CELL = 64,
	LOG_NAMES_AT = 4096,
	LOG_NAMES_SIZE = 64 * 1024, /* bytes: 2^19 bits */
	LOG_KNOWN_AT = LOG_NAMES_AT + LOG_NAMES_SIZE,
	LOG_KNOWN_SIZE = 64 * 1024, /* 2^13 fingerprints of 8 bytes */
	LOG_RING_AT = 1024 * 1024,
	LOG_CELLS_DEFAULT = 1 << 17, /* 8 MiB */
	LOG_PATH_MAX = 4096, /* bytes of a path, as the kernel takes it */
	LOG_ASK_MS = 2000,
};

enum log_mode {
	LOG_SECCOMP = 1 << 0, /* the reader is notified of calls without a mark */
};

/* Errors in a process; or-ed into header.trouble. */
enum log_trouble {
	LOG_LATE = 1 << 0, /* the reader did not answer in time */
	LOG_FULL = 1 << 1, /* ring full and no seccomp: an event was lost */
	LOG_UNSEEN = 1 << 2, /* no seccomp: posix_spawn() opened files itself */
};

struct log_header {
	uint64_t magic;
	uint32_t n_cells; /* power of two */
	uint32_t mode; /* enum log_mode */
	uint64_t key; /* random; part of every commit word */
	uint64_t pass; /* random; for log_mark() */
	int64_t start_ns; /* start of the run, on the clock of file stamps.  A
			   * change in that tick cannot be distinguished from
			   * one before, so with LOG_SECCOMP a process makes the
			   * reader examine a file that is read in it before the
			   * program continues */
	int32_t root_mount; /* mount id of the reader's root; 0: unknown.  A
			     * process with another one sees other mounts, and
			     * asks for all names */
	char preload[LOG_PATH_MAX / 4]; /* the entry for LD_PRELOAD */

	/* Shared without a lock; each comment starts with the writer. */
	_Alignas(64) _Atomic uint64_t head; /* any process: cells reserved since
					     * the start */
	_Alignas(64) _Atomic uint64_t tail; /* reader: cells consumed */
	_Alignas(64) _Atomic uint32_t next_process; /* any process: ids, from 1 */
	_Atomic uint32_t closed; /* reader: 1: there is no reader any more, log
				  * nothing */
	_Atomic uint32_t trouble; /* any process: enum log_trouble */
	_Atomic uint32_t generation; /* both: increased by every change of a
				      * name or file: older fingerprints are
				      * void */
	_Atomic uint32_t doorbell; /* any process: futex, increased by every
				    * LOG_ASK */
	_Atomic uint32_t mounted; /* both: 1: mounts changed, and a name may
				   * mean another file for the reader: ask for
				   * all */
	_Atomic uint64_t
		stalled; /* any process: tail + 1 at the last timeout of a wait;
			  * while tail has that value, no process waits */
	_Alignas(64) _Atomic uint32_t
		answered; /* reader: futex, low half of the cell up to which
			   * questions are answered */
};
_Static_assert(sizeof(struct log_header) <= LOG_NAMES_AT, "one page");

enum log_kind {
	LOG_PAD = 1, /* padding up to the end of the ring */
	LOG_HELLO, /* a program has started: value pid, dirfd its parent's pid,
		    * dirfd2 the mount of its root (0 unknown), other parent
		    * process id (0 unknown); path: current directory */
	LOG_FORK, /* a child of fork(): value pid, other parent process id;
		   * path: current directory, empty where names have another
		   * meaning for the reader */
	LOG_CWD, /* path: the new current directory, read from the kernel */
	LOG_OPEN, /* an open for reading that has succeeded; value: fd */
	LOG_INTENT, /* an open for writing is about to happen */
	LOG_RESULT, /* value: fd or -errno; other: low half of the cell of
		     * the intent */
	LOG_RESULT_ASKED, /* value: result or -errno of the asked call of this
			   * thread; call: its kind; other: low half of the cell
			   * of LOG_ASK (0 with LOG_SECCOMP) */
	LOG_FD, /* value: a descriptor whose file has no known name: it came
		 * over a socket, or its directory changed during the open */
	LOG_ASK, /* a call is about to happen and its process waits (not with
		  * LOG_SECCOMP); call, dirfd, flags, path as for the call */
	LOG_GONE, /* a child was waited for: value pid, other wait status */
	LOG_CHILD, /* a child of vfork() is about to execute a program: value pid */
	LOG_KIND_END,
};

/* A record; path and path2 follow, each with its NUL. */
struct log_record {
	_Atomic uint64_t commit;
	uint16_t n_cells; /* of the whole record */
	uint8_t kind; /* enum log_kind */
	uint8_t call; /* LOG_ASK, LOG_RESULT_ASKED: enum log_call */
	uint16_t path_len;
	uint16_t path2_len;
	uint32_t process; /* id from next_process */
	int32_t tid;
	int64_t time_ns; /* CLOCK_REALTIME_COARSE: the clock of file stamps */
	uint32_t flags; /* open flags; rename, link, unlink flags */
	int32_t dirfd;
	int32_t dirfd2;
	int32_t value;
	uint32_t other;
	char paths[];
};

/* The calls of LOG_ASK. */
enum log_call {
	LOG_CALL_OPEN = 1, /* dirfd2: RESOLVE_* of openat2() */
	LOG_CALL_RENAME,
	LOG_CALL_LINK,
	LOG_CALL_SYMLINK, /* path: text of the link */
	LOG_CALL_UNLINK, /* flags AT_REMOVEDIR: rmdir */
	LOG_CALL_TRUNCATE,
	LOG_CALL_MKNOD, /* flags: mode */
	LOG_CALL_CHDIR, /* path, or dirfd */
	LOG_CALL_EXEC, /* dirfd, path; path2: command line, arguments with NULs
			* between, cut at LOG_PATH_MAX; flags LOG_EXEC_SPAWN: a new
			* child will do it, the result is its pid */
	LOG_CALL_NAMESPACE, /* unshare, setns, chroot, mount, ...; without
			     * arguments */
	LOG_CALL_IO_URING,
	LOG_CALL_HANDLE, /* open_by_handle_at; value of the result: fd */
	LOG_CALL_SYNC, /* not a system call: read all records up to now.  With
		        * LOG_SECCOMP: recvmsg(-1, NULL, 0), which fails */
	LOG_CALL_END,
};

enum log_exec {
	LOG_EXEC_SPAWN = UINT32_C(1) << 31,
};

/* The mark of a call: it is passed as the sixth argument, which the call does not have,
 * so that the filter allows it.  A handler that runs while the call waits finds the
 * mark in a register: it is valid for the same call only. */
static inline uint64_t log_mark(uint64_t pass, uint32_t nr)
{
	return pass ^ nr;
}

/* The commit word of a record that starts at cell number `cell`. */
static inline uint64_t log_commit(const struct log_header *h, uint64_t cell)
{
	return (h->key ^ (cell * UINT64_C(0x9e3779b97f4a7c15))) | 1;
}

/* The word of a cell that the reader has skipped. */
static inline uint64_t log_skipped(const struct log_header *h, uint64_t cell)
{
	return log_commit(h, cell) - 1;
}

/* The hash of base names and fingerprints: eight bytes a step, because it is the larger
 * part of the cost of an open.  Well distributed, but not resistant to attacks. */
static inline uint64_t log_hash(uint64_t seed, const char *data, size_t len)
{
	const uint64_t k = UINT64_C(0x9fb21c651e98df25);
	uint64_t h = (seed ^ len) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word = 0;
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		memcpy(&word, data + i, 8);
		h = (h ^ word) * k;
		h ^= h >> 32;
	}
	if (len >= 8)
		memcpy(&word, data + len - 8, 8);
	else
		for (word = 0; i < len; i++)
			word = word << 8 | (unsigned char)data[i];
	h = (h ^ word) * k;
	h = (h ^ h >> 35) * k;
	return h ^ h >> 28;
}

/* The bit of a base name in `read_names`: bit % 64 of 64-bit word bit / 64. */
static inline uint32_t log_name_bit(const char *name, size_t len)
{
	return (uint32_t)(log_hash(0, name, len) % (LOG_NAMES_SIZE * 8));
}

#endif

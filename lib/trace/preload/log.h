/* log.h - the memory that preloaded processes share with the reader.
 *
 * A file on a tmpfs, mapped by libroar-preload.so in every process of the tree
 * and by the tracer.  One header, then a ring of 64-byte cells.  Producers take
 * cells with one compare-and-swap on `head`, fill them and commit; the reader
 * consumes in order and moves `tail`.  No locks: a producer
 * may be a signal handler, or be killed or stopped anywhere.
 *
 *	offset       size     what
 *	     0       4 KiB    struct log_header
 *	 4 KiB       64 KiB   `read_names`: one bit per hashed base name that
 *	                      was opened for reading
 *	68 KiB       64 KiB   `known`: fingerprints of opens already told
 *	 1 MiB       n cells  the ring
 *
 * A record takes as many cells as it needs and never wraps: a producer that
 * would cross the end takes the rest as padding.
 *
 * The first eight bytes of a record are its commit word.  It is written last, from
 * whatever a producer found there when it had taken the cells (an earlier round, or
 * 0) to log_commit(header, cell): every cell number has its own, and no path
 * imitates one by accident; so the reader need not clear what it has read.  A reader
 * that finds anything else for too long changes that to log_skipped(header, cell)
 * and goes one cell further, until it meets a committed record.  A producer that
 * finds this word, or whose compare-and-swap fails, writes its record anew.
 *
 * The order of records is the order in which their cells were taken.  An open for
 * reading is told after it succeeded (one record); an open for writing is told before
 * (LOG_INTENT) and after (LOG_RESULT), so that a kill in between loses nothing.
 *
 * What is told here is told late: when the reader looks, the file may be another.
 * The protocol that keeps the record true all the same:
 *
 *	- Calls that change what a name means (rename, link, symlink, unlink, rmdir,
 *	  chdir, mount, exec, ...), calls that need the file as it was before
 *	  (open for writing without truncation, truncate), and opens for writing of
 *	  a base name in `read_names`, or of a file with several names, are *asked*:
 *	  the process waits until the reader has drained the ring, looked, and
 *	  answered.
 *	- All others (reads; O_CREAT|O_EXCL; O_TRUNC of names nobody has read)
 *	  are only told.
 *
 * So a told name still means the same file when the reader resolves it, and a
 * told input is known to the reader before the run itself can change it.
 *
 * How a process asks: with LOG_SECCOMP it makes the call without the mark of
 * log_mark(), and the kernel's notification brings it to the reader.  Otherwise it
 * writes a LOG_ASK record and waits on `answered` (futex) until that is past
 * its cell, the header is closed, or LOG_ASK_MS have passed (then it goes on and
 * sets LOG_LATE: the record is incomplete).  While the reader does not move,
 * nobody waits for it a second time: see `stalled`.
 *
 * Who sets what besides: bits of `read_names` are set by a process after an open
 * for reading has succeeded and before its program sees that; the reader sets them for
 * reads that it learns of otherwise, and for the base name of the file itself
 * when a told name was a symbolic link.  `generation` is raised before and after a
 * call by the process that makes it, and by the reader for calls that only the
 * kernel told it of.  `doorbell` is also raised when the ring becomes half full.
 * `mounted` is set by a process that is about to mount or unmount, and by the reader.
 *
 * A child of vfork() shares its parent's memory and so its process id.  `tid` is the
 * kernel's in LOG_ASK, LOG_RESULT_ASKED, LOG_HELLO, LOG_FORK and LOG_CHILD; in what is only
 * told it is remembered, and such a child may speak as its parent's thread.
 *
 * Trust: the reader believes nothing here.  Every length and index is checked
 * after it was copied out, `head` is taken modulo what is possible, and a
 * record that makes no sense is a gap. */
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
	LOG_SECCOMP = 1 << 0, /* calls without a mark are seen */
};

/* Things that went wrong in a process; or-ed into header.trouble. */
enum log_trouble {
	LOG_LATE = 1 << 0, /* an asked reader did not answer in time */
	LOG_FULL = 1 << 1, /* no room, no seccomp: an event was lost */
	LOG_UNSEEN = 1 << 2, /* no seccomp: posix_spawn() opened files itself */
};

struct log_header {
	uint64_t magic;
	uint32_t n_cells; /* power of two */
	uint32_t mode; /* enum log_mode */
	uint64_t key; /* random; part of every commit word */
	uint64_t pass; /* random; for log_mark() */
	int64_t start_ns; /* of the run, on the clock of file stamps: a change in
			   * that tick cannot be told from one before, so with
			   * LOG_SECCOMP the reader is made to look at what is
			   * read in it before the program goes on */
	int32_t root_mount; /* of the reader, by number; 0: unknown.  Who has another
			     * one sees other mounts, and asks for all names */
	char preload[LOG_PATH_MAX / 4]; /* what to put into LD_PRELOAD */

	_Alignas(64) _Atomic uint64_t head; /* cells taken since the start */
	_Alignas(64) _Atomic uint64_t tail; /* cells consumed */
	_Alignas(64) _Atomic uint32_t next_process; /* ids, from 1 */
	_Atomic uint32_t closed; /* 1: nobody reads any more, tell nothing */
	_Atomic uint32_t trouble; /* enum log_trouble */
	_Atomic uint32_t generation; /* raised by every change of a name or file:
				      * fingerprints of before are void */
	_Atomic uint32_t doorbell; /* futex: raised by every LOG_ASK */
	_Atomic uint32_t mounted; /* 1: mounts came or went, and a name may mean
				   * another file to the reader: ask for all */
	_Atomic uint64_t
		stalled; /* tail + 1 when a process last waited in vain; as
				   * long as tail stands there, nobody waits */
	_Alignas(64) _Atomic uint32_t
		answered; /* futex: low half of the cell up to
						 * which questions are answered */
};
_Static_assert(sizeof(struct log_header) <= LOG_NAMES_AT, "one page");

enum log_kind {
	LOG_PAD = 1, /* up to the end of the ring */
	LOG_HELLO, /* a program has started: value pid, dirfd its parent's pid,
		    * dirfd2 the mount of its root (0 unknown), other parent
		    * process id (0 unknown); path: current directory */
	LOG_FORK, /* a child of fork(): value pid, other parent process id; path:
		   * current directory, empty where names mean nothing to the
		   * reader */
	LOG_CWD, /* path: the new current directory, asked of the kernel */
	LOG_OPEN, /* an open for reading that has succeeded; value: fd */
	LOG_INTENT, /* an open for writing is about to happen */
	LOG_RESULT, /* value: fd or -errno; other: low half of the cell of
		     * the intent */
	LOG_RESULT_ASKED, /* value: result or -errno of the asked call of this
			   * thread; call: which; other: low half of the cell
			   * of LOG_ASK (0 with LOG_SECCOMP) */
	LOG_FD, /* value: a descriptor whose file has no known name: it came over
		 * a socket, or its directory changed during the open */
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
	LOG_CALL_NAMESPACE, /* unshare, setns, chroot, mount, ...: only that */
	LOG_CALL_IO_URING,
	LOG_CALL_HANDLE, /* open_by_handle_at; value of the result: fd */
	LOG_CALL_SYNC, /* no call: look at what was told before now.  With
			* LOG_SECCOMP: recvmsg(-1, NULL, 0), which fails */
	LOG_CALL_END,
};

enum log_exec {
	LOG_EXEC_SPAWN = UINT32_C(1) << 31,
};

/* What a call carries as its sixth argument, which it does not have, so that the
 * filter lets it pass.  A handler that runs while it waits finds that in a register:
 * it is good for the same call alone. */
static inline uint64_t log_mark(uint64_t pass, uint32_t nr)
{
	return pass ^ nr;
}

/* The commit word of a record that starts at cell number `cell`. */
static inline uint64_t log_commit(const struct log_header *h, uint64_t cell)
{
	return (h->key ^ (cell * UINT64_C(0x9e3779b97f4a7c15))) | 1;
}

/* The word of a cell that the reader has given up waiting for. */
static inline uint64_t log_skipped(const struct log_header *h, uint64_t cell)
{
	return log_commit(h, cell) - 1;
}

/* For base names and fingerprints: eight bytes a step, because it is the better
 * part of what an open costs.  Spreads well, resists nobody. */
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

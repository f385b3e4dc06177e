/* wal.h - the coordinator's write-ahead log on disk.
 *
 * A data directory holds
 *
 *	lock		held by the one server that works here (flock)
 *	snapshot-N	the state before the first record of log-N
 *	log-N		records since then; N is 16 hexadecimal digits
 *
 * N is the sequence number of the first record of log-N, so each log continues the one
 * before.  Both kinds of file are a header and records, all numbers little-endian:
 *
 *	0	"ROARLOG1" or "ROARSNP1"
 *	8	u64	N
 *	16	u64	random salt: checksums of records start with it, so that a value
 *			stored by a client is never taken for a record
 *	24	u64	CRC64NVME of the 24 bytes before
 *	32		records:
 *		u32	length of the payload, not 0
 *		u32	in a log: index of the record within its write;
 *			in a snapshot: 0, and 1 for the last record, whose payload is
 *			the number of records before it (u64)
 *		u64	sequence number, one more than that of the record before;
 *			in a snapshot: from 1
 *		u64	CRC64NVME of salt, the 16 bytes before and the payload
 *		...	payload (record.proto), filled up with zeros to a multiple of 8
 *
 * A log is extended ahead of its records (fallocate, zeros), so that a commit does not
 * change its size and needs only one fdatasync().  The next write starts after that.  So
 * an invalid record (zeros, or the end of the file) is the end of the log if no record of
 * a later write follows it: nothing from there on was acknowledged.  That is a torn tail,
 * and it is cut.  If a record of a later write or another log follows, the log is damaged,
 * and wal_open() says so.  (In every log, damage to the very last write looks torn.)
 *
 * A file is written under another name (".new"), synced, and renamed; the new log before
 * its snapshot.  Until the snapshot is there, the state is the snapshot before it and all
 * logs since.  Damaged files are left in place for inspection.
 *
 * Threads: one appends, a second writes everything that was appended meanwhile in one go
 * (group commit), a third writes a snapshot.  All functions are for the appending thread. */
#ifndef COORD_WAL_WAL_H
#define COORD_WAL_WAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct wal;

enum {
	WAL_MAX_RECORD = 64 << 20, /* bytes of payload */
	WAL_N_SYNC = 64, /* remembered durations of commits */
};

struct wal_counts {
	uint64_t records; /* appended since the start */
	uint64_t commits; /* fdatasync() calls */
	uint64_t log_bytes; /* of records in the current log */
	/* Durations of the last commits: commit n, from 0, is at n % WAL_N_SYNC. */
	uint64_t sync_us[WAL_N_SYNC];
};

/* Opens the directory, creates it (0700) if needed, and calls `replay` for each record of
 * the newest intact snapshot and of the logs after it, in order.  A negative return of
 * `replay` ends that and is returned.  -EBUSY: another server uses the directory.
 * -EBADMSG: damage other than a torn tail; *err names file and offset. */
int wal_open(const char *path,
	     int (*replay)(void *data, const void *payload, size_t len),
	     void *data, struct wal **ret, struct roar_error *err);
/* Waits until all records, and a snapshot in progress, are written. */
void wal_close(struct wal *w);

/* Appends a record and copies its payload; *ret_seq is its sequence number.  Blocks when
 * very much is queued.  -EMSGSIZE: empty or larger than WAL_MAX_RECORD.  -ENOSPC: the disk
 * has no room (nothing was appended; the next call tries again).  -EIO after a failed write
 * or fdatasync(): no durability can be promised any more, and the server must end. */
int wal_append(struct wal *w, const void *payload, size_t len,
	       uint64_t *ret_seq);
/* After -ENOSPC: 0 when the disk has room again, else the current error. */
int wal_try_room(struct wal *w);
/* Lets the writer start with what was appended; once per round of the loop. */
void wal_commit(struct wal *w);
/* The sequence number up to which all records are on disk. */
uint64_t wal_durable(const struct wal *w);
/* An eventfd, readable when wal_durable() has changed, a write has failed, or a snapshot
 * has ended; wal_acknowledge() reads it. */
int wal_event_fd(const struct wal *w);
/* Resets the eventfd.  0, or the error after which nothing more can be written. */
int wal_acknowledge(struct wal *w);

/* The log is long enough for a snapshot, and none is in progress. */
bool wal_wants_snapshot(const struct wal *w);
/* Copies the state into memory, as `walk` passes it to `each` record by record, and starts
 * a new log.  A thread writes the copy; older files are removed when it is on disk.  The
 * records of `walk` stand for everything appended before.  On failure nothing has changed,
 * unless wal_append() returns -EIO from then on.  Does nothing if no record was appended
 * since the last snapshot.  -EBUSY: a snapshot is in progress. */
int wal_snapshot(struct wal *w,
		 int (*walk)(void *data,
			     int (*each)(void *to, const void *payload,
					 size_t len),
			     void *to),
		 void *data, struct roar_error *err);

/* Result of the last snapshot: 1 when it is on disk, -errno when it could not be written,
 * each returned once; 0 when it is in progress, or there is none.  With `wait` it blocks
 * until the end; otherwise the eventfd becomes readable then. */
int wal_snapshot_done(struct wal *w, bool wait, struct roar_error *err);

void wal_count(const struct wal *w, struct wal_counts *ret);

#endif

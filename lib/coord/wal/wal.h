/* wal.h - the coordinator's log on disk: records that survive everything.
 *
 * A data directory holds
 *
 *	lock		held by the one server that works here (flock)
 *	snapshot-N	the state before the first record of log-N
 *	log-N		records since then; N is 16 hexadecimal digits
 *
 * N is the sequence number of the first record of log-N, so logs continue each other.
 * Either is a header and records, all numbers little-endian:
 *
 *	0	"ROARLOG1" or "ROARSNP1"
 *	8	u64	N
 *	16	u64	salt, at random: checksums of records begin with it, so that what
 *			a client had stored as a value is never taken for a record
 *	24	u64	CRC64NVME of the 24 bytes before
 *	32		records:
 *		u32	length of the payload, not 0
 *		u32	in a log: how many records of the same write stand before it;
 *			in a snapshot: 0, and 1 for the last, whose payload is
 *			the number of records before it (u64)
 *		u64	sequence number, one more than that of the record before;
 *			in a snapshot: from 1 on
 *		u64	CRC64NVME of salt, the 16 bytes before and the payload
 *		...	payload (record.proto), filled up with zeros to a multiple of 8
 *
 * A log is made longer ahead of its records (fallocate, zeros), so that a commit changes
 * no size and one fdatasync() is all it takes.  The next write begins when that is
 * done.  So a record that does not check out (zeros, or the end of the file) is the
 * end of the log when no record of a later write stands behind it: nothing from there
 * on was acknowledged.  That is a torn tail; it is cut, never guessed.  With a record
 * of a later write behind it, or another log, it is damage, and said so.  (Damage to the
 * very last write looks like a torn one, in every log.)
 *
 * A file is written under another name (".new"), synced, and renamed; the new log
 * before its snapshot.  Until that is there the state is the snapshot before it and
 * all logs since.  What is damaged is left as it is for a look.
 *
 * Records are handed in by one thread and written by another, as many as have come
 * meanwhile at once (group commit); a snapshot is written by a third.  All functions
 * are for the one that hands in. */
#ifndef COORD_WAL_WAL_H
#define COORD_WAL_WAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct wal;

enum {
	WAL_MAX_RECORD = 64 << 20, /* bytes of payload */
	WAL_N_SYNC = 64, /* durations that are remembered */
};

struct wal_counts {
	uint64_t records; /* handed in since the start */
	uint64_t commits; /* fdatasync() calls */
	uint64_t log_bytes; /* of records in the log of today */
	/* How long each of the last of them took: commit n, the first being 0, at n
	 * modulo their number. */
	uint64_t sync_us[WAL_N_SYNC];
};

/* Opens the directory, making it (0700) if need be, and calls `replay` for each record
 * of the newest good snapshot and of the logs behind it, in order.  A negative return
 * of it ends that and is returned.  -EBUSY: another server works here.  -EBADMSG: damage
 * that is no torn tail; *err names file and place. */
int wal_open(const char *path,
	     int (*replay)(void *data, const void *payload, size_t len),
	     void *data, struct wal **ret, struct roar_error *err);
/* Waits for what was handed in, and for a snapshot that is under way. */
void wal_close(struct wal *w);

/* Hands a record in; returns its sequence number through *ret_seq.  Copies the payload.
 * Waits for the disk when very much is in its queue.  -EMSGSIZE: empty or larger than
 * WAL_MAX_RECORD.  -ENOSPC when the disk has no room for it (nothing was handed in; it is tried again
 * with the next one), -EIO after a write or fdatasync() failed: then nothing more can be
 * promised, and the server must end. */
int wal_append(struct wal *w, const void *payload, size_t len,
	       uint64_t *ret_seq);
/* After -ENOSPC: 0 when the disk has room again, else what it says now. */
int wal_try_room(struct wal *w);
/* Lets the writer begin with what was handed in; at the end of a round. */
void wal_commit(struct wal *w);
/* Up to which sequence number all is on disk. */
uint64_t wal_durable(const struct wal *w);
/* Readable (an eventfd, to be read by wal_acknowledge()) when that changed, when
 * writing failed, or when a snapshot is over. */
int wal_event_fd(const struct wal *w);
/* 0, or why nothing more can be written; empties the eventfd. */
int wal_acknowledge(struct wal *w);

/* Whether the log is so long that a snapshot pays, and none is under way. */
bool wal_wants_snapshot(const struct wal *w);
/* Copies the state into memory, as `walk` tells it by calling `each` for every record, and
 * begins a new log; the copy is written meanwhile, and older files are removed when it is
 * on disk.  The records of `walk` stand for all that was handed in before.  On failure
 * all is as before, unless wal_append() says -EIO from then on.  Without a new record
 * since the last one nothing is done.  -EBUSY: one is under way. */
int wal_snapshot(struct wal *w,
		 int (*walk)(void *data,
			     int (*each)(void *to, const void *payload,
					 size_t len),
			     void *to),
		 void *data, struct roar_error *err);

/* How the snapshot that was begun went: 1 when it is on disk and -errno when it could
 * not be written, each said once; 0 when it is under way, or there is none.  The eventfd
 * is readable at its end.  With `wait` it is waited for. */
int wal_snapshot_done(struct wal *w, bool wait, struct roar_error *err);

void wal_count(const struct wal *w, struct wal_counts *ret);

#endif

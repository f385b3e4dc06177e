/* wal_internal.h - what the parts of the log share.
 *
 *	wal.c		open and close: lock, replay, the last log made ready for more
 *	wal_dir.c	names of files, their creation and removal
 *	wal_replay.c	which files make up the state, and their records
 *	wal_writer.c	appended records, and the thread that writes them
 *	wal_snapshot.c	a snapshot, the thread that writes it, and the log after it
 *
 * Three threads share struct wal: the *appender* (the caller of wal.h), the *writer*, and
 * while a snapshot is written the *saver*.  The only mutex is wal.lock; the writer
 * writes and syncs without holding it. */
#ifndef COORD_WAL_WAL_INTERNAL_H
#define COORD_WAL_WAL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "coord/wal/wal.h"
#include "coord/wal/wal_format.h"

/* ---- wal_dir.c ---- */

struct wal_file {
	enum wal_kind kind;
	uint64_t number;
};

struct wal_dir {
	char *path; /* for error messages */
	int fd;
	struct wal_file *files; /* snapshots and logs, each by number */
	size_t n_files, cap;
};

enum { WAL_NAME = 40 }; /* bytes of a name, with room to spare */

/* Opens the directory; creates it if needed. */
int wal_dir_open(struct wal_dir *d, const char *path, struct roar_error *err);
void wal_dir_release(struct wal_dir *d);
/* Reads the names again; removes files that were never finished. */
int wal_dir_list(struct wal_dir *d);
bool wal_dir_has(const struct wal_dir *d, enum wal_kind kind, uint64_t number);
void wal_name(char name[WAL_NAME], enum wal_kind kind, uint64_t number);
/* Opens a file, which must be a regular one. */
int wal_dir_file(const struct wal_dir *d, enum wal_kind kind, uint64_t number,
		 int flags);
/* Creates a file under its temporary name, with its header.  wal_dir_publish() renames it,
 * durably when that returns 0.  -EIO: it may or may not have been renamed. */
int wal_dir_create(const struct wal_dir *d, enum wal_kind kind, uint64_t number,
		   uint64_t *ret_salt);
int wal_dir_publish(const struct wal_dir *d, enum wal_kind kind,
		    uint64_t number);
void wal_dir_forget(const struct wal_dir *d, enum wal_kind kind,
		    uint64_t number);
/* Removes the files that the snapshot of that number supersedes. */
void wal_dir_prune(struct wal_dir *d, uint64_t number);

int wal_write_at(int fd, const void *data, size_t len, uint64_t at);

/* ---- wal_replay.c ---- */

struct wal_replayed {
	uint64_t base; /* the snapshot's number, or 1 */
	uint64_t number; /* of the last log; 0: there is none yet */
	uint64_t next_seq;
	uint64_t end; /* where the last log's records end */
	uint64_t salt; /* of the last log */
	uint64_t snapshot_bytes;
	uint64_t behind_bytes; /* of records in logs before the last */
};

int wal_replay(const struct wal_dir *d,
	       int (*replay)(void *data, const void *payload, size_t len),
	       void *data, struct wal_replayed *ret, struct roar_error *err);

/* ---- wal_snapshot.c ---- */

/* A snapshot that is being written.  Its fields belong to the saver from the start of the
 * thread until it sets `is_over`, and to the appender otherwise. */
struct wal_saving {
	bool is_on; /* appender only */
	pthread_t thread;
	int fd;
	uint64_t number, salt;
	uint64_t count; /* records so far */
	struct str bytes; /* all of the file but its header */
	uint64_t size; /* of the file */
	int result;
	_Atomic bool is_over; /* set by the saver, last */
};

/* ---- wal_writer.c ---- */

struct wal {
	/* The appender's own. */
	struct wal_dir dir;
	int lock_fd;
	int event_fd; /* any thread may write to it */
	pthread_t thread;
	bool has_thread;
	uint64_t snapshot_number; /* of the newest; 1: there is none */
	uint64_t snapshot_bytes; /* of that one */
	uint64_t behind_bytes; /* of records since then, in earlier logs */
	uint64_t retry_bytes; /* after a failed snapshot: log size at which to try again */
	struct wal_saving saving;

	/* Read by the writer; changed by the appender while the writer is idle. */
	int fd; /* the current log */
	uint64_t number, salt;

	/* Protects the fields up to `counts`; between appender and writer.  Innermost. */
	pthread_mutex_t lock;
	pthread_cond_t work; /* appender to writer: wanted or stop */
	pthread_cond_t done; /* writer to appender: no longer busy */
	struct str pending; /* whole records, for the next write */
	uint32_t n_pending;
	uint64_t next_seq;
	uint64_t handed_end; /* offset of the next record */
	uint64_t room_end; /* the file has disk space up to this offset */
	bool wanted; /* the writer is to start */
	bool busy; /* the writer writes, or makes room */
	bool stop;
	int failed; /* a negative errno; never reset */
	struct wal_counts counts;

	/* The writer's own. */
	uint64_t written_end;
	uint64_t zeroed_end; /* blocks are written up to this offset */
	struct str batch;

	_Atomic uint64_t durable; /* set by the writer, read by any thread */
};

/* Room for `len` more bytes of log `fd`, which ends at *room_end. */
int wal_make_room(int fd, uint64_t *room_end, uint64_t len);
int wal_writer_start(struct wal *w);
void wal_writer_stop(struct wal *w);
/* Waits until all appended records are on disk.  0 or the writer's error. */
int wal_writer_drain(struct wal *w);
/* Marks the log as failed: no record is durable from now on. */
void wal_writer_fail(struct wal *w, int error);
/* Makes the eventfd readable; from any thread. */
void wal_tell(struct wal *w);

/* ---- wal_snapshot.c ---- */

/* Creates log-NUMBER and makes it the current log; the writer must be idle.  -EIO: the
 * file may or may not exist. */
int wal_log_begin(struct wal *w, uint64_t number);

#endif

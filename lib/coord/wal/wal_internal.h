/* wal_internal.h - what the parts of the log share.
 *
 *	wal.c		life: lock, replay, the last log made ready for more
 *	wal_dir.c	names of files, their making and removal
 *	wal_replay.c	which files make up the state, and their records
 *	wal_writer.c	records handed in, and the thread that writes them
 *	wal_snapshot.c	a snapshot, the thread that writes it, and the log behind it
 */
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
	char *path; /* for sentences */
	int fd;
	struct wal_file *files; /* snapshots and logs, each by number */
	size_t n_files, cap;
};

enum { WAL_NAME = 40 }; /* bytes of a name, more than enough */

/* Opens the directory, making it if need be. */
int wal_dir_open(struct wal_dir *d, const char *path, struct roar_error *err);
void wal_dir_release(struct wal_dir *d);
/* Reads the names anew; removes files that were never finished. */
int wal_dir_list(struct wal_dir *d);
bool wal_dir_has(const struct wal_dir *d, enum wal_kind kind, uint64_t number);
void wal_name(char name[WAL_NAME], enum wal_kind kind, uint64_t number);
/* An open file of that name, which must be a plain one. */
int wal_dir_file(const struct wal_dir *d, enum wal_kind kind, uint64_t number,
		 int flags);
/* A new file under a name that says so, with its header; wal_dir_publish() gives
 * it its own name, for good when that returns 0.  -EIO: it may or may not have it. */
int wal_dir_create(const struct wal_dir *d, enum wal_kind kind, uint64_t number,
		   uint64_t *ret_salt);
int wal_dir_publish(const struct wal_dir *d, enum wal_kind kind,
		    uint64_t number);
void wal_dir_forget(const struct wal_dir *d, enum wal_kind kind,
		    uint64_t number);
/* Removes what a snapshot of that number, or none, makes superfluous. */
void wal_dir_prune(struct wal_dir *d, uint64_t number);

int wal_write_at(int fd, const void *data, size_t len, uint64_t at);

/* ---- wal_replay.c ---- */

struct wal_replayed {
	uint64_t base; /* the snapshot's number, or 1 */
	uint64_t number; /* of the last log; 0: there is none yet */
	uint64_t next_seq;
	uint64_t end; /* where the last log's records end */
	uint64_t salt; /* its */
	uint64_t snapshot_bytes;
	uint64_t behind_bytes; /* of records in the logs before the last */
};

int wal_replay(const struct wal_dir *d,
	       int (*replay)(void *data, const void *payload, size_t len),
	       void *data, struct wal_replayed *ret, struct roar_error *err);

/* ---- wal_snapshot.c ---- */

/* A snapshot on its way to disk: its thread's alone from the start to `is_over`. */
struct wal_saving {
	bool is_on; /* known to the thread that hands in alone */
	pthread_t thread;
	int fd;
	uint64_t number, salt;
	uint64_t count; /* records so far */
	struct str bytes; /* all of the file but its header */
	uint64_t size; /* of the file */
	int result;
	_Atomic bool is_over;
};

/* ---- wal_writer.c ---- */

struct wal {
	struct wal_dir dir;
	int lock_fd;
	int event_fd;
	pthread_t thread;
	bool has_thread;
	uint64_t snapshot_number; /* of the newest; 1: there is none */
	uint64_t snapshot_bytes; /* its */
	uint64_t behind_bytes; /* of records since then, in earlier logs */
	uint64_t retry_bytes; /* after a failed snapshot: when the next is tried */
	struct wal_saving saving;

	/* Changed by the thread that hands records in, while the writer is idle. */
	int fd; /* the log of today */
	uint64_t number, salt;

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t work; /* for the writer */
	pthread_cond_t done; /* of the writer */
	struct str pending; /* whole records, for the next write */
	uint32_t n_pending;
	uint64_t next_seq;
	uint64_t handed_end; /* where the next record will stand */
	uint64_t room_end; /* up to there the disk has room for the log */
	bool wanted; /* the writer shall begin */
	bool busy; /* it writes, or makes room */
	bool stop;
	int failed; /* a negative errno, for ever */
	struct wal_counts counts;

	/* The writer's own. */
	uint64_t written_end;
	uint64_t zeroed_end; /* up to there the blocks are written ones */
	struct str batch;

	_Atomic uint64_t durable;
};

/* Room for `len` more bytes of log `fd`, which ends at *room_end. */
int wal_make_room(int fd, uint64_t *room_end, uint64_t len);
int wal_writer_start(struct wal *w);
void wal_writer_stop(struct wal *w);
/* Waits until all that was handed in is on disk.  0 or what failed. */
int wal_writer_drain(struct wal *w);
/* Nothing can be promised any more. */
void wal_writer_fail(struct wal *w, int error);
/* Makes the eventfd readable; from any thread. */
void wal_tell(struct wal *w);

/* ---- wal_snapshot.c ---- */

/* Makes log-number and has the writer, which must be idle, go on there.  -EIO: the
 * file may be there or not. */
int wal_log_begin(struct wal *w, uint64_t number);

#endif

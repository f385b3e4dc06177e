/* journal.h - the events of a run in flight, safe against kill -9.
 *
 * A journal is a file of event records (event.h) after a 64-byte header and
 * the run's description.  The writer stores records through a shared mapping:
 * what it has stored belongs to the page cache, so it survives the death of the
 * process at any instruction without a system call per event.  The size field
 * of a record is stored last and the file is zero-filled ahead, so a torn
 * record reads as the end of the journal.
 *
 *	offset  size  field
 *	     0     8  magic "roarjrn1"
 *	     8     4  meta_len  bytes of the description
 *	    12    52  zero
 *	    64     -  description, padded to 8; opaque to this module
 *	     -     -  records until the first zero size or the end of the file
 *
 * The writer holds an open-file-description write lock as long as it lives;
 * journal_is_live() tests it.  A journal belongs to one thread. */
#ifndef ROAR_EVENT_JOURNAL_H
#define ROAR_EVENT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct event;
struct journal;
struct journal_reader;

/* Creates `name` in `dirfd` (it must not exist) with the description `meta`.  A process
 * that is killed later leaves a readable journal; one that is killed during this call
 * leaves at most a file named `name` and JOURNAL_UNBORN. */
int journal_create(int dirfd, const char *name, const void *meta,
		   size_t meta_len, struct journal **ret_journal);

/* Opens a journal whose writer was killed, to append after its last valid record.
 * Fails as journal_open() does. */
int journal_resume(int dirfd, const char *name, struct journal **ret_journal);

/* Unmaps and closes; the file stays until it is unlinked. */
void journal_close(struct journal *j);
DEFINE_CLEANUP(struct journal *, journal_close)

/* Appends one record.  Returns 0, or a negative errno when the file cannot grow
 * (-ENOSPC, -EFBIG, ...): the journal then ends there and further calls fail
 * the same way. */
int journal_append(struct journal *j, const struct event *ev);

/* Records that the writer is alive, in the mtime of the file. */
void journal_touch(struct journal *j);

/* Room for the next record of `size` bytes, so that a tracer builds it in place; NULL
 * and *ret_error where journal_append() would fail.  journal_commit() makes it part of the
 * journal.  Nothing else may be called in between. */
struct event *journal_reserve(struct journal *j, size_t size, int *ret_error);
void journal_commit(struct journal *j, struct event *ev, uint32_t size);

/* Removes `name`, which ends in JOURNAL_UNBORN, if the process that was creating it has
 * ended. */
#define JOURNAL_UNBORN ".new"
void journal_remove_unborn(int dirfd, const char *name);

/* Is the writer of this journal alive? */
bool journal_is_live(int dirfd, const char *name);

/* Opens a journal that has no writer and checks its header.  -EBUSY when it has a writer
 * or another reader, -EBADMSG when it is not a journal of ours, -ENODATA for one that was
 * torn before its first record, -ENOENT for one that its writer removed meanwhile.  The
 * reader holds the lock, so that two recoveries exclude each other. */
int journal_open(int dirfd, const char *name,
		 struct journal_reader **ret_reader);
void journal_reader_free(struct journal_reader *r);
DEFINE_CLEANUP(struct journal_reader *, journal_reader_free)

const void *journal_meta(const struct journal_reader *r, size_t *ret_len);

/* The latest time at which the writer is known to have been alive, since 1970. */
int64_t journal_alive_ns(const struct journal_reader *r);

/* The next record, valid as long as the reader; NULL at the end. */
const struct event *journal_next(struct journal_reader *r);

#endif

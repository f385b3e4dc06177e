/* log_read.h - the reader's side of the ring in log.h.
 *
 * The ring holds untrusted data that may change while it is read.  So every record is
 * copied out first and checked in the copy; sizes and the key of the commit words are
 * the reader's own, not those in the shared header.  Nothing here does I/O or
 * interprets a record.
 *
 *	log_read()	the next record, if it is committed
 *	log_is_stuck()	a record is reserved and not committed yet
 *	log_skip()	stops waiting: the producer writes the record again
 *
 * A reader belongs to one thread. */
#ifndef ROAR_TRACE_PRELOAD_LOG_READ_H
#define ROAR_TRACE_PRELOAD_LOG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/preload/log.h"

/* A record, copied and valid: the kind is known, paths end with a NUL, and `path` has
 * none inside. */
struct log_view {
	uint64_t cell; /* its first cell */
	uint8_t kind; /* enum log_kind */
	uint8_t call; /* enum log_call, or 0 */
	uint16_t n_cells;
	uint32_t process;
	int32_t tid;
	int64_t time_ns;
	uint32_t flags;
	int32_t dirfd;
	int32_t dirfd2;
	int32_t value;
	uint32_t other;
	size_t path_len;
	size_t path2_len;
	char path[LOG_PATH_MAX + 1];
	char path2[LOG_PATH_MAX + 1];
};

struct log_reader {
	struct log_header *header;
	char *ring;
	uint64_t n_cells; /* power of two */
	uint64_t key;
	uint64_t tail; /* cells consumed */
};

/* `header` starts a mapping of LOG_RING_AT + n_cells * LOG_CELL bytes. */
void log_reader_init(struct log_reader *r, struct log_header *header,
		     uint32_t n_cells, uint64_t key);

/* Copies the next record into `ret`.  1: done; 0: there is none, or it is not committed
 * yet; -EBADMSG: an invalid record was skipped; -EPROTO: the ring is inconsistent and
 * must be closed. */
int log_read(struct log_reader *r, struct log_view *ret);

/* Is the next record reserved but not committed? */
bool log_is_stuck(const struct log_reader *r);

/* Skips uncommitted cells, up to the next committed record. */
void log_skip(struct log_reader *r);

/* Is there an unread LOG_RESULT_ASKED of this thread?  Nothing is consumed. */
bool log_has_result(const struct log_reader *r, pid_t tid);

/* Is there nothing to read? */
static inline bool log_is_empty(const struct log_reader *r)
{
	return atomic_load_explicit(&r->header->head, memory_order_acquire) ==
	       r->tail;
}

#endif

/* wal_snapshot.c - a snapshot, and the log behind it
 *
 * The order makes every moment a good one to die:
 *
 *	snapshot-N.new	written and synced; nobody looks at it
 *	log-N		made, empty; from now on records go there.  The old
 *			snapshot, the old log and this one are the state
 *	snapshot-N	renamed; it and log-N are the state
 *	the rest	removed
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "coord/wal_internal.h"

enum {
	BUFFER = 256 << 10,
	MIN_LOG = 16 << 20, /* a shorter log is quickly read */
	TIMES_SNAPSHOT = 4, /* so much longer than the snapshot may it be */
	RETRY = 16 << 20, /* bytes of log after a failure */
};

struct writing {
	int fd;
	uint64_t salt;
	uint64_t count; /* records so far */
	uint64_t at; /* bytes in the file */
	struct str buffer;
};

static int flush(struct writing *s)
{
	int e = wal_write_at(s->fd, s->buffer.data, s->buffer.len, s->at);

	if (e == 0) {
		s->at += s->buffer.len;
		str_clear(&s->buffer);
	}
	return e;
}

static int put(struct writing *s, uint32_t mark, const void *payload,
	       size_t len)
{
	size_t size = wal_record_size(len);

	if (!len || len > WAL_MAX_RECORD)
		return -EMSGSIZE;
	if (str_reserve(&s->buffer, size) < 0)
		return -ENOMEM;
	wal_record_put((unsigned char *)s->buffer.data + s->buffer.len, s->salt,
		       mark, s->count + 1, payload, len);
	s->buffer.len += size;
	return s->buffer.len < BUFFER ? 0 : flush(s);
}

static int add(void *to, const void *payload, size_t len)
{
	struct writing *s = to;
	int e = put(s, 0, payload, len);

	if (e == 0)
		s->count++;
	return e;
}

static int put_end(struct writing *s)
{
	unsigned char count[8];
	int e;

	for (int i = 0; i < 8; i++)
		count[i] = (unsigned char)(s->count >> 8 * i);
	e = put(s, 1, count, sizeof(count));
	if (e == 0 && s->buffer.len)
		e = flush(s);
	return e;
}

typedef int (*walk_fn)(void *data,
		       int (*each)(void *to, const void *payload, size_t len),
		       void *to);

/* Writes the file under its first name. */
static int write_state(struct wal *w, uint64_t number, walk_fn walk, void *data,
		       uint64_t *ret_bytes)
{
	CLEANUP(closep) int fd = -1;
	struct writing s = { .at = WAL_HEADER };
	int e;

	fd = wal_dir_create(&w->dir, WAL_SNAPSHOT, number, &s.salt);
	if (fd < 0)
		return fd;
	s.fd = fd;
	e = walk(data, add, &s);
	if (e >= 0)
		e = put_end(&s);
	str_release(&s.buffer);
	if (e == 0 && fsync(fd) < 0)
		e = -errno;
	if (e < 0)
		wal_dir_forget(&w->dir, WAL_SNAPSHOT, number);
	*ret_bytes = s.at;
	return e;
}

struct new_log {
	int fd;
	uint64_t salt;
	uint64_t room_end;
};

/* Under its first name, with room and on disk. */
static int make_log(struct wal *w, uint64_t number, struct new_log *ret)
{
	CLEANUP(closep) int fd = -1;
	int e;

	fd = wal_dir_create(&w->dir, WAL_LOG, number, &ret->salt);
	if (fd < 0)
		return fd;
	ret->room_end = WAL_HEADER;
	e = wal_make_room(fd, &ret->room_end, 1);
	if (e == 0 && fsync(fd) < 0)
		e = -errno;
	if (e < 0) {
		wal_dir_forget(&w->dir, WAL_LOG, number);
		return e;
	}
	ret->fd = TAKE_FD(fd);
	return 0;
}

/* The writer is idle and stays so: only we hand in. */
static void go_over(struct wal *w, uint64_t number, const struct new_log *log)
{
	closep(&w->fd);
	w->fd = log->fd;
	w->number = number;
	w->salt = log->salt;
	w->written_end = w->zeroed_end = WAL_HEADER;
	(void)pthread_mutex_lock(&w->lock);
	w->handed_end = WAL_HEADER;
	w->room_end = log->room_end;
	w->counts.log_bytes = 0;
	(void)pthread_mutex_unlock(&w->lock);
}

int wal_log_begin(struct wal *w, uint64_t number)
{
	struct new_log log;
	int e = make_log(w, number, &log);

	if (e < 0)
		return e;
	e = wal_dir_publish(&w->dir, WAL_LOG, number);
	if (e < 0) {
		wal_dir_forget(&w->dir, WAL_LOG, number);
		(void)close(log.fd);
		return e;
	}
	go_over(w, number, &log);
	return 0;
}

/* After -EIO the new log has its name or not, nobody knows: there is no log left
 * of which one could say that it is the last. */
static int change_logs(struct wal *w, uint64_t number)
{
	int e = wal_writer_drain(w);

	if (e == 0)
		e = wal_log_begin(w, number);
	if (e == -EIO)
		wal_writer_fail(w, -EIO);
	return e;
}

static int take(struct wal *w, uint64_t number, walk_fn walk, void *data)
{
	uint64_t bytes;
	int e = write_state(w, number, walk, data, &bytes);

	if (e < 0)
		return e;
	e = change_logs(w, number);
	if (e == 0)
		e = wal_dir_publish(&w->dir, WAL_SNAPSHOT, number);
	if (e < 0) {
		wal_dir_forget(&w->dir, WAL_SNAPSHOT, number);
		return e;
	}
	w->snapshot_bytes = bytes;
	return 0;
}

int wal_snapshot(struct wal *w, walk_fn walk, void *data,
		 struct roar_error *err)
{
	uint64_t number = w->next_seq; /* only we change it */
	int e;

	if (number == w->number)
		return 0;
	e = take(w, number, walk, data);
	if (e < 0) {
		w->retry_bytes = w->counts.log_bytes + RETRY;
		return error_set(err, e,
				 "no snapshot could be written to '%s': %s; "
				 "the log grows until one can",
				 w->dir.path, strerror(-e));
	}
	w->retry_bytes = 0;
	wal_dir_prune(&w->dir, number);
	return 0;
}

bool wal_wants_snapshot(const struct wal *w)
{
	uint64_t limit = TIMES_SNAPSHOT * w->snapshot_bytes;

	if (limit < MIN_LOG)
		limit = MIN_LOG;
	if (limit < w->retry_bytes)
		limit = w->retry_bytes;
	return w->counts.log_bytes > limit; /* only we change it */
}

/* wal_snapshot.c - a snapshot, and the log behind it
 *
 * The state is copied into memory at once; that takes long only where there is very much
 * of it.  To write and sync the copy takes far longer, and a thread does that.
 * The order makes every moment a good one to die:
 *
 *	log-N		made, empty; from now on records go there.  The old
 *			snapshot, the old log and this one are the state
 *	snapshot-N.new	written and synced; nobody looks at it
 *	snapshot-N	renamed; it and log-N are the state
 *	the rest	removed
 *
 * When the snapshot fails, the logs stay, and the next one stands for both. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "coord/wal/wal_internal.h"

enum {
	CHUNK = 4 << 20, /* bytes that are written, then synced */
	MIN_LOG = 16 << 20, /* a shorter log is quickly read */
	TIMES_SNAPSHOT = 4, /* so much longer than the snapshot may it be */
	RETRY = 16 << 20, /* bytes of log after a failure */
};

/* ---- the copy ---- */

static int put(struct wal_saving *s, uint32_t mark, const void *payload,
	       size_t len)
{
	size_t size = wal_record_size(len);

	if (!len || len > WAL_MAX_RECORD)
		return -EMSGSIZE;
	if (str_reserve(&s->bytes, size) < 0)
		return -ENOMEM;
	wal_record_put((unsigned char *)s->bytes.data + s->bytes.len, s->salt,
		       mark, s->count + 1, payload, len);
	s->bytes.len += size;
	return 0;
}

static int add(void *to, const void *payload, size_t len)
{
	struct wal_saving *s = to;
	int e = put(s, 0, payload, len);

	if (e == 0)
		s->count++;
	return e;
}

static int put_end(struct wal_saving *s)
{
	unsigned char count[8];

	for (int i = 0; i < 8; i++)
		count[i] = (unsigned char)(s->count >> 8 * i);
	return put(s, 1, count, sizeof(count));
}

typedef int (*walk_fn)(void *data,
		       int (*each)(void *to, const void *payload, size_t len),
		       void *to);

/* ---- the thread ---- */

/* Synced in parts: else the log's next sync could wait for all of it. */
static int write_copy(const struct wal_saving *s)
{
	size_t len;
	int e = 0;

	for (size_t at = 0; e == 0 && at < s->bytes.len; at += len) {
		len = s->bytes.len - at < CHUNK ? s->bytes.len - at : CHUNK;
		e = wal_write_at(s->fd, s->bytes.data + at, len,
				 WAL_HEADER + at);
		if (e == 0 && fsync(s->fd) < 0)
			e = -errno;
	}
	return e;
}

static void release(struct wal *w, int e)
{
	if (e < 0)
		wal_dir_forget(&w->dir, WAL_SNAPSHOT, w->saving.number);
	closep(&w->saving.fd);
	str_release(&w->saving.bytes);
}

static void *save(void *arg)
{
	struct wal *w = arg;
	struct wal_saving *s = &w->saving;
	int e = write_copy(s);

	s->size = WAL_HEADER + s->bytes.len;
	if (e == 0)
		e = wal_dir_publish(&w->dir, WAL_SNAPSHOT, s->number);
	if (e == 0)
		wal_dir_prune(&w->dir, s->number);
	release(w, e);
	s->result = e;
	atomic_store(&s->is_over, true);
	wal_tell(w);
	return NULL;
}

/* ---- the log behind it ---- */

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

/* ---- a snapshot ---- */

static int copy(struct wal *w, walk_fn walk, void *data)
{
	struct wal_saving *s = &w->saving;
	int e = wal_dir_create(&w->dir, WAL_SNAPSHOT, s->number, &s->salt);

	if (e < 0)
		return e;
	s->fd = e;
	e = walk(data, add, s);
	return e < 0 ? e : put_end(s);
}

/* After a snapshot that failed the log may be the right one already. */
static int begin(struct wal *w, walk_fn walk, void *data)
{
	uint64_t behind = w->counts.log_bytes; /* only we change it */
	int e = copy(w, walk, data);

	if (e == 0 && w->saving.number != w->number) {
		e = change_logs(w, w->saving.number);
		if (e == 0)
			w->behind_bytes += behind;
	}
	if (e == 0)
		e = thread_start(&w->saving.thread, NULL, save, w);
	if (e < 0)
		release(w, e);
	return e;
}

static uint64_t bytes_to_replay(const struct wal *w)
{
	return w->behind_bytes + w->counts.log_bytes;
}

static int say_failed(struct wal *w, int e, struct roar_error *err)
{
	w->retry_bytes = bytes_to_replay(w) + RETRY;
	return error_set(err, e,
			 "no snapshot could be written to '%s': %s; the log "
			 "grows until one can",
			 w->dir.path, strerror(-e));
}

int wal_snapshot(struct wal *w, walk_fn walk, void *data,
		 struct roar_error *err)
{
	uint64_t number = w->next_seq; /* only we change it */
	int e;

	if (w->saving.is_on)
		return error_set(err, -EBUSY,
				 "a snapshot is being written to '%s' already",
				 w->dir.path);
	if (number == w->snapshot_number)
		return 0;
	w->saving = (struct wal_saving){ .fd = -1, .number = number };
	e = begin(w, walk, data);
	if (e < 0)
		return say_failed(w, e, err);
	w->saving.is_on = true;
	return 0;
}

int wal_snapshot_done(struct wal *w, bool wait, struct roar_error *err)
{
	struct wal_saving *s = &w->saving;

	if (!s->is_on || (!wait && !atomic_load(&s->is_over)))
		return 0;
	(void)pthread_join(s->thread, NULL);
	s->is_on = false;
	if (s->result < 0)
		return say_failed(w, s->result, err);
	w->snapshot_number = s->number;
	w->snapshot_bytes = s->size;
	w->behind_bytes = 0;
	w->retry_bytes = 0;
	return 1;
}

bool wal_wants_snapshot(const struct wal *w)
{
	uint64_t limit = TIMES_SNAPSHOT * w->snapshot_bytes;

	if (limit < MIN_LOG)
		limit = MIN_LOG;
	if (limit < w->retry_bytes)
		limit = w->retry_bytes;
	return !w->saving.is_on && bytes_to_replay(w) > limit;
}

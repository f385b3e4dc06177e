/* wal_writer.c - records handed in, and the thread that writes them
 *
 * Records are laid out as they will stand in the file, in `pending`; the writer takes
 * that buffer whole, gives an empty one in return, and writes it by one pwrite() and
 * one fdatasync().  What comes meanwhile is the next write.
 *
 * Room for a record is there before it is accepted: fallocate() in steps, by the writer
 * when half a step is left, else by whoever needs it.  Allocated blocks are not
 * written ones, and making them so takes a commit of the file system's journal with
 * each fdatasync(); so zeros are written a little ahead. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "coord/wal/wal_internal.h"

enum {
	FIRST_STEP = 1 << 20,
	MAX_STEP = 16 << 20,
	ZEROS = 256 << 10, /* written at once */
	ZEROS_AHEAD = 1 << 20,
	MAX_PENDING = 128 << 20,
};

static int write_zeros(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[ZEROS];

	for (uint64_t at = from; at < to; at += ZEROS) {
		size_t len = to - at < ZEROS ? to - at : ZEROS;
		int e = wal_write_at(fd, zeros, len, at);

		if (e < 0)
			return e;
	}
	return 0;
}

/* Steps grow with the log, so that a small one stays small. */
int wal_make_room(int fd, uint64_t *room_end, uint64_t len)
{
	uint64_t step = *room_end < FIRST_STEP ? FIRST_STEP : *room_end;
	uint64_t end;
	int e;

	if (step > MAX_STEP)
		step = MAX_STEP;
	end = (*room_end + len + step - 1) / step * step;
	do
		e = fallocate(fd, 0, (off_t)*room_end,
			      (off_t)(end - *room_end)) < 0 ?
			    -errno :
			    0;
	while (e == -EINTR);
	if (e == -EOPNOTSUPP)
		e = write_zeros(fd, *room_end, end);
	if (e == -EDQUOT || e == -EFBIG)
		e = -ENOSPC;
	if (e == 0)
		*room_end = end;
	return e;
}

void wal_tell(struct wal *w)
{
	const uint64_t one = 1;

	/* It cannot fail before 2^64 - 1 of them have come. */
	(void)!write(w->event_fd, &one, sizeof(one));
}

/* Under the lock. */
static void fail(struct wal *w, int error)
{
	if (!w->failed)
		w->failed = error;
	(void)pthread_cond_broadcast(&w->done);
	wal_tell(w);
}

void wal_writer_fail(struct wal *w, int error)
{
	assert(error < 0);
	(void)pthread_mutex_lock(&w->lock);
	fail(w, error);
	(void)pthread_mutex_unlock(&w->lock);
}

static int write_batch(struct wal *w)
{
	int e = wal_write_at(w->fd, w->batch.data, w->batch.len,
			     w->written_end);

	if (e == 0 && fdatasync(w->fd) < 0)
		e = -errno;
	if (e == 0)
		w->written_end += w->batch.len;
	return e;
}

/* Zeros where the next writes will be; on disk before a record depends on them. */
static int zero_ahead(struct wal *w, uint64_t room_end)
{
	uint64_t from = w->zeroed_end > w->written_end ? w->zeroed_end :
							 w->written_end;
	uint64_t to = from + ZEROS_AHEAD;
	int e;

	if (from - w->written_end >= ZEROS_AHEAD / 2)
		return 0;
	if (to > room_end)
		to = room_end;
	if (from >= to)
		return 0;
	e = write_zeros(w->fd, from, to);
	if (e == 0 && fdatasync(w->fd) < 0)
		e = -errno;
	w->zeroed_end = to;
	return e;
}

/* Takes what was handed in and writes it; the lock is free meanwhile. */
static void commit(struct wal *w)
{
	struct str taken = w->pending;
	uint64_t last = w->next_seq - 1;
	int64_t begin;
	int e;

	w->pending = w->batch;
	w->batch = taken;
	w->n_pending = 0;
	w->wanted = false;
	(void)pthread_mutex_unlock(&w->lock);

	begin = clock_mono_ns();
	e = write_batch(w);
	if (e == 0) {
		atomic_store_explicit(&w->durable, last, memory_order_release);
		wal_tell(w);
	}
	str_clear(&w->batch);

	(void)pthread_mutex_lock(&w->lock);
	w->counts.sync_us[w->counts.commits++ % WAL_N_SYNC] =
		(uint64_t)(clock_mono_ns() - begin) / 1000;
	if (e < 0)
		fail(w, -EIO);
}

/* When little room is left, more is made before it is missed.  That it cannot be
 * made is no failure yet: who hands in a record hears of it. */
static void prepare(struct wal *w)
{
	uint64_t room_end = w->room_end;
	bool is_short = room_end - w->handed_end <
			(room_end < MAX_STEP ? room_end : MAX_STEP) / 2;
	int e;

	(void)pthread_mutex_unlock(&w->lock);
	if (is_short)
		(void)wal_make_room(w->fd, &room_end, 1);
	e = zero_ahead(w, room_end);
	(void)pthread_mutex_lock(&w->lock);
	w->room_end = room_end;
	if (e < 0)
		fail(w, -EIO);
}

static void *write_all(void *arg)
{
	struct wal *w = arg;

	(void)pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->stop && !(w->wanted && w->pending.len && !w->failed))
			(void)pthread_cond_wait(&w->work, &w->lock);
		if (w->failed || !w->pending.len)
			break; /* told to stop */
		w->busy = true;
		commit(w);
		if (!w->failed)
			prepare(w);
		w->busy = false;
		(void)pthread_cond_broadcast(&w->done);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

int wal_writer_start(struct wal *w)
{
	int e = thread_start(&w->thread, NULL, write_all, w);

	assert(!w->has_thread);
	w->has_thread = e == 0;
	return e;
}

void wal_writer_stop(struct wal *w)
{
	if (!w->has_thread)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	(void)pthread_cond_signal(&w->work);
	(void)pthread_mutex_unlock(&w->lock);
	(void)pthread_join(w->thread, NULL);
	w->has_thread = false;
}

/* Under the lock: has the writer take what is there. */
static void want(struct wal *w)
{
	w->wanted = true;
	if (!w->busy)
		(void)pthread_cond_signal(&w->work);
}

/* Under the lock: waits until the writer has nothing to do. */
static int drain(struct wal *w)
{
	while (!w->failed && (w->busy || w->pending.len)) {
		want(w);
		(void)pthread_cond_wait(&w->done, &w->lock);
	}
	return w->failed;
}

int wal_writer_drain(struct wal *w)
{
	int e;

	(void)pthread_mutex_lock(&w->lock);
	e = drain(w);
	(void)pthread_mutex_unlock(&w->lock);
	return e;
}

/* Under the lock: room in the file, and in memory.  While the writer is busy it may
 * be making room itself. */
static int admit(struct wal *w, size_t size)
{
	while (!w->failed && w->busy && w->handed_end + size > w->room_end)
		(void)pthread_cond_wait(&w->done, &w->lock);
	if (w->pending.len + size > MAX_PENDING)
		(void)drain(w);
	if (w->failed)
		return -EIO;
	if (w->handed_end + size > w->room_end) {
		int e = wal_make_room(w->fd, &w->room_end,
				      w->handed_end + size - w->room_end);

		if (e < 0)
			return e;
	}
	return str_reserve(&w->pending, size);
}

int wal_append(struct wal *w, const void *payload, size_t len,
	       uint64_t *ret_seq)
{
	size_t size = wal_record_size(len);
	int e;

	if (!len || len > WAL_MAX_RECORD)
		return -EMSGSIZE;
	(void)pthread_mutex_lock(&w->lock);
	e = admit(w, size);
	if (e == 0) {
		wal_record_put(
			(unsigned char *)w->pending.data + w->pending.len,
			w->salt, w->n_pending++, w->next_seq, payload, len);
		w->pending.len += size;
		w->handed_end += size;
		w->counts.records++;
		w->counts.log_bytes += size;
		*ret_seq = w->next_seq++;
	}
	(void)pthread_mutex_unlock(&w->lock);
	return e;
}

int wal_try_room(struct wal *w)
{
	int e;

	(void)pthread_mutex_lock(&w->lock);
	e = w->failed ? w->failed : wal_make_room(w->fd, &w->room_end, 1);
	(void)pthread_mutex_unlock(&w->lock);
	return e;
}

void wal_commit(struct wal *w)
{
	(void)pthread_mutex_lock(&w->lock);
	if (w->pending.len)
		want(w);
	(void)pthread_mutex_unlock(&w->lock);
}

int wal_acknowledge(struct wal *w)
{
	uint64_t n;
	int e;

	(void)!read(w->event_fd, &n, sizeof(n)); /* empty already: no matter */
	(void)pthread_mutex_lock(&w->lock);
	e = w->failed;
	(void)pthread_mutex_unlock(&w->lock);
	return e;
}

void wal_count(const struct wal *w, struct wal_counts *ret)
{
	struct wal *unlocked = (struct wal *)w;

	(void)pthread_mutex_lock(&unlocked->lock);
	*ret = w->counts;
	(void)pthread_mutex_unlock(&unlocked->lock);
}

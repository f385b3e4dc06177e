/* wal.c - see wal.h */
#include "coord/wal/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "coord/wal/wal_internal.h"

DEFINE_CLEANUP(struct wal *, wal_close)

static int lock(struct wal *w, struct roar_error *err)
{
	w->lock_fd = openat(w->dir.fd, "lock",
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (w->lock_fd < 0)
		return error_set(err, -errno, "'%s/lock' cannot be opened: %s",
				 w->dir.path, strerror(errno));
	if (flock(w->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(
			err, -EBUSY,
			"another coordinator works in '%s': stop it, or "
			"give this one a directory of its own",
			w->dir.path);
	return error_set(err, -errno, "'%s/lock' cannot be locked: %s",
			 w->dir.path, strerror(errno));
}

/* Goes on behind the last record.  What a torn write has left is cut off: else it could
 * be taken for records that follow. */
static int go_on(struct wal *w, const struct wal_replayed *was)
{
	CLEANUP(closep) int fd = -1;
	uint64_t room_end = was->end;
	int e;

	fd = wal_dir_file(&w->dir, WAL_LOG, was->number, O_RDWR);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, (off_t)was->end) < 0)
		return -errno;
	/* A full disk is met when a record comes. */
	e = wal_make_room(fd, &room_end, 1);
	if (e < 0 && e != -ENOSPC)
		return e;
	if (fsync(fd) < 0)
		return -errno;
	w->fd = TAKE_FD(fd);
	w->number = was->number;
	w->salt = was->salt;
	w->written_end = w->zeroed_end = w->handed_end = was->end;
	w->room_end = room_end;
	w->counts.log_bytes = was->end - WAL_HEADER;
	return 0;
}

static int load(struct wal *w,
		int (*replay)(void *data, const void *payload, size_t len),
		void *data, struct roar_error *err)
{
	struct wal_replayed was;
	int e = wal_dir_list(&w->dir);

	if (e == 0)
		e = wal_replay(&w->dir, replay, data, &was, err);
	if (e < 0)
		return e;
	w->next_seq = was.next_seq;
	w->snapshot_number = was.base;
	w->snapshot_bytes = was.snapshot_bytes;
	w->behind_bytes = was.behind_bytes;
	atomic_store(&w->durable, was.next_seq - 1);
	e = was.number ? go_on(w, &was) : wal_log_begin(w, was.base);
	if (e < 0)
		return error_set(err, e, "the log in '%s' cannot continue: %s",
				 w->dir.path, strerror(-e));
	wal_dir_prune(&w->dir, was.base);
	return 0;
}

static int new_wal(struct wal **ret)
{
	struct wal *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->dir.fd = w->lock_fd = w->fd = -1;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->work, NULL);
	(void)pthread_cond_init(&w->done, NULL);
	w->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*ret = w;
	return w->event_fd < 0 ? -errno : 0;
}

int wal_open(const char *path,
	     int (*replay)(void *data, const void *payload, size_t len),
	     void *data, struct wal **ret, struct roar_error *err)
{
	CLEANUP(wal_closep) struct wal *w = NULL;
	int e = new_wal(&w);

	if (err)
		err->text[0] = '\0';
	if (e == 0)
		e = wal_dir_open(&w->dir, path, err);
	if (e == 0)
		e = lock(w, err);
	if (e == 0)
		e = load(w, replay, data, err);
	if (e == 0)
		e = wal_writer_start(w);
	if (e < 0 && err && !err->text[0])
		(void)error_set(err, e, "the log in '%s' cannot be opened: %s",
				path, strerror(-e));
	if (e < 0)
		return e;
	if (err)
		err->text[0] = '\0'; /* of a snapshot that was passed over */
	*ret = TAKE_PTR(w);
	return 0;
}

void wal_close(struct wal *w)
{
	if (!w)
		return;
	(void)wal_snapshot_done(w, true, NULL);
	wal_writer_stop(w);
	closep(&w->fd);
	closep(&w->event_fd);
	wal_dir_release(&w->dir);
	closep(&w->lock_fd); /* the last: from here on another may begin */
	str_release(&w->pending);
	str_release(&w->batch);
	(void)pthread_cond_destroy(&w->work);
	(void)pthread_cond_destroy(&w->done);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}

uint64_t wal_durable(const struct wal *w)
{
	return atomic_load_explicit(&w->durable, memory_order_acquire);
}

int wal_event_fd(const struct wal *w)
{
	return w->event_fd;
}

/* wal_replay.c - which files make up the state, and their records
 *
 * The newest snapshot that is whole is where the state begins; a snapshot that is not
 * is passed over when the files before it are still there.  The logs from there on must
 * continue each other without a gap. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "coord/wal/wal_internal.h"
#include "coord/wal/wal_reader.h"

#define REMEDY "restore a copy of the directory, or move it away to start empty"

struct sink {
	int (*replay)(void *data, const void *payload, size_t len);
	void *data;
};

/* All records of an open file; only looked at when there is no sink. */
static int read_all(struct wal_reader *r, const struct sink *to)
{
	const void *payload;
	size_t len;
	int e;

	while ((e = wal_reader_next(r, &payload, &len)) > 0) {
		e = to ? to->replay(to->data, payload, len) : 0;
		if (e < 0)
			return e;
	}
	return e;
}

static int say_unreadable(const struct wal_dir *d, enum wal_kind kind,
			  uint64_t number, int e, struct roar_error *err)
{
	char name[WAL_NAME];

	wal_name(name, kind, number);
	if (e == -EBADMSG)
		return error_set(
			err, e,
			"'%s/%s' has no valid header: it is damaged; " REMEDY,
			d->path, name);
	return error_set(err, e, "'%s/%s' cannot be read: %s", d->path, name,
			 strerror(-e));
}

static int open_file(const struct wal_dir *d, enum wal_kind kind,
		     uint64_t number, struct wal_reader *r, int *ret_fd,
		     struct roar_error *err)
{
	CLEANUP(closep) int fd = wal_dir_file(d, kind, number, O_RDONLY);
	int e = fd < 0 ? fd : wal_reader_open(r, fd, kind, number);

	if (e < 0)
		return say_unreadable(d, kind, number, e, err);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* 1 when the snapshot is whole, 0 when not. */
static int is_whole(const struct wal_dir *d, uint64_t number,
		    struct roar_error *err)
{
	CLEANUP(wal_reader_release) struct wal_reader r = { 0 };
	CLEANUP(closep) int fd = -1;
	char name[WAL_NAME];
	int e = open_file(d, WAL_SNAPSHOT, number, &r, &fd, err);

	if (e == 0)
		e = read_all(&r, NULL);
	if (e != -EBADMSG)
		return e == 0 ? 1 : e;
	wal_name(name, WAL_SNAPSHOT, number);
	(void)error_set(err, e,
			"'%s/%s' is damaged at byte %" PRIu64 "; " REMEDY,
			d->path, name, r.at);
	return 0;
}

/* Where to begin: the number of a snapshot, or 1, with the first record there ever
 * was. */
static int choose(const struct wal_dir *d, bool *ret_snapshot,
		  uint64_t *ret_base, struct roar_error *err)
{
	bool refused = false;

	for (size_t i = d->n_files; i--;) {
		int e;

		if (d->files[i].kind != WAL_SNAPSHOT)
			continue;
		e = is_whole(d, d->files[i].number, err);
		if (e < 0)
			return e;
		*ret_snapshot = e > 0;
		*ret_base = d->files[i].number;
		if (e > 0)
			return 0;
		refused = true;
	}
	*ret_base = 1;
	if (wal_dir_has(d, WAL_LOG, 1))
		return 0;
	if (refused)
		return -EBADMSG;
	if (d->n_files)
		return error_set(err, -EBADMSG,
				 "'%s' has logs but no snapshot that they "
				 "continue; " REMEDY,
				 d->path);
	return 0;
}

/* The one who takes the records did not want the last. */
static int say_refused(const struct wal_dir *d, const struct wal_reader *r,
		       int e, struct roar_error *err)
{
	char name[WAL_NAME];

	wal_name(name, r->kind, r->number);
	return error_set(err, e,
			 "record %" PRIu64 " of '%s/%s', before byte %" PRIu64
			 ", cannot be used: %s; " REMEDY,
			 r->seq - 1, d->path, name, r->at,
			 e == -EBADMSG ?
				 "another version wrote it, or it is damaged" :
				 strerror(-e));
}

static int replay_snapshot(const struct wal_dir *d, uint64_t number,
			   const struct sink *to, uint64_t *ret_bytes,
			   struct roar_error *err)
{
	CLEANUP(wal_reader_release) struct wal_reader r = { 0 };
	CLEANUP(closep) int fd = -1;
	int e = open_file(d, WAL_SNAPSHOT, number, &r, &fd, err);

	if (e < 0)
		return e;
	*ret_bytes = r.size;
	e = read_all(&r, to);
	return e < 0 ? say_refused(d, &r, e, err) : 0;
}

static int say_damaged(const struct wal_dir *d, const struct wal_reader *r,
		       struct roar_error *err)
{
	char name[WAL_NAME];

	wal_name(name, WAL_LOG, r->number);
	return error_set(err, -EBADMSG,
			 "'%s/%s' is damaged at byte %" PRIu64
			 ": record %" PRIu64
			 " is not there, but a later one is at byte %" PRIu64
			 "; " REMEDY,
			 d->path, name, r->at, r->seq, r->proof);
}

static int say_gap(const struct wal_dir *d, uint64_t missing,
		   const struct wal_file *found, struct roar_error *err)
{
	char name[WAL_NAME];

	wal_name(name, found->kind, found->number);
	return error_set(err, -EBADMSG,
			 "in '%s' record %" PRIu64 " is not in any log, but "
			 "'%s' continues after it; " REMEDY,
			 d->path, missing, name);
}

static int replay_log(const struct wal_dir *d, const struct wal_file *file,
		      const struct sink *to, struct wal_replayed *state,
		      struct roar_error *err)
{
	CLEANUP(wal_reader_release) struct wal_reader r = { 0 };
	CLEANUP(closep) int fd = -1;
	int e = open_file(d, WAL_LOG, file->number, &r, &fd, err);

	if (e < 0)
		return e;
	e = read_all(&r, to);
	if (e == -EBADMSG && r.proof)
		return say_damaged(d, &r, err);
	if (e < 0)
		return say_refused(d, &r, e, err);
	if (state->number)
		state->behind_bytes += state->end - WAL_HEADER;
	state->number = file->number;
	state->next_seq = r.seq;
	state->end = r.at;
	state->salt = r.salt;
	return 0;
}

/* Each log begins where the one before ends; so does a snapshot that was passed
 * over. */
static int replay_logs(const struct wal_dir *d, const struct sink *to,
		       struct wal_replayed *state, struct roar_error *err)
{
	for (size_t i = 0; i < d->n_files; i++) {
		const struct wal_file *file = &d->files[i];
		int e = 0;

		if (file->number < state->base)
			continue;
		if (file->kind == WAL_LOG ? file->number != state->next_seq :
					    file->number > state->next_seq)
			e = say_gap(d, state->next_seq, file, err);
		else if (file->kind == WAL_LOG)
			e = replay_log(d, file, to, state, err);
		if (e < 0)
			return e;
	}
	return 0;
}

int wal_replay(const struct wal_dir *d,
	       int (*replay)(void *data, const void *payload, size_t len),
	       void *data, struct wal_replayed *ret, struct roar_error *err)
{
	const struct sink to = { replay, data };
	struct wal_replayed state = { 0 };
	bool has_snapshot = false;
	int e = choose(d, &has_snapshot, &state.base, err);

	if (e == 0 && has_snapshot)
		e = replay_snapshot(d, state.base, &to, &state.snapshot_bytes,
				    err);
	state.next_seq = state.base;
	if (e == 0)
		e = replay_logs(d, &to, &state, err);
	if (e == 0 && has_snapshot && !state.number)
		e = error_set(err, -EBADMSG,
			      "'%s' has a snapshot, but the log after it is "
			      "missing; " REMEDY,
			      d->path);
	if (e == 0)
		*ret = state;
	return e;
}

/* journal.c - the log of the program: what is kept, when it is safe, and what happens when
 * it cannot be written. */
#include "server.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"

/* ---- reading it again ---- */

struct replay {
	struct server *s;
	uint64_t n;
};

static int replay_record(void *data, const void *payload, size_t len)
{
	struct replay *p = data;
	struct server *s = p->s;
	ProtobufCMessage *m = unpack(
		&s->unpacker, &roar__record__record__descriptor, payload, len);
	int r = m ? coord_replay(s->coord, (Roar__Record__Record *)m) :
		    -EBADMSG;

	unpack_done(&s->unpacker);
	p->n++;
	return r;
}

static void on_durable(struct loop_fd *f, uint32_t events);

int journal_open(struct server *s, struct roar_error *err)
{
	struct replay p = { .s = s };
	int64_t begin = clock_mono_ns();
	int r = wal_open(s->options->data_dir, replay_record, &p, &s->wal, err);

	if (r < 0)
		return r;
	coord_resume(s->coord, server_now(s));
	s->appended = wal_durable(s->wal);
	s->durable = (struct loop_fd){ .fd = wal_event_fd(s->wal),
				       .ready = on_durable };
	r = loop_add(s->loop, &s->durable, EPOLLIN);
	if (r < 0)
		return error_set(err, r, "cannot wait for the log: %s",
				 strerror(-r));
	if (p.n)
		notes_say(&s->notes, LOG_INFO, NULL,
			  "read %llu records of '%s' in %lld ms",
			  (unsigned long long)p.n, s->options->data_dir,
			  (long long)((clock_mono_ns() - begin) / 1000000));
	return 0;
}

void journal_close(struct server *s)
{
	if (!s->wal)
		return;
	if (s->durable.ready)
		loop_remove(s->loop, &s->durable);
	wal_close(s->wal);
	s->wal = NULL;
}

/* ---- writing ---- */

bool journal_is_durable(const struct server *s)
{
	return s->appended <= wal_durable(s->wal);
}

static void fail(struct server *s, int r)
{
	if (s->failure)
		return;
	s->failure = r;
	notes_say(&s->notes, LOG_ERR, NULL,
		  "the log in '%s' cannot be written: %s; the coordinator ends",
		  s->options->data_dir, strerror(-r));
	loop_later(s->loop, &s->round_end);
}

/* A full disk is said once, and once when there is room again. */
static void note_room(struct server *s, bool full)
{
	if (s->disk_full == full)
		return;
	s->disk_full = full;
	if (full)
		notes_say(&s->notes, LOG_ERR, NULL,
			  "the disk of '%s' is full: changes are refused until "
			  "there is room",
			  s->options->data_dir);
	else
		notes_say(&s->notes, LOG_INFO, NULL,
			  "the disk of '%s' has room again",
			  s->options->data_dir);
}

int journal_append(struct server *s, const Roar__Record__Record *record)
{
	int r = s->failure;

	str_clear(&s->record);
	pack_add(&s->record, &record->base);
	if (r == 0)
		r = str_error(&s->record);
	if (r == 0)
		r = wal_append(s->wal, s->record.data, s->record.len,
			       &s->appended);
	note_room(s, r == -ENOSPC);
	if (r == -EIO)
		fail(s, r);
	loop_later(s->loop, &s->round_end);
	return r;
}

void journal_count(struct server *s)
{
	struct wal_counts c;

	wal_count(s->wal, &c);
	if (c.commits - s->n_commits > WAL_N_SYNC)
		s->n_commits = c.commits - WAL_N_SYNC;
	for (; s->n_commits < c.commits; s->n_commits++)
		histogram_add(&s->log_sync,
			      (int64_t)c.sync_us[s->n_commits % WAL_N_SYNC]);
}

/* ---- snapshots ---- */

struct walk {
	struct str bytes;
	int (*each)(void *to, const void *payload, size_t len);
	void *to;
};

static int walk_record(void *data, const Roar__Record__Record *record)
{
	struct walk *w = data;

	str_clear(&w->bytes);
	pack_add(&w->bytes, &record->base);
	if (str_error(&w->bytes) < 0)
		return -ENOMEM;
	return w->each(w->to, w->bytes.data, w->bytes.len);
}

static int walk(void *data,
		int (*each)(void *to, const void *payload, size_t len),
		void *to)
{
	struct server *s = data;
	struct walk w = { .each = each, .to = to };
	int r = coord_snapshot(s->coord, walk_record, &w);

	str_release(&w.bytes);
	return r;
}

static void fail_snapshot(struct server *s, const struct roar_error *err)
{
	s->n_snapshots_failed++;
	notes_say(&s->notes, LOG_WARNING, NULL, "no snapshot was made: %s",
		  err->text);
}

static void begin_snapshot(struct server *s)
{
	struct roar_error err = { "out of memory" };

	s->snapshot_began_ns = clock_mono_ns();
	if (wal_snapshot(s->wal, walk, s, &err) < 0)
		fail_snapshot(s, &err);
	answer_held(s);
}

static void end_snapshot(struct server *s)
{
	struct roar_error err = { "out of memory" };
	int r = wal_snapshot_done(s->wal, false, &err);

	if (r < 0)
		fail_snapshot(s, &err);
	else if (r > 0)
		histogram_add(&s->snapshot,
			      (clock_mono_ns() - s->snapshot_began_ns) / 1000);
}

static void on_durable(struct loop_fd *f, uint32_t events)
{
	struct server *s = CONTAINER(f, struct server, durable);
	int r = wal_acknowledge(s->wal);

	(void)events;
	answer_held(s);
	journal_count(s);
	end_snapshot(s);
	if (r < 0)
		fail(s, r);
}

/* ---- rounds ---- */

static void set_tick(struct server *s)
{
	int64_t due = coord_due_ms(s->coord);

	if (due == INT64_MAX)
		loop_timer_clear(s->loop, &s->tick);
	else if (!s->tick.place || s->tick.due_ms != due)
		(void)loop_timer_set(s->loop, &s->tick, due);
}

void journal_round(struct server *s)
{
	if (s->failure) {
		stop_failed(s);
		return;
	}
	if (!journal_is_durable(s))
		wal_commit(s->wal);
	if (wal_wants_snapshot(s->wal))
		begin_snapshot(s);
	if (s->stop_asked && !s->stopping)
		stop_begin(s, s->stop_grace_ms ? s->stop_grace_ms : 1000);
	set_tick(s);
}

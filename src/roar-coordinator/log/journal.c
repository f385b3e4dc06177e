/* journal.c - the log of the program: what is kept, when it is safe, and what happens when
 * it cannot be written. */
#include "server.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"
#include "etcd/etcd_log.h"
#include "log/log_disk.h"

/* ---- reading it again ---- */

static int on_record(void *data, const void *record, size_t len)
{
	struct server *s = data;
	ProtobufCMessage *m = unpack(
		&s->unpacker, &roar__record__record__descriptor, record, len);
	int r = m ? coord_replay(s->coord, (Roar__Record__Record *)m) :
		    -EBADMSG;

	unpack_done(&s->unpacker);
	s->n_replayed++;
	return r;
}

static const char *place(const struct server *s)
{
	return s->leadership ? s->options->etcd : s->options->data_dir;
}

static void on_loaded(void *data)
{
	struct server *s = data;

	coord_resume(s->coord, server_now(s));
	if (s->n_replayed)
		log_lines_add(&s->lines, LOG_INFO, NULL,
			      "read %llu records of '%s' in %lld ms",
			      (unsigned long long)s->n_replayed, place(s),
			      (long long)((clock_mono_ns() - s->load_began_ns) /
					  1000000));
	loop_later(s->loop, &s->round_end);
	if (s->leadership)
		leadership_loaded(s);
}

/* ---- writing ---- */

uint64_t journal_durable(const struct server *s)
{
	return s->log ? s->log->kind->durable(s->log) : UINT64_MAX;
}

bool journal_is_durable(const struct server *s)
{
	return s->appended <= journal_durable(s);
}

static void fail(struct server *s, int r)
{
	char sentence[512];

	(void)snprintf(sentence, sizeof(sentence),
		       "the log in '%s' cannot be written: %s", place(s),
		       strerror(-r));
	server_fail(s, r, sentence);
}

/* That there is no room is said once, and once when there is again. */
static void note_room(struct server *s, bool full)
{
	const char *what = s->leadership ? "etcd at" : "the disk of";

	if (s->disk_full == full)
		return;
	s->disk_full = full;
	if (full)
		log_lines_add(&s->lines, LOG_ERR, NULL,
			      "%s '%s' is full: changes are refused until "
			      "there is room",
			      what, place(s));
	else
		log_lines_add(&s->lines, LOG_INFO, NULL,
			      "%s '%s' has room again", what, place(s));
}

int journal_append(struct server *s, const Roar__Record__Record *record)
{
	int r = s->failure || !s->log ? -EIO : 0;

	str_clear(&s->record);
	pack_add(&s->record, &record->base);
	if (r == 0)
		r = str_error(&s->record);
	if (r == 0)
		r = s->log->kind->append(s->log, s->record.data, s->record.len,
					 &s->appended);
	note_room(s, r == -ENOSPC);
	if (r == -EIO && !s->leadership)
		fail(s, r);
	loop_later(s->loop, &s->round_end);
	return r;
}

void journal_look_for_room(struct server *s)
{
	if (s->disk_full && s->log && s->log->kind->try_room &&
	    s->log->kind->try_room(s->log) == 0)
		note_room(s, false);
}

void journal_count(struct server *s, struct record_log_counts *ret)
{
	*ret = (struct record_log_counts){ 0 };
	if (s->log)
		s->log->kind->count(s->log, ret);
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

static void on_snapshot_ended(void *data, int error, const char *sentence)
{
	struct server *s = data;

	if (error == 0) {
		histogram_add(&s->snapshot,
			      (clock_mono_ns() - s->snapshot_began_ns) / 1000);
		return;
	}
	s->n_snapshots_failed++;
	log_lines_add(&s->lines, LOG_WARNING, NULL,
		      "cannot write a snapshot: %s", sentence);
}

static void begin_snapshot(struct server *s)
{
	struct roar_error err = { "out of memory" };
	int r;

	s->snapshot_began_ns = clock_mono_ns();
	r = s->log->kind->snapshot(s->log, walk, s, &err);
	if (r < 0)
		on_snapshot_ended(s, r, err.text);
	host_send_replies(s);
}

/* ---- what the log tells ---- */

static void on_written(void *data)
{
	host_send_replies(data);
}

static void on_synced(void *data, int64_t took_us)
{
	struct server *s = data;

	histogram_add(&s->log_sync, took_us);
}

static void on_failed(void *data, int error, const char *sentence)
{
	struct server *s = data;

	if (s->leadership)
		leadership_log_failed(s, error, sentence);
	else
		fail(s, error);
}

static const struct record_log_events events = {
	.record = on_record,
	.loaded = on_loaded,
	.written = on_written,
	.synced = on_synced,
	.snapshot_ended = on_snapshot_ended,
	.failed = on_failed,
};

int journal_open_disk(struct server *s, struct roar_error *err)
{
	int r;

	s->n_replayed = 0;
	s->load_began_ns = clock_mono_ns();
	r = log_disk_open(s->loop, s->options->data_dir, &events, s, &s->log,
			  err);
	if (r == 0)
		s->appended = journal_durable(s);
	return r;
}

int journal_open_etcd(struct server *s, struct etcd *etcd, int64_t token,
		      bool is_full)
{
	s->n_replayed = 0;
	s->load_began_ns = clock_mono_ns();
	s->appended = 0;
	return etcd_log_open(s->loop, etcd, s->options->cluster, token, is_full,
			     &events, s, &s->log);
}

void journal_close(struct server *s)
{
	if (s->log)
		s->log->kind->close(s->log);
	s->log = NULL;
	s->appended = 0;
}

/* ---- rounds ---- */

static void set_tick(struct server *s)
{
	int64_t due = coord_due_ms(s->coord);

	if (due == INT64_MAX)
		loop_timer_clear(s->loop, &s->tick);
	else if (!loop_timer_is_set(&s->tick) || s->tick.timer.due_ms != due)
		(void)loop_timer_set(s->loop, &s->tick, due);
}

void journal_round(struct server *s)
{
	if (s->failure) {
		stop_failed(s);
		return;
	}
	if (!journal_is_durable(s))
		s->log->kind->commit(s->log);
	if (s->log && s->log->kind->wants_snapshot(s->log))
		begin_snapshot(s);
	if (s->stop_asked && !s->stopping)
		stop_begin(s, s->stop_grace_ms ? s->stop_grace_ms : 1000);
	set_tick(s);
}

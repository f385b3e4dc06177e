/* etcd_log_snapshot.c - the state anew, and the end of what came before.
 *
 *	snap/N/0 ...	written, a transaction each; nobody looks at them
 *	log/N-1		written as well: the snapshot stands for all before log/N
 *	head = N	in the same transaction all else is removed
 *	compaction	etcd forgets what these keys were
 *
 * Whoever leads next finds the old head or the new one, and all that it names. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "etcd/etcd_log_internal.h"

enum {
	MIN_BYTES = 4 << 20, /* a shorter log is quickly read */
	TIMES_SNAPSHOT = 2, /* so much longer than the snapshot may it be */
	MIN_CHUNKS = 4096, /* likewise: each is a key to be read */
	BYTES_PER_CHUNK = 1024, /* of the snapshot, for one chunk more */
	RETRY_BYTES = 4 << 20, /* of log after a failure */
};

void log_snapshot_end(struct etcd_log *l)
{
	log_step_end(&l->saving.step);
	chunk_queue_release(&l->saving.parts);
	l->saving.is_on = false;
}

static void fail(struct etcd_log *l, int error, const char *sentence)
{
	log_snapshot_end(l);
	if (error == -ESTALE) {
		log_fail(l, error, LOG_STALE);
		return;
	}
	log_sweep(l);
	l->retry_bytes = l->counts.bytes + RETRY_BYTES;
	l->events.snapshot_ended(l->data, error, sentence);
}

/* ---- compaction ---- */

/* That it was done already, by another or etcd itself, is as good. */
static void on_compacted(struct etcd_call *call, unsigned status,
			 const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	struct etcd_log *l = s->log;

	(void)reply, (void)sentence;
	if (!log_step_is_over(s, status))
		return;
	log_snapshot_end(l);
	l->events.snapshot_ended(l->data, 0, NULL);
}

static void compact(struct log_step *s)
{
	Etcd__CompactionRequest m = ETCD__COMPACTION_REQUEST__INIT;

	m.revision = s->log->saving.revision;
	log_step_call(s, ETCD_COMPACT, &m.base, on_compacted);
}

/* ---- the new head ---- */

static void on_published(struct etcd_call *call, unsigned status,
			 const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	const Etcd__TxnResponse *m = (const Etcd__TxnResponse *)reply;
	struct etcd_log *l = s->log;
	struct log_saving *p = &l->saving;
	int r;

	if (!log_step_is_over(s, status))
		return;
	r = log_step_result(status, reply, sentence);
	if (r < 0) {
		fail(l, r, sentence);
		return;
	}
	l->begin = p->number;
	l->n_parts = p->n_parts;
	l->snapshot_bytes = p->bytes;
	l->counts.bytes -= p->log_bytes;
	l->retry_bytes = 0;
	p->revision = m->header ? m->header->revision : 0;
	s->begin = compact;
	compact(s);
}

static void publish(struct log_step *s)
{
	struct etcd_log *l = s->log;
	const struct log_saving *p = &l->saving;
	struct etcd_key head = etcd_key(l->cluster, "head");
	struct etcd_key first_log = etcd_key_log(l->cluster, 0);
	struct etcd_key log = etcd_key_log(l->cluster, p->number);
	struct etcd_key part = etcd_key_part(l->cluster, p->number, 0);
	struct etcd_key behind_parts = etcd_key_part(l->cluster, p->number,
						     p->n_parts);
	struct etcd_key all = etcd_key(l->cluster, "snap/");
	struct etcd_key end = etcd_key_behind(&all);
	char value[64];
	int len = snprintf(value, sizeof(value), "%" PRIx64 " %" PRIx32,
			   p->number, p->n_parts);
	const struct log_op ops[] = {
		{ .key = &head, .value = value, .len = (size_t)len },
		{ .key = &first_log, .behind = &log },
		{ .key = &all, .behind = &part },
		{ .key = &behind_parts, .behind = &end },
	};

	log_step_write(s, ops, 4, on_published);
}

/* ---- parts ---- */

static void on_part(struct etcd_call *call, unsigned status,
		    const ProtobufCMessage *reply, const char *sentence)
{
	struct log_step *s = container_of(call, struct log_step, call);
	struct etcd_log *l = s->log;
	int r;

	if (!log_step_is_over(s, status))
		return;
	r = log_step_result(status, reply, sentence);
	if (r < 0) {
		fail(l, r, sentence);
		return;
	}
	chunk_drop_first(&l->saving.parts);
	l->saving.at++;
	s->begin(s);
}

/* The next part; after the last one the head, as soon as the log has come that far. */
static void save_part(struct log_step *s)
{
	struct etcd_log *l = s->log;
	struct log_saving *p = &l->saving;
	const struct chunk *c = chunk_first(&p->parts);
	struct etcd_key key = etcd_key_part(l->cluster, p->number, p->at);

	if (c) {
		const struct log_op op = { .key = &key,
					   .value = c->bytes.data,
					   .len = c->bytes.len };

		log_step_write(s, &op, 1, on_part);
		return;
	}
	if (l->next < p->number)
		return; /* log_snapshot_go_on() will come */
	s->begin = publish;
	publish(s);
}

void log_snapshot_go_on(struct etcd_log *l)
{
	struct log_saving *p = &l->saving;

	if (p->is_on && p->step.begin == save_part &&
	    !etcd_call_is_on(&p->step.call) &&
	    !loop_timer_is_set(&p->step.again))
		save_part(&p->step);
}

/* ---- the copy ---- */

static int add(void *to, const void *record, size_t len)
{
	struct log_saving *p = to;

	return chunk_add(&p->parts, record, len, ++p->records);
}

bool log_snapshot_wanted(const struct record_log *log)
{
	const struct etcd_log *l = (const struct etcd_log *)log;
	uint64_t bytes = TIMES_SNAPSHOT * l->snapshot_bytes;
	uint64_t chunks = MIN_CHUNKS + l->snapshot_bytes / BYTES_PER_CHUNK;

	if (bytes < MIN_BYTES)
		bytes = MIN_BYTES;
	if (l->saving.is_on || log_sweep_is_on(l) || l->is_full ||
	    !l->is_loaded || l->has_failed || l->counts.bytes < l->retry_bytes)
		return false;
	return l->counts.bytes > bytes || l->next - l->begin > chunks;
}

int log_snapshot_begin(struct record_log *log, record_log_walk *walk,
		       void *data, struct roar_error *err)
{
	struct etcd_log *l = (struct etcd_log *)log;
	struct log_saving *p = &l->saving;
	int r;

	*p = (struct log_saving){ .is_on = true };
	r = walk(data, add, p);
	if (r < 0) {
		log_snapshot_end(l);
		l->retry_bytes = l->counts.bytes + RETRY_BYTES;
		return error_set(err, r,
				 "no snapshot could be made for etcd: %s",
				 strerror(-r));
	}
	chunk_close(&l->queue);
	p->number = l->next + l->queue.n;
	p->n_parts = (uint32_t)p->parts.n;
	p->bytes = p->parts.n_bytes;
	p->log_bytes = l->counts.bytes;
	log_step_init(&p->step, l, save_part);
	save_part(&p->step);
	return 0;
}

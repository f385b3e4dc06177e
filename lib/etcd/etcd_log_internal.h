/* etcd_log_internal.h - what the parts of the log in etcd share.
 *
 *	etcd_log.c		records handed in, and the transactions that keep them
 *	etcd_log_load.c	the state as it was kept
 *	etcd_log_snapshot.c	the state anew, and the end of what came before
 *	etcd_log_sweep.c	the end of snapshots that never came to be
 */
#ifndef ETCD_LOG_INTERNAL_H
#define ETCD_LOG_INTERNAL_H

#include "etcd/chunk.h"
#include "etcd/etcd_log.h"
#include "etcd/keys.h"

enum {
	LOG_CALL_MS = 2000, /* for the first try of a call */
	LOG_CALL_MAX_MS = 8000, /* for those that follow, where etcd is slow */
	LOG_AGAIN_MS = 50, /* between two tries */
	LOG_PROBE_MS = 1000, /* between two looks whether there is room */
};

/* A call that is made again until it has an answer. */
struct log_step {
	struct etcd_log *log;
	struct etcd_call call;
	struct loop_timer again;
	void (*begin)(struct log_step *s);
	int64_t timeout_ms;
	int64_t began_ns;
};

struct log_load {
	struct log_step step;
	struct chunk_reader reader;
	bool in_snapshot; /* else in the log */
	bool has_head;
	uint64_t at; /* the part or the chunk that is next */
	int64_t limit; /* keys of one answer */
};

struct log_saving {
	struct log_step step;
	struct chunk_queue parts;
	bool is_on;
	uint64_t number; /* the chunk behind it */
	uint32_t at, n_parts;
	uint64_t bytes;
	uint64_t records;
	uint64_t log_bytes; /* of the log that it stands for */
	int64_t revision; /* up to which history may go */
};

struct etcd_log {
	struct record_log log; /* first */
	struct loop *loop;
	struct etcd *etcd;
	char cluster[ETCD_MAX_CLUSTER + 1];
	int64_t token;
	struct record_log_events events;
	void *data;
	bool is_loaded, is_full, has_failed;

	struct log_load load;
	struct log_saving saving;

	struct log_step put; /* of the first chunk */
	struct log_step probe;
	struct log_step sweep;
	struct chunk_queue queue;
	uint64_t next; /* the number of the first chunk in the queue */
	uint64_t last_record; /* handed in */
	uint64_t durable;
	uint64_t begin; /* the first chunk that a start has to read */
	uint32_t n_parts; /* of the snapshot before that; 0: there is none */
	uint64_t snapshot_bytes; /* of the last one */
	uint64_t retry_bytes; /* after a failure: when the next one is tried */
	struct record_log_counts counts;
};

/* ---- etcd_log.c ---- */

void log_step_init(struct log_step *s, struct etcd_log *l,
		   void (*begin)(struct log_step *s));
/* Begins the call; `message` is only read.  The step begins again by itself after failures
 * that say nothing, so `done` need only look at what log_step_is_over() lets through. */
void log_step_call(struct log_step *s, enum etcd_method method,
		   const ProtobufCMessage *message,
		   void (*done)(struct etcd_call *call, unsigned status,
				const ProtobufCMessage *reply,
				const char *sentence));
/* False: there will be another try. */
bool log_step_is_over(struct log_step *s, unsigned status);
void log_step_end(struct log_step *s);

/* A transaction of puts and deletes under the token; at most LOG_MAX_OPS of them. */
enum { LOG_MAX_OPS = 4 };
struct log_op {
	const struct etcd_key *key;
	const struct etcd_key *behind; /* not NULL: all up to there are deleted */
	const void *value; /* else this is put */
	size_t len;
};
void log_step_write(struct log_step *s, const struct log_op *ops, size_t n_ops,
		    void (*done)(struct etcd_call *call, unsigned status,
				 const ProtobufCMessage *reply,
				 const char *sentence));
/* 0 when such a transaction was made; else it was not, and this is why: as the errors of
 * `failed`. */
int log_step_result(unsigned status, const ProtobufCMessage *reply,
		    const char *sentence);

#define LOG_STALE "another coordinator leads" /* what -ESTALE means */

/* Tells the owner, once. */
void log_fail(struct etcd_log *l, int error, const char *sentence);

/* ---- etcd_log_load.c ---- */

void log_load_begin(struct etcd_log *l);
void log_load_end(struct etcd_log *l);

/* ---- etcd_log_snapshot.c ---- */

/* A chunk was written: a snapshot may wait for it. */
void log_snapshot_go_on(struct etcd_log *l);
void log_snapshot_end(struct etcd_log *l);
/* Of the log's kind. */
bool log_snapshot_wanted(const struct record_log *log);
int log_snapshot_begin(struct record_log *log, record_log_walk *walk,
		       void *data, struct roar_error *err);

/* ---- etcd_log_sweep.c ---- */

/* Removes the parts that do not belong to the head; no snapshot must be under way, nor
 * begin while log_sweep_is_on(). */
void log_sweep(struct etcd_log *l);
bool log_sweep_is_on(const struct etcd_log *l);

#endif

/* etcd_log_internal.h - shared by the files of the log in etcd.
 *
 *	etcd_log.c		appended records, and the transactions that write them
 *	etcd_log_load.c	reads the stored state
 *	etcd_log_snapshot.c	writes a snapshot, and removes what it supersedes
 *	etcd_log_sweep.c	removes incomplete snapshots
 */
#ifndef ETCD_LOG_INTERNAL_H
#define ETCD_LOG_INTERNAL_H

#include "etcd/chunk.h"
#include "etcd/etcd_log.h"
#include "etcd/keys.h"

enum {
	LOG_CALL_MS = 2000, /* timeout of the first attempt */
	LOG_CALL_MAX_MS = 8000, /* timeout of later attempts */
	LOG_AGAIN_MS = 50, /* between two attempts */
	LOG_PROBE_MS = 1000, /* between two checks for free space */
};

/* A call that is retried until it gets a reply. */
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
	uint64_t at; /* the next part or chunk */
	int64_t limit; /* keys per reply */
};

struct log_saving {
	struct log_step step;
	struct chunk_queue parts;
	bool is_on;
	uint64_t number; /* of the first chunk after it */
	uint32_t at, n_parts;
	uint64_t bytes;
	uint64_t records;
	uint64_t log_bytes; /* of the log that it replaces */
	int64_t revision; /* up to which history may be compacted */
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
	uint64_t last_record; /* appended */
	uint64_t durable;
	uint64_t begin; /* the first chunk to read at a start */
	uint32_t n_parts; /* of the snapshot before it; 0: none */
	uint64_t snapshot_bytes; /* of the last one */
	/* After a failure: log size for the next attempt. */
	uint64_t retry_bytes;
	struct record_log_counts counts;
};

/* ---- etcd_log.c ---- */

void log_step_init(struct log_step *s, struct etcd_log *l,
		   void (*begin)(struct log_step *s));
/* Starts the call; `message` is only read.  The step retries by itself after inconclusive
 * failures, so `done` handles a result only if log_step_is_over() returns true. */
void log_step_call(struct log_step *s, enum etcd_method method,
		   const ProtobufCMessage *message,
		   void (*done)(struct etcd_call *call, unsigned status,
				const ProtobufCMessage *reply,
				const char *sentence));
/* False: there will be another attempt. */
bool log_step_is_over(struct log_step *s, unsigned status);
void log_step_end(struct log_step *s);

/* A transaction of puts and deletes that compares the token; at most LOG_MAX_OPS. */
enum { LOG_MAX_OPS = 4 };
struct log_op {
	const struct etcd_key *key;
	/* Not NULL: deletes all keys before this one. */
	const struct etcd_key *behind;
	const void *value; /* otherwise puts this value */
	size_t len;
};
void log_step_write(struct log_step *s, const struct log_op *ops, size_t n_ops,
		    void (*done)(struct etcd_call *call, unsigned status,
				 const ProtobufCMessage *reply,
				 const char *sentence));
/* 0: the transaction was carried out.  Otherwise it was not; errors as for `failed`. */
int log_step_result(unsigned status, const ProtobufCMessage *reply,
		    const char *sentence);

#define LOG_STALE "another coordinator leads" /* what -ESTALE means */

/* Reports the failure to the owner, once. */
void log_fail(struct etcd_log *l, int error, const char *sentence);

/* ---- etcd_log_load.c ---- */

void log_load_begin(struct etcd_log *l);
void log_load_end(struct etcd_log *l);

/* ---- etcd_log_snapshot.c ---- */

/* A chunk was written, for which a snapshot may be waiting. */
void log_snapshot_go_on(struct etcd_log *l);
void log_snapshot_end(struct etcd_log *l);
/* Functions of struct record_log. */
bool log_snapshot_wanted(const struct record_log *log);
int log_snapshot_begin(struct record_log *log, record_log_walk *walk,
		       void *data, struct roar_error *err);

/* ---- etcd_log_sweep.c ---- */

/* Removes parts that do not belong to the head.  No snapshot may be in progress, nor start
 * while log_sweep_is_on(). */
void log_sweep(struct etcd_log *l);
bool log_sweep_is_on(const struct etcd_log *l);

#endif

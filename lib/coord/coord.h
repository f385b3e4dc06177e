/* coord.h - the coordinator's state machine: jobs, workers, meetings, keys.
 *
 * It does no I/O and has no clock.  Requests come in as decoded messages, times
 * as arguments; replies and records go out through `struct coord_host`.  So one
 * and the same code serves gRPC, frames, the simulator and the fuzzers.
 *
 * Slow state (places, ranks, epochs, settings, keys, releases, datasets,
 * checkpoints) changes only by applying a record (record.proto): a request is checked,
 * its record is handed to the host, which keeps it, and then applied.
 * coord_replay() applies records that were kept.  Fast state (when a worker was
 * heard of, until when a lease lasts, who waits, connections) is not recorded; after a restart it grows
 * again from the workers, which come back and ask again.
 *
 * Who is alive (liveness.c): a worker is heard of by its requests, and belongs to the
 * connection of the last.  While a call of it waits in a meeting it is alive, heartbeats
 * or not; so the host must cancel calls whose connections are gone.  A process that takes
 * the place of another one is news of that one's death to meetings with FAIL.  Which
 * use of a meeting a request is about is in meeting.c.
 *
 * Replies must not be sent before the records that were handed out earlier are
 * on disk: the host sees to that.  Every call gets exactly one last reply, unless it
 * is cancelled or its connection ends first.
 *
 * One thread.  Times are milliseconds of two clocks: `mono` never jumps and
 * measures silence, `wall` is what records carry.  Keys expire by a third, service time
 * (service_time.c), which is made of these. */
#ifndef COORD_COORD_H
#define COORD_COORD_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coord/proto/methods.h"
#include "coordinator.pb-c.h"
#include "record.pb-c.h"
#include "roar_coordinator.pb-c.h"
#include "roar_shards.pb-c.h"

struct coord;

/* Status of a reply: the numbers of gRPC, which frames use too. */
enum coord_status {
	COORD_OK = 0,
	COORD_CANCELLED = 1,
	COORD_UNKNOWN = 2,
	COORD_INVALID_ARGUMENT = 3,
	COORD_DEADLINE_EXCEEDED = 4,
	COORD_NOT_FOUND = 5,
	COORD_ALREADY_EXISTS = 6,
	COORD_PERMISSION_DENIED = 7,
	COORD_RESOURCE_EXHAUSTED = 8,
	COORD_FAILED_PRECONDITION = 9,
	COORD_ABORTED = 10,
	COORD_OUT_OF_RANGE = 11,
	COORD_UNIMPLEMENTED = 12,
	COORD_INTERNAL = 13,
	COORD_UNAVAILABLE = 14,
	COORD_DATA_LOSS = 15,
	COORD_UNAUTHENTICATED = 16,
	COORD_MORE = 100, /* a message of a stream; others follow */
};

/* What the state machine needs from around it.  No function may call back into the
 * state machine. */
struct coord_host {
	/* Keeps a record; it is on disk before any later reply leaves.  -ENOSPC or
	 * another error: it was not kept, and the change is not made. */
	int (*record)(void *host, const Roar__Record__Record *record);
	/* Answers a call.  `message` is NULL unless `status` is COORD_OK or COORD_MORE,
	 * and `sentence`, NULL for those, says what is wrong.  `names` are ids of workers
	 * that a failed meeting waited for (n_names of them; told to clients as the trailer
	 * "roar-absent").  All of it lives only during the call. */
	void (*reply)(void *host, uint64_t call, enum coord_status status,
		      const ProtobufCMessage *message, const char *sentence,
		      const char *const *names, size_t n_names);
	/* From here on the messages of replies are followed by the fields of `common`, which
	 * is the same for all of them, until this is called with NULL.  So the host has it
	 * once, however many it goes to; it lives as long.  May be NULL: then replies
	 * come whole. */
	void (*share)(void *host, const ProtobufCMessage *common);
	/* What is worth a line in the log of the server.  `level` as syslog's. */
	void (*note)(void *host, int level, const char *job,
		     const char *sentence);
	uint64_t (*random)(void *host); /* sessions come from here */
};

struct coord_limits {
	uint32_t max_jobs; /* 0 in any of them: the default */
	uint32_t max_workers; /* of all jobs together */
	uint32_t max_meetings; /* per job */
	uint32_t max_keys; /* per job */
	uint64_t max_key_bytes; /* of keys and values, per job */
	uint32_t max_waiting; /* calls that wait, of all jobs */
	uint32_t max_watchers;
};

struct coord_now {
	int64_t mono_ms;
	int64_t wall_ms;
};

/* Who asks.  `job` is what the token allows: NULL for every job (no tokens are in
 * use, or it is the administrator's), else the one. */
struct coord_caller {
	uint64_t conn; /* its connection, never reused; 0: none (HTTP) */
	const char *job;
	bool admin; /* may stop the server, see all jobs */
};

int coord_new(const struct coord_host *host, void *host_data,
	      const struct coord_limits *limits, struct coord **ret);
void coord_free(struct coord *c);

/* ---- state that was kept ---- */

/* Applies one record of a snapshot or the log.  -EBADMSG for a record that makes no
 * sense in this state (the log is damaged in a way its checksums did not show);
 * the state is unchanged then. */
int coord_replay(struct coord *c, const Roar__Record__Record *record);
/* After the last of them: workers have the job's timeout from now on to be heard
 * of again, and holders of leases a whole one of these, if that is longer. */
void coord_resume(struct coord *c, struct coord_now now);
/* Tells the whole slow state as records that lead to it: `each` for every one; a
 * negative return of it ends the walk and is returned. */
int coord_snapshot(const struct coord *c,
		   int (*each)(void *data, const Roar__Record__Record *record),
		   void *data);

/* ---- requests ---- */

/* The host completes two of the replies: for METHOD_GET_STATUS the state machine fills in
 * jobs and workers only; METHOD_STOP it only checks and answers. */

/* One request message.  `call` names it in replies, is not 0 and never reused.  `deadline`
 * is of the clock mono_ms, INT64_MAX for none.  For COORD_BIDI it is called for each
 * message of the call, but not after its last reply. */
void coord_request(struct coord *c, struct coord_now now,
		   const struct coord_caller *who,
		   const struct coord_method *method, uint64_t call,
		   int64_t deadline_ms, const ProtobufCMessage *request);
/* The client of a COORD_BIDI call sends no more: gets its last reply (COORD_OK without a
 * message). */
void coord_finish(struct coord *c, struct coord_now now, uint64_t call);
/* Nobody wants the reply any more.  A cancelled arrival is taken back.  Also for a call
 * that got its last reply already, where the host knows that it never left: a worker
 * that was released and does not know it hears so when it asks again, even if it does not
 * say for which generation. */
void coord_cancel(struct coord *c, struct coord_now now, uint64_t call);
/* The connection ended; its calls are cancelled and the workers that were last heard
 * of on it are suspect. */
void coord_gone(struct coord *c, struct coord_now now, uint64_t conn);

/* ---- time ---- */

/* When coord_tick() is due, by the clock mono_ms; INT64_MAX: not before the next
 * request. */
int64_t coord_due_ms(const struct coord *c);
void coord_tick(struct coord *c, struct coord_now now);

/* ---- looking in, for metrics and tests ---- */

struct coord_counts {
	uint32_t n_jobs, n_workers, n_alive, n_suspect, n_dead;
	uint32_t n_meetings; /* with somebody waiting */
	uint32_t n_waiting; /* calls that wait */
	uint32_t n_watchers;
	uint64_t n_keys, key_bytes;
	uint64_t n_released, n_failed; /* meetings, since the start */
};

void coord_count(const struct coord *c, struct coord_counts *ret);

/* Called for each meeting that ends, with how long the first waited and how much later
 * the last came; for histograms. */
void coord_on_meeting(struct coord *c,
		      void (*ended)(void *data, int64_t wait_ms,
				    int64_t skew_ms, bool released),
		      void *data);
/* For each worker: how long ago it was heard of. */
void coord_each_age(const struct coord *c, struct coord_now now,
		    void (*each)(void *data, const char *job, int64_t age_ms),
		    void *data);

#endif

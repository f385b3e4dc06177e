/* coord.h - the coordinator's state machine: jobs, workers, meetings, keys.
 *
 * It does no I/O and reads no clock.  Requests come in as decoded messages, times as
 * arguments; replies and records go out through `struct coord_host`.  So the same code
 * serves gRPC, frames, the simulator and the fuzzers.
 *
 * Slow state (workers, ranks, epochs, settings, keys, releases, datasets, checkpoints)
 * changes only by applying a record (record.proto): the request is checked, its record is
 * passed to the host, which keeps it, and then applied.  coord_replay() applies kept
 * records.  Fast state (last heartbeats, lease deadlines, waiting calls, connections) is
 * not recorded; after a restart it is rebuilt when the workers reconnect and ask again.
 *
 * Liveness (liveness.c): every request of a worker is a sign of life, and the worker belongs
 * to the connection of its last request.  While one of its calls waits in a meeting it is
 * alive, with or without heartbeats; so the host must cancel calls whose connections have
 * ended.  A process that takes over a place counts as the death of its predecessor for
 * meetings with policy FAIL.  meeting.c says which generation a request means.
 *
 * The host must not send a reply before all records passed to it earlier are durable.
 * Every call gets exactly one last reply, unless it is cancelled or its connection ends
 * first.
 *
 * All functions are for one thread.  Times are milliseconds of two clocks: `mono` never
 * jumps and measures silence, `wall` is what records carry.  Keys expire by service time
 * (service_time.c), which derives from both. */
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

/* What the state machine needs from its host.  None of these functions may call back into
 * the state machine. */
struct coord_host {
	/* Keeps a record; it is durable before any later reply leaves.  On an error such as
	 * -ENOSPC it was not kept, and the change is not made. */
	int (*record)(void *host, const Roar__Record__Record *record);
	/* Answers a call.  With COORD_OK and COORD_MORE there is a message (NULL at the end of
	 * a stream); with other statuses `sentence` says what is wrong.  `names` are the ids
	 * of workers that a failed meeting waited for (trailer "roar-absent").  All pointers
	 * are valid during the call only. */
	void (*reply)(void *host, uint64_t call, enum coord_status status,
		      const ProtobufCMessage *message, const char *sentence,
		      const char *const *names, size_t n_names);
	/* Until this is called with NULL, append the fields of `common` to every reply.  So
	 * the host keeps them once, however many clients get them; they stay valid as long.
	 * The function may be NULL: then replies are complete. */
	void (*share)(void *host, const ProtobufCMessage *common);
	/* A line for the server's log.  `level` is one of syslog's. */
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

/* The client of a request.  `job` is the one its token allows; NULL: every job (without
 * tokens, or with the administrator's). */
struct coord_caller {
	uint64_t conn; /* number of its connection, never reused; 0: none (HTTP) */
	const char *job;
	bool admin; /* may stop the server, see all jobs */
};

int coord_new(const struct coord_host *host, void *host_data,
	      const struct coord_limits *limits, struct coord **ret);
void coord_free(struct coord *c);

/* ---- kept state ---- */

/* Applies one record of a snapshot or log.  -EBADMSG: the record does not fit this state
 * (damage that the checksums did not show); the state is unchanged. */
int coord_replay(struct coord *c, const Roar__Record__Record *record);
/* After the last record: workers have the job's timeout from now to reconnect, and
 * holders of leases a whole lease timeout, if that is longer. */
void coord_resume(struct coord *c, struct coord_now now);
/* The fencing token that requests must have which are to be recorded for good
 * (CommitCheckpoint).  0, as at the start: there is only one coordinator. */
void coord_set_fencing_token(struct coord *c, uint64_t token);
/* Passes the slow state to `each` as the records that lead to it.  A negative return of
 * `each` ends the walk and is returned. */
int coord_snapshot(const struct coord *c,
		   int (*each)(void *data, const Roar__Record__Record *record),
		   void *data);

/* ---- requests ---- */

/* The host completes two of the replies: for METHOD_GET_STATUS the state machine fills in
 * jobs and workers only; METHOD_STOP it only checks and answers. */

/* One request message.  `call` identifies it in replies; it is not 0 and never reused.
 * `deadline_ms` is by mono_ms, INT64_MAX for none.  For COORD_BIDI, call this for each
 * message of the call, but not after its last reply. */
void coord_request(struct coord *c, struct coord_now now,
		   const struct coord_caller *who,
		   const struct coord_method *method, uint64_t call,
		   int64_t deadline_ms, const ProtobufCMessage *request);
/* The client of a COORD_BIDI call has sent its last message: sends the last reply
 * (COORD_OK without a message). */
void coord_finish(struct coord *c, struct coord_now now, uint64_t call);
/* The client cancelled the call; a cancelled arrival is withdrawn.  Call it also when the
 * last reply was given but the host knows that it never left: then a worker that was
 * released without learning it gets that answer when it asks again, even without naming
 * the generation. */
void coord_cancel(struct coord *c, struct coord_now now, uint64_t call);
/* The connection ended: its calls are cancelled, and the workers whose last request came
 * over it are suspect. */
void coord_gone(struct coord *c, struct coord_now now, uint64_t conn);

/* ---- time ---- */

/* When coord_tick() is due, by the clock mono_ms; INT64_MAX: not before the next
 * request. */
int64_t coord_due_ms(const struct coord *c);
void coord_tick(struct coord *c, struct coord_now now);

/* ---- counters, for metrics and tests ---- */

struct coord_counts {
	uint32_t n_jobs, n_workers, n_alive, n_suspect, n_dead;
	uint32_t n_meetings; /* in progress */
	uint32_t n_waiting; /* waiting calls */
	uint32_t n_watchers;
	uint64_t n_keys, key_bytes;
	uint64_t n_released, n_failed; /* meetings, since the start */
	uint64_t n_committed, n_saves_failed; /* checkpoints, likewise */
};

void coord_count(const struct coord *c, struct coord_counts *ret);

/* Sets a function that is called for each meeting that ends, with the wait of the first
 * arrival and the skew between first and last; for histograms. */
void coord_on_meeting(struct coord *c,
		      void (*ended)(void *data, int64_t wait_ms,
				    int64_t skew_ms, bool released),
		      void *data);
/* For each worker: time since its last request. */
void coord_each_age(const struct coord *c, struct coord_now now,
		    void (*each)(void *data, const char *job, int64_t age_ms),
		    void *data);

#endif

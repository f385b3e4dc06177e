/* state.h - jobs, requests, waiting calls and changes: what all parts of the state machine
 * share.  Each other folder has one header of its own: members/members.h,
 * meetings/meetings.h, keys/key.h, data/data.h.
 *
 * Ownership:
 *
 *	coord ─┬─ job ─┬─ worker ──── rank, commands, last heartbeat
 *	       │       ├─ meeting ─┬─ release	the last generation that completed (slow)
 *	       │       │           └─ round	the generation in progress (fast)
 *	       │       │                └─ arrival = a waiting call
 *	       │       ├─ key, dataset, checkpoint step
 *	       │       └─ watch = a waiting call
 *	       └─ conn		links to the workers and waiting calls of a connection
 *
 * Slow state is durable; fast state is rebuilt after a restart (coord.h).  Slow state
 * changes only inside a change_fn, which change_make() calls.  A change first does
 * everything that can fail, then passes its record to the host (record_append()), then
 * applies it, which cannot fail.  So neither a full disk nor a failed allocation leaves
 * half a change.
 *
 * Nothing iterates over a hash map where order matters: lists and arrays are walked
 * instead.  The same requests give the same replies in the same order in every process.
 *
 * The state machine has one thread and no locks. */
#ifndef COORD_CORE_STATE_H
#define COORD_CORE_STATE_H

#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "coord/alarm.h"
#include "coord/coord.h"
#include "coord/keys/key_requests.h"

typedef Roar__Record__Record Record;

enum {
	RECORD_RETRY_MS =
		1000, /* before a record that could not be kept is tried again */
	MAX_CHANGED = 64, /* workers named in one WORLD event */
	MAX_TIME_MS = 7 * 24 * 3600 * 1000, /* of any setting */
	MAX_ID_KEPT =
		255, /* bytes of an id in a record; requests are bounded tighter */
	MAX_NAMES_SAID = 8, /* workers named in a sentence */
	MAX_STEPS = 64, /* checkpoint steps per job */
};

/* No wall clock is later than this, so sums of times do not overflow. */
static const int64_t max_wall_ms = INT64_MAX / 4;

/* ---- requests ---- */

struct request {
	struct coord *c;
	const struct coord_caller *who;
	uint64_t call;
	int64_t deadline_ms;
	enum coord_status good; /* COORD_OK, or COORD_MORE in a stream */
};

/* Handles one method: answers or refuses the request, or lets its call wait. */
typedef void handler_fn(const struct request *q, const void *message);
#define DECLARE_HANDLER(number, id, handler, ...) handler_fn method_##handler;
COORD_METHODS(DECLARE_HANDLER)
#undef DECLARE_HANDLER

/* ---- waiting calls and connections ---- */

struct wait;

struct wait_kind {
	bool watch; /* counts as a watcher, not as a waiting call */
	/* The caller is gone: removes the wait and frees it. */
	void (*withdraw)(struct coord *c, struct wait *w);
	/* Its deadline has passed: the same, and answers the call. */
	void (*expire)(struct coord *c, struct wait *w);
};

struct wait {
	uint64_t call; /* 0: not waiting */
	struct job *job;
	const struct wait_kind *kind;
	struct conn *conn; /* NULL: none */
	struct list in_conn;
	struct alarm deadline;
};

/* Exists while it has a waiting call or a worker. */
struct conn {
	uint64_t id;
	struct list waits;
	struct list workers; /* whose last request came over it */
};

/* ---- jobs ---- */

struct settings {
	int32_t min_workers, max_workers, start_workers;
	int64_t heartbeat_interval_ms, timeout_ms, hold_ms;
	Roar__OnDeath on_death;
};

struct job {
	struct coord *c;
	char *id;
	struct list in_jobs;
	/* slow */
	struct settings settings;
	uint64_t epoch; /* of the world */
	uint64_t joined_epoch; /* when the last new process joined */
	/* When the job last had start_workers, while a worker of that time is left; or 0. */
	uint64_t started_epoch;
	uint64_t last_version; /* of keys */
	struct map by_id;
	struct worker **by_rank;
	size_t n_workers,
		cap_workers; /* places, including those held for the dead */
	size_t n_dead;
	struct list releases; /* meetings with a release, oldest first */
	size_t n_releases, release_bytes;
	struct key **keys; /* by name */
	size_t n_keys, cap_keys;
	uint64_t key_bytes;
	struct key_requests key_requests; /* carried out lately */
	struct dataset **datasets; /* in order of registration */
	size_t n_datasets, cap_datasets;
	uint64_t n_shards; /* of all datasets */
	struct worker **slots; /* by slot number; NULL: free */
	size_t n_slots, cap_slots;
	uint32_t low_slot; /* no lower slot is free */
	struct step *steps[MAX_STEPS + 1]; /* by number; one spare while adding */
	size_t n_steps, step_bytes;

	/* fast */
	int64_t used_ms; /* mono: the last request about it */
	uint32_t n_waiting, n_watchers;
	struct map meetings;
	struct list rounds; /* in progress, oldest first */
	size_t n_rounds;
	size_t n_aside; /* workers that stand aside (round.c) */
	struct list failures; /* meetings with a failure, oldest first */
	size_t n_failures;
	struct map waited; /* keys that calls wait for */
	struct list watches, key_watches;
	char *changed[MAX_CHANGED]; /* workers for the next WORLD event */
	size_t n_changed;
	struct alarm world; /* when it is sent */
	int64_t told_ms; /* mono: when the last one was sent */
};

/* ---- the whole ---- */

struct coord {
	struct coord_host host;
	void *host_data;
	struct coord_limits limits;
	struct coord_now now; /* of the current call */
	bool replaying;
	struct map jobs;
	struct list job_list;
	uint32_t n_jobs, n_workers, n_suspect, n_dead;
	/* Totals over all jobs. */
	uint64_t key_bytes;
	uint64_t n_shards;
	uint32_t n_datasets;
	bool tables_due; /* workers joined or left: shards may have to move */
	struct map conns, waits;
	struct map answered; /* workers, by the call of their last answer from a meeting */
	uint32_t n_waiting, n_watchers;
	struct timer_heap mono, service; /* by mono_ms; by time_ms */
	int64_t time_ms; /* fast: service time of the current call; 0: not started */
	int64_t recorded_ms; /* the latest service time on record; 0: none */
	struct alarm clock; /* when service time is to be recorded; always set */
	uint64_t last_serial; /* of meetings */
	uint64_t n_released, n_failed;
	uint64_t fencing_token; /* of the leader; 0: there is only one coordinator */
	uint64_t n_committed, n_saves_failed; /* checkpoints */
	void (*ended)(void *data, int64_t wait_ms, int64_t skew_ms,
		      bool released);
	void *ended_data;
};

/* Sets the time of the call that begins; every entry point calls it first. */
void coord_set_time(struct coord *c, struct coord_now now);

/* ---- service_time.c: the time by which keys expire ---- */

/* 0 or -ENOMEM. */
int service_time_init(struct coord *c);
/* Continues from the latest time on record, or starts with the wall clock. */
void service_time_start(struct coord *c);
/* A kept record carries this time (0: none), so keys with a TTL exist. */
void service_time_note(struct coord *c, int64_t time_ms);

/* ---- call_reply.c: replies, refusals, log lines ---- */

void request_reply(const struct request *q, const void *message);
void request_refuse(const struct request *q, enum coord_status status,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Refuses because change_make() returned `r`. */
void request_refuse_change(const struct request *q, int r);
enum coord_status change_status(int r);
const char *change_sentence(int r);
void call_reply(struct coord *c, uint64_t call, enum coord_status status,
		const void *message, const char *sentence);
/* Starts replies that share most fields.  `common` has the shared fields.  Put the fields
 * of each reply into the returned message and send that: it is `own`, which is empty, or
 * `common` itself where the host takes whole replies only.  Until shared_reply_end(). */
void *shared_reply_begin(struct coord *c, void *common, void *own);
void shared_reply_end(struct coord *c);
void job_log(struct job *job, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- request_check.c: each refuses and returns -EINVAL when the field is invalid ---- */

int request_check_id(const struct request *q, const char *what, const char *id);
int request_check_meeting_id(const struct request *q, const char *id);
int request_check_key(const struct request *q, const char *key);
int request_check_prefix(const struct request *q, const char *prefix);
/* UTF-8 without control characters. */
int request_check_text(const struct request *q, const char *what,
		       const char *text, size_t max);
int request_check_natural(const struct request *q, const char *what, int64_t n);
/* `entries` are map entries of any message: key, then value. */
int request_check_metadata(const struct request *q, size_t n, void *entries);

/* ---- change.c ---- */

/* Makes the change and has its record kept.  -EBADMSG: the record does not fit this state;
 * -ENOMEM; or the host's error.  On failure the state is unchanged. */
int change_make(struct coord *c, const Record *record);
/* Inside a change: passes the record to the host, unless it is being replayed. */
int record_append(struct coord *c, const Record *record);
/* A deep copy of a message; NULL when out of memory. */
void *message_copy(const void *message);
void message_free(void *message);

typedef int change_fn(struct coord *c, const Record *record);
change_fn change_job, change_job_gone, change_join, change_death, change_leave,
	change_world, change_command, change_commands_told, change_drain,
	change_release, change_key, change_key_gone, change_dataset,
	change_checkpoint, change_deal, change_shard_table, change_epoch,
	change_consumed, change_lending, change_lease_taken, change_lease_used,
	change_leases_lapsed, change_key_past, change_lent_before, change_clock,
	change_save_end;

/* ---- job.c ---- */

extern const struct settings settings_default;

/* The job a request names, or the one of its token.  NULL after a refusal.
 * request_job_ensure() creates a job that does not exist. */
struct job *request_job(const struct request *q, const char *asked);
struct job *request_job_ensure(const struct request *q, const char *asked);
/* The same; a job that does not exist is NULL in *ret without a refusal.  0, or -EACCES
 * after a refusal. */
int request_job_find(const struct request *q, const char *asked,
		     struct job **ret);
struct job *job_find(const struct coord *c, const char *id);
/* The job's part of a limit that all jobs share. */
uint32_t job_limit(const struct request *q, uint32_t all);
void job_free(struct job *job);
bool job_ready(const struct job *job);
int32_t job_n_needed(const struct job *job); /* workers alive, to be ready */
size_t job_n_alive(const struct job *job);
/* Workers or settings have changed: updates started_epoch. */
void job_update_start(struct job *job);
void job_view(const struct job *job, Roar__JobStatus *ret,
	      Roar__JobSettings *settings);
void settings_view(const struct job *job, Roar__JobSettings *ret);

/* ---- conn.c, waiting_call.c ---- */

void conn_bind(struct coord *c, uint64_t id, struct worker *w);
void conn_unbind(struct worker *w);
/* The connection belongs to other workers, and `w` uses another one. */
bool conn_is_of_others(const struct coord *c, uint64_t id,
		       const struct worker *w);
void conn_tidy(struct coord *c, struct conn *conn); /* frees it when empty */
/* Finds or creates it; NULL when out of memory or for id 0. */
struct conn *conn_ensure(struct coord *c, uint64_t id);

/* Lets the call of the request wait.  0, or -errno after a refusal. */
int wait_add(const struct request *q, struct job *job, struct wait *w,
	     const struct wait_kind *kind);
void wait_remove(struct coord *c, struct wait *w);
/* Remembers the call of the worker's last answer from a meeting; 0: none. */
void wait_answered(struct worker *w, uint64_t call);

/* ---- watch.c: events for watchers ---- */

void world_changed(struct job *job, const char *worker_id);
void world_due(struct coord *c, struct alarm *a);
void worker_drop_watches(struct worker *w);
void commands_push(struct worker *w); /* to the worker's watches */
void key_publish(struct job *job, const char *name, const struct key *key);
void table_publish(struct job *job, const struct dataset *d);

#endif

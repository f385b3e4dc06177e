/* state.h - what the files of the state machine share; for them alone.
 *
 * Who owns whom:
 *
 *	coord ─┬─ job ─┬─ worker ──── place, rank, commands; what heartbeats said
 *	       │       ├─ meeting ─┬─ release	the last use that ended well (slow)
 *	       │       │           └─ round	the use under way (fast)
 *	       │       │                └─ arrival = a call that waits
 *	       │       ├─ key, dataset, checkpoint step
 *	       │       └─ watch = a call that waits
 *	       └─ conn		links to the workers and calls of a connection
 *
 * Slow state changes in change*.c only, by change_make().  There everything that may
 * fail is done first, then the record is handed to the host, then the state
 * changes, which cannot fail.  So neither a full disk nor the end of memory leaves half a
 * change.
 *
 * Order is never that of a hash map: what is walked is a list or an array, so the
 * same requests lead to the same replies in the same order, in every process. */
#ifndef COORD_CORE_STATE_H
#define COORD_CORE_STATE_H

#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "coord/alarm.h"
#include "coord/coord.h"
#include "coord/keys/key_requests.h"
#include "shard/deal/table_history.h"
#include "shard/lease/lease.h"

typedef Roar__Record__Record Record;

enum {
	/* A worker whose connection ended is dead after so many heartbeats that did not
	 * come over another one, but not sooner than the second number (ms), and not later
	 * than silence alone would make it. */
	EOF_HEARTBEATS = 2,
	EOF_GRACE_MIN_MS = 1000,
	RECORD_RETRY_MS = 1000, /* when a death could not be recorded */
	HOLD_MORE_MS = 1000, /* when a meeting waits for who takes the place */
	/* The coordinator itself did not run when it comes so much later than an alarm. */
	LATE_MS = 250,
	WORLD_PAUSE_MS = 50, /* between two WORLD events of a job */
	MAX_CHANGED = 64, /* workers named in one of them */
	ALL_KEYS_TIMES = 4, /* what one job may have, for all of them */
	MAX_SIZE = 1000000, /* workers a job may be configured for */
	MAX_TIME_MS = 7 * 24 * 3600 * 1000, /* and times */
	MAX_ID_KEPT = 255, /* bytes; requests have a narrower bound */
	MAX_COMMANDS = 64, /* waiting, per worker */
	MAX_ARRIVALS = 64, /* waiting, per worker */
	MAX_NAMES = 1000, /* of absent workers, in a reply */
	MAX_NAMES_SAID = 8, /* and in its sentence */
	MAX_LATE = 8,
	MAX_MISSING = 32, /* named in a view of a barrier */
	MAX_GPUS = 64,
	MAX_DATASETS = 1024, /* per job */
	MAX_SHARDS = 1 << 25, /* of all datasets of a job, 5 bytes each */
	ALL_SHARDS_TIMES = 4, /* what one job may have, for all of them */
	MAX_STEPS = 64, /* of checkpoints, per job */
	MAX_VALUE = 64 << 10, /* of one worker, in a gather */
	MAX_VOTE_VALUE = 4 << 10, /* and in a vote */
	MAX_DISTINCT = 4, /* values of a vote that are told */
	MAX_GATHER = 16 << 20, /* of all of them */
	MAX_GATHER_OUT = 256 << 20, /* the same times those who get it */
	MAX_FAILURES = 64, /* remembered of gathers that were too large, per job */
	MAX_RELEASES = 64 << 20, /* bytes of remembered releases, per job */
	MAX_CHECKPOINTS = 64 << 20, /* bytes, likewise */
};

/* No wall clock is later: sums of times do not overflow. */
static const int64_t max_wall_ms = INT64_MAX / 4;

/* What a request may ask for: behind it there is room for those that follow. */
static const uint64_t max_generation = UINT64_C(1) << 62;

/* ---- requests ---- */

struct request {
	struct coord *c;
	const struct coord_caller *who;
	uint64_t call;
	int64_t deadline_ms;
	enum coord_status good; /* COORD_OK, or COORD_MORE in a stream */
};

/* ---- calls that wait, and connections ---- */

struct wait;

struct wait_kind {
	bool watch; /* counts as a watcher, not as one who waits */
	/* Nobody wants the reply: takes it out and frees it. */
	void (*withdraw)(struct coord *c, struct wait *w);
	/* Its deadline is over: answers it as well. */
	void (*expire)(struct coord *c, struct wait *w);
};

struct wait {
	uint64_t call; /* 0: it does not wait (any more) */
	struct job *job;
	const struct wait_kind *kind;
	struct conn *conn; /* NULL: none */
	struct list in_conn;
	struct alarm deadline;
};

struct conn {
	uint64_t id;
	struct list waits;
	struct list workers; /* last heard of here */
};

/* ---- jobs and workers ---- */

struct settings {
	int32_t min_workers, max_workers, start_workers;
	int64_t heartbeat_interval_ms, timeout_ms, hold_ms;
	Roar__OnDeath on_death;
};

struct report { /* what the last heartbeat said */
	int64_t step, epoch;
	char *task; /* NULL or a string */
	size_t task_cap;
	int32_t state;
	bool has_status, has_resources;
};

struct resources { /* likewise */
	Coordinator__ResourceUsage usage; /* gpu_usage: of the next */
	Coordinator__GpuUsage *gpus;
	Coordinator__GpuUsage **gpu_ptrs;
	size_t n_gpus;
};

/* What a heartbeat touches is at the end, beside the id that it is found by: with ten
 * thousand workers, what a heartbeat costs is the lines of the cache it misses. */
struct worker {
	/* slow */
	Coordinator__WorkerInfo *info;
	uint64_t incarnation;
	uint64_t born; /* the world's epoch when this process joined */
	int64_t registered_ms; /* wall */
	int64_t died_ms; /* wall */
	char *death; /* why */
	char **commands; /* not told yet, the oldest first */
	size_t cap_commands;

	/* fast */
	struct alarm look; /* when it may have become suspect, dead, or gone */
	int64_t dies_ms; /* suspect: when it is dead; dead: when its place is given up */
	struct conn *conn; /* where it was last heard of, or NULL */
	struct list in_conn;
	struct list arrivals;
	size_t n_aside; /* arrivals that wait and stand aside */
	struct list watches; /* those that want its commands */
	uint64_t own_conn; /* where its process has registered; 0: it has not here */
	struct resources resources;
	/* Its last answer from a meeting: what for, and whether it was lost. */
	uint64_t answered_call, answered_meeting, answered_generation;
	bool answer_lost;
	uint64_t failed_meeting, failed_generation; /* it was told of last */

	/* both, of each heartbeat */
	struct job *job;
	struct report report;
	uint64_t session;
	size_t n_commands;
	int64_t heard_ms; /* mono */
	const char *suspicion; /* NULL: none, it is alive */
	uint64_t conn_id; /* of conn; 0: none */
	uint64_t former_conn; /* of the process before this one; 0: none */
	int32_t rank;
	uint32_t slot; /* its number in tables of shards; slow */
	bool dead, draining;
	char id[];
};

struct job {
	struct coord *c;
	char *id;
	struct list in_jobs;
	/* slow */
	struct settings settings;
	uint64_t epoch; /* of the world */
	uint64_t joined_epoch; /* when the last new process took a place */
	/* When it last had start_workers, and somebody is left who was there; or 0. */
	uint64_t started_epoch;
	uint64_t last_version; /* of keys */
	struct map by_id;
	struct worker **by_rank;
	size_t n_workers, cap_workers; /* places, also held ones */
	size_t n_dead;
	struct list releases; /* meetings with one, the longest ago first */
	size_t n_releases, release_bytes;
	struct key **keys; /* by name */
	size_t n_keys, cap_keys;
	uint64_t key_bytes;
	struct key_requests key_requests; /* what was done to them */
	struct dataset **datasets; /* as they were registered */
	size_t n_datasets, cap_datasets;
	uint64_t n_shards; /* of all of them */
	struct worker **slots; /* by their numbers in tables; NULL: free */
	size_t n_slots, cap_slots;
	uint32_t low_slot; /* all below are somebody's */
	struct step *steps[MAX_STEPS + 1]; /* by number; one more for a moment */
	size_t n_steps, step_bytes;

	/* fast */
	int64_t used_ms; /* mono: the last request about it */
	uint32_t n_waiting, n_watchers;
	struct map meetings;
	struct list rounds; /* under way, in the order they began */
	size_t n_rounds;
	size_t n_aside; /* workers that stand aside */
	struct list failures; /* meetings with one, the longest ago first */
	size_t n_failures;
	struct map waited; /* keys that are waited for */
	struct list watches, key_watches;
	char *changed[MAX_CHANGED]; /* for the next WORLD event */
	size_t n_changed;
	struct alarm world; /* when it is told */
	int64_t told_ms; /* when the last was */
};

/* ---- meetings ---- */

struct attendee {
	const char *id;
	const uint8_t *value;
	size_t value_len;
	int64_t late_ms;
	int32_t rank;
	uint32_t place; /* among the attendees, by rank */
	bool in_favour;
	bool numbered; /* came with the generation */
};

/* One block of memory, with all that it points to. */
struct release {
	uint64_t generation;
	uint64_t epoch; /* of the world */
	int64_t released_ms; /* wall */
	Roar__MeetKind kind;
	size_t bytes;
	size_t n, n_missing;
	const char **missing;
	struct attendee **by_id; /* sorted when first asked for */
	bool sorted;
	struct attendee attendees[]; /* as they came */
};

struct member { /* of a group */
	char *id;
	bool needed; /* is waited for, or has come */
	bool let_go; /* died, and the policy is to shrink */
};

struct round {
	struct meeting *meeting;
	struct list in_job;
	uint64_t generation;
	Roar__MeetKind kind;
	Roar__OnDeath on_death; /* never DEFAULT */
	struct member *group; /* by id; NULL: all workers */
	size_t n_group, n_needed;
	char **given; /* the same ids as the first who came gave them */
	size_t n_given;
	struct list arrivals; /* as they came, also those who gave up */
	size_t n_here; /* who wait */
	size_t n_aside; /* of them, workers that stand aside, here or elsewhere */
	size_t value_bytes;
	int64_t began_ms; /* mono */
};

struct arrival {
	struct wait wait; /* call 0: gave up */
	struct round *round;
	struct worker *worker;
	struct list in_round, in_worker;
	int64_t came_ms; /* mono */
	bool plain; /* WaitBarrier, not Meet */
	bool in_favour;
	bool numbered; /* asked for the generation by its number, once at least */
	bool aside; /* other meetings of all do not wait for it meanwhile */
	uint8_t *value;
	size_t value_len;
};

struct meeting {
	struct job *job;
	uint64_t serial; /* tells meetings of one name apart */
	struct release *last; /* NULL: none */
	struct list in_releases; /* of the job, when there is a last one */
	struct round *now; /* NULL: nobody waits */
	/* A gather that was too large, for those who come to it later. */
	uint64_t failed; /* generation; 0: none */
	char *failure; /* what was said */
	struct list in_failures; /* of the job */
	bool held; /* a request is being answered with it: it stays */
	char id[];
};

/* ---- keys, datasets, checkpoints ---- */

struct key {
	struct job *job;
	uint64_t version;
	int64_t expires_ms; /* service time; 0: never */
	struct alarm expiry; /* by service time */
	uint8_t *value;
	size_t len;
	char name[];
};

struct dataset {
	Coordinator__DatasetInfo *info;
	int64_t registered_ms, total_shards;
	int64_t epoch; /* under way */
	struct shard_table *table; /* of the places of the job */
	struct shard_history history; /* of its deals */
	uint64_t *bytes; /* of its shards, where those are balanced; or NULL */
	uint32_t *homes; /* likewise where they are at home */
	struct interval_set consumed; /* of the epoch, unless it is lent */
	struct lending *lending; /* NULL: it is not */
	struct leases before; /* of the epoch before; total 0: it was not lent */
	struct {
		uint64_t moved, minimum, moved_bytes, minimum_bytes;
	} deal; /* the last one */
	uint64_t moved_ever; /* by all of them */
};

struct lending { /* of an epoch: lending.c */
	struct job *job;
	struct dataset *dataset;
	/* Holders are numbers of places.  Deadlines are fast, by mono_ms. */
	struct leases leases;
	struct alarm look; /* when some may have lapsed; always set */
	/* fast: what the last change came to */
	int result;
	struct lease lease;
};

struct part { /* what one worker saved */
	Coordinator__CheckpointInfo *info;
	size_t bytes;
};

struct waited { /* a key that is waited for */
	struct list waits;
	char name[];
};

struct key_wait {
	struct wait wait;
	struct waited *on;
	struct list in_waited;
	uint64_t after_version;
};

struct step {
	int64_t number;
	int32_t expected; /* parts */
	uint64_t joined_epoch; /* of the job, when the first was saved */
	struct part *parts; /* by worker_id */
	size_t n_parts, cap_parts, bytes;
};

struct watch {
	struct wait wait;
	struct list in_job, in_keys, in_worker;
	bool shards; /* wants to hear of tables */
	char *worker_id; /* NULL: nobody's */
	char *prefix; /* NULL: no keys */
};

/* ---- the whole ---- */

struct coord {
	struct coord_host host;
	void *host_data;
	struct coord_limits limits;
	struct coord_now now; /* of the call under way */
	bool replaying;
	struct map jobs;
	struct list job_list;
	uint32_t n_jobs, n_workers, n_suspect, n_dead;
	uint64_t key_bytes; /* of all jobs */
	uint64_t n_shards; /* likewise */
	uint32_t n_datasets; /* likewise */
	bool tables_due; /* places were taken or given up: shards may have to move */
	struct map conns, waits;
	struct map answered; /* workers, by the call of their last answer */
	uint32_t n_waiting, n_watchers;
	struct alarms mono, service; /* by mono_ms; by time_ms */
	int64_t time_ms; /* fast: service time of the call under way; 0: not started */
	int64_t recorded_ms; /* the latest service time on record; 0: none */
	struct alarm clock; /* when service time is to be recorded; always set */
	uint64_t last_serial;
	uint64_t n_released, n_failed;
	void (*ended)(void *data, int64_t wait_ms, int64_t skew_ms,
		      bool released);
	void *ended_data;
};

/* ---- coord.c ---- */

/* The time of the call that begins; first in each. */
void coord_set_time(struct coord *c, struct coord_now now);

/* ---- service_time.c: the time by which keys expire ---- */

/* 0 or -ENOMEM. */
int service_time_init(struct coord *c);
/* Goes on from the latest time on record, or starts with the wall clock of `now`. */
void service_time_start(struct coord *c);
/* A record that was kept has this time, or 0; keys with a TTL exist. */
void service_time_note(struct coord *c, int64_t time_ms);

/* ---- call_reply.c ---- */

void request_answer(const struct request *q, const void *message);
void request_refuse(const struct request *q, enum coord_status status,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* For a change that was not made: `r` is what change_make() returned. */
void request_refuse_change(const struct request *q, int r);
enum coord_status change_status(int r);
const char *change_sentence(int r);
void call_reply(struct coord *c, uint64_t call, enum coord_status status,
		const void *message, const char *sentence);
/* Many are about to be told the same, `common`, and each a little of its own.  Returns what
 * the latter goes into, and what is told then: `own`, which is empty, or, where the host
 * takes replies whole, `common` itself.  Until shared_reply_end(). */
void *shared_reply_begin(struct coord *c, void *common, void *own);
void shared_reply_end(struct coord *c);
void job_log(struct job *job, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- request_check.c: each refuses and returns -EINVAL when it is not as it must be ---- */

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

/* Makes the change, when the host has kept the record.  -EBADMSG: it makes no sense in
 * this state; -ENOMEM; or what the host said.  The state is unchanged then. */
int change_make(struct coord *c, const Record *record);
/* Within a change: hands the record to the host, unless it comes from there. */
int record_append(struct coord *c, const Record *record);
/* A copy of a message with all it holds; NULL without memory. */
void *message_copy(const void *message);
void message_free(void *message);

typedef int change_fn(struct coord *c, const Record *record);
change_fn change_job, change_job_gone, change_join, change_death, change_leave,
	change_world, change_command, change_commands_told, change_drain,
	change_release, change_key, change_key_gone, change_dataset,
	change_checkpoint, change_deal, change_shard_table, change_epoch,
	change_consumed, change_lending, change_lease_taken, change_lease_used,
	change_leases_lapsed, change_key_past, change_lent_before, change_clock;

/* ---- job.c ---- */

extern const struct settings settings_default;

/* The job a request is about; NULL after it was refused.  request_job_ensure() makes it. */
struct job *request_job(const struct request *q, const char *asked);
struct job *request_job_ensure(const struct request *q, const char *asked);
/* The same without a refusal where there is none; *ret is NULL then.  -EACCES after a
 * refusal. */
int request_job_find(const struct request *q, const char *asked,
		     struct job **ret);
struct job *job_find(const struct coord *c, const char *id);
/* What the job of the request may have of something that all jobs share. */
uint32_t job_limit(const struct request *q, uint32_t all);
int job_new(struct coord *c, const char *id, struct job **ret);
void job_add(struct coord *c, struct job *job);
void job_free(struct job *job);
bool job_ready(const struct job *job);
int32_t job_n_needed(const struct job *job); /* so many alive, to be ready */
/* Places or settings have changed: has it begun, or come to its end? */
void job_update_start(struct job *job);
size_t job_n_alive(const struct job *job); /* places whose holder is not dead */
void job_view(const struct job *job, Roar__JobStatus *ret,
	      Roar__JobSettings *settings);
void settings_view(const struct job *job, Roar__JobSettings *ret);

/* ---- membership.c, worker.c ---- */

struct worker *worker_find(const struct job *job, const char *id);
/* The worker a request names; NULL after it was refused. */
struct worker *request_worker(const struct request *q, const struct job *job,
			      const char *id);
/* The same, and the request is of the process that holds the place, so far as can be
 * known: `session` is its own, or 0. */
struct worker *request_holder(const struct request *q, const struct job *job,
			      const char *id, uint64_t session);
int worker_new(struct job *job, const Coordinator__WorkerInfo *info,
	       struct worker **ret);
void worker_free(struct worker *w);
void worker_report(struct worker *w, const Coordinator__HeartbeatRequest *m);
Roar__WorkerView__State worker_state(const struct worker *w);

/* ---- liveness.c ---- */

/* The worker was heard of in this request.  0, or -errno after a refusal: it had counted
 * as dead and its return could not be recorded. */
int worker_heard(const struct request *q, struct worker *w);
void worker_due(struct coord *c, struct alarm *a);
/* Nobody could be heard for so long: that is nobody's silence. */
void worker_excuse(struct worker *w, int64_t ms);
void worker_suspect(struct worker *w, const char *why, int64_t dies_ms);
void worker_trust(struct worker *w);
/* How long it has to be heard of again, when its connection ended. */
int64_t worker_grace_ms(const struct worker *w);
/* When it is dead, if its connection ended now. */
int64_t worker_eof_ms(const struct worker *w);
/* It is suspect because the coordinator was started anew, and for nothing else. */
bool worker_is_unheard(const struct worker *w);
/* Records that the same or another process has the place. */
int worker_join(struct job *job, const Coordinator__WorkerInfo *info,
		int32_t rank, uint64_t session, uint64_t incarnation,
		int64_t registered_ms);
/* Gives the place up: `w` is gone then. */
int worker_give_up(struct worker *w);

/* ---- conn.c, waiting_call.c ---- */

void conn_bind(struct coord *c, uint64_t id, struct worker *w);
void conn_unbind(struct worker *w);
/* Other workers speak on that connection, and this one on another. */
bool conn_is_of_others(const struct coord *c, uint64_t id,
		       const struct worker *w);
void conn_tidy(struct coord *c, struct conn *conn);
struct conn *conn_ensure(struct coord *c,
			 uint64_t id); /* NULL: ENOMEM or id 0 */

/* Lets the call of the request wait for something of the job.  0, or -errno after a
 * refusal. */
int wait_add(const struct request *q, struct job *job, struct wait *w,
	     const struct wait_kind *kind);
void wait_remove(struct coord *c, struct wait *w);
/* The last answer of the worker from a meeting was to that call; 0: it has none. */
void wait_answered(struct worker *w, uint64_t call);

/* ---- meeting.c, round.c, release.c, meeting_end.c ---- */

struct ask { /* Meet and WaitBarrier as one */
	const char *meeting_id;
	uint64_t generation;
	Roar__MeetKind kind;
	Roar__OnDeath on_death;
	char *const *group;
	size_t n_group;
	const uint8_t *value;
	size_t value_len;
	bool in_favour;
	bool again; /* without a generation: the answer may have been lost */
	bool plain; /* WaitBarrier */
	bool aside; /* see round.c */
};

struct meeting *meeting_find(const struct job *job, const char *id);
int meeting_ensure(struct job *job, const char *id, struct meeting **ret);
void meeting_tidy(struct meeting *m); /* frees it when it holds nothing */
/* A gather was too large.  Who comes to the same generation later is told the same,
 * once; who was told may try it anew. */
void meeting_remember_failure(struct meeting *m, uint64_t generation,
			      const char *sentence);
void meeting_tell_failure(const struct meeting *m, uint64_t generation,
			  struct worker *w);
void failures_forget(struct job *job);

int round_new(struct meeting *m, const struct ask *ask, uint64_t generation,
	      struct round **ret);
void round_free(struct round *round);
bool round_same_group(const struct round *round, const struct ask *ask);
struct member *round_member(const struct round *round, const char *id);
struct arrival *round_arrival(const struct round *round,
			      const struct worker *w);
/* Adds the caller, or lets it wait anew.  0, or -errno after a refusal. */
int round_arrive(const struct request *q, struct round *round, struct worker *w,
		 const struct ask *ask);
void round_give_up(struct arrival *a); /* does not wait any more */
void arrival_free(struct arrival *a);
/* How many are waited for in all. */
size_t round_expected(const struct round *round);
/* Those who have not come, who never came before those who gave up: the first `max` of
 * them.  Returns how many there are. */
size_t round_absent(const struct round *round, struct worker **ret, size_t max);
/* The same of those who are waited for and are dead. */
size_t round_dead(const struct round *round, struct worker **ret, size_t max);
/* Some round waits for a successor of this worker, should it be dead. */
bool rounds_wait_for(const struct worker *w);

/* Releases it when all have come. */
void round_check(struct round *round);
void rounds_check(struct job *job);
/* Tells all who wait; the round is over. */
void round_fail(struct round *round, enum coord_status status,
		const char *sentence, const char *const *names, size_t n);
/* Ends a round in which nobody waits any more. */
void round_tidy(struct round *round);
/* The process of `w` is lost (dead, or another has its place). */
void rounds_lost(struct job *job, const struct worker *w, const char *how);
/* The place is given up. */
void rounds_left(struct job *job, const char *id);
/* Those that wait are told so. */
void worker_drop_arrivals(struct worker *w, const char *sentence);
extern const struct wait_kind arrival_wait;

/* Answers for a release: prepared once, told to any number of calls. */
struct answers {
	const struct release *release;
	Roar__MeetReply meet;
	Coordinator__BarrierResponse barrier;
	Coordinator__Lateness late[MAX_LATE], *late_ptrs[MAX_LATE];
	Roar__MeetValue *values, **value_ptrs; /* of a gather, by rank */
	size_t n_values;
};

int answers_reserve(struct answers *a, Roar__MeetKind kind, size_t n);
void answers_fill(struct answers *a, const struct release *r, const char *id);
void answers_send(struct coord *c, struct answers *a, uint64_t call, bool plain,
		  size_t index);
void answers_release(struct answers *a);

struct attendee *release_attendee(struct release *r, const char *id);
void releases_forget(struct job *job);

/* ---- key_calls.c, watch.c, worker_command.c, ... ---- */

/* A key as it is; NULL: not there, or its time is over. */
struct key *key_find(const struct job *job, const char *name);
bool key_expired(const struct key *key);
size_t key_index(const struct job *job, const char *name); /* from there on */
void key_view(const struct job *job, const char *name, const struct key *key,
	      Roar__KvEntry *ret);
void key_due(struct coord *c, struct alarm *a);
void keys_free(struct job *job);
/* `request` is the number of the call, 0: it has none. */
int key_record(struct job *job, const char *name, const uint8_t *value,
	       size_t len, int64_t expires_ms, uint64_t request);
int key_record_gone(struct job *job, const char *name, uint64_t request);
/* Who watches or waits hears of it; `key` is NULL when it is gone. */
void key_changed(struct job *job, const char *name);
void key_publish(struct job *job, const char *name, const struct key *key);
int key_wait(const struct request *q, struct job *job,
	     const Roar__KvGetRequest *m);

void world_changed(struct job *job, const char *worker_id);
void world_due(struct coord *c, struct alarm *a);
void worker_drop_watches(struct worker *w);
void commands_push(struct worker *w); /* to its watches */
/* Answers a heartbeat together with the commands that wait for the worker. */
void commands_answer(const struct request *q, struct worker *w,
		     Coordinator__HeartbeatResponse *reply);
/* They are recorded as told and handed over in *ret, for commands_free(). */
int commands_take(struct worker *w, char ***ret, size_t *ret_n);
void commands_free(char **commands, size_t n);
void datasets_free(struct job *job);
struct dataset *dataset_find(const struct job *job, const char *id);
/* The dataset a request names; NULL after it was refused. */
struct dataset *request_dataset(const struct request *q, const struct job *job,
				const char *id);

/* ---- worker_slot.c: the numbers that tables know places by ---- */

/* The lowest that is free. */
uint32_t slot_free(const struct job *job);
/* Lets `w` have it, in all tables of the job.  -EBADMSG when it is not free, -ENOMEM. */
int slot_take(struct job *job, struct worker *w, uint32_t slot);
void slot_give_up(struct worker *w);
/* Another process has the place, which may say other things of itself. */
void slot_changed(struct worker *w);
/* Notes in one table that the place of `w` is there. */
int slot_join(const struct worker *w, const struct dataset *d,
	      struct shard_table *table);
/* No number that was ever given is this high. */
uint32_t slot_end(const struct coord *c);

/* ---- balance.c: what balance means for a dataset ---- */

/* Each refuses and returns -EINVAL when a registration makes no sense. */
int balance_check_worker(const struct request *q,
			 const Coordinator__WorkerInfo *m);
int balance_check(const struct request *q, const Coordinator__DatasetInfo *m,
		  int64_t n_shards);
bool balance_is_good(const Coordinator__DatasetInfo *m, int64_t n_shards);
bool balance_same(const Coordinator__DatasetInfo *a,
		  const Coordinator__DatasetInfo *b);
const char *balance_name(const struct dataset *d);
/* What its shards take, in shards of which only the number is known. */
uint64_t balance_cost(const Coordinator__DatasetInfo *m, int64_t n_shards);
/* What its tables need as long as they live.  -ENOMEM. */
int balance_init(struct dataset *d);
void balance_release(struct dataset *d);
int balance_table(const struct dataset *d, struct shard_table **ret);
/* What the hash of a table knows the place of `w` by, and all that the table knows. */
uint64_t balance_key(const struct worker *w);
struct shard_worker balance_worker(const struct dataset *d,
				   const struct worker *w);

/* ---- worker_shards.c, first_shard.c, epoch.c, consumption.c, lending.c ---- */

/* The worker, if it is the one who asks: it shows its session, or speaks on the connection
 * that it registered on.  NULL after a refusal. */
struct worker *request_shard_owner(const struct request *q,
				   const struct job *job, const char *id,
				   uint64_t session);
/* The shard of a worker that comes first in an epoch; SHARD_NONE: it has none (first_shard.c). */
uint32_t first_shard(const struct dataset *d, uint32_t slot, int64_t epoch);
/* A shard as clients of the reference have it; points into the dataset. */
void shard_view(const struct dataset *d, int64_t shard, int64_t epoch,
		Coordinator__ShardAssignment *ret);
/* The epoch is not over; refuses and returns -EINVAL when it is. */
int request_check_epoch(const struct request *q, const struct dataset *d,
			int64_t epoch);
/* The same, and it is under way. */
int request_check_current_epoch(const struct request *q,
				const struct dataset *d, int64_t epoch);
const struct interval_set *dataset_consumed(const struct dataset *d);
/* The epoch is over: nothing is consumed, nothing lent.  How its leases ended is known
 * until the next one is over. */
void dataset_begin_epoch(struct dataset *d);
void lending_free(struct lending *l); /* NULL is fine */
/* The worker counts as dead: what it had is free, and what counted is known to it still,
 * should it come back. */
void lendings_lose(struct job *job, uint32_t slot);
/* The process that had the place is gone: what it had is free, and nothing is known. */
void lendings_leave(struct job *job, uint32_t slot);
/* The coordinator runs again: all holders have a whole timeout to be heard of, and no less
 * than the job's. */
void lendings_resume(struct job *job);
/* Nobody could be heard for so long: that is nobody's silence. */
void lendings_excuse(struct job *job, int64_t ms);
/* Lets the leases lapse whose deadline is over.  0, or what the host said. */
int lending_expire(struct lending *l);
int lending_snapshot(const struct job *job, const struct dataset *d,
		     int (*each)(void *data, const Record *record), void *data);

/* ---- last_epoch_leases.c: ended leases of the epoch before ---- */

void last_epoch_leases_clear(struct dataset *d);
/* Takes what the leases hold, and ends those that have not. */
void last_epoch_leases_keep(struct dataset *d, struct leases *l);
int last_epoch_leases_snapshot(const struct job *job, const struct dataset *d,
			       int (*each)(void *data, const Record *record),
			       void *data);

/* ---- dataset_table.c: tables follow the places ---- */

/* Deals what is due in all tables that somebody has asked for. */
void tables_settle(struct coord *c);
/* The same for one that is asked for now.  0, or -errno after a refusal. */
int table_settle(const struct request *q, struct job *job, struct dataset *d);
void table_view(const struct dataset *d, Roar__TableReply *ret);
void table_publish(struct job *job, const struct dataset *d); /* watch.c */
void steps_free(struct job *job);
/* The newest step that all workers have saved, and what one of them saved; or NULL. */
struct step *step_newest(const struct job *job);
struct part *step_part(const struct step *step, const char *worker_id);
struct barrier_view {
	Roar__BarrierView m;
	char *missing[MAX_MISSING];
};

/* Points into the round, which must live as long. */
void round_view(const struct round *round, int64_t mono_ms,
		struct barrier_view *v);
void worker_view(const struct worker *w, Roar__WorkerView *ret,
		 Coordinator__WorkerStatus *status);

/* ---- handlers, one a method ---- */

typedef void handler_fn(const struct request *q, const void *message);
#define DECLARE_HANDLER(number, id, handler, ...) handler_fn method_##handler;
COORD_METHODS(DECLARE_HANDLER)
#undef DECLARE_HANDLER

#endif

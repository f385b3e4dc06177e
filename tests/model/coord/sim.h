/* sim.h - the coordinator's state machine in a world of our own making.
 *
 * Everything that happens follows from a plan, and the plan from a seed: who the
 * workers are and what they do one after the other, when which of them dies, pauses or is
 * cut off, when the coordinator crashes, the disk fills up, the wall clock jumps.  The
 * world runs on a virtual clock; no two events are at once.  The state machine is the real
 * one (lib/coord), its log obeys wal.h: what was synced survives a crash, and any
 * part of the rest, from its beginning on.
 *
 *	plan ──▶ clients ──ask──▶ network ──▶ server ──▶ struct coord
 *	                ◀─answer─         ◀──  (log, held replies)
 *	                                   │ records, requests, replies
 *	                                   ▼
 *	                                 model: what must hold after each event
 *
 * A part of a plan can be left out, and the rest happens as before as far as it can: each
 * has its own random numbers.  So a failure is made small by leaving out what it
 * does not need (shrink.c). */
#ifndef SIMULATE_SIM_H
#define SIMULATE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "coord/coord.h"

enum {
	MAX_JOBS = 2,
	MAX_STEPS = 16,
	N_NAMES = 3, /* of meetings of all */
	N_GROUPS = 3,
	MAX_GROUP = 64, /* groups are of the first workers */
	N_KEYS = 4,
	N_SHARDS = 37, /* of the one dataset of a job */
	LEASE_CHUNK = 5, /* positions of a lease */
	TEXT = 48,
};

/* ---- random numbers (splitmix64) ---- */

static inline uint64_t prng(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline uint32_t pick(uint64_t *state, uint32_t n)
{
	return (uint32_t)(prng(state) >> 32) % n;
}

/* One in `n`. */
static inline bool chance(uint64_t *state, uint32_t n)
{
	return pick(state, n) == 0;
}

/* ---- plan.c ---- */

enum item_kind {
	ITEM_WORKER, /* a process with the id of worker `who` */
	ITEM_STEP, /* what all workers of a job do, in the order of the plan */
	ITEM_KILL, /* the process of item `who` dies; its socket ends, or not */
	ITEM_PAUSE, /* it does nothing for `len` ms */
	ITEM_CUT, /* its network is silent for `len` ms */
	ITEM_RESET, /* its connection ends */
	ITEM_CRASH, /* of the coordinator, for `len` ms */
	ITEM_SNAPSHOT,
	ITEM_FULL, /* the disk, for `len` ms */
	ITEM_SLOW, /* the disk, for `len` ms */
	ITEM_WALL, /* the wall clock jumps by `len` ms */
	ITEM_CONFIGURE,
	ITEM_COMMAND,
	ITEM_DRAIN,
	ITEM_LEAVE,
};

enum step_kind {
	STEP_BARRIER, /* WaitBarrier */
	STEP_MEET,
	STEP_GATHER,
	STEP_VOTE,
	STEP_ADD,
	STEP_SET,
	STEP_TAKE, /* compare-set, and delete by who got it */
	STEP_WAIT, /* for a key of the next worker */
	STEP_SAVE, /* tells of a checkpoint */
	STEP_COMMIT, /* saves its part, and rank 0 the manifest */
	STEP_SHARDS, /* registers a dataset, lists its shards of it, pulls a lease */
	N_STEP_KINDS,
};

struct item {
	enum item_kind kind;
	uint64_t random; /* for everything that follows from it */
	int64_t at; /* ms */
	int64_t len;
	uint32_t job;
	uint32_t who; /* worker: its number in the job; fault: the item */
	uint32_t what; /* step_kind; a flag */
	uint32_t name; /* of the meeting or key */
	uint32_t group; /* 0: all; else group number - 1 */
	uint32_t policy; /* Roar__OnDeath */
	bool simple; /* a client of the nine calls */
};

struct plan {
	uint64_t seed;
	struct item *items;
	size_t n_items, cap;
	uint32_t n_workers[MAX_JOBS]; /* ids */
	uint32_t min_workers[MAX_JOBS];
	uint32_t policy[MAX_JOBS];
	bool mixed[MAX_JOBS]; /* some clients are simple, all meetings barriers */
	bool at_least[MAX_JOBS]; /* leases are at least once */
	int64_t interval[MAX_JOBS], timeout[MAX_JOBS], hold[MAX_JOBS];
	int64_t end; /* ms */
	struct coord_limits limits;
};

void plan_make(struct plan *p, uint64_t seed);
void plan_release(struct plan *p);
void plan_print(const struct plan *p, const bool *kept);
/* The workers of a group, as bits. */
uint64_t plan_group(const struct plan *p, uint32_t job, uint32_t group);

/* ---- events ---- */

struct sim;

struct event {
	int64_t at;
	uint64_t order; /* of two at once the first comes first */
	void (*happen)(struct sim *s, void *what, uint64_t n);
	void *what; /* malloc()ed, the event's; or NULL */
	uint64_t n;
};

struct queue {
	struct event *heap;
	size_t n, cap;
	uint64_t last;
};

void queue_add(struct queue *q, struct event e);
bool queue_take(struct queue *q, struct event *ret);
void queue_release(struct queue *q);

/* ---- what goes over the network ---- */

enum { COMMIT_CHECKPOINT = 36 };

enum ask_kind { ASK_PART, ASK_MANIFEST, ASK_FAILURE }; /* of a commit */

struct ask {
	uint64_t call;
	uint64_t conn;
	uint32_t client; /* item */
	uint32_t job, who; /* the worker it speaks for */
	uint16_t method; /* number */
	int64_t deadline; /* ms of the clock, INT64_MAX: none */
	uint64_t session;
	uint64_t generation;
	uint32_t kind, policy, group,
		name; /* of a commit: ask_kind; the save */
	char value[TEXT];
	bool in_favour;
	bool aside;
	bool wait;
	bool follows; /* another message of a stream */
	uint64_t version; /* of a key; the lease; the world's epoch */
	uint64_t request; /* by which a lease is taken; the fencing token */
	uint64_t shards; /* of the lease that are consumed, as bits */
	bool give_back; /* the rest of it */
	int64_t delta, ttl;
	const struct item *item; /* of an administrator */
};

struct answer {
	uint64_t call;
	enum coord_status status;
	uint64_t epoch; /* 0: none in it */
	uint64_t session, incarnation, generation, version;
	int64_t interval;
	int32_t rank;
	int64_t participants, order, votes_for, votes_against;
	int64_t step; /* that all have saved */
	uint64_t shards; /* that the worker has, or is lent, as bits */
	uint64_t values; /* digest of those gathered */
	size_t n_values;
	bool done; /* a lease: it has ended; none: all is consumed */
	uint32_t kind; /* of an event */
	char value[TEXT];
	uint32_t n_commands;
	uint32_t commands[8];
	char sentence[160];
};

/* ---- server.c ---- */

struct packed {
	uint8_t *bytes;
	size_t len;
};

struct held {
	struct answer answer;
	size_t needs; /* records that must be on disk */
};

struct server {
	struct coord *c; /* NULL: down */
	uint64_t random;
	struct packed *log; /* the snapshot, then records */
	size_t n_log, cap_log, n_synced;
	uint64_t *digests; /* of the state after so many; 0: not known */
	size_t cap_digests;
	struct held *held;
	size_t n_held, cap_held;
	struct map calls; /* struct call, by number: requests not answered yet */
	bool syncing;
	size_t syncs_to; /* what the sync under way covers */
	uint64_t life; /* counts crashes */
	bool full;
	int64_t sync_ms; /* how long one takes */
	size_t n_records; /* handed out by the call under way */
};

static inline bool is_good(enum coord_status status)
{
	return status == COORD_OK || status == COORD_MORE;
}

void server_start(struct sim *s);
void server_stop(struct sim *s);
void server_ask(struct sim *s, const struct ask *ask); /* a request came */
void server_cancel(struct sim *s, uint64_t call);
void server_gone(struct sim *s, uint64_t conn);
void server_tick(struct sim *s);
void server_crash(struct sim *s, int64_t down_ms);
void server_snapshot(struct sim *s);
int64_t server_due(const struct sim *s);
/* Live state is what the log leads to. */
void server_compare(struct sim *s);

/* ---- request.c: messages from and to the small structs ---- */

void request_give(struct sim *s, const struct ask *ask);
void answer_take(struct answer *to, const ProtobufCMessage *message);
uint64_t digest_value(uint64_t so_far, int32_t rank, const void *data,
		      size_t len);
Coordinator__Balance balance_of(uint32_t job); /* of its dataset */
int64_t lease_timeout(const struct sim *s, uint32_t job);
void worker_name(char *to, uint32_t who);
void job_name(char *to, uint32_t job);
void meeting_name(char *to, uint32_t name, uint32_t group);
void key_name(char *to, uint32_t name);

/* ---- client.c ---- */

struct client;

void clients_start(struct sim *s);
void clients_stop(struct sim *s);
void client_answer(struct sim *s, uint32_t client, const struct answer *a);
void client_fault(struct sim *s, const struct item *item);
/* The coordinator is gone: connections end. */
void clients_crash(struct sim *s);
/* An answer leaves for it. */
void client_send(struct sim *s, const struct answer *a, const struct ask *to);

/* ---- model.c ---- */

struct model;

struct model *model_new(struct sim *s);
void model_free(struct model *m);
void model_ask(struct sim *s, const struct ask *ask);
void model_asked(struct sim *s, const struct ask *ask);
void model_record(struct sim *s, const Roar__Record__Record *record, bool live);
void model_answer(struct sim *s, const struct ask *ask, const struct answer *a,
		  const ProtobufCMessage *message, const char *const *names,
		  size_t n_names);
void model_left(struct sim *s, const struct ask *ask, const struct answer *a);
void model_cancel(struct sim *s, const struct ask *ask);
void model_gone(struct sim *s, uint64_t conn);
void model_restart(struct sim *s); /* forgets all; records follow */
void model_resume(struct sim *s);
void model_snapshot(struct sim *s); /* all records are on disk */
void model_check(struct sim *s); /* after each event */
void model_end(struct sim *s);

/* ---- the world ---- */

struct counts {
	uint64_t events, asks, answers, records, releases, failures, deaths,
		joins, takeovers, crashes, repeats, compares;
};

struct sim {
	const struct plan *plan;
	const bool *kept; /* items that take part */
	int64_t now, wall;
	int64_t service; /* time of the coordinator: stands still while it is down */
	struct queue queue;
	struct server server;
	struct client *clients; /* as many as items */
	size_t progress[MAX_JOBS]; /* steps that somebody has behind it */
	struct model *model;
	uint64_t last_call, last_conn;
	bool trace;
	bool failed;
	char failure[512];
	struct counts counts;
};

/* The fencing token of a coordinator; some have none. */
static inline uint64_t sim_token(const struct sim *s, uint64_t server_life)
{
	return s->plan->seed % 2 ? server_life + 1 : 0;
}

/* Runs a plan; false when something was wrong, which `failure` says then. */
bool sim_run(struct sim *s, const struct plan *p, const bool *kept, bool trace);
void sim_pass(struct sim *s, int64_t to);
void sim_after(struct sim *s, int64_t ms,
	       void (*happen)(struct sim *s, void *what, uint64_t n),
	       void *what, uint64_t n);
void sim_fail(struct sim *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sim_trace(struct sim *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* shrink.c: leaves out what the failure does not need. */
void shrink(const struct plan *p, bool *kept);

#endif

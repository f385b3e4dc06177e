/* model.h - what the parts of the model share
 *
 * The model knows two things of the state machine: the records it hands out, and
 * what it answers.  From records it keeps the slow state in its own, plain way; what
 * waits it knows from requests without an answer.
 *
 *	model.c		the whole: life, who is dispatched to whom
 *	members.c	places, ranks, epochs, life and death, commands
 *	meetings.c	who waits where, who must come, what a release says
 *	keys.c		keys
 *	saves.c		checkpoints
 *	commits.c	checkpoints that all ranks commit, or none
 *	shards.c	who has which shard
 *	leases.c	which positions are lent, and consumed
 *	watches.c	who hears of changes */
#ifndef SIMULATE_MODEL_H
#define SIMULATE_MODEL_H

#include "sim.h"

enum {
	N_ROUNDS = N_NAMES + N_GROUPS,
	MAX_COMMANDS = 64,
	NONE = -1,
	NEVER = -1000000, /* a time before all others */
};

struct place {
	bool there, dead;
	int32_t rank;
	uint64_t session, incarnation;
	uint64_t born; /* the epoch when its process joined */
	uint64_t conn; /* last heard of there */
	uint64_t own; /* its process registered there; 0: not here */
	uint32_t slot; /* its number in tables */
	uint64_t former; /* where the process before it was; 0: none */
	int64_t heard; /* when, or when the coordinator began */
	int64_t ended; /* when its connection did; NONE */
	int64_t died;
	int64_t wanted; /* when a meeting last waited for a successor */
	bool known; /* heard of since the coordinator began */
	uint32_t n_waiting; /* calls in meetings */
	uint32_t n_aside; /* of them, those that let other meetings go on */
	uint32_t commands[MAX_COMMANDS]; /* items; UINT32_MAX: its own word */
	uint32_t n_commands;
};

struct attendance {
	uint32_t who;
	int32_t rank;
	bool in_favour;
	bool numbered; /* came with the generation */
	char value[TEXT];
};

struct released { /* the last of a meeting */
	uint64_t generation;
	uint64_t epoch;
	uint32_t kind;
	struct attendance *all; /* as they came */
	size_t n;
};

struct told { /* what somebody heard of a generation */
	uint64_t generation;
	int64_t participants, votes_for, votes_against;
	uint64_t values;
};

struct round {
	struct ask *waiting;
	size_t n, cap;
	uint32_t policy;
	uint64_t members; /* of a group, as bits; 0: all */
	uint64_t let_go; /* of them */
	bool anew; /* it began when nobody of the last one was left */
	bool fresh; /* it was released by the event under way */
	bool hurt; /* somebody it waits for died or was replaced */
	struct released last;
	struct told *told; /* kept over crashes */
	size_t n_told, cap_told;
};

struct mkey {
	uint64_t version; /* 0: not there */
	int64_t expires;
	char value[TEXT];
	uint64_t n_sent, n_acknowledged; /* adds; kept over crashes */
};

struct watching {
	uint64_t call, conn;
	uint64_t epoch; /* told last */
	int64_t since; /* how long it is not that of the job; NONE */
};

struct saved { /* a step of training */
	size_t n, expected;
	uint64_t joined; /* the epoch when the youngest of them did */
	bool *by; /* whom */
};

enum { COMMITTED = 1, FAILED };

struct mcommit { /* a step of training, saved in two phases */
	uint32_t save; /* its id; 0: none */
	uint64_t epoch; /* of the world */
	size_t n, expected; /* parts */
	uint32_t writer; /* who had rank 0 */
	int end;
	struct {
		bool there;
		int32_t rank;
		uint8_t digest[32];
	} * by; /* whom */
	/* What somebody was told; kept over crashes. */
	uint32_t told, ready; /* saves: committed, to be written */
	uint32_t *gone; /* per worker: the save that it may have removed its part of */
};

struct mtable { /* of the one dataset */
	uint64_t version;
	size_t n_places; /* it was dealt to */
	/* What somebody was told of a version; kept over crashes. */
	uint64_t told_version;
	int32_t owners[N_SHARDS]; /* worker; NONE */
	/* The lease it was consumed by, as somebody was told; 0: none. */
	uint64_t used[N_SHARDS];
};

struct mlease {
	uint64_t id, request;
	uint32_t who; /* UINT32_MAX: a process that is gone */
	uint64_t began, first,
		end; /* positions; those below `first` are consumed */
	int64_t heard; /* when, or when the coordinator began */
	bool over, late;
};

struct mlending { /* of the one dataset */
	uint64_t consumed; /* as bits */
	struct mlease *all;
	size_t n, cap;
	uint64_t last_id;
	uint64_t told; /* the lease that the last take was told; 0: none */
	bool told_done;
};

struct mjob {
	bool there;
	struct mtable table;
	struct mlending lending;
	uint32_t min_workers, start_workers, policy;
	uint64_t started; /* the epoch when they were last there; 0: not begun */
	int64_t interval, timeout, hold;
	int64_t most_interval, most_timeout, most_hold; /* ever, with workers */
	uint64_t epoch;
	uint64_t joined; /* when the last new process took a place */
	uint64_t told_epoch; /* kept over crashes */
	uint64_t version; /* of keys */
	uint64_t told_version; /* kept over crashes */
	struct place *places;
	size_t n_places, n_dead;
	struct round rounds[N_ROUNDS];
	struct mkey *keys;
	size_t n_keys;
	struct ask *getting; /* wait for keys */
	size_t n_getting, cap_getting;
	struct saved saved[MAX_STEPS + 2];
	int64_t told_step; /* kept over crashes */
	struct mcommit commits[MAX_STEPS + 2];
	struct ask *committing; /* wait */
	size_t n_committing, cap_committing;
	struct watching *watching;
	size_t n_watching, cap_watching;
};

struct model {
	struct mjob jobs[MAX_JOBS];
	bool answered; /* the request under way */
	uint64_t current;
	struct ask asking; /* the same */
	struct mkey before; /* the key it is about, and when it came */
	uint32_t popped[MAX_COMMANDS]; /* recorded as told, not told yet */
	uint32_t n_popped;
	int64_t full_at; /* when the disk was last full */
	int64_t recorded; /* the latest service time on record; 0: none */
	int64_t safe; /* likewise, when a snapshot was made; kept over crashes */
	int64_t timeless; /* service time when no key had a TTL */
	bool *commanded; /* per item and worker: was told; kept over crashes */
};

static inline struct mjob *mjob(struct sim *s, uint32_t job)
{
	return &s->model->jobs[job];
}

static inline bool is_meeting(const struct ask *ask)
{
	return ask->method == 8 || ask->method == 10;
}

static inline bool is_of_shards(const struct ask *ask)
{
	return ask->method == 4 || ask->method == 28 || ask->method == 33 ||
	       ask->method == 34;
}

static inline bool is_of_keys(const struct ask *ask)
{
	return ask->method >= 16 && !is_of_shards(ask) &&
	       ask->method != COMMIT_CHECKPOINT;
}

static inline uint32_t number_in(const char *name)
{
	uint32_t n = 0;

	while (*++name)
		n = n * 10 + (uint32_t)(*name - '0');
	return n;
}

/* members.c */
void members_record(struct sim *s, const Roar__Record__Record *r, bool live);
void members_heard(struct sim *s, struct place *p, uint64_t conn);
void members_answer(struct sim *s, const struct ask *ask,
		    const struct answer *a);
void members_left(struct sim *s, const struct ask *ask, const struct answer *a);
/* Of the process that had the place before. */
bool members_is_former(const struct place *p, const struct ask *ask);
void members_ask(struct sim *s, const struct ask *ask);
/* Commands that an answer tells are those that were recorded as told. */
void members_commands(struct sim *s, const struct answer *a);
void members_gone(struct sim *s, uint64_t conn);
void members_resume(struct sim *s);
void members_check(struct sim *s);
bool job_is_ready(const struct mjob *j);

/* meetings.c */
void meetings_ask(struct sim *s, const struct ask *ask);
void meetings_asked(struct sim *s, const struct ask *ask);
void meetings_answer(struct sim *s, const struct ask *ask,
		     const struct answer *a, const char *const *names,
		     size_t n_names);
void meetings_told(struct sim *s, const struct ask *ask,
		   const struct answer *a);
void meetings_cancel(struct sim *s, const struct ask *ask);
void meetings_gone(struct sim *s, uint64_t conn);
void meetings_release(struct sim *s, const Roar__Record__Release *r, bool live);
void meetings_lost(struct sim *s, uint32_t job, uint32_t who, bool died);
void meetings_leave(struct sim *s, uint32_t job, uint32_t who);
void meetings_check(struct sim *s);
/* Some meeting waits for a successor, should it be dead. */
bool meetings_wait_for(const struct mjob *j, uint32_t who);
/* Connection of a call with which the worker waits; 0: none. */
uint64_t meetings_conn(struct mjob *j, uint32_t who);

/* watches.c */
void watches_answer(struct sim *s, const struct ask *ask,
		    const struct answer *a);
void watches_forget(struct mjob *j, uint64_t call, uint64_t conn);
void watches_check(struct sim *s, struct mjob *j);

/* saves.c */
void saves_record(struct sim *s, const Roar__Record__Checkpoint *r, bool live);
void saves_answer(struct sim *s, const struct ask *ask, const struct answer *a);
void saves_left(struct sim *s, const struct ask *ask, const struct answer *a);

/* commits.c */
void commits_part(struct sim *s, const Roar__Record__Checkpoint *r, bool live);
void commits_end(struct sim *s, const Roar__Record__SaveEnd *r, bool live);
void commits_answer(struct sim *s, const struct ask *ask,
		    const struct answer *a);
void commits_left(struct sim *s, const struct ask *ask, const struct answer *a);
void commits_asked(struct sim *s, const struct ask *ask);
void commits_forget(struct mjob *j, uint64_t call, uint64_t conn);
void commits_check(struct sim *s, uint32_t job);
void commits_resume(struct sim *s, uint32_t job); /* all records were read */
bool commits_complete(const struct mjob *j, int64_t step);

/* shards.c */
void shards_record(struct sim *s, const Roar__Record__Record *r);
void shards_answer(struct sim *s, const struct ask *ask,
		   const struct answer *a);
void shards_left(struct sim *s, const struct ask *ask, const struct answer *a);

/* leases.c */
void leases_record(struct sim *s, const Roar__Record__Record *r, bool live);
void leases_answer(struct sim *s, const struct ask *ask,
		   const struct answer *a);
/* The worker is dead, or its process is gone: then nobody knows of them any more. */
void leases_lost(struct mjob *j, uint32_t who, bool forgotten);
void leases_restart(struct mjob *j);
void leases_resume(struct sim *s);
void leases_end(struct sim *s);

/* keys.c */
void keys_record(struct sim *s, const Roar__Record__Record *r, bool live);
void keys_clock(struct sim *s, int64_t time, bool live);
void keys_resume(struct sim *s);
void keys_ask(struct sim *s, const struct ask *ask);
void keys_asked(struct sim *s, const struct ask *ask);
void keys_answer(struct sim *s, const struct ask *ask, const struct answer *a);
void keys_left(struct sim *s, const struct ask *ask, const struct answer *a);
void keys_forget(struct mjob *j, uint64_t call, uint64_t conn);
void keys_check(struct sim *s);
void keys_end(struct sim *s);

#endif

/* meetings.h - barriers, gathers and votes.
 *
 *	meeting.c	requests: which generation a worker means
 *	round.c		a generation in progress: who must arrive, who has
 *	round_end.c	how it ends: complete, failed, or abandoned
 *	release.c	the last completed generation, for workers that ask again
 *
 * A meeting is named by its id and used many times; each use has a generation number. */
#ifndef COORD_MEETINGS_MEETINGS_H
#define COORD_MEETINGS_MEETINGS_H

#include "coord/members/members.h"

enum {
	MAX_NAMES = 1000, /* of absent workers, in a reply */
	MAX_LATE = 8, /* latecomers in a reply */
	MAX_MISSING = 32, /* absent workers in a view of a barrier */
	MAX_VOTE_VALUE = 4 << 10, /* bytes per worker, in a vote */
	MAX_DISTINCT = 4, /* values of a vote in a reply */
};

struct attendee {
	const char *id;
	const uint8_t *value;
	size_t value_len;
	int64_t late_ms;
	int32_t rank;
	uint32_t place; /* among the attendees, by rank */
	bool in_favour;
	bool numbered; /* named the generation */
};

/* One allocation, with everything it points to. */
struct release {
	uint64_t generation;
	uint64_t epoch; /* of the world */
	int64_t released_ms; /* wall */
	Roar__MeetKind kind;
	size_t bytes;
	size_t n, n_missing;
	const char **missing;
	struct attendee **by_id; /* sorted on first use */
	bool sorted;
	struct attendee attendees[]; /* in order of arrival */
};

struct member { /* of a group */
	char *id;
	bool needed; /* is waited for, or has arrived */
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
	char **given; /* the group as the first arrival listed it */
	size_t n_given;
	struct list arrivals; /* in order, including those that gave up */
	size_t n_here; /* waiting */
	size_t n_aside; /* of these, workers that stand aside here or elsewhere */
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
	bool numbered; /* named the generation at least once */
	bool aside; /* other meetings of all workers do not wait for it meanwhile */
	uint8_t *value;
	size_t value_len;
};

struct meeting {
	struct job *job;
	uint64_t serial; /* distinguishes meetings that had the same id */
	struct release *last; /* NULL: none */
	struct list in_releases; /* of the job, when there is a last one */
	struct round *now; /* NULL: no worker waits */
	/* A gather that was too large, for workers that arrive later. */
	uint64_t failed; /* generation; 0: none */
	char *failure; /* the sentence */
	struct list in_failures; /* of the job */
	bool held; /* a request uses it: meeting_tidy() keeps it */
	char id[];
};

struct ask { /* Meet and WaitBarrier in one form */
	const char *meeting_id;
	uint64_t generation;
	Roar__MeetKind kind;
	Roar__OnDeath on_death;
	char *const *group;
	size_t n_group;
	const uint8_t *value;
	size_t value_len;
	bool in_favour;
	bool again; /* a retry without a generation: the answer may have been lost */
	bool plain; /* WaitBarrier */
	bool aside; /* see round.c */
};

/* ---- meeting.c ---- */

int meeting_ensure(struct job *job, const char *id, struct meeting **ret);
void meeting_tidy(struct meeting *m); /* frees it when it holds nothing */
/* A gather was too large.  Workers that arrive at this generation later are refused with
 * the same sentence, each once; after that a worker may try the generation again. */
void meeting_remember_failure(struct meeting *m, uint64_t generation,
			      const char *sentence);
void meeting_tell_failure(const struct meeting *m, uint64_t generation,
			  struct worker *w);
void failures_forget(struct job *job);

/* ---- round.c ---- */

int round_new(struct meeting *m, const struct ask *ask, uint64_t generation,
	      struct round **ret);
void round_free(struct round *round);
bool round_same_group(const struct round *round, const struct ask *ask);
struct member *round_member(const struct round *round, const char *id);
/* Adds the caller, or lets it wait again.  0, or -errno after a refusal. */
int round_arrive(const struct request *q, struct round *round, struct worker *w,
		 const struct ask *ask);
void round_give_up(struct arrival *a); /* no longer waits */
void arrival_free(struct arrival *a);
/* Number of workers that must arrive. */
size_t round_expected(const struct round *round);
/* Workers that have not arrived: first those that never did, then those that gave up.
 * Writes up to `max` and returns the total. */
size_t round_absent(const struct round *round, struct worker **ret, size_t max);
/* The same for dead workers that the round waits for. */
size_t round_dead(const struct round *round, struct worker **ret, size_t max);
/* A round waits for a successor of this worker, should it be dead. */
bool rounds_wait_for(const struct worker *w);

/* ---- round_end.c ---- */

extern const struct wait_kind arrival_wait;

/* Releases the round when all have arrived. */
void round_check(struct round *round);
void rounds_check(struct job *job);
/* Refuses all waiting calls and ends the round. */
void round_fail(struct round *round, enum coord_status status,
		const char *sentence, const char *const *names, size_t n);
/* Ends a round in which no call waits. */
void round_tidy(struct round *round);
/* The process of `w` is lost: dead, or replaced by another. */
void rounds_lost(struct job *job, const struct worker *w, const char *how);
/* The place was given up. */
void rounds_left(struct job *job, const char *id);
/* Refuses the worker's waiting arrivals. */
void worker_drop_arrivals(struct worker *w, const char *sentence);

/* ---- release.c ---- */

/* The replies of one release: prepared once, sent to any number of calls. */
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

/* ---- core/listing.c ---- */

struct barrier_view {
	Roar__BarrierView m;
	char *missing[MAX_MISSING];
};

/* Points into the round, which must live as long. */
void round_view(const struct round *round, int64_t mono_ms,
		struct barrier_view *v);

#endif

/* members.h - the workers of a job: registration, liveness, heartbeats, commands.
 *
 * A worker id names a place in the job, and the place has a rank.  A process holds the
 * place and proves so by its session.  A place whose process died is held for hold_ms, so
 * that a successor gets the same rank (membership.c, liveness.c). */
#ifndef COORD_MEMBERS_MEMBERS_H
#define COORD_MEMBERS_MEMBERS_H

#include "coord/core/state.h"

struct report { /* of the last heartbeat */
	int64_t step, epoch;
	char *task; /* NULL or a string */
	size_t task_cap;
	int32_t state;
	bool has_status, has_resources;
};

struct resources { /* of the last heartbeat */
	Coordinator__ResourceUsage usage; /* gpu_usage points to gpu_ptrs */
	Coordinator__GpuUsage *gpus;
	Coordinator__GpuUsage **gpu_ptrs;
	size_t n_gpus;
};

/* The fields that a heartbeat touches are last, beside the id that finds the worker: with
 * ten thousand workers, the cost of a heartbeat is its cache misses. */
struct worker {
	/* slow */
	Coordinator__WorkerInfo *info;
	uint64_t incarnation;
	uint64_t born; /* world epoch when this process joined */
	int64_t registered_ms; /* wall */
	int64_t died_ms; /* wall */
	char *death; /* cause */
	char **commands; /* not delivered yet, oldest first */
	size_t cap_commands;

	/* fast */
	struct alarm look; /* when it may have become suspect, dead, or gone */
	int64_t dies_ms; /* suspect: when it is dead; dead: when its place is given up */
	struct conn *conn; /* of its last request, or NULL */
	struct list in_conn;
	struct list arrivals;
	size_t n_aside; /* waiting arrivals that stand aside */
	struct list watches; /* that want its commands */
	uint64_t own_conn; /* where its process registered; 0: not since the start */
	struct resources resources;
	/* Its last answer from a meeting, and whether that was lost. */
	uint64_t answered_call, answered_meeting, answered_generation;
	bool answer_lost;
	uint64_t failed_meeting, failed_generation; /* it was last told of */

	/* both, touched by each heartbeat */
	struct job *job;
	struct report report;
	uint64_t session;
	size_t n_commands;
	int64_t heard_ms; /* mono */
	const char *suspicion; /* NULL: alive */
	uint64_t conn_id; /* of conn; 0: none */
	uint64_t former_conn; /* of the process before this one; 0: none */
	int32_t rank;
	uint32_t slot; /* its number in shard tables; slow */
	bool dead, draining;
	char id[];
};

/* ---- membership.c, worker.c ---- */

struct worker *worker_find(const struct job *job, const char *id);
/* The worker a request names; NULL after a refusal. */
struct worker *request_worker(const struct request *q, const struct job *job,
			      const char *id);
/* The same; refuses as well when the request is known to come from another process than
 * the one that holds the place.  `session` is the caller's, or 0. */
struct worker *request_holder(const struct request *q, const struct job *job,
			      const char *id, uint64_t session);
void worker_free(struct worker *w);
void worker_report(struct worker *w, const Coordinator__HeartbeatRequest *m);
Roar__WorkerView__State worker_state(const struct worker *w);
void worker_view(const struct worker *w, Roar__WorkerView *ret,
		 Coordinator__WorkerStatus *status);

/* ---- liveness.c ---- */

/* The worker sent this request.  0, or -errno after a refusal: it was dead and its return
 * could not be recorded. */
int worker_heard(const struct request *q, struct worker *w);
void worker_due(struct coord *c, struct alarm *a);
/* The coordinator was paused for this long: that time does not count as silence. */
void worker_excuse(struct worker *w, int64_t ms);
void worker_suspect(struct worker *w, const char *why, int64_t dies_ms);
void worker_trust(struct worker *w);
/* How long a worker whose connection ended has to send a request. */
int64_t worker_grace_ms(const struct worker *w);
/* When it is dead, if its connection ends now. */
int64_t worker_eof_ms(const struct worker *w);
/* It is suspect only because the coordinator restarted. */
bool worker_is_unheard(const struct worker *w);
/* Records that the same or another process holds the place. */
int worker_join(struct job *job, const Coordinator__WorkerInfo *info,
		int32_t rank, uint64_t session, uint64_t incarnation,
		int64_t registered_ms);
/* Gives the place up and frees `w`. */
int worker_give_up(struct worker *w);

/* ---- worker_command.c ---- */

/* Answers a heartbeat, with the commands that wait for the worker. */
void commands_answer(const struct request *q, struct worker *w,
		     Coordinator__HeartbeatResponse *reply);
/* Records the waiting commands as delivered and passes them to the caller, who frees them
 * with commands_free(). */
int commands_take(struct worker *w, char ***ret, size_t *ret_n);
void commands_free(char **commands, size_t n);

#endif

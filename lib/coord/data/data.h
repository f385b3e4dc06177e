/* data.h - datasets, their shards and epochs, leases, checkpoints.
 *
 *	dataset.c, dataset_list.c	registration
 *	balance.c			what "balanced" means for a dataset
 *	worker_slot.c			the numbers by which shard tables know workers
 *	dataset_table.c, table_replay.c	the table of shards follows the workers
 *	worker_shards.c, first_shard.c	which shards a worker has
 *	epoch.c, consumption.c		the current epoch and what was consumed of it
 *	lending.c, lease_calls.c	epochs whose positions are leased on demand
 *	last_epoch_leases.c		ended leases of the previous epoch, for retries
 *	checkpoint.c, recovery.c	saved steps, and what a restarted worker needs
 *	save.c, save_calls.c		steps that all workers save, or none
 *
 * No path that a client names is ever opened. */
#ifndef COORD_DATA_DATA_H
#define COORD_DATA_DATA_H

#include "coord/members/members.h"
#include "shard/deal/table_history.h"
#include "shard/lease/lease.h"

struct dataset {
	Coordinator__DatasetInfo *info;
	int64_t registered_ms, total_shards;
	int64_t epoch; /* current */
	struct shard_table *table;
	struct shard_history history; /* of its deals */
	uint64_t *bytes; /* per shard, when balanced by bytes; or NULL */
	uint32_t *homes; /* per shard, when balanced by locality; or NULL */
	struct interval_set consumed; /* of the epoch, unless it is leased */
	struct lending *lending; /* NULL: the epoch is not leased */
	struct leases
		before; /* of the previous epoch; total 0: it was not leased */
	struct {
		uint64_t moved, minimum, moved_bytes, minimum_bytes;
	} deal; /* the last one */
	uint64_t moved_ever; /* shards, by all deals */
};

struct lending { /* of an epoch: lending.c */
	struct job *job;
	struct dataset *dataset;
	/* Holders are slots.  Deadlines are fast state, by mono_ms. */
	struct leases leases;
	struct alarm look; /* when a lease may have expired; always set */
	/* fast: result of the last change */
	int result;
	struct lease lease;
};

enum { SAVE_DIGEST = 32 }; /* bytes */

struct part { /* what one worker saved */
	Coordinator__CheckpointInfo *info;
	size_t bytes;
	int32_t rank; /* these two of CommitCheckpoint */
	uint8_t digest[SAVE_DIGEST];
};

struct step {
	int64_t number;
	int32_t expected; /* parts */
	uint64_t joined_epoch; /* of the job, when the first part was saved */
	struct part *parts; /* by worker_id */
	size_t n_parts, cap_parts, bytes;

	/* Of CommitCheckpoint. */
	char *save; /* its id; NULL: the step is saved by NotifyCheckpoint */
	uint64_t world_epoch; /* of all parts */
	Roar__Record__SaveEnd *end; /* NULL: neither committed nor failed */
	char *lost; /* id of a save before it, whose outcome is unknown; or NULL */
	/* fast */
	struct list waits; /* calls that wait for the end */
	bool is_counted; /* among the failed ones, because the world changed */
};

/* ---- dataset.c ---- */

void datasets_free(struct job *job);
struct dataset *dataset_find(const struct job *job, const char *id);
/* The dataset a request names; NULL after a refusal. */
struct dataset *request_dataset(const struct request *q, const struct job *job,
				const char *id);

/* ---- balance.c ---- */

/* Each refuses and returns -EINVAL when a registration is invalid. */
int balance_check_worker(const struct request *q,
			 const Coordinator__WorkerInfo *m);
int balance_check(const struct request *q, const Coordinator__DatasetInfo *m,
		  int64_t n_shards);
bool balance_is_good(const Coordinator__DatasetInfo *m, int64_t n_shards);
bool balance_same(const Coordinator__DatasetInfo *a,
		  const Coordinator__DatasetInfo *b);
const char *balance_name(const struct dataset *d);
/* Memory of its table, as a number of shards that are balanced by count. */
uint64_t balance_cost(const Coordinator__DatasetInfo *m, int64_t n_shards);
/* Allocates what the dataset's tables need.  -ENOMEM. */
int balance_init(struct dataset *d);
void balance_release(struct dataset *d);
int balance_table(const struct dataset *d, struct shard_table **ret);
/* The key of a worker for hashing, and everything a table knows of it. */
uint64_t balance_key(const struct worker *w);
struct shard_worker balance_worker(const struct dataset *d,
				   const struct worker *w);

/* ---- worker_slot.c ---- */

/* The lowest free slot. */
uint32_t slot_free(const struct job *job);
/* Gives `w` the slot in all tables of the job.  -EBADMSG when it is not free, -ENOMEM. */
int slot_take(struct job *job, struct worker *w, uint32_t slot);
void slot_give_up(struct worker *w);
/* A new process took the place; its weight and home may differ. */
void slot_changed(struct worker *w);
/* Adds the worker to one table. */
int slot_join(const struct worker *w, const struct dataset *d,
	      struct shard_table *table);
/* Above every slot that was ever given. */
uint32_t slot_end(const struct coord *c);

/* ---- dataset_table.c, worker_shards.c, first_shard.c ---- */

/* Deals what is due in all tables that a worker has asked for. */
void tables_settle(struct coord *c);
/* The same for one table that a request asks for.  0, or -errno after a refusal. */
int table_settle(const struct request *q, struct job *job, struct dataset *d);
void table_view(const struct dataset *d, Roar__TableReply *ret);
/* The worker, if the caller proves to be it: by its session, or by the connection it
 * registered on.  NULL after a refusal. */
struct worker *request_shard_owner(const struct request *q,
				   const struct job *job, const char *id,
				   uint64_t session);
/* The worker's shard that comes first in an epoch; SHARD_NONE: it has none. */
uint32_t first_shard(const struct dataset *d, uint32_t slot, int64_t epoch);
/* A shard in the reference's form; points into the dataset. */
void shard_view(const struct dataset *d, int64_t shard, int64_t epoch,
		Coordinator__ShardAssignment *ret);

/* ---- epoch.c, consumption.c ---- */

/* Refuses and returns -EINVAL when the epoch is over. */
int request_check_epoch(const struct request *q, const struct dataset *d,
			int64_t epoch);
/* The same, also when it is not the current one. */
int request_check_current_epoch(const struct request *q,
				const struct dataset *d, int64_t epoch);
const struct interval_set *dataset_consumed(const struct dataset *d);
/* Starts an epoch: nothing is consumed or leased.  The ended leases of the previous one
 * are kept until the next epoch starts. */
void dataset_begin_epoch(struct dataset *d);

/* ---- lending.c ---- */

void lending_free(struct lending *l); /* NULL is fine */
/* The worker is dead: frees its leases, and keeps what it had consumed of them in case it
 * comes back. */
void lendings_lose(struct job *job, uint32_t slot);
/* The worker's process is gone for good: frees its leases and forgets them. */
void lendings_leave(struct job *job, uint32_t slot);
/* The coordinator restarted: every holder has a whole lease timeout again, and no less
 * than the job's timeout. */
void lendings_resume(struct job *job);
/* The coordinator was paused for this long: that time does not count. */
void lendings_excuse(struct job *job, int64_t ms);
/* Ends the leases whose deadline has passed.  0, or the host's error. */
int lending_expire(struct lending *l);
int lending_snapshot(const struct job *job, const struct dataset *d,
		     int (*each)(void *data, const Record *record), void *data);

/* ---- last_epoch_leases.c ---- */

void last_epoch_leases_clear(struct dataset *d);
/* Takes the contents of `l` over; leases that have not ended, end. */
void last_epoch_leases_keep(struct dataset *d, struct leases *l);
int last_epoch_leases_snapshot(const struct job *job, const struct dataset *d,
			       int (*each)(void *data, const Record *record),
			       void *data);

/* ---- checkpoint.c ---- */

void steps_free(struct job *job);
/* The newest complete step; NULL: none. */
struct step *step_newest(const struct job *job);
struct step *step_find(const struct job *job, int64_t number);
bool step_is_complete(const struct step *step);
/* The part that a worker saved; NULL: none. */
struct part *step_part(const struct step *step, const char *worker_id);
/* Refuses and returns -EINVAL when a field is invalid. */
int request_check_checkpoint(const struct request *q,
			     const Coordinator__CheckpointInfo *m);

/* ---- save.c ---- */

/* The step is saved by CommitCheckpoint, with this id. */
bool step_has_save(const struct step *step, const char *save_id);
bool save_has_all(const struct step *step); /* parts */
/* The process saved, or can save, in the world of the save; `w` may be NULL. */
bool save_is_of_world(const struct worker *w, const struct step *step);
/* It had rank 0 there, and so writes the manifest. */
bool save_is_writer(const struct worker *w, const struct step *step);
/* Why a save that is not committed cannot be any more, in words; NULL: it can. */
const char *save_trouble(const struct job *job, const struct step *step);
/* The world may have changed: refuses the calls of saves that cannot go on. */
void saves_check(struct job *job);
/* The coordinator restarted: failures of before are not counted again. */
void saves_resume(struct job *job);
/* The step is forgotten: refuses its calls. */
void saves_drop(struct job *job, struct step *step);

/* Counts and logs a failure, once. */
void save_note_failure(struct job *job, struct step *step);
/* Tells a call why it does not get what it wants, and how far the save is. */
void save_refuse_call(struct coord *c, uint64_t call, const struct job *job,
		      const struct step *step, enum coord_status status,
		      const char *why);
/* The same for a save with a trouble. */
void save_refuse_trouble(const struct request *q, const struct job *job,
			 const struct step *step);
/* The same for all calls that wait. */
void save_refuse_all(struct job *job, struct step *step,
		     enum coord_status status, const char *why);
/* Lets the call of the request wait, or refuses it. */
void save_wait(const struct request *q, struct job *job, struct step *step,
	       const struct worker *w);
void save_tell_committed(struct coord *c, uint64_t call,
			 const struct step *step);
/* To rank 0: all parts are there, write the manifest. */
void save_tell_parts(struct coord *c, uint64_t call, const struct step *step);
void save_wake_writer(struct coord *c, struct step *step);
void save_wake_all(struct coord *c, struct step *step); /* it is committed */

#endif

/* roar/coord.h - a worker's side of the coordinator: membership, barriers, keys.
 *
 * For C and C++; link with -lroar.  A client is one worker of one job.  It keeps a
 * connection and sends heartbeats from a thread of its own.  When the connection is lost,
 * it reconnects with exponential back-off and jitter, and finds the leader among several
 * addresses.  After that it takes its place back and repeats the requests that were
 * waiting.  A waiting barrier never delays heartbeats.
 *
 *	struct roar_coord *c;
 *	struct roar_coord_options o = { .address = "127.0.0.1:50051",
 *					.worker_id = "worker-3" };
 *
 *	r = roar_coord_join(&o, &c);
 *	...	r = roar_coord_barrier(c, "epoch", 0, 60000, NULL);
 *	roar_coord_leave(c);
 *
 * All functions may be called from any number of threads at once.  They return 0 or a
 * negative errno; roar_coord_error() returns the error message for the last failure of the
 * calling thread.
 *
 *	-EINVAL		invalid argument; -ENOENT no such worker, job or key
 *	-EEXIST		the id belongs to a worker that is alive
 *	-EACCES		the token does not permit this; or it was withdrawn, and the client
 *			cannot be used any more
 *	-ETIMEDOUT	the deadline passed; for barriers, roar_coord_absent() names the
 *			missing workers
 *	-ECONNABORTED	a barrier failed because a worker died
 *	-ESTALE		the generation has ended; or a successor has taken the place
 *	-EAGAIN		refused for now: the coordinator is full or stopping
 *	-ENOTCONN	the coordinator could not be reached in time
 *	-EPROTO		invalid reply
 *	-EBUSY		another thread of this client waits in the same meeting
 *	-ECANCELED	the client was freed during the call
 *
 * After fork() the child cannot use the client: all calls return -ECHILD, and
 * roar_coord_free() only frees memory. */
#ifndef ROAR_COORD_H
#define ROAR_COORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roar_coord;

struct roar_coord_options {
	const char *address; /* "HOST:PORT" or "unix:PATH", comma-separated */
	const char *job; /* NULL: the token's, or "default" */
	const char *worker_id; /* [A-Za-z0-9_.-], up to 128 bytes */
	const char *token; /* NULL: none */
	const char *hostname; /* NULL: this machine's */
	int32_t port;
	int32_t gpu_count;
	int64_t memory_bytes;
	const char *const *metadata; /* key, value, ..., NULL; or NULL */
	/* For the first connection.  0: 10 s; negative: try each address once. */
	int64_t connect_timeout_ms;
	const char *tls_ca; /* PEM file of trusted CAs: use TLS; NULL: plain */
	/* The server's name in its certificate; NULL: HOST. */
	const char *tls_name;
	uint32_t flags; /* enum roar_coord_flags */
};

enum roar_coord_flags {
	/* Connects, but does not register a worker. */
	ROAR_COORD_OBSERVER = 1 << 0,
	ROAR_COORD_NO_THREAD = 1 << 1, /* see "event loops" below */
};

struct roar_coord_world {
	uint64_t epoch; /* grows whenever members or ranks change */
	int32_t rank; /* -1 for an observer */
	int32_t size;
	int32_t ready; /* the job has as many workers as it requires */
	uint64_t incarnation; /* 1 for the first process with this id */
	int32_t connected; /* connected, and heartbeats are accepted */
	int64_t heartbeat_interval_ms;
	int64_t timeout_ms; /* silence after which a worker counts as dead */
};

/* What a meeting does when an expected worker dies. */
enum roar_coord_policy {
	ROAR_COORD_DEFAULT,
	ROAR_COORD_FAIL,
	ROAR_COORD_SHRINK,
	ROAR_COORD_WAIT,
};

/* Connects and registers the worker.  The caller owns *ret. */
int roar_coord_join(const struct roar_coord_options *options,
		    struct roar_coord **ret);
/* Unregisters the worker and frees the client. */
int roar_coord_leave(struct roar_coord *c);
/* Frees the client as if the process had died: its place stays reserved for a successor. */
void roar_coord_free(struct roar_coord *c);

/* The error message for the last failure of this thread; "" if there was none. */
const char *roar_coord_error(void);
/* Ids of the workers that the last failed barrier of this thread waited for, separated
 * by commas; "" when there were none. */
const char *roar_coord_absent(void);

/* The current world, as last received.  From the first call on, the coordinator pushes
 * changes as they happen; before that, replies to heartbeats carry them. */
void roar_coord_world(struct roar_coord *c, struct roar_coord_world *ret);

/* Sets what the next heartbeats report.  `state` is a number of WorkerStatus.State; `task`
 * is UTF-8 without control characters, 256 bytes at most, or NULL. */
int roar_coord_progress(struct roar_coord *c, int state, int64_t step,
			int64_t epoch, const char *task);
/* Sends a heartbeat now and waits for the reply.  Not required: the client sends heartbeats
 * by itself.  If the coordinator refuses the heartbeat, that error is returned. */
int roar_coord_heartbeat(struct roar_coord *c, int64_t timeout_ms);
/* The fencing token of the coordinator's last replies.  It grows whenever another
 * coordinator becomes the leader; 0 if there is only one coordinator.  A program that
 * writes to a store of its own passes the token on, so that the store can refuse late
 * writes. */
uint64_t roar_coord_fencing_token(struct roar_coord *c);

/* Replaces the token, on the current connection and on all later ones; waiting requests
 * continue with it.  The new token must be valid already, and the old one must still be: if
 * heartbeats are refused for their token, the client fails with -EACCES for good. */
int roar_coord_set_token(struct roar_coord *c, const char *token);
/* The coordinator's reply to the registration: a packed WorkerConfig (coordinator.proto).
 * *ret is malloc()ed. */
int roar_coord_registration(struct roar_coord *c, void **ret, size_t *ret_len);
/* Copies the next command for this worker into `buffer`; "" if there is none.  Waits up to
 * `timeout_ms` for one (0: does not wait, -1: no limit).  -ENOBUFS: the command is longer
 * than the buffer. */
int roar_coord_command(struct roar_coord *c, int64_t timeout_ms, char *buffer,
		       size_t len);
/* Waits until the world's epoch differs from `epoch`. */
int roar_coord_wait_world(struct roar_coord *c, uint64_t epoch,
			  int64_t timeout_ms, struct roar_coord_world *ret);

struct roar_coord_meeting {
	uint64_t generation;
	int64_t participants;
	int64_t arrival_order;
	int64_t votes_for, votes_against;
	/* `late`: the last workers to arrive, and how many ms after the first:
	 * "ID=MS,ID=MS".  `values`: those of a gather, by rank.  Free both with
	 * roar_coord_meeting_release(). */
	char *late;
	size_t n_values;
	struct roar_coord_value {
		char *worker_id;
		int32_t rank;
		void *data;
		size_t len;
	} * values;
};

void roar_coord_meeting_release(struct roar_coord_meeting *m);

/* Waits until all workers of the job have arrived.  `generation` counts the uses of this
 * barrier from 1; a program that counts steps from 0 passes step + 1.  With 0 the client
 * counts, which is correct if it takes part in every use.  Passing a generation that was
 * already counted that way returns -ESTALE.  `ret` may be NULL. */
int roar_coord_barrier(struct roar_coord *c, const char *id,
		       uint64_t generation, int64_t timeout_ms,
		       struct roar_coord_meeting *ret);

struct roar_coord_meet {
	const char *id;
	uint64_t generation;
	/* Ids of workers, at least one, terminated by NULL.  NULL: all workers. */
	const char *const *group;
	enum roar_coord_policy policy;
	int64_t timeout_ms;
};

int roar_coord_meet(struct roar_coord *c, const struct roar_coord_meet *m,
		    struct roar_coord_meeting *ret);
int roar_coord_gather(struct roar_coord *c, const struct roar_coord_meet *m,
		      const void *value, size_t len,
		      struct roar_coord_meeting *ret);
int roar_coord_vote(struct roar_coord *c, const struct roar_coord_meet *m,
		    int in_favour, struct roar_coord_meeting *ret);

/* Keys of the job.  *ret_value is malloc()ed and followed by a 0 byte; *ret_version may be
 * NULL. */
int roar_coord_set(struct roar_coord *c, const char *key, const void *value,
		   size_t len, int64_t ttl_ms);
int roar_coord_get(struct roar_coord *c, const char *key, int64_t wait_ms,
		   void **ret_value, size_t *ret_len, uint64_t *ret_version);
int roar_coord_add(struct roar_coord *c, const char *key, int64_t delta,
		   int64_t *ret_sum);
/* Sets the key if its version is still `version` (0: if the key does not exist).  Returns 1
 * if the key was set, 0 if its version differs. */
int roar_coord_compare_set(struct roar_coord *c, const char *key,
			   uint64_t version, const void *value, size_t len,
			   int64_t ttl_ms);
/* -ENOENT: the key does not exist.  Also returned when the connection was lost and the
 * retry finds that the first attempt had succeeded. */
int roar_coord_delete(struct roar_coord *c, const char *key);

/* ---- datasets and their shards ----
 *
 * The shards of a dataset are distributed among all workers of the job: each worker has the
 * same number, or one more, unless the dataset is registered with another balance.  Shards
 * move only when a worker registers or gives its place up, and then as few as possible.
 * `version` changes when they move. */
enum roar_coord_balance {
	ROAR_COORD_BALANCE_COUNT = 0,
	/* In proportion to the worker's capacity: its metadata "roar.weight" (1 to
	 * 1000000), or else its gpu_count, or else 1. */
	ROAR_COORD_BALANCE_WEIGHT = 1,
	/* By shard_bytes: two workers differ by at most the size of the largest shard. */
	ROAR_COORD_BALANCE_BYTES = 2,
	/* As COUNT, but each shard goes, if possible, to a worker at the shard's home: the
	 * worker's metadata "roar.home", or else its hostname. */
	ROAR_COORD_BALANCE_LOCALITY = 3,
	/* By a hash, with random balance; roar_shard_place() computes the same owners. */
	ROAR_COORD_BALANCE_RENDEZVOUS = 4,
	ROAR_COORD_BALANCE_JUMP = 5,
	ROAR_COORD_BALANCE_RING = 6,
};

struct roar_coord_dataset {
	const char *id; /* characters as in a worker_id */
	const char *path, *format; /* stored for readers; NULL: "" */
	int64_t total_samples;
	int64_t shard_size; /* samples, at least 1 */
	int32_t shuffle;
	int64_t seed;
	enum roar_coord_balance balance;
	/* For BYTES and LOCALITY, up to 65536 numbers.  With m numbers for n shards, the
	 * number of shard s is at index s * m / n. */
	const uint64_t *shard_bytes;
	size_t n_shard_bytes;
	const uint32_t *shard_homes; /* indices of `homes` */
	size_t n_shard_homes;
	const char *const *homes; /* names, terminated by NULL; or NULL */
};

/* Registers a dataset.  *ret_shards, which may be NULL, is its number of shards.  The call
 * is idempotent; -EEXIST: the id is registered with other values. */
int roar_coord_register_dataset(struct roar_coord *c,
				const struct roar_coord_dataset *d,
				int64_t *ret_shards);

struct roar_coord_shards {
	uint64_t version, hash; /* of the table of all workers */
	int64_t n_shards; /* of this worker */
	int64_t total_shards;
	int64_t shard_size, total_samples; /* samples */
	int64_t epoch; /* of the dataset */
	size_t n_ranges;
	struct roar_coord_shard_range {
		int64_t first, count;
	} * ranges; /* in reading order */
};

void roar_coord_shards_release(struct roar_coord_shards *s);

/* All shards of this worker.  Free them with roar_coord_shards_release(). */
int roar_coord_shards(struct roar_coord *c, const char *dataset_id,
		      struct roar_coord_shards *ret);
/* Moves the dataset on to `epoch`, which must follow the current one.  Every worker may
 * call this; it is idempotent.  -ESTALE: `epoch` is over or not the next one; or the
 * current epoch was reported or leased and has unconsumed samples, and `abandon` is not
 * set. */
int roar_coord_advance_epoch(struct roar_coord *c, const char *dataset_id,
			     int64_t epoch, int abandon);

/* Positions of an epoch: numbers of samples in its order, from 0 on. */
struct roar_coord_positions {
	int64_t first, end; /* `end` is exclusive */
};

/* Reports positions of the current epoch as consumed; idempotent.  *ret_new, which may be
 * NULL, is the number of positions that no worker had reported before. */
int roar_coord_report_consumed(struct roar_coord *c, const char *dataset_id,
			       int64_t epoch,
			       const struct roar_coord_positions *positions,
			       size_t n, int64_t *ret_new);

/* For workers of uneven speed: an epoch is leased in pieces.  All workers must use the same
 * values. */
struct roar_coord_lending {
	const char *dataset_id;
	int64_t epoch; /* the current one */
	/* A report after the deadline is refused (-ESTALE), and its work must not be
	 * applied.  Otherwise it counts, although another worker may have done the same
	 * work. */
	int32_t exactly_once;
	int64_t chunk; /* positions of a piece; 0: a shard */
	int64_t timeout_ms; /* silence that ends a lease; 0: a minute */
};

struct roar_coord_lease {
	uint64_t id; /* 0: no lease is available now */
	struct roar_coord_positions positions;
	int64_t timeout_ms;
	int32_t done; /* all positions of the epoch are consumed, or it is over */
	int64_t retry_ms; /* if id is 0: latest time to retry */
};

/* Takes a lease.  If the connection ends before the reply arrives, the retried request gets
 * the same lease. */
int roar_coord_take_lease(struct roar_coord *c,
			  const struct roar_coord_lending *from,
			  struct roar_coord_lease *ret);
/* Reports the positions of the lease below `consumed_to` as consumed and extends the
 * deadline.  With `give_back` the other positions are returned.  `consumed_to` 0 only
 * extends the deadline: a program that works long on a piece calls this a few times per
 * timeout.  The call is idempotent: a retry gets the same reply, even if the lease has
 * ended meanwhile.  -ESTALE: the lease has ended, and this report did not count. */
int roar_coord_use_lease(struct roar_coord *c,
			 const struct roar_coord_lending *from,
			 uint64_t lease_id, int64_t consumed_to, int give_back);

/* ---- checkpoints in two phases ----
 *
 * All ranks of one world save a step, or none.  Each rank writes its part, makes it
 * durable, and calls roar_coord_commit_part(), which waits until all parts are there.  On
 * rank 0 it then returns the list of parts with `committed` 0: the rank writes the manifest,
 * makes it durable, and calls roar_coord_commit_manifest().  The coordinator records the
 * manifest's digest, and on the other ranks roar_coord_commit_part() returns with
 * `committed` 1.  Digests are BLAKE3.
 *
 * A rank that cannot save calls roar_coord_commit_failed(), and the save has failed for all.
 * Once all parts are there, only rank 0 can do so, and only if there is no manifest.
 *
 *	-EEXIST		another save of the step is committed
 *	-ECONNABORTED	the save failed before there was a manifest: a rank reported it, or
 *			a process died, joined or left
 *	-ESTALE		another save of the step is in progress, or took the place of this
 *	-EIO		rank 0 was lost while it wrote: the step is saved if the manifest
 *			is there
 *
 * Only after -EEXIST and -ECONNABORTED may a rank remove what it has written.  After any
 * other error it is not known whether the step was saved: call again, or leave the files to
 * the garbage collection.  All calls are idempotent, and go on after a restart or a change
 * of the coordinator. */
enum { ROAR_COORD_DIGEST = 32 }; /* bytes */

struct roar_coord_save {
	int64_t step, epoch;
	const char *save_id; /* the same on all ranks, and of no other save */
	const char *
		path; /* where the checkpoint is; kept for GetLatestCheckpoint */
	int64_t size_bytes; /* of this rank's part */
	int64_t timestamp_ms; /* when it was saved, since 1970; 0: unknown */
	uint64_t world_epoch; /* in which the save began; 0: the current one */
	int64_t timeout_ms; /* -1: no limit */
};

struct roar_coord_commit {
	int32_t committed;
	uint8_t manifest[ROAR_COORD_DIGEST]; /* if committed */
	uint64_t world_epoch; /* of the parts */
	uint64_t fencing_token; /* with which they were reported */
	size_t n_parts; /* if not committed */
	struct roar_coord_part {
		char *worker_id;
		int32_t rank;
		int64_t size_bytes;
		uint8_t digest[ROAR_COORD_DIGEST];
	} * parts; /* by rank */
};

void roar_coord_commit_release(struct roar_coord_commit *commit);

/* Free *ret with roar_coord_commit_release(). */
int roar_coord_commit_part(struct roar_coord *c,
			   const struct roar_coord_save *save,
			   const uint8_t digest[ROAR_COORD_DIGEST],
			   struct roar_coord_commit *ret);
int roar_coord_commit_manifest(struct roar_coord *c,
			       const struct roar_coord_save *save,
			       const uint8_t digest[ROAR_COORD_DIGEST]);
/* `why` is a sentence for people: UTF-8 without control characters, 512 bytes at most. */
int roar_coord_commit_failed(struct roar_coord *c,
			     const struct roar_coord_save *save,
			     const char *why);

/* Calls any method of the coordinator by its number or path, with a packed request.
 * *ret_reply is malloc()ed.  For methods that have no function here.
 *
 * If the connection ends before the reply arrives, the request is sent again on the next
 * connection.  That is harmless, because the methods are idempotent.  The exceptions fail
 * with -ENOTCONN, since it is unknown whether they were carried out: KvAdd, KvCompareSet
 * (roar_coord_add() and roar_coord_compare_set()), SendCommand, Drain, Stop and Forget. */
int roar_coord_call(struct roar_coord *c, const char *path, const void *request,
		    size_t len, int64_t timeout_ms, void **ret_reply,
		    size_t *ret_len);

/* ---- event loops ----
 *
 * With ROAR_COORD_NO_THREAD the client has no thread.  The caller polls the descriptor of
 * roar_coord_fd() and calls roar_coord_turn() when it is readable, and *ret_ms milliseconds
 * later at the latest (-1: only when it is readable).  One thread at a time may use such a
 * client.  The functions above may be used; while they wait, they do the turns themselves.
 * Meetings can be started without waiting, and report their result to a callback: */
int roar_coord_fd(struct roar_coord *c);
int roar_coord_turn(struct roar_coord *c, int64_t *ret_ms);

typedef void (*roar_coord_done)(void *data, int error,
				const struct roar_coord_meeting *m);
/* Starts a barrier or, if `value` is not NULL, a gather.  roar_coord_turn() calls `done`
 * once, unless the client is freed before.  `m` is NULL if `error` is not 0, and is valid
 * only during the callback. */
int roar_coord_begin_meet(struct roar_coord *c, const struct roar_coord_meet *m,
			  const void *value, size_t len, roar_coord_done done,
			  void *data);

#ifdef __cplusplus
}
#endif
#endif

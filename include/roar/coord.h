/* roar/coord.h - a worker's side of the coordinator: membership, barriers, keys.
 *
 * For C and C++; link with -lroar.  A client is one worker of one job.  It keeps a
 * connection, sends heartbeats from a thread of its own, connects again when the
 * coordinator is gone for a while (waiting a little longer each time, with jitter; of
 * several addresses to the one that leads),
 * and then takes its place back and repeats what was being waited for.  A barrier
 * that waits never keeps heartbeats back.
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
 * negative errno; roar_coord_error() has the sentence for the last failure of the calling
 * thread.
 *
 *	-EINVAL		an argument; -ENOENT no such worker, job or key
 *	-EEXIST		the id belongs to a worker that is alive
 *	-EACCES		the token is not good for this; or it was withdrawn, and the client is
 *			of no use any more
 *	-ETIMEDOUT	the deadline; for barriers, roar_coord_absent() names who was missing
 *	-ECONNABORTED	a barrier failed, because somebody died
 *	-ESTALE		a generation that is over; or the place was given to a successor
 *	-EAGAIN		refused for now: full, or stopping
 *	-ENOTCONN	the coordinator could not be reached in time
 *	-EPROTO		an answer that is none
 *	-EBUSY		another thread waits in this meeting
 *	-ECANCELED	the client was freed meanwhile
 *
 * After fork() the child has no client: all its calls return -ECHILD, and
 * roar_coord_free() frees memory only. */
#ifndef ROAR_COORD_H
#define ROAR_COORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roar_coord;

struct roar_coord_options {
	const char *address; /* "HOST:PORT", "unix:PATH"; several by commas */
	const char *job; /* NULL: the token's, or "default" */
	const char *worker_id; /* [A-Za-z0-9_.-], up to 128 bytes */
	const char *token; /* NULL: none */
	const char *hostname; /* NULL: of this machine */
	int32_t port;
	int32_t gpu_count;
	int64_t memory_bytes;
	const char *const *metadata; /* key, value, ..., NULL; or NULL */
	int64_t connect_timeout_ms; /* for the first connection; 0: 10 s; negative:
				     * each address is tried once */
	const char *tls_ca; /* a file of certificates: use TLS; NULL: plain */
	const char *
		tls_name; /* the server's name in its certificate; NULL: HOST */
	uint32_t flags; /* enum roar_coord_flags */
};

enum roar_coord_flags {
	ROAR_COORD_OBSERVER = 1 << 0, /* connects, but takes no place */
	ROAR_COORD_NO_THREAD = 1 << 1, /* see "event loops" below */
};

struct roar_coord_world {
	uint64_t epoch; /* grows whenever members or ranks change */
	int32_t rank; /* -1 for an observer */
	int32_t size;
	int32_t ready; /* the job has as many workers as it needs */
	uint64_t incarnation; /* 1 for the first process with this id */
	int32_t connected; /* and heartbeats are not refused */
	int64_t heartbeat_interval_ms;
	int64_t timeout_ms; /* silence after which a worker counts as dead */
};

enum roar_coord_policy { /* when somebody dies who is waited for */
			 ROAR_COORD_DEFAULT,
			 ROAR_COORD_FAIL,
			 ROAR_COORD_SHRINK,
			 ROAR_COORD_WAIT,
};

/* Connects and takes the place.  *ret is the caller's. */
int roar_coord_join(const struct roar_coord_options *options,
		    struct roar_coord **ret);
/* Gives the place up and frees the client. */
int roar_coord_leave(struct roar_coord *c);
/* Frees the client as if the process had died: the place is held for a successor. */
void roar_coord_free(struct roar_coord *c);

/* The sentence for the last failure of this thread; "" when there was none. */
const char *roar_coord_error(void);
/* Ids of the workers that the last failed barrier of this thread waited for, separated
 * by commas; "" when there were none. */
const char *roar_coord_absent(void);

/* Who is there, as last heard.  From the first call on the coordinator tells changes as
 * they happen; before that, heartbeats bring them. */
void roar_coord_world(struct roar_coord *c, struct roar_coord_world *ret);

/* What the next heartbeats say.  `state` is a number of WorkerStatus.State; `task` is UTF-8
 * without control characters, 256 bytes at most, or NULL. */
int roar_coord_progress(struct roar_coord *c, int state, int64_t step,
			int64_t epoch, const char *task);
/* Sends a heartbeat now and waits for its answer; otherwise they are sent by themselves.
 * A refusal is its result. */
int roar_coord_heartbeat(struct roar_coord *c, int64_t timeout_ms);
/* The fencing token of the coordinator's last answers, which grows whenever another
 * coordinator begins to lead; 0 where there is only one.  Who writes to a store of its own
 * passes it on, so that the store can refuse what comes late. */
uint64_t roar_coord_fencing_token(struct roar_coord *c);

/* Another token from now on, on the connection that there is and on all that follow; what
 * waits goes on with it.  It must be good already, and the old one still be: a client whose
 * heartbeats are refused for their token ends with -EACCES. */
int roar_coord_set_token(struct roar_coord *c, const char *token);
/* The coordinator's answer to the registration: a WorkerConfig (coordinator.proto), as
 * bytes; *ret is malloc()ed. */
int roar_coord_registration(struct roar_coord *c, void **ret, size_t *ret_len);
/* The next command for this worker, "" when there is none, into `buffer`; waits
 * `timeout_ms` for one (0: not at all, -1: for ever).  -ENOBUFS: it is longer. */
int roar_coord_command(struct roar_coord *c, int64_t timeout_ms, char *buffer,
		       size_t len);
/* Waits until the world's epoch is another than `epoch`. */
int roar_coord_wait_world(struct roar_coord *c, uint64_t epoch,
			  int64_t timeout_ms, struct roar_coord_world *ret);

struct roar_coord_meeting {
	uint64_t generation;
	int64_t participants;
	int64_t arrival_order;
	int64_t votes_for, votes_against;
	/* Who came last and how much later than the first: "ID=MS,ID=MS"; the values of a
	 * gather by rank.  To be freed with roar_coord_meeting_release(). */
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

/* Waits until all workers of the job have come.  `generation` counts the uses of this
 * barrier, from 1 on: who counts steps from 0 gives step + 1.  0 lets the client count,
 * which is right when it comes to every one; who came so and then names the same
 * generation gets -ESTALE.  `ret` may be NULL. */
int roar_coord_barrier(struct roar_coord *c, const char *id,
		       uint64_t generation, int64_t timeout_ms,
		       struct roar_coord_meeting *ret);

struct roar_coord_meet {
	const char *id;
	uint64_t generation;
	const char *const *group; /* ids, one at least, ending with NULL; NULL: all
				   * workers */
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

/* Keys of the job.  *ret_value is malloc()ed, with a 0 byte behind it; *ret_version may
 * be NULL. */
int roar_coord_set(struct roar_coord *c, const char *key, const void *value,
		   size_t len, int64_t ttl_ms);
int roar_coord_get(struct roar_coord *c, const char *key, int64_t wait_ms,
		   void **ret_value, size_t *ret_len, uint64_t *ret_version);
int roar_coord_add(struct roar_coord *c, const char *key, int64_t delta,
		   int64_t *ret_sum);
/* Sets the key if its version is still `version` (0: if it is not there).  1: done, 0:
 * it was another. */
int roar_coord_compare_set(struct roar_coord *c, const char *key,
			   uint64_t version, const void *value, size_t len,
			   int64_t ttl_ms);
/* -ENOENT when it was not there, or when the connection ended and the second try found
 * that the first had worked. */
int roar_coord_delete(struct roar_coord *c, const char *key);

/* ---- datasets and their shards ----
 *
 * Shards of a dataset are dealt to all workers of the job: everybody has the same number,
 * or one more, unless it is registered otherwise.  They move only when a place is taken or given up, and then as few as
 * possible; `version` tells whether they have. */
enum roar_coord_balance {
	ROAR_COORD_BALANCE_COUNT = 0,
	/* In proportion to what a worker can do: its metadata "roar.weight" (1 to 1000000), or
	 * else its gpu_count, or else 1. */
	ROAR_COORD_BALANCE_WEIGHT = 1,
	/* By shard_bytes: nobody has more than the largest shard beyond anybody else. */
	ROAR_COORD_BALANCE_BYTES = 2,
	/* As by count; of all ways to that, rather to who is where the shard is at home: its
	 * metadata "roar.home", or else its hostname. */
	ROAR_COORD_BALANCE_LOCALITY = 3,
	/* By a hash, with the balance of chance: roar_shard_place() finds the same. */
	ROAR_COORD_BALANCE_RENDEZVOUS = 4,
	ROAR_COORD_BALANCE_JUMP = 5,
	ROAR_COORD_BALANCE_RING = 6,
};

struct roar_coord_dataset {
	const char *id; /* as a worker's */
	const char *path, *format; /* told to who asks; NULL: "" */
	int64_t total_samples;
	int64_t shard_size; /* samples, at least 1 */
	int32_t shuffle;
	int64_t seed;
	enum roar_coord_balance balance;
	/* For BYTES and LOCALITY, up to 65536 numbers: with m of them for n shards, that of
	 * shard s is at s * m / n. */
	const uint64_t *shard_bytes;
	size_t n_shard_bytes;
	const uint32_t *shard_homes; /* indices of `homes` */
	size_t n_shard_homes;
	const char *const *homes; /* names; NULL ends them; or NULL */
};

/* Makes a dataset known, and tells how many shards it has (NULL: no matter).  The same again
 * is fine; -EEXIST for other values under the same id. */
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
	} * ranges; /* in the order in which they are to be read */
};

void roar_coord_shards_release(struct roar_coord_shards *s);

/* All shards that this worker has.  To be released. */
int roar_coord_shards(struct roar_coord *c, const char *dataset_id,
		      struct roar_coord_shards *ret);
/* The dataset goes on to the epoch behind the one under way; every worker may say so, and say so
 * again.  -ESTALE when that is over or not the next, or while samples are left of one that was
 * reported or lent, unless `abandon` is set. */
int roar_coord_advance_epoch(struct roar_coord *c, const char *dataset_id,
			     int64_t epoch, int abandon);

/* Positions of an epoch: numbers of samples in its order, from 0 on. */
struct roar_coord_positions {
	int64_t first, end; /* one behind the last */
};

/* Says what was consumed of the epoch under way; twice is harmless.  *ret_new, which may be
 * NULL, is how many positions nobody had reported before. */
int roar_coord_report_consumed(struct roar_coord *c, const char *dataset_id,
			       int64_t epoch,
			       const struct roar_coord_positions *positions,
			       size_t n, int64_t *ret_new);

/* For uneven workers: an epoch that is lent in pieces.  All workers take them on the same
 * terms. */
struct roar_coord_lending {
	const char *dataset_id;
	int64_t epoch; /* that is under way */
	/* What is said after the deadline is refused (-ESTALE) and must not be applied;
	 * else it counts, and somebody else may have worked on it, too. */
	int32_t exactly_once;
	int64_t chunk; /* positions of a piece; 0: a shard */
	int64_t timeout_ms; /* silence after which it is another's; 0: a minute */
};

struct roar_coord_lease {
	uint64_t id; /* 0: there is none now */
	struct roar_coord_positions positions;
	int64_t timeout_ms;
	int32_t done; /* all positions of the epoch are consumed, or it is over */
	int64_t retry_ms; /* none now: when to ask again, at the latest */
};

/* Takes one.  When the answer is lost with its connection, the call that is made again
 * gets the same lease. */
int roar_coord_take_lease(struct roar_coord *c,
			  const struct roar_coord_lending *from,
			  struct roar_coord_lease *ret);
/* Positions of the lease below `consumed_to` are consumed, and the deadline moves on; the rest is
 * given back if so wanted.  0 says that the worker lives: a program that works on a piece for
 * long says so a few times in a timeout.  The same said again gets the same answer, whatever has
 * become of the lease.  -ESTALE: it is over, and what is said now has not counted. */
int roar_coord_use_lease(struct roar_coord *c,
			 const struct roar_coord_lending *from,
			 uint64_t lease_id, int64_t consumed_to, int give_back);

/* Any method of the coordinator by its number or path, with the bytes of its request;
 * *ret_reply is malloc()ed.  For what has no function here.
 *
 * When a connection ends before the answer has come, a call is made again on the next
 * one, which is harmless: all of them say what shall be so, or only ask.  The exceptions
 * fail with -ENOTCONN, since nobody knows whether they were done: KvAdd, KvCompareSet
 * (roar_coord_add() and roar_coord_compare_set()), SendCommand, Drain, Stop
 * and Forget. */
int roar_coord_call(struct roar_coord *c, const char *path, const void *request,
		    size_t len, int64_t timeout_ms, void **ret_reply,
		    size_t *ret_len);

/* ---- event loops ----
 *
 * With ROAR_COORD_NO_THREAD nothing happens behind the caller's back: the descriptor is
 * readable when roar_coord_turn() has something to do, which must also be called
 * *ret_ms milliseconds later (-1: not before the descriptor is readable).  One thread at a
 * time uses such a client.  The functions above may be used; while they wait they do the
 * turns themselves.  Meetings are begun, and tell later how they went: */
int roar_coord_fd(struct roar_coord *c);
int roar_coord_turn(struct roar_coord *c, int64_t *ret_ms);

typedef void (*roar_coord_done)(void *data, int error,
				const struct roar_coord_meeting *m);
/* A barrier, or with a `value` that is not NULL a gather.  `done` is called from
 * roar_coord_turn(), once, unless the client is freed before; `m` is NULL when `error` is
 * not 0, and lives only during the call. */
int roar_coord_begin_meet(struct roar_coord *c, const struct roar_coord_meet *m,
			  const void *value, size_t len, roar_coord_done done,
			  void *data);

#ifdef __cplusplus
}
#endif
#endif

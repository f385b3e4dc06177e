/* roar/arena.h - moving large payloads between processes without copying them.
 *
 * An arena is anonymous shared memory: a sealed memfd.  Processes pass its descriptor on
 * (fork, SCM_RIGHTS).  The memory is freed when the last process that has it ends, in
 * whatever way.  Processes join the arena as producers or consumers.  They exchange units:
 * a unit is a small envelope and any number of buffers, each aligned to 64 bytes.
 *
 *	producer					consumer
 *	roar_arena_reserve(a, ...)
 *	fill unit->buffers[i].data
 *	roar_arena_commit(unit, tag)		--->	roar_arena_receive(a, ...)
 *							use unit->buffers[i].data
 *	(the memory is free again)		<---	roar_arena_release(unit)
 *
 * Units can be released in any order.  A unit that is kept holds its own memory; other
 * units keep flowing.  roar_arena_create() allocates all memory: if the machine has too
 * little, that call fails, and no later access raises SIGBUS.  The slots of a process that
 * dies are reclaimed by the other processes, whose waiting calls report the death.
 *
 * For C and C++; link with -lroar.  A handle may be used by any number of threads.  A child
 * made by fork() has the memory but is not a member: its calls fail with -EPERM until it
 * attaches by itself, and units that it releases stay its parent's.  Errors are negative
 * errno values; roar_arena_error() returns the error message. */
#ifndef ROAR_ARENA_H
#define ROAR_ARENA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roar_arena;

enum {
	ROAR_ARENA_ALIGN = 64, /* of every buffer and envelope */
	ROAR_ARENA_MAX_PARTIES = 64, /* producers and consumers together */
};

enum roar_arena_flags {
	/* Each consumer receives each unit; nothing can be reserved while there is no
	 * consumer.  Without this flag each unit goes to one consumer. */
	ROAR_ARENA_BROADCAST = 1,
	/* Each producer has its own share of the memory, so that receiving units in a
	 * chosen order (receive with `from`) cannot stall. */
	ROAR_ARENA_PARTITION = 2,
	ROAR_ARENA_HUGE = 4, /* use huge pages if available */
};

struct roar_arena_config {
	uint64_t size_bytes; /* for payloads; ignored with segments */
	/* 0: a unit takes as much as it needs.  Otherwise each unit has one segment of this
	 * size. */
	uint64_t segment_bytes;
	/* Units in flight at most; with segments, their number.  0: chosen by size. */
	uint32_t n_units;
	/* Bytes reserved in each slot for the unit's buffer table and envelope.  0: 960. */
	uint32_t inline_bytes;
	uint32_t n_producers; /* shares of a partitioned arena */
	uint32_t flags; /* enum roar_arena_flags */
};

/* Creates an arena.  -EINVAL: invalid size (0, or more than 2^46 bytes); -ENOSPC and
 * -ENOMEM: the machine has too little memory; -EMFILE. */
int roar_arena_create(const struct roar_arena_config *config,
		      struct roar_arena **ret);

/* Opens the arena of a descriptor, which stays the caller's.  The contents are validated.
 * -EBADF; -EACCES: the descriptor is read-only; -EINVAL: not an arena, or a truncated or
 * damaged one; -EPROTO: an arena of another version; -ENOMEM. */
int roar_arena_attach(int fd, struct roar_arena **ret);

/* Leaves the arena.  Units that are still held stay valid until they are released; reserved
 * units that were not committed are discarded.  NULL is allowed. */
void roar_arena_close(struct roar_arena *a);

/* The descriptor to pass on to other processes.  It belongs to the arena. */
int roar_arena_fd(const struct roar_arena *a);

/* The error message of this thread's last failure: object, cause, remedy. */
const char *roar_arena_error(void);

/* ---- members ---- */

enum roar_arena_role {
	ROAR_ARENA_PRODUCER = 1,
	ROAR_ARENA_CONSUMER = 2,
};

/* Joins the arena in one role or both; required before the first unit.  A producer of a
 * partitioned arena takes the share `share`, which is its party number too (`from` of
 * roar_arena_receive()); other members pass 0.  -EALREADY; -EUSERS: all member slots are
 * taken; -EADDRINUSE: the share belongs to a living producer; -EPIPE: after a shutdown. */
int roar_arena_join(struct roar_arena *a, unsigned roles, unsigned share);

/* Announces a process that has not joined yet.  If it dies before it joins, waiting calls
 * report its death as if it had joined. */
int roar_arena_expect(struct roar_arena *a, int pid);

/* Shuts the arena down for all members: waiting calls return, and nothing more can be
 * reserved.  Committed units can still be received.  It cannot be undone. */
int roar_arena_shutdown(struct roar_arena *a);

struct roar_arena_death {
	int pid;
	unsigned roles; /* 0: it had not joined */
	int known; /* `status` is valid; only a parent knows it */
	int status; /* as of waitpid(2); the child is not reaped */
};

/* The last death for which a call of this handle returned -ECONNRESET.  -ENOENT: none. */
int roar_arena_death(const struct roar_arena *a, struct roar_arena_death *ret);

/* ---- units ---- */

struct roar_arena_buffer {
	void *data;
	size_t len;
};

/* A unit that this process holds.  The fields are read-only; the memory they point to is
 * not. */
struct roar_arena_unit {
	struct roar_arena *arena;
	void *envelope;
	size_t envelope_len;
	struct roar_arena_buffer *buffers;
	size_t n_buffers;
	uint64_t tag; /* chosen by the producer */
	uint64_t generation; /* how often this slot has been used */
	/* Of the slot.  UINT32_MAX: in private memory, because the unit was larger than the
	 * arena. */
	uint32_t index;
	uint32_t producer; /* number of the member that made it */
	uint64_t sequence; /* among that member's units, from 0 */
};

/* One buffer of a unit to reserve: `len` new bytes or, with `in`, bytes of a unit that this
 * process reserved before and passes on with this one, without a copy. */
struct roar_arena_part {
	struct roar_arena_unit *in;
	size_t offset; /* of the first byte in the first buffer of `in` */
	size_t len;
};

/* Special values: wait without a time limit; receive from any producer. */
#define ROAR_ARENA_FOREVER (-1LL)
#define ROAR_ARENA_ANY UINT32_MAX

/* Reserves memory for a unit, to be filled in place.  Waits for free memory up to
 * `timeout_ns`; 0: does not wait, -EAGAIN.  -ETIMEDOUT; -EMSGSIZE: the unit can never fit
 * (roar_arena_send() sends it nevertheless); -EPIPE: after a shutdown; -ECONNRESET: no
 * consumer is left; -EINVAL, -EPERM, -ENOMEM. */
int roar_arena_reserve(struct roar_arena *a,
		       const struct roar_arena_part *parts, size_t n_parts,
		       size_t envelope_len, long long timeout_ns,
		       struct roar_arena_unit **ret);

/* Passes a reserved unit to the consumers.  The caller no longer owns `unit`, nor the units
 * its parts were in, unless roar_arena_retain() kept them.  -EPIPE: after a shutdown;
 * -EBUSY: `unit` itself is retained; -EBADMSG: a process damaged the queue.  After an error
 * the caller still owns all of them and must release them. */
int roar_arena_commit(struct roar_arena_unit *unit, uint64_t tag);

/* Copies the data into a new unit and commits it, whatever its size.  Data larger than the
 * whole arena is sent in pieces, which the receiver joins.  If there is no memory for a
 * piece in time, the call fails with -ETIMEDOUT, and the receiver discards the pieces
 * before it.  With a timeout of 0 nothing is sent in pieces. */
int roar_arena_send(struct roar_arena *a, const void *envelope,
		    size_t envelope_len,
		    const struct roar_arena_buffer *buffers, size_t n_buffers,
		    uint64_t tag, long long timeout_ns);

/* The same, with a callback: while the call waits, it calls ask(arg) many times a second.
 * A negative return value ends the call and is returned.  For callers that must handle
 * signals or may be asked to stop. */
int roar_arena_send_asking(struct roar_arena *a, const void *envelope,
			   size_t envelope_len,
			   const struct roar_arena_buffer *buffers,
			   size_t n_buffers, uint64_t tag, long long timeout_ns,
			   int (*ask)(void *arg), void *arg);

/* Receives the next unit; with `from`, the next unit of that member, while units of others
 * stay queued.  Waits up to `timeout_ns`; 0: does not wait, -EAGAIN.  -ETIMEDOUT; -EPIPE:
 * after a shutdown, when no unit is left; -ECONNRESET: a producer died, and all its
 * committed units are received (once for each death); -EPERM.  -ENOMEM and -EBADMSG (a
 * process damaged the unit) lose one unit. */
int roar_arena_receive(struct roar_arena *a, uint32_t from,
		       long long timeout_ns, struct roar_arena_unit **ret);

/* Adds a reference: one more release is needed.  For threads and views that share a
 * unit. */
void roar_arena_retain(struct roar_arena_unit *unit);

/* Frees the memory of a received unit, or of a reserved one that is not to be committed.
 * NULL is allowed. */
void roar_arena_release(struct roar_arena_unit *unit);

/* Sets how long roar_arena_receive() spins before it sleeps.  For a reader that must
 * respond within a microsecond and has a CPU of its own.  Default: a few microseconds on
 * machines with several CPUs. */
void roar_arena_spin(struct roar_arena *a, long long spin_ns);

/* A memcpy() for filling units, which bypasses the caches where that is faster.  `whole` is
 * the number of bytes copied for the whole unit. */
void roar_arena_copy(void *to, const void *from, size_t len, size_t whole);

/* ---- statistics ---- */

struct roar_arena_stats {
	uint64_t size_bytes; /* for payloads */
	uint64_t used_bytes; /* in use now */
	uint32_t n_units; /* slots */
	uint32_t n_used; /* in use now */
	uint32_t n_producers; /* alive */
	uint32_t n_consumers;
	uint64_t committed; /* units */
	uint64_t committed_bytes;
	uint64_t received; /* by each consumer; a unit in pieces counts once */
	uint64_t released; /* by consumers */
	uint64_t in_pieces; /* units larger than the arena */
	uint64_t reclaimed; /* slots taken back from dead processes */
	uint64_t producer_stalls; /* waits for room that slept */
	uint64_t producer_stall_ns;
	uint64_t consumer_stalls; /* waits for units that slept */
	uint64_t consumer_stall_ns;
	uint32_t page_bytes; /* of the shared memory */
	uint32_t shut_down; /* boolean */
};

int roar_arena_stats(const struct roar_arena *a, struct roar_arena_stats *ret);

#ifdef __cplusplus
}
#endif
#endif

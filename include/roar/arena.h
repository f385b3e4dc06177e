/* roar/arena.h - moving large payloads between processes without copying them.
 *
 * An arena is a piece of shared memory without a name: a sealed memfd that is handed on
 * by descriptor (fork, SCM_RIGHTS) and gone when the last process that has it is gone,
 * however that ended.  Processes join it as producers or consumers.  What moves is the
 * unit: a small envelope and any number of buffers, each aligned to 64 bytes.
 *
 *	producer					consumer
 *	roar_arena_reserve(a, ...)  room
 *	fill unit->buffers[i].data
 *	roar_arena_commit(unit, tag)		--->	roar_arena_receive(a, ...)
 *							use unit->buffers[i].data
 *	(the room is free again)		<---	roar_arena_release(unit)
 *
 * Units are released in any order; one that is kept costs its own room and stops nobody.
 * Room is there from the beginning: a full machine is an error of roar_arena_create(),
 * never a SIGBUS later.  The slots of a process that dies are taken back by the others, who
 * are told of its death.
 *
 * For C and C++; link with -lroar.  A handle may be used by any number of threads.  A
 * child made by fork() has the memory but is no party: its calls fail with -EPERM until it
 * attaches by itself, and what it releases stays its parent's.  Errors are negative
 * errno values, and roar_arena_error() has the sentence. */
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
	ROAR_ARENA_BROADCAST = 1, /* each consumer gets each unit, and without
				   * one there is no room; otherwise each unit
				   * goes to one of them */
	ROAR_ARENA_PARTITION = 2, /* each producer has its own part of the room, so
				   * that taking units in a chosen order
				   * (receive with `from`) cannot stall */
	ROAR_ARENA_HUGE = 4, /* huge pages if the machine has them */
};

struct roar_arena_config {
	uint64_t size_bytes; /* room for payloads; of segments: ignored */
	uint64_t segment_bytes; /* 0: a unit takes what it needs; otherwise each
				 * has one segment of this size */
	uint32_t n_units; /* in flight at most; with segments: how many.
				 * 0: chosen by size */
	uint32_t inline_bytes; /* room of a unit's own for table and envelope, for
				 * units that need no other; 0: 960 */
	uint32_t n_producers; /* shares of a ROAR_ARENA_PARTITION */
	uint32_t flags; /* enum roar_arena_flags */
};

/* A new arena.  -EINVAL for sizes that are none (0, or more than 2^46 bytes), -ENOSPC and
 * -ENOMEM when the machine has not that much, -EMFILE. */
int roar_arena_create(const struct roar_arena_config *config,
		      struct roar_arena **ret);

/* The arena behind a descriptor, which stays the caller's.  Nothing in it is trusted.
 * -EBADF, -EACCES for one that is for reading alone, -EINVAL for what is no arena, or one that
 * is cut off or damaged, -EPROTO for one of another version, -ENOMEM. */
int roar_arena_attach(int fd, struct roar_arena **ret);

/* Leaves.  Units that are still held stay valid until they are released; those that were
 * reserved and not committed are gone.  NULL is fine. */
void roar_arena_close(struct roar_arena *a);

/* The descriptor to be handed on, of the arena's own. */
int roar_arena_fd(const struct roar_arena *a);

/* The sentence of this thread's last failure: object, cause, remedy. */
const char *roar_arena_error(void);

/* ---- parties ---- */

enum roar_arena_role {
	ROAR_ARENA_PRODUCER = 1,
	ROAR_ARENA_CONSUMER = 2,
};

/* Becomes a party, as one role or both; needed before the first unit.  A producer of a
 * partitioned arena takes the share `share`, which is its party number too (`from` of
 * roar_arena_receive()); others give 0.  -EALREADY, -EUSERS when all places are taken,
 * -EADDRINUSE for the share of a living producer, -EPIPE after a shutdown. */
int roar_arena_join(struct roar_arena *a, unsigned roles, unsigned share);

/* Waits for a process that has not joined yet: when it dies first, that is an error of the
 * waiting calls as if it had joined. */
int roar_arena_expect(struct roar_arena *a, int pid);

/* Ends the arena for all: waiting calls return, nothing can be reserved any more, and
 * what was committed can still be received.  It cannot be undone. */
int roar_arena_shutdown(struct roar_arena *a);

struct roar_arena_death {
	int pid;
	unsigned roles; /* 0: it had not joined */
	int known; /* is `status` known? Only a parent can tell */
	int status; /* as of waitpid(2); the child is not reaped */
};

/* The last death that a call of this handle returned -ECONNRESET for.  -ENOENT: none. */
int roar_arena_death(const struct roar_arena *a, struct roar_arena_death *ret);

/* ---- units ---- */

struct roar_arena_buffer {
	void *data;
	size_t len;
};

/* One unit in the hands of this process.  Read-only but for what the pointers point to. */
struct roar_arena_unit {
	struct roar_arena *arena;
	void *envelope;
	size_t envelope_len;
	struct roar_arena_buffer *buffers;
	size_t n_buffers;
	uint64_t tag; /* the producer's word */
	uint64_t generation; /* how often this place has been used */
	uint32_t index; /* of this place; UINT32_MAX: in private memory,
			      * because it was larger than the arena */
	uint32_t producer; /* the party that made it */
	uint64_t sequence; /* its number among that party's, from 0 */
};

/* What a unit is to have: a buffer of `len` bytes, or, with `in`, bytes of a unit that
 * this process reserved before and hands on with this one, without a copy. */
struct roar_arena_part {
	struct roar_arena_unit *in;
	size_t offset; /* of the first byte in the first buffer of `in` */
	size_t len;
};

/* No end of waiting, and who a unit is to come from. */
#define ROAR_ARENA_FOREVER (-1LL)
#define ROAR_ARENA_ANY UINT32_MAX

/* Room for a unit, to be filled in place.  It waits for room up to `timeout_ns`; 0: not at all,
 * -EAGAIN.  -ETIMEDOUT; -EMSGSIZE for what can never fit (roar_arena_send() takes it all
 * the same); -EPIPE after a shutdown; -ECONNRESET when nobody is left to receive; -EINVAL,
 * -EPERM, -ENOMEM. */
int roar_arena_reserve(struct roar_arena *a,
		       const struct roar_arena_part *parts, size_t n_parts,
		       size_t envelope_len, long long timeout_ns,
		       struct roar_arena_unit **ret);

/* Hands a reserved unit to the consumers.  `unit` is the caller's no more, nor are the
 * units its parts were in, unless roar_arena_retain() kept them.  -EPIPE after a shutdown,
 * -EBUSY when `unit` itself is retained, -EBADMSG when somebody damaged the queue: then all of
 * them are still the caller's, to be released. */
int roar_arena_commit(struct roar_arena_unit *unit, uint64_t tag);

/* Copies in and commits, whatever the size: what has no room in the whole arena goes in
 * pieces and is joined by the receiver.  A piece that cannot be had in time ends it all
 * with -ETIMEDOUT, and the receiver forgets the pieces before it.  With a timeout of 0
 * nothing is sent in pieces. */
int roar_arena_send(struct roar_arena *a, const void *envelope,
		    size_t envelope_len,
		    const struct roar_arena_buffer *buffers, size_t n_buffers,
		    uint64_t tag, long long timeout_ns);

/* The same; while it waits, ask(arg) is called many times a second, and what it returns
 * below 0 ends the call with that.  For who must hear signals, or may be told to stop. */
int roar_arena_send_asking(struct roar_arena *a, const void *envelope,
			   size_t envelope_len,
			   const struct roar_arena_buffer *buffers,
			   size_t n_buffers, uint64_t tag, long long timeout_ns,
			   int (*ask)(void *arg), void *arg);

/* The next unit; with `from` the next of that party, while those of others wait.  It waits up to
 * `timeout_ns`: 0: not at all, -EAGAIN.  -ETIMEDOUT; -EPIPE after a shutdown when nothing is
 * left; -ECONNRESET, once for each, when a producer died and all it had committed is received;
 * -EPERM; -ENOMEM and -EBADMSG (somebody damaged it), with which one unit is lost. */
int roar_arena_receive(struct roar_arena *a, uint32_t from,
		       long long timeout_ns, struct roar_arena_unit **ret);

/* One more release is needed.  For threads and views that share a unit. */
void roar_arena_retain(struct roar_arena_unit *unit);

/* Gives the room back: a received unit, or one that was reserved and is not to be
 * committed.  NULL is fine. */
void roar_arena_release(struct roar_arena_unit *unit);

/* How long roar_arena_receive() looks before it sleeps.  For a reader that must answer within
 * a microsecond and has a CPU of its own.  Without a call: a few microseconds where there
 * are several CPUs. */
void roar_arena_spin(struct roar_arena *a, long long spin_ns);

/* memcpy for what fills units: past the caches when that is faster.  `whole` is the size
 * of all that is copied for the unit. */
void roar_arena_copy(void *to, const void *from, size_t len, size_t whole);

/* ---- seeing inside ---- */

struct roar_arena_stats {
	uint64_t size_bytes; /* room for payloads */
	uint64_t used_bytes; /* taken now */
	uint32_t n_units; /* places */
	uint32_t n_used; /* taken now */
	uint32_t n_producers; /* alive */
	uint32_t n_consumers;
	uint64_t committed; /* units */
	uint64_t committed_bytes;
	uint64_t received; /* by each consumer; what came in pieces once */
	uint64_t released; /* by those who had received them */
	uint64_t in_pieces; /* larger than the arena */
	uint64_t reclaimed; /* taken back from the dead */
	uint64_t producer_stalls; /* waits for room that slept */
	uint64_t producer_stall_ns;
	uint64_t consumer_stalls; /* waits for units that slept */
	uint64_t consumer_stall_ns;
	uint32_t page_bytes; /* of the memory behind it */
	uint32_t shut_down; /* is it? */
};

int roar_arena_stats(const struct roar_arena *a, struct roar_arena_stats *ret);

#ifdef __cplusplus
}
#endif
#endif

/* coord_load.h - many workers of a coordinator in one process, to measure it.
 *
 * A load has lanes, each a connection of a worker, or of an agent with its workers, and
 * calls that are under way on them.  One thread, one epoll: what a server is asked for
 * depends on the mode (coord_load.c), how it is put on the wire on `struct wire`. */
#ifndef BENCH_COORD_LOAD_H
#define BENCH_COORD_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum {
	CALL_PREFIX = 16, /* what a wire may put before a message */
	CALL_MESSAGE = 240, /* the longest request */
	CALL_REPLY = 512, /* so much of a reply is kept */
	LANE_HELD = 4096, /* of an unfinished frame */
	LOAD_OUT = 1 << 20, /* what is sent on a lane at once */
};

struct load;
struct lane;

struct method {
	const char *path;
	uint16_t number;
};

/* In use from load_call() until load->done() returns. */
struct call {
	struct lane *lane;
	uint32_t rank; /* of the lane's workers */
	struct call *next; /* of those not in use */
	int64_t since_ns; /* when it was, or should have been, sent */
	uint32_t len, sent; /* of the request, with its prefix */
	uint32_t reply_len; /* all of it, also what was not kept */
	unsigned status; /* a number of gRPC */
	uint8_t request[CALL_PREFIX + CALL_MESSAGE];
	uint8_t reply[CALL_REPLY];
};

struct wire {
	/* Queues what a connection begins with. */
	void (*open)(struct lane *lane);
	/* Queues a call, whose message is at request + CALL_PREFIX. */
	void (*call)(struct lane *lane, struct call *call,
		     const struct method *method);
	/* What has arrived; ends calls by load_end(). */
	void (*input)(struct lane *lane, const uint8_t *data, size_t len);
	/* Moves what is queued to load->out. */
	void (*drain)(struct lane *lane);
	void (*close)(struct lane *lane);
};

extern const struct wire wire_frames;
extern const struct wire wire_grpc;
extern const struct wire wire_store; /* of torch; knows barriers alone */

struct worker {
	char id[32];
	uint64_t session; /* as the server gave it */
};

struct lane {
	struct load *load;
	int fd;
	uint32_t index;
	struct worker *workers; /* load->ranks of them */
	void *http2; /* gRPC: the session */
	struct visit *store;
	size_t n_held; /* frames: the beginning of one */
	uint8_t *held;
};

struct load {
	const struct wire *wire;
	const char *address;
	const char *job;
	uint32_t n_lanes;
	uint32_t ranks; /* workers on each; more than one: a lane is an agent's */
	uint32_t first; /* number of the first lane's first worker */
	int epoll;
	struct lane *lanes;
	struct call *calls; /* n_calls of them */
	struct call *unused;
	uint32_t n_calls;
	uint32_t n_under_way;
	void (*done)(struct load *load, struct call *call);
	size_t out_len;
	uint8_t *out; /* of the lane that was called on last */
};

/* Ends the program with a sentence. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format,
							 ...);

/* Connects all lanes.  At most `n_calls` may be under way at once. */
void load_open(struct load *load, uint32_t n_calls);
void load_close(struct load *load);

/* A call that is not in use; there must be one. */
struct call *load_call_new(struct load *load);
/* Queues it on the lane for that worker of it, with `len` bytes of message.  load_flush()
 * must follow before another lane is called on. */
void load_call(struct lane *lane, uint32_t rank, struct call *call,
	       const struct method *method, size_t len);
/* Whose call it is. */
struct worker *load_worker(const struct call *call);
void load_flush(struct lane *lane);
/* For wires: more bytes for load_flush(); the reply is there. */
void load_put(struct load *load, const void *data, size_t len);
void load_end(struct call *call);

/* Waits up to `timeout_ns` (-1: for ever) for replies and deals with all of them. */
void load_turn(struct load *load, int64_t timeout_ns);
/* Until no call is under way. */
void load_settle(struct load *load);

#endif

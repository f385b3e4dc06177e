/* beats.h - heartbeats of a host's workers, which travel together.
 *
 * A heartbeat waits for others.  All leave
 *
 *	with anything else that the agent has to say,
 *	when every worker that sends them has one here,
 *	BEATS_TOGETHER_MS after the pacemaker's has come,
 *	or when one has waited an eighth of its interval, BEATS_MAX_MS at most.
 *
 * The pacemaker is the worker of the lowest lane, and hardly waits.  Clients count their
 * interval from the answer: so those that were answered together beat together the next
 * time, and all others come later by their wait each time, until they meet the
 * pacemaker.  After a few intervals there is one packet in each.
 *
 * No I/O and no clock; times are milliseconds, the caller's. */
#ifndef COORDINATOR_AGENT_BEATS_H
#define COORDINATOR_AGENT_BEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/frames/frames.h"

enum {
	BEATS_SHARE = 8, /* of its interval, that a heartbeat may wait */
	BEATS_MAX_MS = 1000,
	BEATS_TOGETHER_MS = 20,
};

struct beats {
	struct str waiting; /* struct beat and its message, each */
	uint32_t n_waiting;
	uint32_t n_workers; /* that send heartbeats */
	uint32_t pacemaker; /* a lane; 0: there is none */
	int64_t due_ms; /* when they leave */
	uint16_t wait_ms[FRAMES_MAX_LANES + 1]; /* by lane; 0: it waits for none */
	bool has_one[FRAMES_MAX_LANES + 1]; /* it waits here */
	uint64_t n_beats, n_packets; /* that have left */
};

/* The worker of that lane is to send heartbeats so often; 0: it is gone, or unknown. */
void beats_set_interval(struct beats *b, uint32_t lane, int64_t interval_ms);
/* Keeps one, whose frame says how long it may take.  False: it was not kept, and is to leave
 * now, behind those that are here. */
bool beats_add(struct beats *b, int64_t now_ms, uint32_t lane,
	       const struct frame *f, const void *data);
/* When they leave by themselves; INT64_MAX: none are here. */
int64_t beats_due_ms(const struct beats *b);
/* Gives on all of them, in the order they came. */
void beats_leave(struct beats *b,
		 void (*each)(void *ctx, uint32_t lane, const struct frame *f,
			      const void *data),
		 void *ctx);
void beats_clear(struct beats *b); /* nobody is there to hear them */
void beats_release(struct beats *b);

#endif

/* beats.h - collects the heartbeats of a host's workers into common packets.
 *
 * A heartbeat waits for others.  All of them are sent
 *
 *	with any other frame of the agent,
 *	when every worker that sends heartbeats has one waiting,
 *	BEATS_TOGETHER_MS after the pacemaker's has arrived,
 *	or when one has waited an eighth of its interval, at most BEATS_MAX_MS.
 *
 * The pacemaker is the worker of the lowest lane; its heartbeats hardly wait.  Clients
 * count their interval from the reply.  So workers that got their replies together send
 * together the next time, and all others move later by their delay each time, until they
 * coincide with the pacemaker.  After a few intervals there is one packet per interval.
 *
 * No I/O and no clock; times are milliseconds of the caller's clock. */
#ifndef COORDINATOR_AGENT_BEATS_H
#define COORDINATOR_AGENT_BEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/frames/frames.h"

enum {
	BEATS_SHARE = 8, /* a heartbeat may wait interval / BEATS_SHARE */
	BEATS_MAX_MS = 1000,
	BEATS_TOGETHER_MS = 20,
};

struct beats {
	struct str waiting; /* pairs of struct beat and message */
	uint32_t n_waiting;
	uint32_t n_workers; /* that send heartbeats */
	uint32_t pacemaker; /* a lane; 0: none */
	int64_t due_ms; /* when they are sent */
	uint16_t wait_ms[FRAMES_MAX_LANES + 1]; /* by lane; 0: not delayed */
	bool has_one[FRAMES_MAX_LANES + 1]; /* by lane: one is waiting */
	uint64_t n_beats, n_packets; /* sent */
};

/* Sets the heartbeat interval of that lane's worker; 0: gone, or unknown. */
void beats_set_interval(struct beats *b, uint32_t lane, int64_t interval_ms);
/* Adds a heartbeat; its frame has the timeout.  False: not added; the caller must send it
 * now, after those that are waiting. */
bool beats_add(struct beats *b, int64_t now_ms, uint32_t lane,
	       const struct frame *f, const void *data);
/* When they must be sent; INT64_MAX: none is waiting. */
int64_t beats_due_ms(const struct beats *b);
/* Passes on all of them, in the order of arrival. */
void beats_leave(struct beats *b,
		 void (*each)(void *ctx, uint32_t lane, const struct frame *f,
			      const void *data),
		 void *ctx);
void beats_clear(struct beats *b); /* drops all: the coordinator is gone */
void beats_release(struct beats *b);

#endif

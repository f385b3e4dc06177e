/* agent.h - roar-coordinator --agent: one process per host, which relays for its workers.
 *
 * Workers of the host connect to the agent as to the coordinator.  The agent has one
 * connection to the coordinator, with a lane (net/frames/frames.h) for each worker.  So the
 * coordinator has one connection per host instead of one per worker, and messages of the
 * same moment share a packet.
 *
 * The agent keeps no state of jobs.  It relays calls unchanged, with their tokens,
 * deadlines and cancellations, and returns the coordinator's replies.  The end of a
 * worker's connection ends its lane at once, and the end of the agent ends all lanes.  When
 * the connection to the coordinator ends, the agent closes those of all workers, which
 * reconnect as they do without an agent.  Only heartbeats are delayed a little, to be sent
 * together (beats.h). */
#ifndef COORDINATOR_AGENT_H
#define COORDINATOR_AGENT_H

#include "base/error.h"
#include "options.h"

/* Runs until a signal ends it.  If it cannot start, *err has one sentence. */
int agent_serve(const struct options *options, struct roar_error *err);

#endif

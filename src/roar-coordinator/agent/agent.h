/* agent.h - roar-coordinator --agent: one process a host, which speaks for its workers.
 *
 * Workers of the host connect to it as to the coordinator.  It has one connection to that,
 * with a lane (net/frames/frames.h) for each of theirs: so the coordinator has a connection for a
 * host instead of one for a worker, and what the workers of a host say or are told in one
 * moment is one packet.
 *
 * It decides nothing and knows nothing.  Calls go on as they came, with their tokens,
 * deadlines and cancellations, and are answered with the coordinator's words alone.  The end
 * of a worker's connection ends its lane at once; the end of the agent ends all of them; the
 * end of the coordinator's connection ends those of all workers, which come back as they do
 * without an agent.  Only heartbeats wait a little for each other (beats.h). */
#ifndef COORDINATOR_AGENT_H
#define COORDINATOR_AGENT_H

#include "base/error.h"
#include "options.h"

/* Until a signal ends it; one sentence in *err when it could not begin. */
int agent_serve(const struct options *options, struct roar_error *err);

#endif

/* frames_lanes.c - many connections on one socket.
 *
 * An agent speaks for the workers of its machine.  Each has a lane, which is a struct conn
 * without a socket: its calls, token and end are as those of any other, and
 * handlers see no difference.  What it is told goes out by its carrier, the agent's own
 * connection. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/frames/frames.h"
#include "net/rpc/rpc_internal.h"

enum { FIRST_LANES = 8 };

static struct conn *find(const struct conn *c, uint32_t number)
{
	return number <= c->frames.n_lanes ? c->frames.lanes[number - 1] : NULL;
}

/* Places for twice as many, until `number` has one. */
static int grow(struct conn *c, uint32_t number)
{
	uint32_t n = c->frames.n_lanes ? c->frames.n_lanes : FIRST_LANES;

	while (n < number)
		n *= 2;
	if (n == c->frames.n_lanes)
		return 0;

	struct conn **lanes = realloc(c->frames.lanes, n * sizeof(*lanes));

	if (!lanes)
		return -ENOMEM;
	memset(lanes + c->frames.n_lanes, 0,
	       (n - c->frames.n_lanes) * sizeof(*lanes));
	c->frames.lanes = lanes;
	c->frames.n_lanes = n;
	return 0;
}

struct conn *lane_current(struct conn *carrier)
{
	uint32_t number = carrier->frames.lane;

	assert(carrier->frames.lane <= carrier->frames.n_lanes);
	return number ? carrier->frames.lanes[number - 1] : carrier;
}

int lane_choose(struct conn *carrier, uint32_t number)
{
	int r = 0;

	assert(!carrier->carrier);
	if (number > FRAMES_MAX_LANES)
		return conn_protocol_error(carrier);
	if (number && !find(carrier, number)) {
		if (!conn_takes_lane(carrier))
			return conn_protocol_error(carrier);
		r = grow(carrier, number);
		if (r < 0)
			return r;

		struct conn *lane = conn_open_lane(carrier);

		if (!lane)
			return -ENOMEM;
		carrier->frames.lanes[number - 1] = lane;
	}
	carrier->frames.lane = number;
	return 0;
}

void lane_end(struct conn *carrier, uint32_t number)
{
	struct conn *lane = number ? find(carrier, number) : NULL;

	if (!lane)
		return;
	if (carrier->frames.lane == number)
		carrier->frames.lane = 0;
	carrier->frames.lanes[number - 1] = NULL;
	conn_close(lane);
}

void lanes_close(struct conn *carrier)
{
	for (uint32_t i = 1; i <= carrier->frames.n_lanes; i++)
		lane_end(carrier, i);
	free(carrier->frames.lanes);
	carrier->frames.lanes = NULL;
	carrier->frames.n_lanes = 0;
}

bool lanes_are_busy(const struct conn *carrier)
{
	bool busy = carrier->n_open > 0;

	for (uint32_t i = 1; i <= carrier->frames.n_lanes && !busy; i++) {
		const struct conn *lane = find(carrier, i);

		busy = lane && lane->n_open;
	}
	return busy;
}

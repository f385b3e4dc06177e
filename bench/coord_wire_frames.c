/* coord_wire_frames.c - a load on the fast path (lib/net/frames/frames.h), of workers or, with
 * several of them on a connection, of agents. */
#include <stdlib.h>
#include <string.h>

#include "coord_load.h"
#include "net/frames/frames.h"

static void frames_open(struct lane *lane)
{
	lane->held = malloc(LANE_HELD);
	if (!lane->held)
		die("no memory");
	load_put(lane->load, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
}

/* Whose frames follow, as agents say it. */
static void put_lane(struct load *load, uint32_t number)
{
	const struct frame f = { .method = FRAME_LANE, .call = number };
	uint8_t head[FRAME_HEADER_LEN];

	frame_pack(&f, head);
	load_put(load, head, sizeof(head));
}

static void frames_call(struct lane *lane, struct call *call,
			const struct method *method)
{
	struct frame f = { .len = call->len,
			   .method = method->number,
			   .call = (uint32_t)(call - lane->load->calls) };

	if (lane->load->ranks > 1)
		put_lane(lane->load, call->rank + 1);
	frame_pack(&f, call->request + CALL_PREFIX - FRAME_HEADER_LEN);
	load_put(lane->load, call->request + CALL_PREFIX - FRAME_HEADER_LEN,
		 FRAME_HEADER_LEN + call->len);
}

static void reply(struct lane *lane, const struct frame *f, const uint8_t *data)
{
	struct call *call = &lane->load->calls[f->call];

	if (f->method == FRAME_PING || f->method == FRAME_GOAWAY)
		return;
	if (f->call >= lane->load->n_calls || call->lane != lane)
		die("a reply to a call that was not made");
	call->status = f->number;
	call->reply_len = f->len;
	memcpy(call->reply, data, f->len < CALL_REPLY ? f->len : CALL_REPLY);
	load_end(call);
}

/* Whole frames at `data`; how many bytes they have. */
static size_t frames_at(struct lane *lane, const uint8_t *data, size_t len)
{
	size_t done = 0;
	struct frame f;

	while (len - done >= FRAME_HEADER_LEN) {
		frame_unpack(data + done, &f);
		if (len - done - FRAME_HEADER_LEN < f.len)
			break;
		reply(lane, &f, data + done + FRAME_HEADER_LEN);
		done += FRAME_HEADER_LEN + f.len;
	}
	return done;
}

static void frames_input(struct lane *lane, const uint8_t *data, size_t len)
{
	size_t done;

	/* The beginning that is held is made longer until it is whole, which
	 * is rare: replies are small. */
	while (lane->n_held && len) {
		lane->held[lane->n_held++] = *data++;
		len--;
		if (frames_at(lane, lane->held, lane->n_held))
			lane->n_held = 0;
		else if (lane->n_held == LANE_HELD)
			die("a reply has more than %d bytes", LANE_HELD);
	}
	done = frames_at(lane, data, len);
	if (len - done >= LANE_HELD)
		die("a reply has more than %d bytes", LANE_HELD);
	if (done < len) {
		memcpy(lane->held, data + done, len - done);
		lane->n_held = len - done;
	}
}

static void frames_drain(struct lane *lane)
{
	(void)lane; /* Calls are put out as they are made. */
}

static void frames_close(struct lane *lane)
{
	free(lane->held);
}

const struct wire wire_frames = {
	.open = frames_open,
	.call = frames_call,
	.input = frames_input,
	.drain = frames_drain,
	.close = frames_close,
};

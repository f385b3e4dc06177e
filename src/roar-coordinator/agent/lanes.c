/* lanes.c - workers' connections, and what is said for each.
 *
 * Frames of all lanes go out in one order.  FRAME_LANE stands before those of another lane
 * than the one that was spoken for last. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "base/macros.h"

/* ---- what is said ---- */

static void put(struct agent *a, uint32_t lane, const struct frame *f,
		const void *data)
{
	const struct frame change = { .method = FRAME_LANE, .call = lane };

	if (a->speaks != lane)
		uplink_send(a->uplink, &change, NULL);
	a->speaks = lane;
	uplink_send(a->uplink, f, data);
}

static void put_beat(void *ctx, uint32_t lane, const struct frame *f,
		     const void *data)
{
	put(ctx, lane, f, data);
}

static void send_beats(struct agent *a)
{
	loop_timer_clear(a->loop, &a->beats_timer);
	beats_leave(&a->beats, put_beat, a);
}

static void on_beats(struct loop_timer *t)
{
	send_beats(container_of(t, struct agent, beats_timer));
}

void lane_say(struct agent *a, struct lane *l, const struct frame *f,
	      const void *data)
{
	if (!uplink_is_up(a->uplink))
		return;
	send_beats(a);
	put(a, l->number, f, data);
}

void lane_beat(struct agent *a, struct lane *l, const struct frame *f,
	       const void *data)
{
	if (!uplink_is_up(a->uplink))
		return;
	a->beats_timer.due = on_beats;
	if (!beats_add(&a->beats, loop_now_ms(a->loop), l->number, f, data))
		lane_say(a, l, f, data);
	else if (loop_timer_set(a->loop, &a->beats_timer,
				beats_due_ms(&a->beats)) < 0)
		send_beats(a);
}

static bool is_said(const struct lane *l, const char *hello, size_t len)
{
	return len == l->hello_len && (!len || !memcmp(hello, l->hello, len));
}

void lane_hello(struct agent *a, struct lane *l, const char *hello, size_t len)
{
	static const char nobody[1] = ""; /* neither a token nor a job */
	const struct frame f = { .len = len ? (uint32_t)len : 1,
				 .method = FRAME_HELLO };
	char *copy;

	if (is_said(l, hello, len))
		return;
	lane_say(a, l, &f, len ? hello : nobody);
	copy = len ? malloc(len) : NULL;
	if (copy)
		memcpy(copy, hello, len);
	free(l->hello);
	l->hello = copy;
	/* Without memory for it, it is said again the next time. */
	l->hello_len = copy || !len ? len : SIZE_MAX;
}

/* ---- life ---- */

static uint32_t free_number(const struct agent *a)
{
	uint32_t i = 1;

	while (i <= FRAMES_MAX_LANES && a->by_number[i])
		i++;
	return i <= FRAMES_MAX_LANES ? i : 0;
}

static struct lane *lane_new(struct agent *a, uint64_t conn)
{
	uint32_t number = free_number(a);
	struct lane *l = number ? calloc(1, sizeof(*l)) : NULL;

	if (!l)
		return NULL;
	*l = (struct lane){ .conn = conn, .number = number };
	if (map_set(&a->lanes, &l->conn, sizeof(l->conn), l) < 0) {
		free(l);
		return NULL;
	}
	a->by_number[number] = l;
	return l;
}

struct lane *lane_get(struct agent *a, uint64_t conn)
{
	struct lane *l = map_get(&a->lanes, &conn, sizeof(conn));

	return l ? l : lane_new(a, conn);
}

static void lane_free(struct agent *a, struct lane *l)
{
	beats_set_interval(&a->beats, l->number, 0);
	a->by_number[l->number] = NULL;
	free(l->hello);
	free(l);
}

void lane_drop(struct agent *a, uint64_t conn)
{
	struct lane *l = map_remove(&a->lanes, &conn, sizeof(conn));

	if (!l)
		return;
	if (uplink_is_up(a->uplink)) {
		const struct frame end = { .method = FRAME_LANE_END,
					   .call = l->number };

		send_beats(a);
		uplink_send(a->uplink, &end, NULL);
		if (a->speaks == l->number)
			a->speaks = 0;
	}
	lane_free(a, l);
}

void lanes_release(struct agent *a)
{
	for (uint32_t i = 1; i <= FRAMES_MAX_LANES; i++) {
		if (a->by_number[i])
			lane_free(a, a->by_number[i]);
	}
	map_release(&a->lanes);
}

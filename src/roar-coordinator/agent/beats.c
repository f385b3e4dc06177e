/* beats.c - see beats.h */
#include "agent/beats.h"

#include <assert.h>
#include <string.h>

/* As it lies in `waiting`; its message follows. */
struct beat {
	uint32_t lane;
	struct frame frame;
};

static uint32_t lowest(const struct beats *b)
{
	for (uint32_t i = 1; b->n_workers && i <= FRAMES_MAX_LANES; i++) {
		if (b->wait_ms[i])
			return i;
	}
	return 0;
}

void beats_set_interval(struct beats *b, uint32_t lane, int64_t interval_ms)
{
	int64_t wait = interval_ms / BEATS_SHARE;
	bool was = b->wait_ms[lane];

	assert(lane >= 1 && lane <= FRAMES_MAX_LANES);
	if (wait > BEATS_MAX_MS)
		wait = BEATS_MAX_MS;
	b->wait_ms[lane] = wait > 0 ? (uint16_t)wait : 0;
	b->n_workers += (b->wait_ms[lane] ? 1u : 0u) - (was ? 1u : 0u);
	b->pacemaker = lowest(b);
}

int64_t beats_due_ms(const struct beats *b)
{
	return b->waiting.len ? b->due_ms : INT64_MAX;
}

/* Who gives it little time, or sends more of them meanwhile, is not kept waiting. */
static bool may_wait(const struct beats *b, uint32_t lane,
		     const struct frame *f)
{
	uint32_t wait = b->wait_ms[lane];

	return wait && !b->has_one[lane] && b->n_waiting + 1 < b->n_workers &&
	       (f->number == 0 || f->number > 4 * wait);
}

static bool keep(struct beats *b, uint32_t lane, const struct frame *f,
		 const void *data)
{
	const struct beat beat = { .lane = lane, .frame = *f };

	if (str_reserve(&b->waiting, sizeof(beat) + f->len) < 0)
		return false;
	str_add(&b->waiting, &beat, sizeof(beat));
	str_add(&b->waiting, data, f->len);
	return true;
}

/* Leaves with those that are here, if there are any. */
static bool count_alone(struct beats *b)
{
	b->n_beats++;
	b->n_packets += b->waiting.len == 0;
	return false;
}

static int64_t sooner(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

bool beats_add(struct beats *b, int64_t now_ms, uint32_t lane,
	       const struct frame *f, const void *data)
{
	int64_t due = beats_due_ms(b);

	assert(lane >= 1 && lane <= FRAMES_MAX_LANES);
	if (!may_wait(b, lane, f) || !keep(b, lane, f, data))
		return count_alone(b);
	b->has_one[lane] = true;
	b->n_waiting++;
	due = sooner(due, now_ms + b->wait_ms[lane]);
	if (lane == b->pacemaker)
		due = sooner(due, now_ms + BEATS_TOGETHER_MS);
	b->due_ms = due;
	return true;
}

void beats_leave(struct beats *b,
		 void (*each)(void *ctx, uint32_t lane, const struct frame *f,
			      const void *data),
		 void *ctx)
{
	struct str all = b->waiting;
	struct beat beat;

	if (!all.len)
		return;
	b->waiting = STR_INIT;
	for (size_t at = 0; at < all.len; at += sizeof(beat) + beat.frame.len) {
		memcpy(&beat, all.data + at, sizeof(beat));
		each(ctx, beat.lane, &beat.frame, all.data + at + sizeof(beat));
		b->n_beats++;
	}
	b->n_packets++;
	b->waiting = all; /* for its memory */
	beats_clear(b);
}

void beats_clear(struct beats *b)
{
	str_clear(&b->waiting);
	memset(b->has_one, 0, sizeof(b->has_one));
	b->n_waiting = 0;
}

void beats_release(struct beats *b)
{
	str_release(&b->waiting);
}

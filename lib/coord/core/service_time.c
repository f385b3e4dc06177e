/* service_time.c - the time by which keys with a TTL expire.
 *
 * It starts as the wall clock of the very first start and then follows the monotonic
 * clock, so setting the wall clock neither ends keys nor keeps them.  Records of keys with
 * a TTL carry it; while there are such keys and none of them is set, a Clock record does
 * every CLOCK_RECORD_MS.  After a restart or a change of leader, service time continues
 * from the latest time on record: it stands still while no coordinator runs, and a crash
 * sets it back by CLOCK_RECORD_MS at most.
 *
 * Logs written before service time existed have no time on record: the wall clock, by
 * which their keys were to expire, starts it. */
#include "coord/core/state.h"

#include <errno.h>

enum { CLOCK_RECORD_MS = 10000 };

static void ring(struct coord *c, struct alarm *a)
{
	Roar__Record__Clock m = ROAR__RECORD__CLOCK__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	if (c->service.count == 1) { /* no key has a TTL */
		timer_heap_set(&c->service, &a->timer, INT64_MAX);
		return;
	}
	m.time_ms = c->time_ms;
	record.what_case = ROAR__RECORD__RECORD__WHAT_CLOCK;
	record.clock = &m;
	if (change_make(c, &record) < 0)
		timer_heap_set(&c->service, &a->timer,
			       c->time_ms + RECORD_RETRY_MS);
}

/* The alarm is always set, so that noting a time cannot fail. */
int service_time_init(struct coord *c)
{
	int r = timer_heap_reserve(&c->service);

	if (r < 0)
		return r;
	c->clock.ring = ring;
	timer_heap_set(&c->service, &c->clock.timer, INT64_MAX);
	return 0;
}

void service_time_start(struct coord *c)
{
	int64_t wall_ms = c->now.wall_ms > 0 ? c->now.wall_ms : 1;

	c->time_ms = c->recorded_ms ? c->recorded_ms : wall_ms;
}

void service_time_note(struct coord *c, int64_t time_ms)
{
	if (time_ms > c->recorded_ms)
		c->recorded_ms = time_ms;
	timer_heap_set(&c->service, &c->clock.timer,
		       c->recorded_ms + CLOCK_RECORD_MS);
}

int change_clock(struct coord *c, const Record *record)
{
	const Roar__Record__Clock *m = record->clock;
	int r;

	if (m->time_ms <= 0 || m->time_ms > max_wall_ms)
		return -EBADMSG;
	r = record_append(c, record);
	if (r == 0)
		service_time_note(c, m->time_ms);
	return r;
}

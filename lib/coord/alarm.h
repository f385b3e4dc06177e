/* alarm.h - times at which something is to be looked at: a heap, the earliest on top.
 *
 * An alarm lives in what it is for.  Setting one that is set already never fails and
 * never allocates; room for new ones is made ahead with alarms_reserve(). */
#ifndef COORD_ALARM_H
#define COORD_ALARM_H

#include <stddef.h>
#include <stdint.h>

struct coord;

struct alarm {
	int64_t due_ms;
	uint32_t place; /* in the heap, from 1 on; 0: not set */
	void (*ring)(struct coord *c, struct alarm *a);
};

struct alarms {
	struct alarm **heap;
	size_t count, cap;
};

void alarms_release(struct alarms *all);
/* Room for one more than are set now.  0 or -ENOMEM. */
int alarms_reserve(struct alarms *all);
/* Sets it or moves it to another time. */
void alarm_set(struct alarms *all, struct alarm *a, int64_t due_ms);
void alarm_clear(struct alarms *all, struct alarm *a);
/* When the earliest is due; INT64_MAX when none is set. */
int64_t alarms_due_ms(const struct alarms *all);

#endif

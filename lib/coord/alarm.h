/* alarm.h - a timer of the coordinator's state. */
#ifndef COORD_ALARM_H
#define COORD_ALARM_H

#include "base/timer_heap.h"

struct coord;

struct alarm {
	struct timer timer;
	void (*ring)(struct coord *c, struct alarm *a);
};

#endif

/* tick_alarm.c - see tick_alarm.h */
#include "trace/tick_alarm.h"

#include <stddef.h>
#include <sys/time.h>

void alarm_every(unsigned ms, unsigned *now_ms)
{
	/* Periodic, because a signal that comes just before the sleep is lost. */
	struct timeval interval = { ms / 1000, ms % 1000 * 1000 };
	struct itimerval every = { interval, interval };

	if (*now_ms == ms)
		return;
	(void)setitimer(ITIMER_REAL, &every, NULL);
	*now_ms = ms;
}

/* tick_alarm.h - the timer that wakes a tracer from whatever it sleeps in. */
#ifndef ROAR_TRACE_TICK_ALARM_H
#define ROAR_TRACE_TICK_ALARM_H

/* SIGALRM comes every `ms` milliseconds from now on; 0: no more.  *now_ms is the
 * interval so far, which becomes the new one; the same again costs nothing. */
void alarm_every(unsigned ms, unsigned *now_ms);

#endif

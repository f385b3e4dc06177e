/* tick_alarm.h - the timer that interrupts a tracer in any blocking call. */
#ifndef ROAR_TRACE_TICK_ALARM_H
#define ROAR_TRACE_TICK_ALARM_H

/* Sends SIGALRM every `ms` milliseconds from now on; 0 stops the timer.  *now_ms holds
 * the current interval and is updated; setting the same interval again costs nothing. */
void alarm_every(unsigned ms, unsigned *now_ms);

#endif

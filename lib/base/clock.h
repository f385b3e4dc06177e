/* clock.h - time as nanoseconds in 64 bits. */
#ifndef ROAR_BASE_CLOCK_H
#define ROAR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

struct str;

int64_t clock_now_ns(void); /* since 1970, for the record */
int64_t clock_mono_ns(void); /* monotonic, for durations */
int64_t clock_boot_ns(void); /* the same, but continues during suspend */

/* The same as of the last kernel tick, up to 10 ms ago, in a fifth of the time.  The first
 * is the clock from which file systems take their timestamps. */
int64_t clock_now_tick_ns(void);
int64_t clock_mono_tick_ns(void);

/* The nearest representable time when 64 bits of nanoseconds are too few: a
 * file system may store any year. */
int64_t clock_timespec_ns(struct timespec t);

/* "2026-11-15 04:43:47" in local time. */
void clock_format(struct str *out, int64_t time_ns);

/* "2026-11-15T04:43:47.123456Z" for JSON. */
void clock_format_iso(struct str *out, int64_t time_ns);

/* "820 us", "4.2 ms", "3.1 s", "2m 05s", "3h 04m". */
void clock_format_duration(struct str *out, int64_t duration_ns);

#endif

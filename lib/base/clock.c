/* clock.c - see clock.h */
#include "base/clock.h"

#include "base/str.h"

static const int64_t SECOND_NS = 1000000000;

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return clock_timespec_ns(t);
}

int64_t clock_now_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

int64_t clock_now_tick_ns(void)
{
	return read_clock(CLOCK_REALTIME_COARSE);
}

int64_t clock_mono_tick_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

int64_t clock_timespec_ns(struct timespec t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t.tv_sec, SECOND_NS, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
		return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Splits a time before 1970 so that the fraction is never negative. */
static struct timespec split(int64_t time_ns)
{
	struct timespec t = { (time_t)(time_ns / SECOND_NS),
			      (long)(time_ns % SECOND_NS) };

	if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += SECOND_NS;
	}
	return t;
}

void clock_format(struct str *out, int64_t time_ns)
{
	struct timespec t = split(time_ns);
	struct tm tm = { 0 };
	char text[32];

	(void)localtime_r(&t.tv_sec, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	str_adds(out, text);
}

void clock_format_iso(struct str *out, int64_t time_ns)
{
	struct timespec t = split(time_ns);
	struct tm tm = { 0 };
	char text[32];

	(void)gmtime_r(&t.tv_sec, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	str_addf(out, "%s.%06ldZ", text, t.tv_nsec / 1000);
}

void clock_format_duration(struct str *out, int64_t duration_ns)
{
	double s = (double)duration_ns / 1e9;
	long long whole = (long long)(s + 0.5);

	if (s < 1e-3)
		str_addf(out, "%.0f us", s * 1e6);
	else if (s < 1)
		str_addf(out, "%.1f ms", s * 1e3);
	else if (s < 60)
		str_addf(out, "%.1f s", s);
	else if (s < 3600)
		str_addf(out, "%lldm %02llds", whole / 60, whole % 60);
	else
		str_addf(out, "%lldh %02lldm", whole / 3600, whole % 3600 / 60);
}

/* clock.c - see clock.h */
#include "base/clock.h"

#include "base/str.h"

int64_t clock_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return clock_timespec_ns(t);
}

int64_t clock_mono_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return clock_timespec_ns(t);
}

void clock_format(struct str *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm = { 0 };
	char text[32];

	(void)localtime_r(&seconds, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	str_adds(out, text);
}

void clock_format_iso(struct str *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm = { 0 };
	char text[32];

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	str_addf(out, "%s.%06lldZ", text,
		 (long long)(time_ns % 1000000000 / 1000));
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
		str_addf(out, "%lldh %02lldm", whole / 3600,
			 whole % 3600 / 60);
}

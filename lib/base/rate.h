/* rate.h - events per second, over the last ten full seconds. */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include <stdint.h>

enum {
	RATE_SECONDS = 10,
	RATE_SLOTS = 16, /* a power of two beyond that */
};

struct rate {
	int64_t newest; /* second of the last addition */
	uint32_t counts[RATE_SLOTS];
};

/* Seconds without anything are set to zero. */
static inline void rate_advance(struct rate *r, int64_t second)
{
	int64_t n = second - r->newest;

	for (int64_t i = 0; i < n && i < RATE_SLOTS; i++)
		r->counts[(second - i) & (RATE_SLOTS - 1)] = 0;
	if (n > 0)
		r->newest = second;
}

static inline void rate_add(struct rate *r, int64_t now_ms)
{
	rate_advance(r, now_ms / 1000);
	r->counts[r->newest & (RATE_SLOTS - 1)]++;
}

static inline double rate_per_s(struct rate *r, int64_t now_ms)
{
	uint64_t sum = 0;

	rate_advance(r, now_ms / 1000);
	for (int64_t i = 1; i <= RATE_SECONDS; i++)
		sum += r->counts[(r->newest - i) & (RATE_SLOTS - 1)];
	return (double)sum / RATE_SECONDS;
}

#endif

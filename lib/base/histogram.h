/* histogram.h - how long operations took.
 *
 * All histograms have the same bounds, from 10 us to 5 minutes, three per decade.  Adding
 * takes a few nanoseconds. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_N = 23 };

struct histogram {
	uint64_t counts[HISTOGRAM_N + 1]; /* the last: beyond all bounds */
	uint64_t n;
	uint64_t sum_us;
};

extern const uint64_t histogram_bounds_us[HISTOGRAM_N];

void histogram_add(struct histogram *h, int64_t us);

/* The quantile `q` (0 to 1) in us, interpolated within its bucket; 0 for an empty
 * histogram. */
double histogram_quantile(const struct histogram *h, double q);

#endif

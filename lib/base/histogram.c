/* histogram.c - see histogram.h */
#include "base/histogram.h"

#include <assert.h>

const uint64_t histogram_bounds_us[HISTOGRAM_N] = {
	10,	  25,	    50,	      100,	 250,	    500,
	1000,	  2500,	    5000,     10000,	 25000,	    50000,
	100000,	  250000,   500000,   1000000,	 2500000,   5000000,
	10000000, 30000000, 60000000, 120000000, 300000000,
};

void histogram_add(struct histogram *h, int64_t us)
{
	uint64_t value = us > 0 ? (uint64_t)us : 0;
	size_t i = 0;

	while (i < HISTOGRAM_N && value > histogram_bounds_us[i])
		i++;
	h->counts[i]++;
	h->n++;
	h->sum_us += value;
}

double histogram_quantile(const struct histogram *h, double q)
{
	double wanted = q * (double)h->n;
	double below = 0;

	assert(q >= 0 && q <= 1);
	if (h->n == 0)
		return 0;
	for (size_t i = 0; i < HISTOGRAM_N; i++) {
		double here = (double)h->counts[i];
		double low = i ? (double)histogram_bounds_us[i - 1] : 0;

		if (here > 0 && below + here >= wanted)
			return low + ((double)histogram_bounds_us[i] - low) *
					     (wanted - below) / here;
		below += here;
	}
	return (double)histogram_bounds_us[HISTOGRAM_N - 1];
}

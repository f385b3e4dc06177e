/* history.c - see history.h */
#include "api/history.h"

static struct histogram since(const struct histogram *now,
			      const struct histogram *before)
{
	struct histogram h = { .n = now->n - before->n,
			       .sum_us = now->sum_us - before->sum_us };

	for (unsigned i = 0; i <= HISTOGRAM_N; i++)
		h.counts[i] = now->counts[i] - before->counts[i];
	return h;
}

static double quantile(const struct histogram *h, double q)
{
	return h->n ? histogram_quantile(h, q) : -1;
}

static void fill(struct history_row *row, const struct history_totals *now,
		 const struct history_totals *before)
{
	struct histogram heartbeat = since(&now->heartbeat, &before->heartbeat);
	struct histogram barrier = since(&now->barrier, &before->barrier);
	struct histogram skew = since(&now->skew, &before->skew);
	struct histogram sync = since(&now->sync, &before->sync);

	row->requests = now->requests - before->requests;
	row->records = now->records - before->records;
	row->barriers = barrier.n;
	row->heartbeat_p50_us = quantile(&heartbeat, 0.5);
	row->heartbeat_p99_us = quantile(&heartbeat, 0.99);
	row->barrier_p50_us = quantile(&barrier, 0.5);
	row->barrier_p99_us = quantile(&barrier, 0.99);
	row->skew_p99_us = quantile(&skew, 0.99);
	row->sync_p50_us = quantile(&sync, 0.5);
	row->sync_p99_us = quantile(&sync, 0.99);
	row->checkpoint_bytes = (double)(now->checkpoint_bytes -
					 before->checkpoint_bytes);
}

void history_add(struct history *h, int64_t mono_ms, int64_t wall_ms,
		 const struct history_totals *now)
{
	if (h->before_ms && mono_ms > h->before_ms) {
		struct history_row *row = &h->rows[++h->last % HISTORY_MAX];

		*row = (struct history_row){
			.id = h->last,
			.wall_ms = wall_ms,
			.seconds = (double)(mono_ms - h->before_ms) / 1000,
		};
		fill(row, now, &h->before);
	}
	h->before = *now;
	h->before_ms = mono_ms;
}

const struct history_row *history_after(const struct history *h, uint64_t id)
{
	uint64_t first = h->last > HISTORY_MAX ? h->last - HISTORY_MAX + 1 : 1;
	uint64_t next = id < first ? first : id + 1;

	return next <= h->last ? &h->rows[next % HISTORY_MAX] : NULL;
}

double history_checkpoint_rate(const struct history *h, unsigned seconds)
{
	uint64_t from = h->last > seconds ? h->last - seconds : 0;
	double bytes = 0, time = 0;

	for (const struct history_row *row = history_after(h, from); row;
	     row = history_after(h, row->id)) {
		bytes += row->checkpoint_bytes;
		time += row->seconds;
	}
	return bytes > 0 ? bytes / time : -1;
}

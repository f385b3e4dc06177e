/* client_leases.c - what a worker has consumed, and pieces of an epoch that it takes. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "coord/client/client.h"
#include "roar_shards.pb-c.h"

static char *text_of(const char *s)
{
	return (char *)(s ? s : "");
}

/* ---- reports ---- */

struct ranges {
	Roar__PositionRange *items;
	Roar__PositionRange **ptrs;
};

static void ranges_release(struct ranges *r)
{
	free(r->items);
	free(r->ptrs);
}

static int ranges_of(const struct roar_coord_positions *from, size_t n,
		     struct ranges *ret)
{
	ret->items = calloc(n + 1, sizeof(*ret->items));
	ret->ptrs = calloc(n + 1, sizeof(*ret->ptrs));
	if (!ret->items || !ret->ptrs)
		return sentence_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		roar__position_range__init(&ret->items[i]);
		ret->items[i].first = from[i].first;
		ret->items[i].end = from[i].end;
		ret->ptrs[i] = &ret->items[i];
	}
	return 0;
}

API int roar_coord_report_consumed(struct roar_coord *c, const char *dataset_id,
				   int64_t epoch,
				   const struct roar_coord_positions *positions,
				   size_t n, int64_t *ret_new)
{
	Roar__ConsumedReport m = ROAR__CONSUMED_REPORT__INIT;
	CLEANUP(ranges_release) struct ranges ranges = { 0 };
	Roar__ConsumedReply *reply;
	int r = ranges_of(positions, n, &ranges);

	if (r < 0)
		return r;
	m.job_id = text_of(c->job);
	m.worker_id = text_of(c->worker_id);
	m.session = client_session(c);
	m.dataset_id = text_of(dataset_id);
	m.epoch = epoch;
	m.ranges = ranges.ptrs;
	m.n_ranges = n;
	r = client_call_run(c, METHOD_REPORT_CONSUMED, &m.base, CLIENT_CALL_MS,
			    &roar__consumed_reply__descriptor, &reply);
	if (r < 0)
		return r;
	if (ret_new)
		*ret_new = reply->n_new;
	roar__consumed_reply__free_unpacked(reply, NULL);
	return 0;
}

/* ---- leases ---- */

/* A request that is sent again on another connection has the same number, and takes no
 * second lease. */
static uint64_t next_take(struct roar_coord *c)
{
	uint64_t n;

	if (client_enter(c) < 0)
		return 0;
	n = ++c->n_takes;
	client_leave(c);
	return n;
}

API int roar_coord_take_lease(struct roar_coord *c,
			      const struct roar_coord_lending *from,
			      struct roar_coord_lease *ret)
{
	Roar__TakeLeaseRequest m = ROAR__TAKE_LEASE_REQUEST__INIT;
	Roar__TakeLeaseReply *reply;
	int r;

	m.job_id = text_of(c->job);
	m.worker_id = text_of(c->worker_id);
	m.session = client_session(c);
	m.dataset_id = text_of(from->dataset_id);
	m.epoch = from->epoch;
	m.mode = from->exactly_once ? ROAR__LEASE_MODE__EXACTLY_ONCE :
				      ROAR__LEASE_MODE__AT_LEAST_ONCE;
	m.chunk = from->chunk;
	m.timeout_ms = from->timeout_ms;
	m.request = next_take(c);
	r = client_call_run(c, METHOD_TAKE_LEASE, &m.base, CLIENT_CALL_MS,
			    &roar__take_lease_reply__descriptor, &reply);
	if (r < 0)
		return r;
	*ret = (struct roar_coord_lease){
		.id = reply->lease_id,
		.timeout_ms = reply->timeout_ms,
		.done = reply->done,
		.retry_ms = reply->retry_ms,
	};
	if (reply->range)
		ret->positions = (struct roar_coord_positions){
			.first = reply->range->first,
			.end = reply->range->end
		};
	roar__take_lease_reply__free_unpacked(reply, NULL);
	return 0;
}

API int roar_coord_use_lease(struct roar_coord *c,
			     const struct roar_coord_lending *from,
			     uint64_t lease_id, int64_t consumed_to,
			     int give_back)
{
	Roar__UseLeaseRequest m = ROAR__USE_LEASE_REQUEST__INIT;
	Roar__UseLeaseReply *reply;
	int r;

	m.job_id = text_of(c->job);
	m.worker_id = text_of(c->worker_id);
	m.session = client_session(c);
	m.dataset_id = text_of(from->dataset_id);
	m.epoch = from->epoch;
	m.lease_id = lease_id;
	m.consumed_to = consumed_to;
	m.give_back = give_back != 0;
	r = client_call_run(c, METHOD_USE_LEASE, &m.base, CLIENT_CALL_MS,
			    &roar__use_lease_reply__descriptor, &reply);
	if (r == 0)
		roar__use_lease_reply__free_unpacked(reply, NULL);
	return r;
}

/* client_shards.c - datasets, and the shards that this worker has: pages put together. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "coord/client/client.h"
#include "coordinator.pb-c.h"
#include "roar_shards.pb-c.h"

enum { TRIES = 10 }; /* of a list that changes while it is read */

static char *text_of(const char *s)
{
	return (char *)(s ? s : "");
}

/* What the message points to stays the caller's. */
static void balance(const struct roar_coord_dataset *d,
		    Coordinator__DatasetInfo *m)
{
	m->balance = (Coordinator__Balance)d->balance;
	m->shard_bytes = (uint64_t *)d->shard_bytes;
	m->n_shard_bytes = d->shard_bytes ? d->n_shard_bytes : 0;
	m->shard_homes = (uint32_t *)d->shard_homes;
	m->n_shard_homes = d->shard_homes ? d->n_shard_homes : 0;
	m->homes = (char **)d->homes;
	while (d->homes && d->homes[m->n_homes])
		m->n_homes++;
}

API int roar_coord_register_dataset(struct roar_coord *c,
				    const struct roar_coord_dataset *d,
				    int64_t *ret_shards)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	Coordinator__DatasetAck *reply;
	int r;

	m.job_id = text_of(c->job);
	m.dataset_id = text_of(d->id);
	m.path = text_of(d->path);
	m.format = text_of(d->format);
	m.total_samples = d->total_samples;
	m.shard_size = d->shard_size;
	m.shuffle = d->shuffle != 0;
	m.seed = d->seed;
	balance(d, &m);
	r = client_call_run(c, METHOD_REGISTER_DATASET, &m.base, CLIENT_CALL_MS,
			    &coordinator__dataset_ack__descriptor, &reply);
	if (r < 0)
		return r;
	if (ret_shards)
		*ret_shards = reply->total_shards;
	coordinator__dataset_ack__free_unpacked(reply, NULL);
	return 0;
}

API void roar_coord_shards_release(struct roar_coord_shards *s)
{
	free(s->ranges);
	*s = (struct roar_coord_shards){ 0 };
}

static int add_ranges(struct roar_coord_shards *s, size_t *cap,
		      const Roar__ListShardsReply *page)
{
	if (vec_reserve(&s->ranges, cap, s->n_ranges + page->n_ranges + 1,
			sizeof(*s->ranges)) < 0)
		return sentence_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < page->n_ranges; i++)
		s->ranges[s->n_ranges++] = (struct roar_coord_shard_range){
			.first = page->ranges[i]->first,
			.count = page->ranges[i]->count,
		};
	s->n_shards = page->n_shards;
	s->total_shards = page->total_shards;
	s->shard_size = page->shard_size;
	s->total_samples = page->total_samples;
	s->epoch = page->epoch;
	s->version = page->version;
	s->hash = page->hash;
	return 0;
}

static int list(struct roar_coord *c, const char *dataset_id,
		struct roar_coord_shards *s)
{
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;
	size_t cap = 0;
	int r;

	m.job_id = text_of(c->job);
	m.worker_id = text_of(c->worker_id);
	m.session = client_session(c);
	m.dataset_id = text_of(dataset_id);
	do {
		Roar__ListShardsReply *page;

		r = client_call_run(c, METHOD_LIST_SHARDS, &m.base,
				    CLIENT_CALL_MS,
				    &roar__list_shards_reply__descriptor,
				    &page);
		if (r < 0)
			return r;
		r = add_ranges(s, &cap, page);
		m.after = page->next;
		m.version = page->version;
		roar__list_shards_reply__free_unpacked(page, NULL);
	} while (r == 0 && m.after);
	return r;
}

API int roar_coord_shards(struct roar_coord *c, const char *dataset_id,
			  struct roar_coord_shards *ret)
{
	CLEANUP(roar_coord_shards_release) struct roar_coord_shards s = { 0 };
	int r = -ESTALE;

	/* A table that changes between two pages is listed from the start. */
	for (int i = 0; i < TRIES && r == -ESTALE; i++) {
		roar_coord_shards_release(&s);
		r = list(c, dataset_id, &s);
	}
	if (r < 0)
		return r;
	*ret = s;
	s.ranges = NULL;
	return 0;
}

API int roar_coord_advance_epoch(struct roar_coord *c, const char *dataset_id,
				 int64_t epoch, int abandon)
{
	Roar__AdvanceEpochRequest m = ROAR__ADVANCE_EPOCH_REQUEST__INIT;
	Roar__AdvanceEpochReply *reply;
	int r;

	m.job_id = text_of(c->job);
	m.worker_id = text_of(c->worker_id);
	m.session = client_session(c);
	m.dataset_id = text_of(dataset_id);
	m.epoch = epoch;
	m.abandon = abandon != 0;
	r = client_call_run(c, METHOD_ADVANCE_EPOCH, &m.base, CLIENT_CALL_MS,
			    &roar__advance_epoch_reply__descriptor, &reply);
	if (r == 0)
		roar__advance_epoch_reply__free_unpacked(reply, NULL);
	return r;
}

/* state_snapshot.c - the whole slow state as records that lead to it.
 *
 * In the order in which they can be applied: service time, then for each job its settings,
 * its places by rank, who of them is dead or draining, the commands that wait, the releases
 * from the longest ago, keys and what was done to them, datasets with the deals of their
 * tables, checkpoints.  Two states are the same when these are the same. */
#include "coord/core/state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "coord/data/data.h"
#include "coord/keys/key.h"
#include "coord/meetings/meetings.h"

struct walk {
	int (*each)(void *data, const Record *record);
	void *data;
};

#define TELL(walk, field, CASE, message)                               \
	({                                                             \
		Record record_ = ROAR__RECORD__RECORD__INIT;           \
		record_.what_case = ROAR__RECORD__RECORD__WHAT_##CASE; \
		record_.field = (message);                             \
		(walk)->each((walk)->data, &record_);                  \
	})

static int tell_job(const struct walk *walk, const struct job *job)
{
	Roar__Record__Job m = ROAR__RECORD__JOB__INIT;
	Roar__JobSettings settings;

	settings_view(job, &settings);
	m.job_id = job->id;
	m.settings = &settings;
	m.world_epoch = job->epoch;
	m.last_version = job->last_version;
	m.joined_epoch = job->joined_epoch;
	return TELL(walk, job, JOB, &m);
}

static int tell_join(const struct walk *walk, const struct worker *w)
{
	Roar__Record__Join m = ROAR__RECORD__JOIN__INIT;

	m.job_id = w->job->id;
	m.info = w->info;
	m.rank = w->rank;
	m.session = w->session;
	m.incarnation = w->incarnation;
	m.world_epoch = w->born;
	m.registered_ms = w->registered_ms;
	m.slot = w->slot + 1;
	return TELL(walk, join, JOIN, &m);
}

static int tell_death(const struct walk *walk, const struct worker *w)
{
	Roar__Record__Death m = ROAR__RECORD__DEATH__INIT;

	if (!w->dead)
		return 0;
	m.job_id = w->job->id;
	m.worker_id = w->info->worker_id;
	m.world_epoch = w->job->epoch;
	m.died_ms = w->died_ms;
	m.reason = w->death;
	return TELL(walk, death, DEATH, &m);
}

static int tell_drain(const struct walk *walk, const struct worker *w)
{
	Roar__Record__Drain m = ROAR__RECORD__DRAIN__INIT;

	if (!w->draining)
		return 0;
	m.job_id = w->job->id;
	m.worker_ids = &w->info->worker_id;
	m.n_worker_ids = 1;
	return TELL(walk, drain, DRAIN, &m);
}

static int tell_commands(const struct walk *walk, const struct worker *w)
{
	Roar__Record__Command m = ROAR__RECORD__COMMAND__INIT;
	int r = 0;

	m.job_id = w->job->id;
	m.worker_ids = &w->info->worker_id;
	m.n_worker_ids = 1;
	for (size_t i = 0; i < w->n_commands && r >= 0; i++) {
		m.command = w->commands[i];
		r = TELL(walk, command, COMMAND, &m);
	}
	return r;
}

static int tell_worker(const struct walk *walk, const struct worker *w)
{
	int r = tell_join(walk, w);

	if (r >= 0)
		r = tell_death(walk, w);
	if (r >= 0)
		r = tell_drain(walk, w);
	if (r >= 0)
		r = tell_commands(walk, w);
	return r;
}

/* ---- releases ---- */

static void describe(const struct attendee *a, Roar__Record__Arrival *ret)
{
	roar__record__arrival__init(ret);
	ret->worker_id = (char *)a->id;
	ret->rank = a->rank;
	ret->late_ms = a->late_ms;
	ret->value.data = (uint8_t *)a->value;
	ret->value.len = a->value_len;
	ret->in_favour = a->in_favour;
	ret->unnumbered = !a->numbered;
}

static int tell_release(const struct walk *walk, const struct meeting *meeting)
{
	const struct release *r = meeting->last;
	Roar__Record__Release m = ROAR__RECORD__RELEASE__INIT;
	CLEANUP(freep)
	Roar__Record__Arrival *arrivals = calloc(r->n, sizeof(*arrivals));
	CLEANUP(freep)
	Roar__Record__Arrival **ptrs = calloc(r->n, sizeof(*ptrs));

	if (!arrivals || !ptrs)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		describe(&r->attendees[i], &arrivals[i]);
		ptrs[i] = &arrivals[i];
	}
	m.job_id = meeting->job->id;
	m.meeting_id = (char *)meeting->id;
	m.generation = r->generation;
	m.kind = r->kind;
	m.released_ms = r->released_ms;
	m.world_epoch = r->epoch;
	m.arrivals = ptrs;
	m.n_arrivals = r->n;
	m.missing = (char **)r->missing;
	m.n_missing = r->n_missing;
	return TELL(walk, release, RELEASE, &m);
}

static int tell_releases(const struct walk *walk, const struct job *job)
{
	LIST_EACH(it, after, &job->releases) {
		int r = tell_release(walk, container_of(it, struct meeting,
							in_releases));

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- keys, datasets, checkpoints ---- */

static int tell_keys(const struct walk *walk, const struct job *job)
{
	int r = 0;

	for (size_t i = 0; i < job->n_keys && r >= 0; i++) {
		const struct key *key = job->keys[i];
		Roar__Record__Key m = ROAR__RECORD__KEY__INIT;

		m.job_id = job->id;
		m.key = (char *)key->name;
		m.value.data = key->value;
		m.value.len = key->len;
		m.version = key->version;
		m.expires_ms = key->expires_ms;
		r = TELL(walk, key, KEY, &m);
	}
	return r;
}

static int tell_key_past(const struct walk *walk, const struct job *job)
{
	const struct key_requests *past = &job->key_requests;
	uint64_t requests[KEY_REQUESTS_MAX], versions[KEY_REQUESTS_MAX];
	Roar__Record__KeyPast m = ROAR__RECORD__KEY_PAST__INIT;

	if (!past->n)
		return 0;
	for (size_t i = 0; i < past->n; i++) {
		requests[i] = key_requests_at(past, i)->request;
		versions[i] = key_requests_at(past, i)->version;
	}
	m.job_id = job->id;
	m.requests = requests;
	m.n_requests = past->n;
	m.versions = versions;
	m.n_versions = past->n;
	return TELL(walk, key_past, KEY_PAST, &m);
}

/* Who is in the table and has no place any more; returns how many.  `ret` may be NULL. */
static size_t find_left(const struct job *job, const struct dataset *d,
			Roar__Record__ShardPlace *ret)
{
	size_t n = 0;

	for (uint32_t slot = 0; slot < shard_table_n_slots(d->table); slot++) {
		if (!shard_table_was_here(d->table, slot) ||
		    (slot < job->n_slots && job->slots[slot]))
			continue;
		if (ret) {
			roar__record__shard_place__init(&ret[n]);
			ret[n].slot = slot;
			ret[n].key = shard_table_key(d->table, slot);
		}
		n++;
	}
	return n;
}

static int tell_table(const struct walk *walk, const struct job *job,
		      const struct dataset *d)
{
	Roar__Record__ShardTable m = ROAR__RECORD__SHARD_TABLE__INIT;
	size_t n_left = find_left(job, d, NULL);
	CLEANUP(freep)
	Roar__Record__ShardPlace *left = calloc(n_left + 1, sizeof(*left));
	CLEANUP(freep)
	Roar__Record__ShardPlace **ptrs = calloc(n_left + 1, sizeof(*ptrs));

	if (!left || !ptrs)
		return -ENOMEM;
	if (!shard_table_version(d->table))
		return 0;
	(void)find_left(job, d, left);
	for (size_t i = 0; i < n_left; i++)
		ptrs[i] = &left[i];
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.version = shard_table_version(d->table);
	m.hash = shard_table_hash(d->table);
	m.n_workers = shard_table_n_dealt(d->table);
	m.deals.data = (uint8_t *)d->history.deals.data;
	m.deals.len = d->history.deals.len;
	m.left = ptrs;
	m.n_left = n_left;
	m.moved = d->deal.moved;
	m.minimum = d->deal.minimum;
	m.moved_bytes = d->deal.moved_bytes;
	m.minimum_bytes = d->deal.minimum_bytes;
	m.moved_ever = d->moved_ever;
	return TELL(walk, shard_table, SHARD_TABLE, &m);
}

static int tell_epoch(const struct walk *walk, const struct job *job,
		      const struct dataset *d)
{
	Roar__Record__Epoch m = ROAR__RECORD__EPOCH__INIT;

	if (!d->epoch)
		return 0;
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.epoch = d->epoch;
	return TELL(walk, epoch, EPOCH, &m);
}

static int tell_consumed(const struct walk *walk, const struct job *job,
			 const struct dataset *d)
{
	CLEANUP(str_release) struct str positions = STR_INIT;
	Roar__Record__Consumed m = ROAR__RECORD__CONSUMED__INIT;

	if (d->lending)
		return lending_snapshot(job, d, walk->each, walk->data);
	if (!d->consumed.n)
		return 0;
	interval_set_encode(&d->consumed, &positions);
	if (str_error(&positions) < 0)
		return -ENOMEM;
	m.job_id = job->id;
	m.dataset_id = d->info->dataset_id;
	m.positions.data = (uint8_t *)positions.data;
	m.positions.len = positions.len;
	return TELL(walk, consumed, CONSUMED, &m);
}

static int tell_datasets(const struct walk *walk, const struct job *job)
{
	int r = 0;

	for (size_t i = 0; i < job->n_datasets && r >= 0; i++) {
		Roar__Record__Dataset m = ROAR__RECORD__DATASET__INIT;

		m.job_id = job->id;
		m.info = job->datasets[i]->info;
		m.registered_ms = job->datasets[i]->registered_ms;
		r = TELL(walk, dataset, DATASET, &m);
		if (r >= 0)
			r = tell_table(walk, job, job->datasets[i]);
		if (r >= 0)
			r = tell_epoch(walk, job, job->datasets[i]);
		if (r >= 0)
			r = last_epoch_leases_snapshot(job, job->datasets[i],
						       walk->each, walk->data);
		if (r >= 0)
			r = tell_consumed(walk, job, job->datasets[i]);
	}
	return r;
}

static int tell_step(const struct walk *walk, const struct job *job,
		     const struct step *step)
{
	int r = 0;

	for (size_t i = 0; i < step->n_parts && r >= 0; i++) {
		Roar__Record__Checkpoint m = ROAR__RECORD__CHECKPOINT__INIT;

		m.job_id = job->id;
		m.info = step->parts[i].info;
		m.expected = step->expected;
		m.joined_epoch = step->joined_epoch;
		if (step->lost)
			m.lost_save = step->lost;
		if (step->save) {
			m.part.data = step->parts[i].digest;
			m.part.len = SAVE_DIGEST;
			m.rank = step->parts[i].rank;
			m.world_epoch = step->world_epoch;
		}
		r = TELL(walk, checkpoint, CHECKPOINT, &m);
	}
	if (r >= 0 && step->end) {
		Roar__Record__SaveEnd m = *step->end;

		if (step->lost)
			m.lost_save = step->lost;
		r = TELL(walk, save_end, SAVE_END, &m);
	}
	return r;
}

static int tell_start(const struct walk *walk, const struct job *job)
{
	Roar__Record__World m = ROAR__RECORD__WORLD__INIT;

	if (job_n_alive(job) >= (size_t)job->settings.start_workers)
		return 0;
	m.job_id = job->id;
	m.world_epoch = job->epoch;
	m.started_epoch = job->started_epoch;
	return TELL(walk, world, WORLD, &m);
}

static int tell_all(const struct walk *walk, const struct job *job)
{
	int r = tell_job(walk, job);

	for (size_t i = 0; i < job->n_workers && r >= 0; i++)
		r = tell_worker(walk, job->by_rank[i]);
	if (r >= 0 && job->n_workers)
		r = tell_start(walk, job);
	if (r >= 0)
		r = tell_releases(walk, job);
	if (r >= 0)
		r = tell_keys(walk, job);
	if (r >= 0)
		r = tell_key_past(walk, job);
	if (r >= 0)
		r = tell_datasets(walk, job);
	for (size_t i = 0; i < job->n_steps && r >= 0; i++)
		r = tell_step(walk, job, job->steps[i]);
	return r;
}

static int tell_clock(const struct walk *walk, const struct coord *c)
{
	Roar__Record__Clock m = ROAR__RECORD__CLOCK__INIT;

	if (!c->recorded_ms)
		return 0;
	m.time_ms = c->recorded_ms;
	return TELL(walk, clock, CLOCK, &m);
}

int coord_snapshot(const struct coord *c,
		   int (*each)(void *data, const Roar__Record__Record *record),
		   void *data)
{
	struct walk walk = { each, data };
	int r = tell_clock(&walk, c);

	LIST_EACH(it, after, &c->job_list) {
		if (r < 0)
			return r;
		r = tell_all(&walk, container_of(it, struct job, in_jobs));
	}
	return r;
}

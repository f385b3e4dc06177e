/* request.c - the small structs of the simulator as messages, and back */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash/digest/crc64nvme.h"
#include "sim.h"

void worker_name(char *to, uint32_t who)
{
	(void)snprintf(to, TEXT, "w%u", who);
}

void job_name(char *to, uint32_t job)
{
	(void)snprintf(to, TEXT, "j%u", job);
}

void meeting_name(char *to, uint32_t name, uint32_t group)
{
	if (group)
		(void)snprintf(to, TEXT, "g%u", group);
	else
		(void)snprintf(to, TEXT, "m%u", name);
}

void key_name(char *to, uint32_t name)
{
	(void)snprintf(to, TEXT, "k%u", name);
}

/* ---- requests ---- */

struct names {
	char job[TEXT], worker[TEXT], other[TEXT];
	char ids[MAX_GROUP][8];
	char *group[MAX_GROUP];
};

static void give(struct sim *s, const struct ask *ask, const void *message)
{
	struct coord_caller who = { .conn = ask->conn, .admin = !ask->conn };
	struct coord_now now = { s->now, s->wall };

	coord_request(s->server.c, now, &who,
		      coord_method_by_number(ask->method), ask->call,
		      ask->deadline, message);
}

static void give_info(struct sim *s, const struct ask *ask, struct names *n)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;

	m.worker_id = n->worker;
	m.hostname = (char *)"host";
	m.job_id = n->job;
	m.session = ask->session;
	give(s, ask, &m);
}

static void give_heartbeat(struct sim *s, const struct ask *ask,
			   struct names *n)
{
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;

	m.worker_id = n->worker;
	m.job_id = n->job;
	m.session = ask->session;
	give(s, ask, &m);
}

static void give_watch(struct sim *s, const struct ask *ask, struct names *n)
{
	Roar__WatchRequest m = ROAR__WATCH_REQUEST__INIT;

	m.worker_id = n->worker;
	m.job_id = n->job;
	m.session = ask->session;
	give(s, ask, &m);
}

static void give_checkpoint(struct sim *s, const struct ask *ask,
			    struct names *n)
{
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;

	m.worker_id = n->worker;
	m.job_id = n->job;
	m.checkpoint_id = n->worker;
	m.step = (int64_t)ask->generation;
	give(s, ask, &m);
}

static void give_commit(struct sim *s, const struct ask *ask, struct names *n)
{
	Coordinator__CheckpointInfo info = COORDINATOR__CHECKPOINT_INFO__INIT;
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;
	uint8_t digest[32] = { 0 };
	ProtobufCBinaryData bytes = { sizeof(digest), digest };

	(void)snprintf(n->other, TEXT, "s%u", ask->name);
	memcpy(digest, ask->value, strnlen(ask->value, sizeof(digest)));
	info.worker_id = n->worker;
	info.job_id = n->job;
	info.checkpoint_id = n->other;
	info.step = (int64_t)ask->generation;
	m.info = &info;
	m.session = ask->session;
	m.world_epoch = ask->version;
	m.fencing_token = ask->request;
	if (ask->kind == ASK_PART)
		m.part = bytes;
	else if (ask->kind == ASK_MANIFEST)
		m.manifest = bytes;
	else
		m.failure = (char *)"it could not";
	give(s, ask, &m);
}

/* Of all ways but the last everybody has as many shards, or one more, since workers and
 * shards are all alike. */
Coordinator__Balance balance_of(uint32_t job)
{
	static const Coordinator__Balance all[] = {
		COORDINATOR__BALANCE__BALANCE_COUNT,
		COORDINATOR__BALANCE__BALANCE_LOCALITY,
		COORDINATOR__BALANCE__BALANCE_BYTES,
		COORDINATOR__BALANCE__BALANCE_RENDEZVOUS,
	};

	return all[job % (sizeof(all) / sizeof(all[0]))];
}

static void give_dataset(struct sim *s, const struct ask *ask, struct names *n)
{
	static uint64_t bytes[] = { 1 };
	static uint32_t home[] = { 0 };
	static char *homes[] = { "here" };
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.job_id = n->job;
	m.dataset_id = (char *)"d";
	m.total_samples = N_SHARDS;
	m.shard_size = 1;
	m.balance = balance_of(ask->job);
	if (m.balance == COORDINATOR__BALANCE__BALANCE_BYTES) {
		m.shard_bytes = bytes;
		m.n_shard_bytes = 1;
	}
	if (m.balance == COORDINATOR__BALANCE__BALANCE_LOCALITY) {
		m.homes = homes;
		m.shard_homes = home;
		m.n_homes = m.n_shard_homes = 1;
	}
	give(s, ask, &m);
}

static void give_list(struct sim *s, const struct ask *ask, struct names *n)
{
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;

	m.job_id = n->job;
	m.worker_id = n->worker;
	m.session = ask->session;
	m.dataset_id = (char *)"d";
	give(s, ask, &m);
}

int64_t lease_timeout(const struct sim *s, uint32_t job)
{
	return 4 * s->plan->interval[job];
}

static void give_take(struct sim *s, const struct ask *ask, struct names *n)
{
	Roar__TakeLeaseRequest m = ROAR__TAKE_LEASE_REQUEST__INIT;

	m.job_id = n->job;
	m.worker_id = n->worker;
	m.session = ask->session;
	m.dataset_id = (char *)"d";
	m.mode = s->plan->at_least[ask->job] ? ROAR__LEASE_MODE__AT_LEAST_ONCE :
					       ROAR__LEASE_MODE__EXACTLY_ONCE;
	m.chunk = LEASE_CHUNK;
	m.timeout_ms = lease_timeout(s, ask->job);
	m.request = ask->request;
	give(s, ask, &m);
}

static void give_use(struct sim *s, const struct ask *ask, struct names *n)
{
	Roar__UseLeaseRequest m = ROAR__USE_LEASE_REQUEST__INIT;

	m.job_id = n->job;
	m.worker_id = n->worker;
	m.session = ask->session;
	m.dataset_id = (char *)"d";
	m.lease_id = ask->version;
	m.consumed_to = ask->shards ? 64 - __builtin_clzll(ask->shards) : 0;
	m.give_back = ask->give_back;
	give(s, ask, &m);
}

static void give_barrier(struct sim *s, const struct ask *ask, struct names *n)
{
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;

	meeting_name(n->other, ask->name, 0);
	m.worker_id = n->worker;
	m.barrier_id = n->other;
	m.job_id = n->job;
	if (ask->generation > 1) /* step 0 would be none given */
		m.step = (int64_t)ask->generation - 1;
	else
		m.generation = ask->generation;
	m.session = ask->session;
	give(s, ask, &m);
}

static size_t fill_group(struct sim *s, const struct ask *ask, struct names *n)
{
	uint64_t bits = ask->group ? plan_group(s->plan, ask->job, ask->group) :
				     0;
	size_t count = 0;

	for (uint32_t i = 0; i < MAX_GROUP; i++)
		if (bits >> i & 1) {
			(void)snprintf(n->ids[count], 8, "w%u", i);
			n->group[count] = n->ids[count];
			count++;
		}
	return count;
}

static void give_meet(struct sim *s, const struct ask *ask, struct names *n)
{
	Roar__MeetRequest m = ROAR__MEET_REQUEST__INIT;

	meeting_name(n->other, ask->name, ask->group);
	m.worker_id = n->worker;
	m.meeting_id = n->other;
	m.job_id = n->job;
	m.generation = ask->generation;
	m.kind = (Roar__MeetKind)ask->kind;
	m.on_death = (Roar__OnDeath)ask->policy;
	m.n_group = fill_group(s, ask, n);
	m.group = n->group;
	m.value.data = (uint8_t *)ask->value;
	m.value.len = strlen(ask->value);
	m.in_favour = ask->in_favour;
	m.aside = ask->aside;
	m.session = ask->session;
	give(s, ask, &m);
}

static void give_key(struct sim *s, const struct ask *ask, struct names *n)
{
	Roar__KvSetRequest set = ROAR__KV_SET_REQUEST__INIT;
	Roar__KvGetRequest get = ROAR__KV_GET_REQUEST__INIT;
	Roar__KvAddRequest plus = ROAR__KV_ADD_REQUEST__INIT;
	Roar__KvCompareSetRequest cas = ROAR__KV_COMPARE_SET_REQUEST__INIT;
	Roar__KvDeleteRequest del = ROAR__KV_DELETE_REQUEST__INIT;
	ProtobufCBinaryData value = { strlen(ask->value),
				      (uint8_t *)ask->value };

	key_name(n->other, ask->name);
	set.job_id = get.job_id = plus.job_id = cas.job_id = del.job_id = n->job;
	set.key = get.key = plus.key = cas.key = del.key = n->other;
	set.value = cas.value = value;
	set.ttl_ms = plus.ttl_ms = cas.ttl_ms = ask->ttl;
	get.wait = ask->wait;
	get.after_version = ask->wait ? ask->version : 0;
	plus.delta = ask->delta;
	cas.version = ask->version;
	if (ask->method == 16)
		give(s, ask, &set);
	else if (ask->method == 17)
		give(s, ask, &get);
	else if (ask->method == 18)
		give(s, ask, &plus);
	else if (ask->method == 19)
		give(s, ask, &cas);
	else
		give(s, ask, &del);
}

static void give_settings(struct sim *s, const struct ask *ask, struct names *n)
{
	const struct plan *p = s->plan;
	Roar__JobSettings m = ROAR__JOB_SETTINGS__INIT;

	m.job_id = n->job;
	m.on_death = (Roar__OnDeath)(ask->item->what ? p->policy[ask->job] :
						       ask->item->policy);
	m.min_workers = 1 +
			(int32_t)(ask->item->random % p->n_workers[ask->job]);
	if (ask->item->what) {
		m.min_workers = (int32_t)p->min_workers[ask->job];
		m.heartbeat_interval_ms = p->interval[ask->job];
		m.timeout_ms = p->timeout[ask->job];
		m.hold_ms = p->hold[ask->job];
	}
	if (ask->item->random & 1 << 20) { /* to begin, not to go on */
		m.start_workers = m.min_workers;
		m.min_workers = 1;
	}
	give(s, ask, &m);
}

static void give_to_workers(struct sim *s, const struct ask *ask,
			    struct names *n)
{
	Roar__CommandRequest command = ROAR__COMMAND_REQUEST__INIT;
	Roar__DrainRequest drain = ROAR__DRAIN_REQUEST__INIT;
	Roar__LeaveRequest leave = ROAR__LEAVE_REQUEST__INIT;
	char *all[] = { n->worker };

	(void)snprintf(n->other, TEXT, "c%u", ask->name);
	command.job_id = drain.job_id = leave.job_id = n->job;
	command.worker_ids = drain.worker_ids = all;
	command.n_worker_ids = drain.n_worker_ids = ask->item->what;
	command.command = n->other;
	leave.worker_id = n->worker;
	if (ask->method == 13)
		give(s, ask, &command);
	else if (ask->method == 14)
		give(s, ask, &drain);
	else
		give(s, ask, &leave);
}

void request_give(struct sim *s, const struct ask *ask)
{
	static void (*const givers[])(struct sim *, const struct ask *,
				      struct names *) = {
		[1] = give_info,	[2] = give_heartbeat,
		[3] = give_info,	[6] = give_checkpoint,
		[8] = give_barrier,	[9] = give_heartbeat,
		[10] = give_meet,	[11] = give_watch,
		[12] = give_settings,	[13] = give_to_workers,
		[14] = give_to_workers, [15] = give_to_workers,
		[16] = give_key,	[17] = give_key,
		[18] = give_key,	[19] = give_key,
		[20] = give_key,	[4] = give_dataset,
		[28] = give_list,	[33] = give_take,
		[34] = give_use,	[COMMIT_CHECKPOINT] = give_commit,
	};
	struct names n;

	job_name(n.job, ask->job);
	worker_name(n.worker, ask->who);
	givers[ask->method](s, ask, &n);
}

/* ---- answers ---- */

static void take_config(struct answer *to, const Coordinator__WorkerConfig *m)
{
	to->session = m->session;
	to->incarnation = m->incarnation;
	to->epoch = m->world_epoch;
	to->rank = m->rank;
	to->interval = m->heartbeat_interval_ms;
}

static void take_heartbeat(struct answer *to,
			   const Coordinator__HeartbeatResponse *m)
{
	to->epoch = m->world_epoch;
	to->rank = m->rank;
	for (size_t i = 0; i < m->n_pending_commands && i < 8; i++) {
		const char *text = m->pending_commands[i];

		/* "drain" is the coordinator's own word. */
		if (text[0] == 'c')
			to->commands[to->n_commands++] = (uint32_t)strtoul(
				text + 1, NULL, 10);
	}
}

static void take_barrier(struct answer *to,
			 const Coordinator__BarrierResponse *m)
{
	to->generation = m->generation;
	to->participants = m->participants;
	to->order = m->arrival_order;
	to->done = m->released;
}

static void take_event(struct answer *to, const Roar__WatchEvent *m)
{
	to->kind = (uint32_t)m->kind;
	to->epoch = m->world_epoch;
	to->rank = m->rank;
	if (m->kind == ROAR__WATCH_EVENT__KIND__COMMAND && m->command[0] == 'c')
		to->commands[to->n_commands++] = (uint32_t)strtoul(
			m->command + 1, NULL, 10);
}

uint64_t digest_value(uint64_t so_far, int32_t rank, const void *data,
		      size_t len)
{
	so_far = crc64nvme(so_far, &rank, sizeof(rank));
	so_far = crc64nvme(so_far, &len, sizeof(len));
	return crc64nvme(so_far, data, len);
}

static void take_meet(struct answer *to, const Roar__MeetReply *m)
{
	to->generation = m->generation;
	to->participants = m->participants;
	to->order = m->arrival_order;
	to->votes_for = m->votes_for;
	to->votes_against = m->votes_against;
	to->n_values = m->n_values;
	to->done = true;
	for (size_t i = 0; i < m->n_values; i++)
		to->values = digest_value(to->values, m->values[i]->rank,
					  m->values[i]->value.data,
					  m->values[i]->value.len);
}

static void take_key(struct answer *to, const Roar__KvReply *m)
{
	to->done = m->done;
	if (!m->entry)
		return;
	to->version = m->entry->version;
	(void)snprintf(to->value, TEXT, "%.*s", (int)m->entry->value.len,
		       m->entry->value.data ? (char *)m->entry->value.data :
					      "");
}

static void take_list(struct answer *to, const Roar__ListShardsReply *m)
{
	to->version = m->version;
	for (size_t i = 0; i < m->n_ranges; i++)
		for (int64_t k = 0; k < m->ranges[i]->count; k++)
			to->shards |= 1ULL << (m->ranges[i]->first + k);
}

static void take_lease(struct answer *to, const Roar__TakeLeaseReply *m)
{
	to->version = m->lease_id;
	to->done = m->done;
	for (int64_t k = m->range ? m->range->first : 0;
	     m->range && k < m->range->end; k++)
		to->shards |= 1ULL << k;
}

static void take_commit(struct answer *to, const Roar__CommitReply *m)
{
	to->done = m->committed;
	to->n_values = m->n_parts;
	for (size_t i = 0; i < m->n_parts; i++)
		to->values = digest_value(to->values, m->parts[i]->rank,
					  m->parts[i]->digest.data,
					  m->parts[i]->digest.len);
}

void answer_take(struct answer *to, const ProtobufCMessage *message)
{
	const void *m = message;

	if (message->descriptor == &coordinator__worker_config__descriptor)
		take_config(to, m);
	else if (message->descriptor ==
		 &coordinator__heartbeat_response__descriptor)
		take_heartbeat(to, m);
	else if (message->descriptor ==
		 &coordinator__barrier_response__descriptor)
		take_barrier(to, m);
	else if (message->descriptor == &roar__meet_reply__descriptor)
		take_meet(to, m);
	else if (message->descriptor == &roar__kv_reply__descriptor)
		take_key(to, m);
	else if (message->descriptor == &roar__commit_reply__descriptor)
		take_commit(to, m);
	else if (message->descriptor == &roar__watch_event__descriptor)
		take_event(to, m);
	else if (message->descriptor == &roar__list_shards_reply__descriptor)
		take_list(to, m);
	else if (message->descriptor == &roar__take_lease_reply__descriptor)
		take_lease(to, m);
	else if (message->descriptor == &roar__use_lease_reply__descriptor)
		to->done = !((const Roar__UseLeaseReply *)m)->left;
	else if (message->descriptor == &coordinator__checkpoint_ack__descriptor)
		to->step = ((const Coordinator__CheckpointAck *)m)->global_step;
	else if (message->descriptor == &roar__leave_reply__descriptor)
		to->epoch = ((const Roar__LeaveReply *)m)->world_epoch;
	else if (message->descriptor == &roar__job_status__descriptor)
		to->epoch = ((const Roar__JobStatus *)m)->world_epoch;
}

/* coord_scale.c - the coordinator's state machine with very many workers and shards.
 *
 *	coord_scale WORKERS SHARDS
 *
 * No sockets and no disk: requests go to the real state machine, each worker on a connection
 * of its own as those behind agents are, and records and replies are packed and counted.
 * One job is built as a training job builds it: workers join, beat and meet; a dataset
 * with that many shards is dealt to them; one more worker joins, one leaves, a host of
 * eight is lost; the state is told as a snapshot and read back into a second state
 * machine, which must have the same table.  Prints one JSON object. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "coord/coord.h"

enum {
	BEATS = 10, /* of each worker */
	ROUNDS = 5, /* of the barrier */
	RANKS = 8, /* of a host */
	RECORD_HEAD = 24, /* bytes before each in the log */
	TIMEOUT_MS = 30000,
};

static const char job_id[] = "scale";
static const char dataset_id[] = "corpus";

/* What the state machine was asked and has said. */
static struct {
	struct coord *c;
	struct coord_now now;
	uint64_t last_call;
	uint64_t random;
	uint64_t *sessions; /* of each worker */
	uint32_t asks; /* which worker does */
	uint64_t n_records, record_bytes;
	uint64_t n_replies, reply_bytes;
	Roar__TableReply table; /* the last one */
	struct str packed; /* memory that is used again */
} all;

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "coord_scale: %s\n", what);
	exit(1);
}

/* ---- the host ---- */

static size_t pack(const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);

	str_clear(&all.packed);
	if (str_reserve(&all.packed, len) < 0)
		die("out of memory");
	return protobuf_c_message_pack(m, (uint8_t *)all.packed.data);
}

static int on_record(void *host, const Roar__Record__Record *record)
{
	(void)host;
	all.n_records++;
	all.record_bytes += RECORD_HEAD + ((pack(&record->base) + 7) & ~7u);
	return 0;
}

static void on_reply(void *host, uint64_t call, enum coord_status status,
		     const ProtobufCMessage *message, const char *sentence,
		     const char *const *names, size_t n_names)
{
	(void)host;
	(void)call;
	(void)names;
	(void)n_names;
	if (status != COORD_OK || !message)
		die(sentence ? sentence : "a call went wrong");
	all.n_replies++;
	all.reply_bytes += pack(message);
	if (message->descriptor == &coordinator__worker_config__descriptor)
		all.sessions[all.asks] =
			((const Coordinator__WorkerConfig *)message)->session;
	if (message->descriptor == &roar__table_reply__descriptor) {
		all.table = *(const Roar__TableReply *)message;
		all.table.dataset_id = NULL; /* it is not ours */
	}
}

static void on_note(void *host, int level, const char *job,
		    const char *sentence)
{
	(void)host;
	(void)level;
	(void)job;
	(void)sentence;
}

/* Sessions must differ, which is all that is asked for here. */
static uint64_t on_random(void *host)
{
	(void)host;
	return all.random += 0x9e3779b97f4a7c15u;
}

static const struct coord_host host = {
	.record = on_record,
	.reply = on_reply,
	.note = on_note,
	.random = on_random,
};

static struct coord *new_state(void)
{
	const struct coord_limits limits = { .max_workers = 1 << 20,
					     .max_waiting = 1 << 20 };
	struct coord *c;

	if (coord_new(&host, NULL, &limits, &c) < 0)
		die("out of memory");
	return c;
}

/* ---- requests ---- */

static void ask(uint32_t worker, const char *path, const void *message)
{
	const struct coord_caller who = { .conn = worker + 1, .admin = true };
	const struct coord_method *method = coord_method_by_path(path,
								 strlen(path));

	if (!method)
		die(path);
	all.asks = worker;
	coord_request(all.c, all.now, &who, method, ++all.last_call, INT64_MAX,
		      message);
}

static char *name_of(uint32_t worker)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "host-%05u-rank-%u", worker / RANKS,
		       worker % RANKS);
	return name;
}

static void configure(uint32_t n_workers)
{
	Roar__JobSettings m = ROAR__JOB_SETTINGS__INIT;

	m.job_id = (char *)job_id;
	m.max_workers = (int32_t)n_workers;
	m.timeout_ms = TIMEOUT_MS;
	ask(0, "/roar.Control/Configure", &m);
}

static void join(uint32_t worker)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;

	m.worker_id = name_of(worker);
	m.hostname = "host-00000.cluster.example";
	m.port = 7000;
	m.gpu_count = 1;
	m.memory_bytes = (int64_t)1 << 38;
	m.job_id = (char *)job_id;
	ask(worker, "/coordinator.Coordinator/RegisterWorker", &m);
}

static void leave(uint32_t worker)
{
	Roar__LeaveRequest m = ROAR__LEAVE_REQUEST__INIT;

	m.worker_id = name_of(worker);
	m.job_id = (char *)job_id;
	ask(worker, "/roar.Control/Leave", &m);
}

static void beat(uint32_t worker)
{
	Coordinator__WorkerStatus status = COORDINATOR__WORKER_STATUS__INIT;
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;

	status.state = COORDINATOR__WORKER_STATUS__STATE__TRAINING;
	status.current_step = 1000;
	m.worker_id = name_of(worker);
	m.status = &status;
	m.job_id = (char *)job_id;
	m.session = all.sessions[worker];
	ask(worker, "/coordinator.Coordinator/Heartbeat", &m);
}

static void arrive(uint32_t worker, uint64_t generation)
{
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;

	m.worker_id = name_of(worker);
	m.barrier_id = "step";
	m.generation = generation;
	m.job_id = (char *)job_id;
	m.session = all.sessions[worker];
	ask(worker, "/coordinator.Coordinator/WaitBarrier", &m);
}

static void register_dataset(uint32_t n_shards)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = (char *)dataset_id;
	m.path = "s3://bucket/corpus";
	m.total_samples = (int64_t)n_shards * 1000;
	m.shard_size = 1000;
	m.job_id = (char *)job_id;
	ask(0, "/coordinator.Coordinator/RegisterDataset", &m);
}

static void list_shards(uint32_t worker)
{
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;

	m.worker_id = name_of(worker);
	m.dataset_id = (char *)dataset_id;
	m.job_id = (char *)job_id;
	m.session = all.sessions[worker];
	m.limit = 10000;
	ask(worker, "/roar.Shards/ListShards", &m);
}

static void get_table(void)
{
	Roar__TableRequest m = ROAR__TABLE_REQUEST__INIT;

	m.dataset_id = (char *)dataset_id;
	m.job_id = (char *)job_id;
	ask(0, "/roar.Shards/GetTable", &m);
}

/* ---- what is measured ---- */

struct mark {
	int64_t ns; /* of the CPU */
	size_t memory;
	uint64_t records, replies; /* bytes */
};

static size_t memory_now(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Nothing waits here, so what others do on the machine need not be seen. */
static int64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return clock_timespec_ns(t);
}

static struct mark mark(void)
{
	return (struct mark){ .ns = cpu_ns(),
			      .memory = memory_now(),
			      .records = all.record_bytes,
			      .replies = all.reply_bytes };
}

static struct mark since(const struct mark *from)
{
	const struct mark now = mark();

	return (struct mark){ .ns = now.ns - from->ns,
			      .memory = now.memory - from->memory,
			      .records = now.records - from->records,
			      .replies = now.replies - from->replies };
}

static void tell(const char *name, double value)
{
	static bool others;

	(void)printf("%s\"%s\": %.3f", others ? ", " : "{", name, value);
	others = true;
}

static void measure_joins(uint32_t n)
{
	struct mark m = mark();

	for (uint32_t i = 0; i < n; i++)
		join(i);
	m = since(&m);
	tell("join_us", (double)m.ns / 1e3 / n);
	tell("join_log_bytes", (double)m.records / n);
	tell("worker_bytes", (double)m.memory / n);
}

static void measure_beats(uint32_t n)
{
	struct mark m = mark();

	for (uint32_t i = 0; i < n * BEATS; i++)
		beat(i % n);
	m = since(&m);
	tell("beat_us", (double)m.ns / 1e3 / n / BEATS);
	tell("beat_reply_bytes", (double)m.replies / n / BEATS);
	if (m.records)
		die("heartbeats are in the log");
}

static void measure_barriers(uint32_t n)
{
	struct mark m = mark();
	uint64_t before = all.n_replies;

	for (uint32_t round = 1; round <= ROUNDS; round++)
		for (uint32_t i = 0; i < n; i++)
			arrive(i, round);
	m = since(&m);
	if (all.n_replies != before + (uint64_t)ROUNDS * n)
		die("a barrier was not released");
	tell("barrier_ms", (double)m.ns / 1e6 / ROUNDS);
	tell("barrier_log_bytes", (double)m.records / ROUNDS / n);
	tell("barrier_reply_bytes", (double)m.replies / ROUNDS / n);
}

static void measure_deal(uint32_t n_workers, uint32_t n_shards)
{
	struct mark m = mark();

	register_dataset(n_shards);
	list_shards(0);
	m = since(&m);
	tell("deal_ms", (double)m.ns / 1e6);
	tell("deal_log_bytes", (double)m.records);
	tell("shard_bytes", (double)m.memory / n_shards);
	m = mark();
	for (uint32_t i = 0; i < n_workers; i++)
		list_shards(i);
	m = since(&m);
	tell("list_us", (double)m.ns / 1e3 / n_workers);
	tell("list_reply_bytes", (double)m.replies / n_workers);
}

static void tell_moves(const char *name)
{
	char key[32];

	get_table();
	if (all.table.most - all.table.least > 1)
		die("the table is not balanced");
	(void)snprintf(key, sizeof(key), "%s_moved", name);
	tell(key, (double)all.table.moved);
	(void)snprintf(key, sizeof(key), "%s_minimum", name);
	tell(key, (double)all.table.minimum);
}

/* Until the shards of everybody are known again. */
static void measure_changes(uint32_t n)
{
	struct mark m = mark();

	join(n);
	list_shards(n);
	tell("deal_join_us", (double)since(&m).ns / 1e3);
	tell_moves("join");
	m = mark();
	leave(n / 2);
	list_shards(0);
	tell("deal_leave_us", (double)since(&m).ns / 1e3);
	tell_moves("leave");
}

/* Its connections end, and who waits for it is told. */
static void measure_lost_host(void)
{
	struct mark m = mark();

	for (uint32_t i = 0; i < RANKS; i++)
		coord_gone(all.c, all.now, i + 1);
	coord_tick(all.c, all.now);
	tell("lost_host_us", (double)since(&m).ns / 1e3);
}

/* ---- a restart ---- */

struct kept {
	uint8_t **records;
	size_t *lens;
	size_t n, cap;
};

static int keep(void *data, const Roar__Record__Record *record)
{
	struct kept *k = data;
	size_t len = pack(&record->base);

	if (k->n == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 1024;
		k->records = realloc(k->records, k->cap * sizeof(*k->records));
		k->lens = realloc(k->lens, k->cap * sizeof(*k->lens));
	}
	if (!k->records || !k->lens)
		die("out of memory");
	k->records[k->n] = malloc(len);
	if (!k->records[k->n])
		die("out of memory");
	memcpy(k->records[k->n], all.packed.data, len);
	k->lens[k->n++] = len;
	all.record_bytes += RECORD_HEAD + ((len + 7) & ~(size_t)7);
	return 0;
}

static void replay(struct coord *to, const struct kept *k)
{
	for (size_t i = 0; i < k->n; i++) {
		Roar__Record__Record *record = roar__record__record__unpack(
			NULL, k->lens[i], k->records[i]);

		if (!record || coord_replay(to, record) < 0)
			die("the snapshot cannot be read");
		roar__record__record__free_unpacked(record, NULL);
	}
	coord_resume(to, all.now);
}

static void release(struct kept *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->records[i]);
	free(k->records);
	free(k->lens);
}

static void measure_restart(void)
{
	const Roar__TableReply before = all.table;
	struct kept k = { 0 };
	struct mark m = mark();

	if (coord_snapshot(all.c, keep, &k) < 0)
		die("the state cannot be told");
	m = since(&m);
	tell("snapshot_ms", (double)m.ns / 1e6);
	tell("snapshot_mib", (double)m.records / (1 << 20));
	coord_free(all.c);
	all.c = new_state();
	m = mark();
	replay(all.c, &k);
	tell("replay_ms", (double)since(&m).ns / 1e6);
	release(&k);
	get_table();
	if (all.table.version != before.version ||
	    all.table.hash != before.hash)
		die("the table is another one after a restart");
}

int main(int argc, char **argv)
{
	uint32_t n_workers = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) :
					 0;
	uint32_t n_shards = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) :
					0;

	if (n_workers < RANKS || n_shards < n_workers)
		die("usage: coord_scale WORKERS SHARDS, with 8 workers at "
		    "least, and a shard for each");
	all.now = (struct coord_now){ .mono_ms = 1000, .wall_ms = 1700000000 };
	all.sessions = calloc(n_workers + 1, sizeof(*all.sessions));
	if (!all.sessions)
		die("out of memory");
	all.c = new_state();
	configure(n_workers + 1);
	measure_joins(n_workers);
	measure_beats(n_workers);
	measure_barriers(n_workers);
	measure_deal(n_workers, n_shards);
	measure_changes(n_workers);
	measure_lost_host();
	measure_restart();
	tell("state_mib", (double)memory_now() / (1 << 20));
	(void)puts("}");
	coord_free(all.c);
	free(all.sessions);
	str_release(&all.packed);
	return 0;
}

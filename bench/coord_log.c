/* coord_log.c - writes a coordinator's log of a long and busy day, to time its replay.
 *
 *	coord_log DIR WORKERS RECORDS
 *
 * One job whose workers have joined; then keys that change, meetings of eight that were
 * released, and workers that died and came back, in a fixed order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "coord/wal/wal.h"
#include "record.pb-c.h"

enum {
	N_KEYS = 10000,
	N_MEETINGS = 500,
	GROUP = 8,
	MAX_RECORD = 4096,
	TIME_MS = 1700000000, /* any moment */
};

static const char job[] = "replay";

static struct wal *wal;
static uint64_t epoch, version;
static uint64_t *incarnations; /* of each worker */

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "coord_log: %s\n", what);
	exit(1);
}

static void append(Roar__Record__Record *record)
{
	uint8_t bytes[MAX_RECORD];
	size_t len = roar__record__record__get_packed_size(record);
	uint64_t seq;

	if (len > sizeof(bytes))
		die("a record is too long");
	roar__record__record__pack(record, bytes);
	if (wal_append(wal, bytes, len, &seq) < 0)
		die("the log does not take a record");
	/* As many as a server hands over in one round. */
	if (seq % 64 == 0)
		wal_commit(wal);
}

#define APPEND(kind_case, field, message)                                   \
	do {                                                                \
		Roar__Record__Record record_ = ROAR__RECORD__RECORD__INIT;  \
		record_.what_case = ROAR__RECORD__RECORD__WHAT_##kind_case; \
		record_.field = (message);                                  \
		append(&record_);                                           \
	} while (0)

static char *worker_id(char buffer[32], uint32_t i)
{
	(void)snprintf(buffer, 32, "worker-%u", i);
	return buffer;
}

static void put_job(void)
{
	Roar__JobSettings settings = ROAR__JOB_SETTINGS__INIT;
	Roar__Record__Job m = ROAR__RECORD__JOB__INIT;

	settings.min_workers = 1;
	settings.max_workers = 1 << 20;
	settings.heartbeat_interval_ms = 5000;
	settings.timeout_ms = 30000;
	settings.hold_ms = 60000;
	settings.on_death = ROAR__ON_DEATH__FAIL;
	m.job_id = (char *)job;
	m.settings = &settings;
	APPEND(JOB, job, &m);
}

static void put_join(uint32_t i)
{
	Coordinator__WorkerInfo info = COORDINATOR__WORKER_INFO__INIT;
	Roar__Record__Join m = ROAR__RECORD__JOIN__INIT;
	char id[32];

	info.worker_id = worker_id(id, i);
	info.hostname = "node-17.cluster.example";
	info.port = 29500;
	info.gpu_count = 8;
	info.memory_bytes = 1LL << 40;
	m.job_id = (char *)job;
	m.info = &info;
	m.rank = (int32_t)i;
	m.session = ((uint64_t)i << 32) + ++incarnations[i];
	m.incarnation = incarnations[i];
	m.world_epoch = ++epoch;
	m.registered_ms = TIME_MS;
	APPEND(JOIN, join, &m);
}

static void put_death(uint32_t i)
{
	Roar__Record__Death m = ROAR__RECORD__DEATH__INIT;
	char id[32];

	m.job_id = (char *)job;
	m.worker_id = worker_id(id, i);
	m.world_epoch = ++epoch;
	m.died_ms = TIME_MS;
	m.reason = "its connection ended";
	APPEND(DEATH, death, &m);
}

static void put_key(uint32_t n)
{
	Roar__Record__Key m = ROAR__RECORD__KEY__INIT;
	char name[32];

	(void)snprintf(name, sizeof(name), "rank/%u/state", n % N_KEYS);
	m.job_id = (char *)job;
	m.key = name;
	m.value.data = (uint8_t *)name;
	m.value.len = strlen(name);
	m.version = ++version;
	APPEND(KEY, key, &m);
}

static void put_release(uint32_t n, uint32_t n_workers)
{
	Roar__Record__Release m = ROAR__RECORD__RELEASE__INIT;
	Roar__Record__Arrival arrivals[GROUP];
	Roar__Record__Arrival *all[GROUP];
	char ids[GROUP][32];
	char name[32];

	for (uint32_t i = 0; i < GROUP; i++) {
		uint32_t worker = (n * GROUP + i) % n_workers;

		roar__record__arrival__init(&arrivals[i]);
		arrivals[i].worker_id = worker_id(ids[i], worker);
		arrivals[i].rank = (int32_t)worker;
		arrivals[i].late_ms = i;
		all[i] = &arrivals[i];
	}
	(void)snprintf(name, sizeof(name), "node-%u", n % N_MEETINGS);
	m.job_id = (char *)job;
	m.meeting_id = name;
	m.generation = n / N_MEETINGS + 1;
	m.released_ms = TIME_MS;
	m.n_arrivals = GROUP;
	m.arrivals = all;
	APPEND(RELEASE, release, &m);
}

/* Eight records: a death is always followed by a return. */
static void put_eight(uint32_t n, uint32_t n_workers)
{
	for (uint32_t i = 0; i < 4; i++)
		put_key(4 * n + i);
	put_release(2 * n, n_workers);
	put_release(2 * n + 1, n_workers);
	put_death(n % n_workers);
	put_join(n % n_workers);
}

static int nothing_there(void *data, const void *payload, size_t len)
{
	(void)data, (void)payload, (void)len;
	die("the directory has a log already");
}

int main(int argc, char **argv)
{
	struct roar_error err = { 0 };
	uint32_t n_workers = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;
	uint32_t n_records = argc == 4 ? (uint32_t)atoi(argv[3]) : 0;

	if (!n_workers || n_records < n_workers + 1)
		die("usage: coord_log DIR WORKERS RECORDS");
	incarnations = calloc(n_workers, sizeof(*incarnations));
	if (!incarnations)
		die("no memory");
	if (wal_open(argv[1], nothing_there, NULL, &wal, &err) < 0)
		die(err.text);
	put_job();
	for (uint32_t i = 0; i < n_workers; i++)
		put_join(i);
	for (uint32_t i = 0; i < (n_records - n_workers - 1) / 8; i++)
		put_eight(i, n_workers);
	wal_close(wal);
	free(incarnations);
	return 0;
}

/* coordinator_worker ADDRESS JOB ID [BARRIER] - a worker that tests look at from outside.
 *
 * Takes its place and says "rank N"; says "command TEXT" for each command that it is told.
 * With a BARRIER it waits there and says "released" or what went wrong.  When its input
 * ends it leaves, with "left".  Where DATASET names one it registers that, with 95 samples in
 * shards of 10, and says which it has; where
 * LEASE does, it takes a piece of that.  Knows nothing of roar but the library. */
#include <poll.h>
#include <pthread.h>
#include <roar/coord.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct roar_coord *client;

static void *wait_there(void *barrier)
{
	int r = roar_coord_barrier(client, barrier, 0, -1, NULL);

	printf("%s\n", r == 0 ? "released" : roar_coord_error());
	return NULL;
}

static void say_commands(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char command[256];

	while (poll(&in, 1, 0) == 0 &&
	       roar_coord_command(client, 20, command, sizeof(command)) == 0)
		if (*command)
			printf("command %s\n", command);
}

/* Of 10 shards, the first as large as all others. */
static void by_bytes(struct roar_coord_dataset *d)
{
	static const uint64_t bytes[] = { 9, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	d->balance = ROAR_COORD_BALANCE_BYTES;
	d->shard_bytes = bytes;
	d->n_shard_bytes = 10;
}

static void say_shards(const char *id)
{
	struct roar_coord_dataset d = { .id = id,
					.total_samples = 95,
					.shard_size = 10 };
	struct roar_coord_shards s;
	int64_t n;

	if (strcmp(id, "bytes") == 0)
		by_bytes(&d);
	if (roar_coord_register_dataset(client, &d, &n) < 0 ||
	    roar_coord_shards(client, id, &s) < 0) {
		printf("%s\n", roar_coord_error());
		return;
	}
	printf("shards of %lld:", (long long)n);
	for (size_t i = 0; i < s.n_ranges; i++)
		printf(" %lld+%lld", (long long)s.ranges[i].first,
		       (long long)s.ranges[i].count);
	printf(" epoch %d\n", roar_coord_advance_epoch(client, id, 1, 0));
	roar_coord_shards_release(&s);
}

/* Reports the first shard of epoch 1 and takes the next piece. */
static void say_lease(const char *id)
{
	struct roar_coord_lending from = { .dataset_id = id,
					   .epoch = 1,
					   .exactly_once = 1 };
	struct roar_coord_positions first = { 0, 10 };
	struct roar_coord_lease lease = { 0 };
	int64_t n = 0;
	int r = roar_coord_report_consumed(client, id, 1, &first, 1, &n);

	if (r == 0)
		r = roar_coord_take_lease(client, &from, &lease);
	if (r == 0)
		r = roar_coord_use_lease(client, &from, lease.id,
					 lease.positions.end, 0);
	printf("%lld new, lease %lld-%lld, %s\n", (long long)n,
	       (long long)lease.positions.first, (long long)lease.positions.end,
	       r == 0 ? "used" : roar_coord_error());
}

int main(int argc, char **argv)
{
	struct roar_coord_options o = { .hostname = "some-host",
					.gpu_count = 8 };
	struct roar_coord_world w;
	pthread_t thread;

	if (argc < 4)
		return 2;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	o.address = argv[1];
	o.job = argv[2];
	o.worker_id = argv[3];
	o.token = getenv("TOKEN");
	if (roar_coord_join(&o, &client) < 0) {
		printf("%s\n", roar_coord_error());
		return 1;
	}
	roar_coord_world(client, &w);
	(void)roar_coord_progress(client, 4, 17, 2, "a task");
	(void)roar_coord_heartbeat(client, 10000);
	printf("rank %d\n", w.rank);
	if (getenv("DATASET"))
		say_shards(getenv("DATASET"));
	if (getenv("LEASE"))
		say_lease(getenv("LEASE"));
	if (argc > 4 && pthread_create(&thread, NULL, wait_there, argv[4]) != 0)
		return 1;
	say_commands();
	(void)roar_coord_leave(client);
	if (argc > 4)
		(void)pthread_join(thread, NULL);
	puts("left");
	return 0;
}
